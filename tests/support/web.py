"""A small web server on loopback whose every byte the test decides."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

_TLS_HANDSHAKE = b"\x16"


@dataclass(frozen=True)
class Asked:
    """A request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """What the server sends. Without `length` the body is sent to the end of the connection."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/html; charset=utf-8"})
    length: bool = True
    wait: float = 0.0
    """Seconds between the headers and the body."""
    wait_first: float = 0.0
    """Seconds before the headers."""
    until: asyncio.Event | None = None
    """What the body waits for besides."""


@dataclass
class Web:
    """The running server: `asked` are the requests so far, `names` those of the TLS handshakes."""

    port: int
    replies: dict[str, Reply | Callable[[Asked], Reply]]
    asked: list[Asked] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.asked]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            first = await reader.readexactly(1)
            if first == _TLS_HANDSHAKE:  # without a certificate; hang up, as web servers do, and let nobody wait
                return
            head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path, _ = head[0].split(" ")
            headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in head[1:] if line)}
            asked = Asked(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))
            self.asked.append(asked)
            reply = self.replies.get(path, Reply(b"nothing here", 404, {"Content-Type": "text/plain"}))
            await self._send(reply if isinstance(reply, Reply) else reply(asked), writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client went away
        finally:
            writer.close()

    async def _send(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(reply.wait_first)
        lines = [f"HTTP/1.1 {reply.status} Said", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        if reply.length:
            lines.append(f"Content-Length: {len(reply.body)}")
        writer.write("\r\n".join([*lines, "", ""]).encode())
        await writer.drain()
        await asyncio.sleep(reply.wait)
        if reply.until is not None:
            await reply.until.wait()
        writer.write(reply.body)
        await writer.drain()


@asynccontextmanager
async def open_web(
    replies: dict[str, Reply | Callable[[Asked], Reply]], certificate: ssl.SSLContext | None = None
) -> AsyncIterator[Web]:
    """The server, listening; with a certificate it speaks TLS."""
    web = Web(0, replies)
    if certificate is not None:
        certificate.sni_callback = lambda _socket, name, _context: web.names.append(name)
    server = await asyncio.start_server(web.serve, "127.0.0.1", 0, ssl=certificate)
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        server.close()
