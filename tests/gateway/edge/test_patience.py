"""Receive deadlines (decision 106): who is slow is gone soon, and nobody else notices."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

import httpx
import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from gateway.middleware.security_headers import SecurityHeaders
from gateway.pages import _files
from gateway.server.http_protocol import HttpServerProtocol
from tests.gateway.edge.conftest import RECEIVE_SECONDS
from tests.support.gateway import Gateway
from tests.support.live import Live
from tests.support.raw import Heard, Wire, exchange, wire

pytestmark = pytest.mark.asyncio(loop_scope="module")

# The usual patience, and so its figures in docs/reliability.md, by EDGE_LONG=1.
LONG = os.environ.get("EDGE_LONG") == "1"
PATIENCE = 4.0 if LONG else 2 * RECEIVE_SECONDS  # four hundred clients on a busy machine are not all quick
SETTINGS = {"CRM_RECEIVE_SECONDS": str(PATIENCE)}
SOCKETS = 400

HEAD = b"POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
Start = Callable[..., AbstractAsyncContextManager[Gateway]]
Slow = Callable[[Wire], Awaitable[None]]


async def says_nothing(_: Wire) -> None:
    """Connects, and no more."""


async def ends_lines(connection: Wire) -> None:
    """Sends what comes before a request, for ever."""
    await _trickle(connection, b"\r\n")


async def stops_in_the_head(connection: Wire) -> None:
    """Begins."""
    await connection.say(HEAD[:-1])


async def trickles_headers(connection: Wire) -> None:
    """Sends a header now and then."""
    await connection.say(HEAD)
    await _trickle(connection, b"X: y\r\n")


async def trickles_a_header(connection: Wire) -> None:
    """Sends one header, byte by byte."""
    await connection.say(HEAD + b"X: ")
    await _trickle(connection, b"y")


async def stops_in_the_body(connection: Wire) -> None:
    """Sends a head."""
    await connection.say(HEAD + b"Content-Length: 1000\r\n\r\n{")


async def trickles_a_body(connection: Wire) -> None:
    """Sends a body byte by byte."""
    await connection.say(HEAD + b"Content-Length: 1000\r\n\r\n{")
    await _trickle(connection, b" ")


async def trickles_chunks(connection: Wire) -> None:
    """Sends a chunk now and then."""
    await connection.say(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    await _trickle(connection, b"1\r\n \r\n")


async def trickles_an_extension(connection: Wire) -> None:
    """Sends the extension of a chunk, which is content of nothing."""
    await connection.say(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;")
    await _trickle(connection, b"x")


async def trickles_a_body_that_nobody_reads(connection: Wire) -> None:
    """Is answered at once, and goes on."""
    await connection.say(b"POST /deals HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{")
    await _trickle(connection, b" ")


async def _trickle(connection: Wire, data: bytes) -> None:
    while True:
        await asyncio.sleep(PATIENCE / 5)
        await connection.say(data)


WAYS: dict[Slow, list[int]] = {
    says_nothing: [],
    ends_lines: [],
    stops_in_the_head: [408],
    trickles_headers: [408],
    trickles_a_header: [408],
    stops_in_the_body: [408],
    trickles_a_body: [408],
    trickles_chunks: [408],
    trickles_an_extension: [408],
    trickles_a_body_that_nobody_reads: [401],
}


async def _suffer(address: str, way: Slow) -> Heard:
    """What a slow client hears until the service has enough of it."""
    async with wire(address) as connection:
        pushing = asyncio.create_task(_run(way(connection)))
        try:
            return await connection.heard(patience=60)
        finally:
            pushing.cancel()
            await asyncio.gather(pushing, return_exceptions=True)


async def _run(work: Awaitable[None]) -> None:
    await work


async def _served(live: Live, until: Coroutine[Any, Any, None]) -> list[float]:
    """Seconds that each good request took, one after another, until that is done."""
    ending = asyncio.create_task(until)
    took = []
    headers = live.token()
    async with httpx.AsyncClient(base_url=live.service.address, headers=headers, timeout=30) as client:
        while not ending.done():
            for ask in (client.get("/deals"), client.post("/graphql", json={"query": "{ deals { totalCount } }"})):
                began = time.perf_counter()
                answer = await ask
                took.append(time.perf_counter() - began)
                assert answer.status_code == 200
                await asyncio.sleep(0.01)
    await ending
    return took


async def test_four_hundred_slow_sockets_are_gone_soon_while_others_are_served(live: Live) -> None:
    async def alone() -> None:
        await asyncio.sleep(PATIENCE)

    before = await _served(live, alone())
    ways = [way for _, way in zip(range(SOCKETS), _for_ever(), strict=False)]
    heard: list[Heard] = []

    async def slow() -> None:
        heard.extend(await asyncio.gather(*(_suffer(live.service.address, way) for way in ways)))

    began = time.monotonic()
    meanwhile = await _served(live, slow())
    gone = time.monotonic() - began
    assert all(one.closed for one in heard)
    assert [one.statuses for one in heard] == [WAYS[way] for way in ways]
    print(
        f"{SOCKETS} slow sockets gone in {gone:.1f} s; good requests {_figures(before)} before, {_figures(meanwhile)}"
    )
    assert _percentile(meanwhile, 0.5) < 10 * _percentile(before, 0.5)


def _for_ever() -> Any:
    while True:
        yield from WAYS


def _percentile(took: list[float], part: float) -> float:
    return sorted(took)[int(len(took) * part)]


def _figures(took: list[float]) -> str:
    return f"{len(took)}: p50 {_percentile(took, 0.5) * 1000:.1f} ms, p99 {_percentile(took, 0.99) * 1000:.1f} ms"


@pytest.mark.parametrize("path", ["/graphql", "/deals"])
async def test_who_is_slow_is_told_in_the_shape_of_its_surface(live: Live, path: str) -> None:
    heard = await exchange(live.service.address, f"POST {path} HTTP/1.1\r\nHost: a\r\n".encode())
    assert (heard.statuses, heard.closed) == ([408], True)
    answer = json.loads(heard.body)
    if path == "/graphql":
        [error] = answer["errors"]
        assert error["message"] == "The request did not arrive in time"
        assert error["extensions"].pop("request_id") == heard.headers["x-request-id"]
        assert error["extensions"] == {"code": "REQUEST_TIMEOUT"}
    else:
        assert answer == {
            "detail": "The request did not arrive in time",
            "code": "request_timeout",
            "request_id": heard.headers["x-request-id"],
        }
    line = next(line for line in live.service.log.read_text().splitlines() if heard.headers["x-request-id"] in line)
    assert f"method='POST' path='{path}' status=408" in line


@pytest.mark.parametrize("behind", [b"{}" * 500, b"{}" * 500 + b"\r\n"], ids=["its body", "its body and a blank line"])
async def test_what_comes_behind_an_answer_takes_no_time_of_the_next_head(live: Live, behind: bytes) -> None:
    """A head has its time from its first byte (decision 106)."""
    async with wire(live.service.address) as connection:
        await connection.say(b"POST /deals HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
        assert (await connection.head()).startswith(b"HTTP/1.1 401 ")
        await connection.say(behind)
        await asyncio.sleep(0.7 * PATIENCE)
        await connection.say(b"GET /health HTTP/1.1\r\n")
        await asyncio.sleep(0.7 * PATIENCE)
        await connection.say(b"Host: a\r\nConnection: close\r\n\r\n")
        assert (await connection.heard()).statuses == [200]


async def test_a_long_body_has_the_time_that_it_needs(live: Live) -> None:
    """At 32 KiB a second, twice what is asked for, it takes more than the patience with a short one."""
    body = json.dumps({"query": "{ __typename }"}).encode() + b" " * int(65_536 * PATIENCE)

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 3_277):
            yield body[start : start + 3_277]
            await asyncio.sleep(0.1)

    headers = live.token() | {"Content-Type": "application/json"}
    began = time.monotonic()
    async with httpx.AsyncClient(base_url=live.service.address, timeout=60) as client:
        answer = await client.post("/graphql", content=pieces(), headers=headers)
    assert (answer.status_code, answer.json()["data"]) == (200, {"__typename": "Query"})
    assert time.monotonic() - began > 1.5 * PATIENCE


@pytest.mark.parametrize("takes", [0, 131_072])
async def test_who_does_not_read_is_cut_off(start: Start, monkeypatch: pytest.MonkeyPatch, takes: int) -> None:
    """Unless at least something is read, whatever else is asked for on the connection."""
    monkeypatch.setattr("gateway.server.write_timeout.ANSWER_STALL_SECONDS", 1)
    monkeypatch.setattr("gateway.server.write_timeout._STALL_BYTES", 4_096)
    loop = asyncio.get_running_loop()
    async with start() as gateway:
        name = max((file.size, name) for name, file in _files().items())[1]
        config = Config(gateway.app, log_config=None, lifespan="off")
        connections: list[HttpServerProtocol] = []

        def connected() -> HttpServerProtocol:
            security = SecurityHeaders(None)
            connections.append(HttpServerProtocol(config, ServerState(), {}, loop, seconds=1, security=security))
            return connections[-1]

        server = await loop.create_server(connected, "127.0.0.1", 0)
        async with server:
            with socket.create_connection(server.sockets[0].getsockname()) as client:
                client.setblocking(False)
                client.sendall(f"GET /static/{name} HTTP/1.1\r\nHost: a\r\n\r\n".encode() * 3)
                ends = loop.time() + 4
                while loop.time() < ends:
                    await asyncio.sleep(0.05)
                    with suppress(BlockingIOError, ConnectionError):
                        client.recv(takes or 1)
                [connection] = connections
                assert connection.transport.is_closing() == (takes == 0)


async def test_connections_that_nobody_uses_are_closed(live: Live) -> None:
    heard = await exchange(live.service.address, b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
    assert (heard.statuses, heard.closed) == ([200], True)
    assert heard.seconds > 4
