"""uvicorn below its documented surface, which is `run`, `Config` and `Server`.

Its protocols are extended because deadlines, limits and one reading of every request have to be decided between the
parser and the application (decision 105). tests/adapters/test_uvicorn.py names every member that is relied on, with its
purpose and what it has to look like.
"""

import asyncio
import socket
from functools import lru_cache

import uvicorn
from uvicorn._types import ASGI3Application, ASGISendEvent
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from uvicorn.supervisors import multiprocess

__all__ = [
    "STATUS_LINE",
    "ASGI3Application",
    "ASGISendEvent",
    "HttpProtocol",
    "Multiprocess",
    "Process",
    "RequestResponseCycle",
    "ServerState",
    "WebSocketProtocol",
]


_EARLY = 0.001
"""The seconds by which a loop may call earlier than it was asked to."""


@lru_cache(maxsize=500)
def _line(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """A header's line, and its name where it says how the answer ends. Raises RuntimeError for what is no header."""
    if HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
        raise RuntimeError("Invalid HTTP header.")
    name = name.lower()
    return b"%b: %b\r\n" % (name, value), name if name in _ENDINGS else b""


_ENDINGS = frozenset({b"content-length", b"transfer-encoding", b"connection"})


class Event:
    """An `asyncio.Event` for one that waits or few: it has no queue, which alone takes 600 bytes (decision 1171)."""

    __slots__ = ("_is_set", "_waiting")

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: tuple[asyncio.Future[None], ...] = ()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    def clear(self) -> None:
        self._is_set = False

    async def wait(self) -> bool:
        """Return once it is set, as soon as it was, whether or not it was cleared since."""
        if self._is_set:
            return True
        waiting = asyncio.get_running_loop().create_future()
        self._waiting += (waiting,)
        try:
            await waiting
        finally:
            self._waiting = tuple(one for one in self._waiting if one is not waiting)
        return True


class Flow(FlowControl):
    """What holds reading and writing back on a connection, with the small event."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.read_paused = self.write_paused = False
        self._is_writable_event = Event()  # type: ignore[assignment]  # enough of one
        self._is_writable_event.set()


class _Pipeline(list[tuple[RequestResponseCycle, ASGI3Application]]):
    """The few requests behind the one under way, the newest first."""

    __slots__ = ()

    def appendleft(self, waiting: tuple[RequestResponseCycle, ASGI3Application]) -> None:
        self.insert(0, waiting)


class Cycle(RequestResponseCycle):
    """A request and its answer, the head of which is put together of lines that are kept: most are always the same."""

    async def send(self, message: ASGISendEvent) -> None:
        """Send what the application says: the head as the base class does, all else by that."""
        if self.response_started or message["type"] != "http.response.start" or self.flow.write_paused:
            await super().send(message)
            return
        if self.disconnected:
            return
        self.response_started = True
        self.waiting_for_100_continue = False
        status, closes = message["status"], False
        content = [STATUS_LINE[status]]
        for name, value in (*self.default_headers, *message.get("headers", ())):
            line, ending = _line(name, value)
            content.append(line)
            if not ending:
                continue
            if ending == b"content-length" and self.chunked_encoding is None:
                self.expected_content_length, self.chunked_encoding = int(value), False
            elif ending == b"transfer-encoding" and value.lower() == b"chunked":
                self.expected_content_length, self.chunked_encoding = 0, True
            elif ending == b"connection" and b"close" in [token.lower().strip() for token in value.split(b",")]:
                self.keep_alive, closes = False, True
        if not (self.keep_alive or closes):
            content.append(b"connection: close\r\n")
        if self.chunked_encoding is None and self.scope["method"] != "HEAD" and status not in (204, 304):
            self.chunked_encoding = True
            content.append(b"transfer-encoding: chunked\r\n")
        content.append(b"\r\n")
        self.transport.write(b"".join(content))


# The protocol makes its cycles and flows by these names, and takes no other classes for them.
httptools_impl.RequestResponseCycle = Cycle  # type: ignore[misc]
httptools_impl.FlowControl = Flow  # type: ignore[attr-defined]


def forget(cycle: RequestResponseCycle) -> None:
    """Have a request that is never begun let go of its connection."""
    cycle.on_response = _nothing


def _nothing() -> None:
    """What a cycle calls that has ended, too."""


class HttpProtocol(HttpToolsProtocol):
    """The HTTP protocol, with public names for what a subclass uses and overrides.

    A connection that idles has one timer, which looks when it could have idled for too long: the base class sets one
    behind each answer, and takes it back with the next request. Attributes of ours have slots: with those of the base
    class they are more than Python keeps the names of once for all instances (decision 1171).
    """

    __slots__ = ("_idle_since", "_idle_timer")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        super().connection_made(transport)
        self.pipeline = _Pipeline()  # type: ignore[assignment]  # enough of one
        self._idle_since: float | None = None
        self._idle_timer: asyncio.TimerHandle | None = None

    def on_headers_complete(self) -> None:
        before = self.cycle
        super().on_headers_complete()
        if self.cycle is not before:
            self.cycle.message_event = Event()  # type: ignore[assignment]  # enough of one; its task begins later

    def on_response_complete(self) -> None:
        """An answer is written: begin with the next request that is there, or wait for one."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self._unset_keepalive_if_required()
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        self._idle_since = self.loop.time()
        if self._idle_timer is None:
            self._idle_timer = self.loop.call_later(self.timeout_keep_alive, self._look_at_idleness)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._idle_since = None
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def _look_at_idleness(self) -> None:
        self._idle_timer = None
        if self._idle_since is None:
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > _EARLY:
            self._idle_timer = self.loop.call_later(left, self._look_at_idleness)
        else:
            self.timeout_keep_alive_handler()

    def _unset_keepalive_if_required(self) -> None:
        self._idle_since = None

    def asked_upgrade(self) -> bytes | None:
        """The protocol that the request upgrades to, in lower case; to be overridden."""
        return super()._get_upgrade()

    def begins(self, cycle: RequestResponseCycle) -> None:
        """The application is about to be started for the request; to be overridden."""

    def follows_upgrade(self) -> bool:
        """Says whether the connection is to change to what the request upgrades to."""
        return self._should_upgrade()

    def end_idleness(self) -> None:
        self._unset_keepalive_if_required()

    def _get_upgrade(self) -> bytes | None:
        return self.asked_upgrade()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self.begins(cycle)
        super()._start_asgi_task(cycle, app)


WebSocketProtocol = WebSocketsSansIOProtocol


def is_idle(connection: object) -> bool:
    """Says whether an HTTP connection waits for a request; a WebSocket never does."""
    cycle = getattr(connection, "cycle", connection)
    return cycle is None or bool(getattr(cycle, "response_complete", False))


def stop_listening(server: uvicorn.Server) -> None:
    """Take no further connections, and keep those that there are."""
    listening: list[asyncio.Server] = server.servers
    for one in listening:
        one.close()


class Process(multiprocess.Process):
    """A process of the supervisor, with a server that `make_server` makes."""

    def make_server(self) -> uvicorn.Server:
        """The server that the process runs; to be overridden."""
        return uvicorn.Server(self.config)

    @property
    def server(self) -> uvicorn.Server:
        if self._server is None:
            self._server = self.make_server()
        return self._server


class Multiprocess(multiprocess.Multiprocess):
    """The supervisor, whose processes are of the given class."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], kind: type[Process]) -> None:
        # The supervisor makes its processes by this name, and takes no other class for them.
        multiprocess.Process = kind  # type: ignore[misc]
        super().__init__(config, sockets)
