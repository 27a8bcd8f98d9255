"""Clients of subscriptions: the WebSocket protocol and server-sent events, as plainly as can be."""

from __future__ import annotations

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
        return json.loads(await self.connection.recv())

    async def begin(self, headers: dict[str, str] | None = None) -> None:
        await self.say(type="connection_init", payload=headers or {})
        assert await self.hear() == {"type": "connection_ack"}

    async def subscribe(self, identifier: str, query: str, **variables: Any) -> None:
        await self.say(type="subscribe", id=identifier, payload={"query": query, "variables": variables})

    async def closed(self) -> tuple[int, str]:
        """How the other end closes, whatever it says before."""
        await self.connection.wait_closed()
        assert self.connection.close_code is not None
        return self.connection.close_code, self.connection.close_reason or ""


@asynccontextmanager
async def open_socket(address: str, **options: Any) -> AsyncIterator[Socket]:
    """A connection to the endpoint, before anything is said."""
    options = {"subprotocols": [PROTOCOL]} | options
    async with connect(address.replace("http", "ws", 1) + "/graphql", proxy=None, **options) as connection:
        yield Socket(connection)


async def events(client: httpx.AsyncClient, **variables: Any) -> AsyncIterator[Any]:
    """The events of the log over server-sent events: first None, once the stream stands, then each event."""
    body = {"query": EVENTS, "variables": variables}
    async with client.stream("POST", "/graphql", json=body, headers={"Accept": "text/event-stream"}) as response:
        assert response.status_code == 200, await response.aread()
        yield None
        async with aclosing(response.aiter_lines()) as lines:
            async for line in lines:
                if line.startswith("data: "):
                    answer = json.loads(line.removeprefix("data: "))
                    yield answer["errors"] if "errors" in answer else answer["data"]["events"]
