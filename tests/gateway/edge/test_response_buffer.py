"""An answer's head goes to the system with the first piece of its body, and is never kept for long (decision 106)."""

from __future__ import annotations

import asyncio
import gc
import re
import socket
import time
import weakref
from typing import Any

import pytest
import uvloop
from uvicorn.config import Config
from uvicorn.server import ServerState

from gateway.middleware.security_headers import SecurityHeaders
from gateway.server.http_protocol import HttpServerProtocol
from gateway.server.response_buffer import ResponseBuffer
from tests.support.live import Live
from tests.support.raw import exchange


class Told:
    """A transport that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def write(self, data: bytes) -> None:
        self.told.append(data)

    def close(self) -> None:
        self.told.append("closed")

    def linger(self) -> None:
        self.told.append("lingers")


@pytest.fixture
def told() -> Told:
    return Told()


def answering(told: Told) -> ResponseBuffer:
    return ResponseBuffer(asyncio.get_running_loop(), told, told.linger)  # type: ignore[arg-type]  # all that is used of one


async def test_head_and_body_are_one(told: Told) -> None:
    answer = answering(told)
    for piece in (b"head ", b"body ", b"more"):
        answer.write(piece)
    await asyncio.sleep(0)
    assert told.told == [b"head body ", b"more"]


async def test_a_head_alone_goes_at_the_end_of_the_turn(told: Told) -> None:
    answer = answering(told)
    answer.write(b"head")
    assert told.told == []
    await asyncio.sleep(0)
    assert told.told == [b"head"]
    answer.write(b"event")
    assert told.told == [b"head", b"event"]


async def test_a_large_body_is_not_copied(told: Told) -> None:
    answer, body = answering(told), bytes(100_000)
    answer.write(b"head")
    answer.write(body)
    assert told.told[0] == b"head"
    assert told.told[1] is body


@pytest.mark.parametrize(("patient", "end"), [(True, "lingers"), (False, "closed")])
async def test_nothing_is_lost_at_the_end(told: Told, patient: bool, end: str) -> None:
    answer = answering(told)
    answer.is_patient = patient
    answer.write(b"head")
    answer.close()
    await asyncio.sleep(0)
    assert told.told == [b"head", end]


@pytest.mark.asyncio(loop_scope="module")
async def test_an_answer_without_a_body_is_told(live: Live) -> None:
    """Of several at once, too: the heads are all that there is of them."""
    asked = b"HEAD /health HTTP/1.1\r\nHost: a\r\n"
    heard = await exchange(live.service.address, (asked + b"\r\n") * 2 + asked + b"Connection: close\r\n\r\n")
    assert heard.raw.count(b"HTTP/1.1 200 OK\r\n") == 3
    assert heard.closed


HELD = {
    "no request behind it": (b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", b"\x00nothing\r\n\r\n", [b"200", b"400"]),
    "no chunk of its body": (
        b"HEAD / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"no chunk\r\n",
        [b"200"],
    ),
    "another request": (
        b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        [b"200", b"200"],
    ),
    "no chunk of the body that it asks for": (
        b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"no chunk\r\n",
        [b"100", b"400"],
    ),
}


@pytest.mark.parametrize(("first", "second", "statuses"), HELD.values(), ids=HELD)
def test_what_follows_does_not_overtake_it(first: bytes, second: bytes, statuses: list[bytes]) -> None:
    """The server's loop reads what has come before it runs what is due: here it comes while the application is busy."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        time.sleep(0.1)  # noqa: ASYNC251  # it is what keeps the loop busy
        if scope["method"] == "POST":
            await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def exchanged() -> bytes:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: wrong.append(context))
        config, state = Config(app, log_config=None, lifespan="off"), ServerState()
        security = SecurityHeaders(None)
        server = await loop.create_server(
            lambda: HttpServerProtocol(config, state, {}, loop, seconds=1, security=security), "127.0.0.1", 0
        )
        async with server:
            return await loop.run_in_executor(None, spoken, server.sockets[0].getsockname())

    def spoken(address: Any) -> bytes:
        with socket.create_connection(address, timeout=30) as client:
            client.sendall(first)
            time.sleep(0.03)
            client.sendall(second)
            heard = b""
            while piece := client.recv(65_536):
                heard += piece
            return heard

    wrong: list[Any] = []
    assert re.findall(rb"HTTP/1.1 (\d+)", uvloop.run(exchanged())) == statuses
    assert wrong == []


_UPGRADE = (
    b"GET /socket HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_SLOW = b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"
_LAST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param([_LAST], id="answered"),
        pytest.param([_SLOW + _SLOW + _LAST], id="lost with requests behind the one under way"),
        pytest.param([_SLOW + _SLOW + b"BAD\r\n\r\n"], id="refused with a request behind the one under way"),
        pytest.param([_UPGRADE], id="a socket"),
        pytest.param([b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", _UPGRADE], id="a socket behind an answer"),
    ],
)
def test_a_connection_that_is_lost_waits_for_no_garbage_collector(sent: list[bytes]) -> None:
    """A ring of protocol, request cycle and buffer would keep some 50 objects of each connection (decision 1170)."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            await receive()
            return
        if scope["path"] == "/slow":
            await asyncio.sleep(0.1)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    made: list[weakref.ref[HttpServerProtocol]] = []

    async def exchanged() -> None:
        loop = asyncio.get_running_loop()
        config, state = Config(app, log_config=None, lifespan="off"), ServerState()
        config.load()

        def protocol() -> HttpServerProtocol:
            one = HttpServerProtocol(config, state, {}, loop, seconds=1, security=SecurityHeaders(None))
            made.append(weakref.ref(one))
            return one

        server = await loop.create_server(protocol, "127.0.0.1", 0)
        async with server:
            for _ in range(3):
                host, port = server.sockets[0].getsockname()
                reader, writer = await asyncio.open_connection(host, port)
                for piece in sent:
                    writer.write(piece)
                    if _SLOW not in piece:
                        assert re.match(rb"HTTP/1.1 (200|101)", await reader.read(65_536))
                await asyncio.sleep(0.02)
                writer.close()
            await asyncio.sleep(0.4)

    gc.disable()
    try:
        uvloop.run(exchanged())
        assert [one() for one in made] == [None, None, None]
    finally:
        gc.enable()
