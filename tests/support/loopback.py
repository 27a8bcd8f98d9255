"""A provider's server on the loopback interface: it answers as it is told, and keeps what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass
class Asked:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}"


@dataclass
class Reply:
    """What goes back: JSON, or bytes as they are; `silent` seconds pass before it, `whole` is all of the response."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    silent: float = 0
    whole: bytes | None = None
    drip: bool = False
    pieces: Sequence[bytes | float] = ()
    """Bytes of a body without a length, and the seconds that pass between them; its end is the connection's."""
    stays: bool = False
    """Whether the connection stays open behind the pieces, until the client ends it."""

    def content(self) -> bytes:
        if self.whole is not None:
            return self.whole
        if isinstance(self.body, bytes):
            payload = self.body
        else:
            payload = b"" if self.body is None else json.dumps(self.body).encode()
        length = {} if self.pieces else {"Content-Length": str(len(payload))}
        headers = {"Content-Type": "application/json", **length, **self.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"HTTP/1.1 {self.status} X\r\n{lines}Connection: close\r\n\r\n".encode() + payload


Answer = Callable[[Asked], Reply]


class Loopback:
    """The server; `answer` may be replaced at any time."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.url = ""
        self.left = 0
        """Connections that clients ended."""
        self.serving: set[asyncio.Task[Any]] = set()

    @property
    def lines(self) -> list[str]:
        return [asked.line for asked in self.asked]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        try:
            await self._serve(reader, writer)
        finally:
            writer.close()
            self.serving.discard(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            method, target, _ = head[0].split(" ")
            headers = {n.lower(): v for n, _, v in (line.partition(": ") for line in head[1:] if line)}
            content = await reader.readexactly(int(headers.get("content-length", "0")))
            parts = urlsplit(target)
            body = json.loads(content) if content else None
            asked = Asked(method, unquote(parts.path), dict(parse_qsl(parts.query)), headers, body)
            self.asked.append(asked)
            reply = self.answer(asked)
            await asyncio.sleep(reply.silent)
            if reply.drip:
                for byte in reply.content():
                    writer.write(bytes([byte]))
                    await writer.drain()
                    await asyncio.sleep(0.3)
                return
            writer.write(reply.content())
            await writer.drain()
            for piece in reply.pieces:
                if isinstance(piece, float):
                    await asyncio.sleep(piece)
                else:
                    writer.write(piece)
                    await writer.drain()
            if reply.stays and not await reader.read(1):
                self.left += 1


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[Loopback]:
    """The server, while the block runs."""
    loopback = Loopback(answer)
    server = await asyncio.start_server(loopback.serve, "127.0.0.1", 0)
    loopback.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield loopback
    finally:
        server.close()
        for task in list(loopback.serving):
            task.cancel()
        await asyncio.gather(*loopback.serving, return_exceptions=True)
