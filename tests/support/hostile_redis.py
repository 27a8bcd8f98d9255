"""What may answer on the port of Redis and is none: servers that say anything, for ever, slowly, or not at all."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from itertools import count

from contract.limits import REDIS_SECONDS

Reply = Callable[[], AsyncIterator[bytes]]

CHUNK = 65_536


def once(data: bytes) -> Reply:
    """These bytes, and no more."""

    async def reply() -> AsyncIterator[bytes]:
        yield data

    return reply


def endless(head: bytes, piece: bytes) -> Reply:
    """The first bytes, and then the others for as long as anybody takes them."""

    async def reply() -> AsyncIterator[bytes]:
        yield head
        while True:
            yield piece * (CHUNK // len(piece))

    return reply


def dripping(data: bytes) -> Reply:
    """A byte at a time, so slowly that no whole answer comes in time, and all of them again and again."""

    async def reply() -> AsyncIterator[bytes]:
        for number in count():
            yield data[number % len(data) :][:1]
            await asyncio.sleep(2 * REDIS_SECONDS / len(data))

    return reply


REPLIES: dict[str, Reply] = {
    "a web server": once(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}"),
    "a mail server": once(b"220 mail.example ESMTP\r\n500 What?\r\n"),
    "a line without an end": endless(b"+", b"a"),
    "a number without an end": endless(b":", b"1"),
    "an error without an end": endless(b"-ERR ", b"a"),
    "bytes without an end": endless(b"", b"\x00"),
    "lines without an end": endless(b"", b"+OK\r\n"),
    "a text of a terabyte": endless(b"$1000000000000\r\n", b"a"),
    "a list of a billion": endless(b"*1000000000\r\n", b":1\r\n"),
    "a list of empty lists": endless(b"*1000000000\r\n", b"*0\r\n"),
    "lists within lists": endless(b"", b"*1\r\n"),
    "a few lists within lists": once(b"*1\r\n" * 150 + b":1\r\n"),
    "a list of long texts": endless(b"*3\r\n", b"$60000\r\n" + b"a" * 60_000 + b"\r\n"),
    "OK": once(b"+OK\r\n"),
    "nothing there": once(b"$-1\r\n"),
    "no list": once(b"*-1\r\n"),
    "an empty list": once(b"*0\r\n"),
    "too short a list": once(b"*1\r\n:1\r\n"),
    "too long a list": once(b"*4\r\n:1\r\n:0\r\n:0\r\n:0\r\n"),
    "texts": once(b"*3\r\n$1\r\n1\r\n$1\r\n0\r\n$1\r\n0\r\n"),
    "lists": once(b"*3\r\n:1\r\n*0\r\n*0\r\n"),
    "errors": once(b"*3\r\n-ERR a\r\n-ERR b\r\n-ERR c\r\n"),
    "numbers below zero": once(b"*3\r\n:1\r\n:-5\r\n:-5\r\n"),
    "numbers beyond anything": once(b"*3\r\n:1\r\n:99999999999999999999999999\r\n:0\r\n"),
    "another yes": once(b"*3\r\n:2\r\n:0\r\n:0\r\n"),
    "a number of letters": once(b":abc\r\n"),
    "a length of letters": once(b"$abc\r\nx\r\n"),
    "a length below zero": once(b"$-7\r\nx\r\n"),
    "a list below zero": once(b"*-7\r\n"),
    "a type that there is not": once(b"!oops\r\n"),
    "half a line": once(b"*3\r\n:1"),
    "an empty line": once(b"\r\n"),
    "no characters": once(b"-\xff\xfe\xfd\r\n"),
    "moved": once(b"-MOVED 1 10.255.255.1:6379\r\n"),
    "never a script": once(b"-NOSCRIPT no\r\n"),
    "a drip": dripping(b"*3\r\n:1\r\n:0\r\n:0\r\n"),
    "silence": once(b""),
}


class HostileRedis:
    """A server that says the same to everything; one that is `polite` says so only of scripts, and OK before that."""

    def __init__(self, reply: Reply, port: int = 0, *, polite: bool = False) -> None:
        self._reply = reply
        self._port = port
        self._polite = polite
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.asked = 0

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/3"

    async def __aenter__(self) -> HostileRedis:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(OSError):
                while asked := await reader.read(CHUNK):
                    await self._answer(asked, writer)
        finally:
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, asked: bytes, writer: asyncio.StreamWriter) -> None:
        if self._polite and b"EVALSHA" not in asked and b"SCRIPT" not in asked:
            writer.write(b"+PONG\r\n" if b"PING" in asked else b"+OK\r\n" * asked.count(b"*"))
            await writer.drain()
            return
        self.asked += 1
        async for piece in self._reply():
            writer.write(piece)
            await writer.drain()
