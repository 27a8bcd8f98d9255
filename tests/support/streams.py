"""Clients of subscriptions: the WebSocket protocol and server-sent events, as plainly as can be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect

PROTOCOL = "graphql-transport-ws"
EVENTS = "subscription($types: [String!], $after: String) { events(types: $types, after: $after) { type cursor data } }"


class Socket:
    """A WebSocket that speaks JSON."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def say(self, **message: Any) -> None:
        await self.connection.send(json.dumps(message))

    async def hear(self) -> Any:
        async with asyncio.timeout(60):
            return json.loads(await self.connection.recv())

    async def begin(self, headers: dict[str, str] | None = None) -> None:
        await self.say(type="connection_init", payload=headers or {})
        assert await self.hear() == {"type": "connection_ack"}

    async def subscribe(self, identifier: str, query: str, /, **variables: Any) -> None:
        await self.say(type="subscribe", id=identifier, payload={"query": query, "variables": variables})

    async def told(self, count: int) -> list[Any]:
        """The one field of each of the next answers, which are of one stream and have no errors."""
        async with asyncio.timeout(60):
            messages = [await self.hear() for _ in range(count)]
        assert {message["type"] for message in messages} == {"next"}, messages
        return [next(iter(message["payload"]["data"].values())) for message in messages]

    async def closed(self) -> tuple[int, str]:
        """How the other end closes, whatever it says before."""
        await self.connection.wait_closed()
        assert self.connection.close_code is not None
        return self.connection.close_code, self.connection.close_reason or ""


@asynccontextmanager
async def begun(address: str, headers: dict[str, str]) -> AsyncIterator[Socket]:
    """A connection that was acknowledged."""
    async with open_socket(address) as socket:
        await socket.begin(headers)
        yield socket


@asynccontextmanager
async def open_socket(address: str, path: str = "/graphql", **options: Any) -> AsyncIterator[Socket]:
    """A connection to the endpoint, before anything is said."""
    options = {"subprotocols": [PROTOCOL]} | options
    async with connect(address.replace("http", "ws", 1) + path, proxy=None, **options) as connection:
        yield Socket(connection)


async def answers(client: httpx.AsyncClient, query: str, /, **variables: Any) -> AsyncIterator[Any]:
    """What a subscription tells over server-sent events: first None, once the stream stands, then its one field."""
    body = {"query": query, "variables": variables}
    async with client.stream("POST", "/graphql", json=body, headers={"Accept": "text/event-stream"}) as response:
        assert response.status_code == 200, await response.aread()
        yield None
        async with aclosing(response.aiter_lines()) as lines:
            async for line in lines:
                if line.startswith("data: "):
                    answer = json.loads(line.removeprefix("data: "))
                    yield answer["errors"] if "errors" in answer else next(iter(answer["data"].values()))


def events(client: httpx.AsyncClient, **variables: Any) -> AsyncIterator[Any]:
    """The same of the change log."""
    return answers(client, EVENTS, **variables)
