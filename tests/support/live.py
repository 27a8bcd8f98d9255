"""A started service with two organizations, and clients of its streams: WebSockets and server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import select
from sqlmodel import col
from websockets import Subprotocol
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from contract.scopes import Role, Scope
from gateway.runtime import embedded_issuer
from gateway.settings import Settings
from identity import directory
from storage.database import Database
from storage.tables import Organization
from tests.support.service import Service

PROTOCOL = Subprotocol("graphql-transport-ws")
EVENTS = "subscription($after: String, $types: [String!]) { events(after: $after, types: $types) { cursor type data } }"
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

    def token(self, subject: str = "admin", organization: str | None = "org_one", ttl: int = 600) -> Headers:
        """A session of this member."""
        settings = Settings(_env_file=None, database_url=self.url, data_dir=self.folder / "data")
        minted = embedded_issuer(settings).mint(subject, organization=organization, scopes=(), ttl=ttl)
        return {"authorization": f"Bearer {minted}"}

    def another(self, *arguments: str, **settings: str) -> Service:
        """A further process on the same database, with the same keys."""
        return Service(self.folder, *arguments, CRM_DATABASE_URL=self.url, **settings)

    async def ask(self, document: str, headers: Headers | None = None, **variables: Any) -> Any:
        """The data of an answer without errors."""
        async with httpx.AsyncClient(timeout=20) as client:
            body = {"query": document, "variables": variables}
            answer = (await client.post(self.graphql_url, json=body, headers=headers or self.token())).json()
        assert "errors" not in answer, answer
        return answer["data"]

    async def create(self, name: str, headers: Headers | None = None) -> None:
        """A deal, and so an event `deal_created`."""
        assert (await self.ask(CREATE, headers, name=name))["dealCreate"]["deal"]["name"] == name

    async def running(self, count: int) -> None:
        """Wait until so many subscriptions run: what is written from then on, they tell."""
        async with asyncio.timeout(20), httpx.AsyncClient() as client:
            while f"crm_streams {float(count)}" not in (await client.get(f"{self.service.address}/metrics")).text:
                await asyncio.sleep(0.02)

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
async def going(folder: Path, url: str, *arguments: str, **settings: str) -> AsyncIterator[Live]:
    """A service on this migrated database: `admin`, `other` and `reader` are in `org_one`, `stranger` in `org_two`."""
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
        with Service(folder, "--no-worker", *arguments, CRM_DATABASE_URL=url, **settings) as service:
            yield Live(folder, url, database, service)
    finally:
        await database.close()


class Socket:
    """A client that speaks the protocol message by message."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def say(self, type: str, **message: Any) -> None:
        await self.connection.send(json.dumps({"type": type} | message))

    async def hear(self) -> Any:
        """The next message. Raises ConnectionClosed."""
        async with asyncio.timeout(20):
            return json.loads(await self.connection.recv())

    async def begin(self, payload: Mapping[str, Any]) -> None:
        await self.say("connection_init", payload=payload)
        assert await self.hear() == {"type": "connection_ack"}

    async def subscribe(self, id: str, query: str = EVENTS, /, **variables: Any) -> None:
        await self.say("subscribe", id=id, payload={"query": query, "variables": variables})

    async def answers(self, count: int) -> list[Any]:
        """The data of the next answers, all of one stream and without errors."""
        messages = [await self.hear() for _ in range(count)]
        assert {message["type"] for message in messages} <= {"next"}, messages
        return [message["payload"]["data"] for message in messages]

    async def closed(self) -> tuple[int, str]:
        """The code and the reason that the service closes with; nothing else may come before."""
        try:
            message = await self.hear()
        except ConnectionClosed as closed:
            assert closed.rcvd is not None
            return closed.rcvd.code, closed.rcvd.reason
        raise AssertionError(message)


@asynccontextmanager
async def opened(
    service: Service, headers: Headers | None = None, path: str = "/graphql", **options: Any
) -> AsyncIterator[Socket]:
    """A connection; nothing is said on it yet."""
    url = service.address.replace("http", "ws", 1) + path
    options = {"subprotocols": [PROTOCOL], "additional_headers": headers} | options
    async with connect(url, **options) as connection:
        yield Socket(connection)


@asynccontextmanager
async def begun(service: Service, payload: Mapping[str, Any]) -> AsyncIterator[Socket]:
    """A connection that was acknowledged."""
    async with opened(service) as socket:
        await socket.begin(payload)
        yield socket


class Stream:
    """The events of a response."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.aiter_lines()

    async def hear(self) -> tuple[str, Any]:
        """The next event's name and data, past the comments. Raises StopAsyncIteration at the end."""
        name, data = "", ""
        async with asyncio.timeout(20):
            while True:
                line = await anext(self._lines)
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data:"):
                    data = line.removeprefix("data:").strip()
                elif not line and name:
                    return name, json.loads(data) if data else None

    async def answers(self, count: int) -> list[Any]:
        """The data of the next answers, without errors."""
        heard = [await self.hear() for _ in range(count)]
        assert {name for name, _ in heard} <= {"next"}, heard
        return [body["data"] for _, body in heard]


@asynccontextmanager
async def streaming(service: Service, headers: Headers, query: str = EVENTS, **variables: Any) -> AsyncIterator[Stream]:
    """A subscription over server-sent events, once it runs."""
    body = {"query": query, "variables": variables}
    accept = {"accept": "text/event-stream"}
    async with (
        httpx.AsyncClient(timeout=30) as client,
        client.stream("POST", f"{service.address}/graphql", json=body, headers=headers | accept) as response,
    ):
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        yield Stream(response)
