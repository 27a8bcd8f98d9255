"""The line between a process that serves and the worker beside it (decision 1182).

Each tells the other where something was committed, which on SQLite no database does; PostgreSQL's processes hear of
that anyway. The worker also says every second whether it works, and ends where its server is gone.
"""

import asyncio
import re
import socket
from collections.abc import Callable

from storage.change_feed import ChangeFeed
from storage.postgres.pg_notify import APART_SECONDS

_WORKS, _WORKS_NOT = b"+", b"-"
_ORGANIZATION = re.compile(rb"=([0-9a-f-]{36})")
_UNREAD_MAX = 64 * 1024
"""The bytes that may wait for the other process. It looks at the database each second all the same."""


class Link(asyncio.Protocol):
    """One end of the line, in the loop of its process."""

    def __init__(self, heard: Callable[[str], None], *, stated: Callable[[bool], None], ended: asyncio.Event) -> None:
        """`heard` is called with each organization that is named, `stated` with what the worker says of itself.

        `ended` is set when the other process is gone.
        """
        self._heard = heard
        self._stated = stated
        self._ended = ended
        self._untold: set[str] = set()
        self._telling: asyncio.TimerHandle | None = None
        self._told_at = 0.0
        self._rest = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.WriteTransport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if (named := _ORGANIZATION.fullmatch(line)) is not None:
                self._heard(named[1].decode())
            elif line in (_WORKS, _WORKS_NOT):
                self._stated(line == _WORKS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._ended.set()

    def tell(self, organization: str) -> None:
        """Have the other process look at the organization, at most so often."""
        self._untold.add(organization)
        if self._telling is None:
            loop = asyncio.get_running_loop()
            self._telling = loop.call_at(max(loop.time(), self._told_at + APART_SECONDS), self._tell)

    def state(self, *, works: bool) -> None:
        """Say whether this worker works."""
        self._say([_WORKS if works else _WORKS_NOT])

    def close(self) -> None:
        """End the line, which the other process notices."""
        if self._telling is not None:
            self._telling.cancel()
        if self._transport is not None:
            self._transport.close()

    def _tell(self) -> None:
        self._telling, self._told_at = None, asyncio.get_running_loop().time()
        organizations, self._untold = sorted(self._untold), set()
        if self._transport is not None and self._transport.get_write_buffer_size() < _UNREAD_MAX:
            self._say([b"=" + organization.encode() for organization in organizations])

    def _say(self, lines: list[bytes]) -> None:
        if self._transport is not None:
            self._transport.write(b"".join(line + b"\n" for line in lines))


async def linked(
    line: socket.socket,
    feed: ChangeFeed,
    *,
    stated: Callable[[bool], None] = lambda _works: None,
    ended: asyncio.Event | None = None,
) -> Link:
    """One end of the line, in the running loop. Who is told what: `Link`."""
    line.setblocking(False)
    link = Link(feed.hear, stated=stated, ended=ended or asyncio.Event())
    await asyncio.get_running_loop().create_connection(lambda: link, sock=line)
    return link
