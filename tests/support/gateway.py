"""The whole application over a database, with the world's members to call it and both doors to call it by."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from gateway.app import application
from gateway.runtime import Runtime
from gateway.settings import Settings
from tests.support.world import Headers, World, open_world


@dataclass
class Gateway:
    """A running application: `world` shares its services, `http` calls it."""

    runtime: Runtime
    world: World
    http: httpx.AsyncClient

    async def rest(self, method: str, path: str, headers: Headers, body: Any = None) -> httpx.Response:
        """A request on a documented path; without a body none is sent."""
        content = {} if body is None else {"json": body}
        return await self.http.request(method, path, headers=headers, **content)

    async def graphql(self, document: str, headers: Headers, **variables: Any) -> httpx.Response:
        """A GraphQL request."""
        return await self.http.post("/graphql", json={"query": document, "variables": variables}, headers=headers)


@asynccontextmanager
async def open_gateway(database_url: str, data_dir: Path, **settings: Any) -> AsyncIterator[Gateway]:
    """The application for these settings over a fresh migrated database."""
    runtime = Runtime(Settings(_env_file=None, database_url=database_url, data_dir=data_dir, **settings))
    async with (
        runtime.running(),
        open_world(runtime.database, runtime.services) as world,
        httpx.AsyncClient(transport=httpx.ASGITransport(app=application(runtime)), base_url="http://gateway") as http,
    ):
        yield Gateway(runtime, world, http)
