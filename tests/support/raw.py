"""Bytes to a service, and the answers that come back, whatever a proper client would say."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

_BEGIN = re.compile(rb"HTTP/1\.1 (\d{3}) [A-Z]")


@dataclass(frozen=True)
class Heard:
    """What came until the service closed, or the time was over."""

    raw: bytes
    closed: bool
    seconds: float

    @property
    def statuses(self) -> list[int]:
        """Those of the answers, in their order."""
        return [int(status) for status in _BEGIN.findall(self.raw)]

    @property
    def headers(self) -> dict[str, str]:
        """Those of the first answer, by name in lower case."""
        lines = self.raw.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}

    @property
    def body(self) -> bytes:
        """That of the first answer, which is taken to be the only one."""
        return self.raw.partition(b"\r\n\r\n")[2]


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def say(self, data: bytes) -> None:
        """Send, if the service still takes it."""
        with suppress(ConnectionError):
            self.writer.write(data)
            await self.writer.drain()

    async def head(self) -> bytes:
        """Until the end of an answer's head."""
        async with asyncio.timeout(60):
            return await self.reader.readuntil(b"\r\n\r\n")

    async def heard(self, patience: float = 60) -> Heard:
        """All that comes."""
        loop = asyncio.get_running_loop()
        began, raw, closed = loop.time(), b"", False
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                with suppress(ConnectionError):  # closed as well, while this end was still sending
                    while piece := await self.reader.read(65_536):
                        raw += piece
                closed = True
        return Heard(raw, closed, loop.time() - began)


@asynccontextmanager
async def wire(address: str) -> AsyncIterator[Wire]:
    """A connection to the service at this address."""
    parts = urlsplit(address)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def exchange(address: str, data: bytes, patience: float = 60) -> Heard:
    """The answer to these bytes."""
    async with wire(address) as connection:
        await connection.say(data)
        return await connection.heard(patience)
