"""The load generator notices whatever is not the response that it was told to expect."""

from __future__ import annotations

import asyncio
import contextlib
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from benchmarks import load

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@asynccontextmanager
async def answering(*pieces: bytes) -> AsyncIterator[int]:
    """A server that answers each request with these pieces, one packet each."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError), contextlib.closing(writer):
            while await reader.read(1000):
                for piece in pieces:
                    writer.write(piece)
                    await asyncio.sleep(0.001)

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def measure(port: int, *, length: int = 5, slack: int = 0, status: int = 200) -> dict[str, float | str]:
    return await load.measure(
        {
            "port": port,
            "requests": [b64encode(REQUEST).decode()] * 3,
            "lengths": [length] * 3,
            "slack": slack,
            "status": status,
            "connections": 4,
            "seconds": 0.2,
            "warm_up": 0.02,
        }
    )


async def test_a_response_in_pieces_is_one_response() -> None:
    async with answering(b"HTTP/1.1 200 OK\r\nConte", b"nt-Length: 5\r\n\r\nhe", b"llo") as port:
        result = await measure(port)
    assert set(result) == {"requests_per_second", "p50_ms", "p99_ms", "responses"}
    assert 0 < float(result["p50_ms"]) <= float(result["p99_ms"])
    # Four connections that wait three milliseconds or more for each response.
    assert load.LEAST / 0.2 <= float(result["requests_per_second"]) < 4 / 0.002


async def test_a_length_may_differ_by_the_slack_alone() -> None:
    async with answering(b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nhello, ") as port:
        assert "failure" not in await measure(port, slack=2)
        assert "expected 5 bytes" in str((await measure(port, slack=1))["failure"])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 503 Away\r\ncontent-length: 5\r\n\r\nhello", "expected 5 bytes, got b'HTTP/1.1 503"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhell", "expected 5 bytes"),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", "expected 5 bytes"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello!", "more bytes than were announced"),
    ],
)
async def test_another_response_ends_the_measurement(answer: bytes, reason: str) -> None:
    async with answering(answer) as port:
        assert reason in str((await measure(port))["failure"])


async def test_an_expected_status_is_fine() -> None:
    async with answering(b"HTTP/1.1 201 Created\r\ncontent-length: 5\r\n\r\nhello") as port:
        assert "failure" not in await measure(port, status=201)
