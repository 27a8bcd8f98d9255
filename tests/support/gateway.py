"""The whole application over a database, with the world's members to call it and both surfaces to call it by."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import httpx
from sqlalchemy.engine import make_url
from starlette.types import ASGIApp

from gateway.app import application
from gateway.llms import llms_text
from gateway.runtime import Runtime
from gateway.settings import Settings
from providers.chat_models import ChatModel
from schema.tools import Catalogue
from tests.support.schemas import built
from tests.support.sql_login import make_login
from tests.support.world import Headers, World, open_world

if TYPE_CHECKING:
    from gateway.tracing.library import Tracer


@dataclass
class Gateway:
    """A running application: `world` shares its services, `http` calls it."""

    runtime: Runtime
    world: World
    http: httpx.AsyncClient
    app: ASGIApp

    async def rest(self, method: str, path: str, headers: Headers, body: Any = None) -> httpx.Response:
        """A request on a documented path; without a body none is sent, and a text is a calendar."""
        content = {} if body is None else {"json": body}
        if isinstance(body, str):
            content, headers = {"content": body.encode()}, headers | {"Content-Type": "text/calendar"}
        return await self.http.request(method, path, headers=headers, **content)

    async def graphql(self, document: str, headers: Headers, /, **variables: Any) -> httpx.Response:
        """A GraphQL request."""
        return await self.http.post("/graphql", json={"query": document, "variables": variables}, headers=headers)

    async def first_event(self, document: str, headers: Headers, **variables: Any) -> httpx.Response:
        """The first answer of a subscription as if it were the only one; then the client hangs up."""
        request = self.http.build_request(
            "POST",
            "/graphql",
            json={"query": document, "variables": variables},
            headers=headers | {"Accept": "text/event-stream"},
        )
        messages = [{"type": "http.request", "body": request.read()}]
        answered, sent = asyncio.Event(), []

        async def receive() -> Any:
            if messages:
                return messages.pop()
            await answered.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)
            if b"data: " in message.get("body", b""):
                answered.set()

        raw = [(name.lower(), value) for name, value in request.headers.raw]
        scope = {"type": "http", "method": "POST", "path": "/graphql", "query_string": b"", "headers": raw}
        async with asyncio.timeout(30):
            await self.app(scope, receive, send)
        body = b"".join(message.get("body", b"") for message in sent)
        lines = [line.removeprefix(b"data: ") for line in body.splitlines() if line.startswith(b"data: ")]
        heads = [(n, v) for n, v in sent[0]["headers"] if n != b"content-length"]
        return httpx.Response(sent[0]["status"], headers=heads, content=lines[0] if lines else body)


_MADE_ONCE = {
    "gateway.app.build": built,
    "gateway.app.Catalogue": cache(Catalogue),
    "gateway.app.llms_text": cache(llms_text),
}
"""What follows from the schema alone: to print it takes ten times as long as all else of an application."""


def application_of(runtime: Runtime) -> ASGIApp:
    """The application over this, with a schema that all of the process share."""
    with ExitStack() as stack:
        for place, made in _MADE_ONCE.items():
            stack.enter_context(patch(place, made))
        return application(runtime)


async def _without_cookies(answer: httpx.Response) -> None:
    """No answer of either surface sets a cookie: a page of another origin has nothing to ride on.

    The pages of the login do (decision 894).
    """
    assert "set-cookie" not in answer.headers or answer.request.url.path.startswith(("/login", "/oauth/"))


@asynccontextmanager
async def open_gateway(
    database_url: str,
    data_dir: Path,
    *,
    chat_model: ChatModel | None = None,
    tracer: Tracer | None = None,
    **settings: Any,
) -> AsyncIterator[Gateway]:
    """The application for these settings over a fresh migrated database; budgets are tested where they are on.

    Chats are answered by the model, where one is given, and what runs is told to the tracer.
    """
    settings = {"rate_limit": False} | settings
    url = make_url(database_url)
    if url.get_backend_name() == "postgresql" and "analytics_database_url" not in settings:
        settings["analytics_database_url"] = await make_login(url)
    made = Settings(_env_file=None, database_url=database_url, data_dir=data_dir, **settings)
    runtime = Runtime(made, tracer=tracer)
    if chat_model is not None:
        runtime.services = replace(runtime.services, chat_model=chat_model)
    app = application_of(runtime)
    async with (
        runtime.running(),
        open_world(runtime.database, runtime.services) as world,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app),
            base_url="http://gateway",
            event_hooks={"response": [_without_cookies]},
        ) as http,
    ):
        yield Gateway(runtime, world, http, app)
