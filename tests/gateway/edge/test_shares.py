"""Connections and streams are shared like requests (decision 107): no caller has them all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.gateway import Gateway
from tests.support.streams import EVENTS, PROTOCOL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Start = Callable[..., AbstractAsyncContextManager[Gateway]]
pytestmark = pytest.mark.asyncio(loop_scope="module")
NUMBER = 16
REFUSED = {"type": "websocket.http.response.start", "status": 503}
AGAIN = {"type": "websocket.close", "code": 1013, "reason": "Try again later"}


class _Peer:
    """The other end of one connection."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[Any] = asyncio.Queue()
        self.heard: asyncio.Queue[Any] = asyncio.Queue()

    def say(self, **message: Any) -> None:
        self.said.put_nowait({"type": "websocket.receive", "text": json.dumps(message)})

    async def hear(self) -> Any:
        async with asyncio.timeout(60):
            message = await self.heard.get()
        return json.loads(message["text"]) if "text" in message else message

    async def begin(self, headers: dict[str, str]) -> Any:
        self.say(type="connection_init", payload=headers)
        return await self.hear()


@asynccontextmanager
async def _peer(gateway: Gateway, address: str) -> AsyncIterator[_Peer]:
    """A connection from this address, to the application itself: from outside all would come from one."""
    peer = _Peer()
    scope = {
        "type": "websocket",
        "path": "/graphql",
        "query_string": b"",
        "headers": [],
        "client": (address, 1),
        "subprotocols": [PROTOCOL],
        "extensions": {"websocket.http.response": {}},
    }
    peer.said.put_nowait({"type": "websocket.connect"})
    serving = asyncio.create_task(_serve(gateway, scope, peer))
    try:
        yield peer
    finally:
        peer.said.put_nowait({"type": "websocket.disconnect", "code": 1000})
        async with asyncio.timeout(60):
            await serving


async def _serve(gateway: Gateway, scope: Any, peer: _Peer) -> None:
    await gateway.app(scope, peer.said.get, peer.heard.put)


async def _opened(gateway: Gateway, stack: AsyncExitStack, address: str) -> list[_Peer]:
    """As many connections from the address as are taken."""
    peers = []
    while True:
        peer = await stack.enter_async_context(_peer(gateway, address))
        answer = await peer.hear()
        if answer["type"] != "websocket.accept":
            assert answer | REFUSED == answer
            return peers
        peers.append(peer)


async def test_no_caller_has_all_connections(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.app.SOCKETS_PER_PROCESS", NUMBER)
    async with start() as gateway, AsyncExitStack() as stack:
        world = gateway.world
        one, two = world.session("admin@one", world.one), world.session("admin@two", world.two)
        begun = 0
        while True:
            peer = await stack.enter_async_context(_peer(gateway, "192.0.2.1"))
            assert (await peer.hear())["type"] == "websocket.accept"
            if (answer := await peer.begin(one)) == AGAIN:
                break
            assert answer == {"type": "connection_ack"}
            begun += 1
        assert begun == NUMBER // 2
        peers = await _opened(gateway, stack, "192.0.2.1")
        assert len(peers) == NUMBER // 2 // 4  # of what is left, strangers half, an address half of that, and so on
        other = await _opened(gateway, stack, "192.0.2.2")
        assert other
        for peer in other:  # whoever shows a credential leaves the strangers
            assert await peer.begin(two) == {"type": "connection_ack"}
        again = await stack.enter_async_context(_peer(gateway, "192.0.2.2"))
        assert (await again.hear())["type"] == "websocket.accept"


async def test_no_caller_has_all_streams(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transport.streams.STREAMS_PER_PROCESS", NUMBER)
    async with start() as gateway, AsyncExitStack() as stack:
        world = gateway.world
        one, two = world.session("admin@one", world.one), world.session("admin@two", world.two)
        for headers, share in ((one, NUMBER // 2), (two, NUMBER // 4)):
            peer = await stack.enter_async_context(_peer(gateway, "192.0.2.1"))
            await peer.hear()
            assert await peer.begin(headers) == {"type": "connection_ack"}
            for number in range(NUMBER):
                peer.say(type="subscribe", id=str(number), payload={"query": EVENTS})
            for _ in range(NUMBER - share):
                [error] = (await peer.hear())["payload"]
                assert error["extensions"]["code"] == "TOO_MANY_STREAMS"
            peer.say(type="subscribe", id="query", payload={"query": "{ __typename }"})
            assert (await peer.hear())["payload"]["data"] == {"__typename": "Query"}  # and no further refusal
            events = headers | {"Accept": "text/event-stream"}
            answer = await gateway.http.post("/graphql", json={"query": EVENTS}, headers=events)
            assert answer.status_code == 429
            assert answer.json()["errors"][0]["extensions"]["code"] == "TOO_MANY_STREAMS"
