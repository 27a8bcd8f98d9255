"""A started service with members in two organizations, none of the demo."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import select
from sqlmodel import col

from contract.scopes import Role, Scope
from gateway.made import AUDIENCE
from identity import directory
from identity.keyfiles import signing_key
from identity.tokens import DEFAULT_ISSUER, EmbeddedIssuer
from storage.database import Database
from storage.tables import Organization
from tests.support.service import Service

CREATE = "mutation($name: String!) { dealCreate(input: {name: $name}) { deal { id name } } }"

Headers = dict[str, str]


@dataclass
class Live:
    """What a test needs to act in a service from outside."""

    folder: Path
    url: str
    database: Database
    service: Service

    @property
    def graphql_url(self) -> str:
        return f"{self.service.address}/graphql"

    def token(self, subject: str = "admin", organization: str | None = "org_one", ago: float = 0) -> Headers:
        """A session of this member, made so many seconds ago to last ten minutes."""
        key = signing_key(self.folder / "data")
        issuer = EmbeddedIssuer(key, DEFAULT_ISSUER, AUDIENCE, now=lambda: time.time() - ago)
        return {"authorization": f"Bearer {issuer.mint(subject, organization=organization, scopes=(), ttl=600)}"}

    async def ask(self, document: str, headers: Headers | None = None, **variables: Any) -> Any:
        """The data of an answer without errors."""
        async with httpx.AsyncClient(timeout=60) as client:
            body = {"query": document, "variables": variables}
            answer = (await client.post(self.graphql_url, json=body, headers=headers or self.token())).json()
        assert "errors" not in answer, answer
        return answer["data"]

    async def create(self, name: str, headers: Headers | None = None) -> None:
        """A deal, and so an event `deal_created`."""
        assert (await self.ask(CREATE, headers, name=name))["dealCreate"]["deal"]["name"] == name

    async def streams(self) -> int:
        """How many subscriptions run."""
        async with httpx.AsyncClient() as client:
            text = (await client.get(f"{self.service.address}/metrics")).text
        [line] = [line for line in text.splitlines() if line.startswith("crm_streams ")]
        return int(float(line.split()[1]))

    async def running(self, count: int) -> None:
        """Wait until so many subscriptions run: what is written from then on, they tell."""
        async with asyncio.timeout(60):
            while await self.streams() != count:  # noqa: ASYNC110  # another process has no event to wait for
                await asyncio.sleep(0.02)

    @contextmanager
    def held(self) -> Iterator[None]:
        """While whoever writes to the database, an SQLite one, waits; reading goes on."""
        with closing(sqlite3.connect(self.url.removeprefix("sqlite+aiosqlite:///"), isolation_level=None)) as file:
            file.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                file.execute("ROLLBACK")

    async def organization(self, external_id: str = "org_one") -> str:
        """The key of the organization's rows."""
        async with self.database.directory() as session:
            statement = select(Organization.id).where(col(Organization.external_id) == external_id)
            return str(await session.scalar(statement))

    async def cursor(self, headers: Headers | None = None) -> str | None:
        """The newest event's."""
        data = await self.ask("{ events(first: 500) { pageInfo { endCursor } } }", headers)
        cursor: str | None = data["events"]["pageInfo"]["endCursor"]
        return cursor


@asynccontextmanager
async def going(
    folder: Path, url: str, *arguments: str, worker: bool = False, afresh: bool = False, **settings: str
) -> AsyncIterator[Live]:
    """A service on this migrated database: `admin`, `other` and `reader` are in `org_one`, `stranger` in `org_two`.

    The settings are the service's; with CRM_DATABASE_URL it takes another way to the same database. It has no budgets
    unless they say otherwise: its callers do in seconds what others do in days.
    """
    settings = {"CRM_RATE_LIMIT": "off"} | settings
    database = Database(url)
    reading = sorted(scope for scope in Scope if scope.endswith(":read"))
    try:
        for organization in ("org_one", "org_two"):
            await directory.create_organization(database, organization, organization)
        for subject, organization, scopes in (
            ("admin", "org_one", Role.ADMIN.scopes),
            ("other", "org_one", Role.ADMIN.scopes),
            ("reader", "org_one", reading),
            ("stranger", "org_two", Role.ADMIN.scopes),
        ):
            await directory.add_member(
                database, organization, subject, name=subject, email=f"{subject}@example.com", role=None, scopes=scopes
            )
        with Service(
            folder,
            *([] if worker else ["--no-worker"]),
            *arguments,
            afresh=afresh,
            **({"CRM_DATABASE_URL": url} | settings),
        ) as service:
            yield Live(folder, url, database, service)
    finally:
        await database.close()
