"""The server's HTTP protocol, with what it lacks: deadlines, limits, and one reading of every request.

What a request may look like is decision 105, what it may take decision 106, how it is refused here decision 109.
"""

from asyncio import AbstractEventLoop, TimerHandle, Transport
from enum import Enum, auto
from secrets import token_hex
from typing import Any, NoReturn, cast
from urllib.parse import unquote

import httptools
from starlette.responses import Response
from uvicorn import Config

from contract.errors import BadRequest, GatewayError
from contract.http_errors import AddressTooLong, HeadersTooLarge, TooSlow
from contract.limits import (
    ADDRESS_MAX_BYTES,
    BODY_BYTES_PER_SECOND,
    BODY_MAX_BYTES,
    HEADERS_MAX,
    HEADERS_MAX_BYTES,
    PIPELINED_MAX,
)
from gateway.adapters.uvicorn import STATUS_LINE, HttpProtocol, RequestResponseCycle, ServerState, forget
from gateway.middleware.error_responses import refused
from gateway.middleware.requests import shown
from gateway.middleware.security_headers import SecurityHeaders
from gateway.observability import logs
from gateway.observability.metrics import count_request
from gateway.server.request_head_checks import body_limit_at, declared_length, is_upgrade
from gateway.server.response_buffer import ResponseBuffer
from gateway.server.write_timeout import WriteTimeout
from transport.bodies import body_limit
from transport.request_log import RequestLog

WHOLE = "whole"
"""The word that a request's state says once nothing of it is missing."""

_LINGER_SECONDS = 2.0
_HEAD_MAX_BYTES = ADDRESS_MAX_BYTES + HEADERS_MAX_BYTES + 64
"""The bytes of a head: with its method, its version and the ends of its lines."""
_LINE_BYTES = 4
"""The bytes that a header has besides its name and value."""
_SURFACE = "edge"


class _Part(Enum):
    """The part that comes next on the connection, as far as it has been read."""

    REQUEST = auto()
    HEAD = auto()
    BODY = auto()
    NOTHING = auto()


class _Stopped(Exception):
    """Ends the parser's work on a request that is refused."""


class HttpServerProtocol(HttpProtocol):
    """One connection. `seconds` is the time for a request's head, and for its body besides that of its length."""

    __slots__ = (
        "_came",
        "_fault",
        "_has_begun",
        "_head",
        "_most",
        "_over",
        "_part",
        "_running",
        "_seconds",
        "_security",
        "_timer",
        "_untold",
        "_waiting_since",
        "_write_timeout",
    )

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],  # as the server has it
        _loop: AbstractEventLoop | None = None,
        *,
        seconds: float,
        security: SecurityHeaders,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._seconds = seconds
        self._security = security
        self._part = _Part.REQUEST
        self._came = 0
        """Bytes of the part: of a head with all that came after its beginning, of a body its content."""
        self._head = 0
        """Bytes of its whole headers and trailers."""
        self._untold = 0
        """Bytes that have come of a body since the parser last told of any content or trailer."""
        self._has_begun = False
        """Whether a head has begun in this piece of what comes."""
        self._most = BODY_MAX_BYTES
        """The bytes that the body may have."""
        self._waiting_since: float | None = None
        self._timer: TimerHandle | None = None
        self._write_timeout: WriteTimeout | None = None
        self._fault: GatewayError | None = None
        self._over = False
        """Whether what still comes is dropped."""
        self._running: RequestResponseCycle | None = None

    # What the server calls.

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as in the base class
        super().connection_made(transport)
        self._write_timeout = WriteTimeout(self.loop, transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._still()
        if self._write_timeout is not None:
            self._write_timeout.end()
        super().connection_lost(exc)
        if self._running is not None:  # of several requests at once, the base class notifies the last one alone
            self._running.disconnected = True
            self._running.message_event.set()
        self._forget()

    def data_received(self, data: bytes) -> None:
        if self._over:
            return
        self.end_idleness()
        before, told, self._has_begun = self._part, (self._came, self._head), False
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            if self.follows_upgrade():
                self._still()
                self.handle_websocket_upgrade()
                self._forget()
                self.parser = None  # type: ignore[assignment]  # as where the connection is lost
                return
        except httptools.HttpParserError:
            self._refuse(self._fault or BadRequest("Not a request of HTTP/1.1"))
            return
        if self._part is _Part.NOTHING:
            if self._is_answering():
                return
            self._part, self._came = _Part.REQUEST, 0  # only ends of lines have come, which keep no connection open
        is_one = before is self._part is _Part.BODY and not self._has_begun
        self._untold = self._untold + len(data) if is_one and told == (self._came, self._head) else 0
        # A piece in which a head begins, or a body ends, has more of what was before than of the head.
        if self._part is not _Part.BODY and before is not _Part.BODY and not self._has_begun:
            self._came += len(data)
        if self._untold > _HEAD_MAX_BYTES or (self._part is not _Part.BODY and self._came > _HEAD_MAX_BYTES):
            self._refuse(HeadersTooLarge())
            return
        self._wait()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timeout is not None and not self.transport.is_closing():
            self._write_timeout.end()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writing()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._watch_writing()

    def _forget(self) -> None:
        """Let go of what has this connection and is had by it, which would be rings (decision 1170)."""
        self._drop_queued()
        for cycle in (self._running, self.cycle):
            if cycle is not None:
                _buffer_of(cycle).end()

    def _drop_queued(self) -> None:
        """Let go of the requests that wait behind the one that is being answered."""
        for waiting, _ in self.pipeline:
            forget(waiting)
            _buffer_of(waiting).end()
        self.pipeline.clear()

    # What the parser calls.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._part is _Part.REQUEST and self._running is not None:
            self._waiting_since = self.loop.time()  # what came behind the answer before it is no part of it
        self._part, self._came, self._head, self._has_begun = _Part.HEAD, 0, 0, True

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > ADDRESS_MAX_BYTES:
            self._stop(AddressTooLong())

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which is counted and dropped: it must not change what was decided by the headers."""
        self._head += len(name) + len(value) + _LINE_BYTES
        if self._head > HEADERS_MAX_BYTES:
            self._stop(HeadersTooLarge())
        if self._part is not _Part.HEAD:
            return
        if len(self.headers) >= HEADERS_MAX:
            self._stop(HeadersTooLarge())
        name = name.lower()
        self.headers.append((name, value))
        if name == b"expect":
            self.expect_100_continue = value.lower() == b"100-continue"

    def on_headers_complete(self) -> None:
        """The head is there: refuse it, or have it served."""
        parser = self.parser
        try:
            length = declared_length(parser.get_http_version(), parser.get_method(), self.url, self.headers)
        except BadRequest as fault:
            self._stop(fault)
        if len(self.pipeline) >= PIPELINED_MAX:
            self._stop(BadRequest("Too many requests at once on the connection"))
        upgrade = parser.should_upgrade()
        if upgrade and is_upgrade(self.headers) and self._is_answering():
            self._stop(BadRequest("An upgrade behind requests that are not answered yet"))
        super().on_headers_complete()
        self._part, self._came, self._waiting_since = _Part.BODY, 0, None
        if upgrade:
            if self.follows_upgrade():
                return
            self.cycle.keep_alive = False  # the parser reads no further, whatever the upgrade is to
        answer = ResponseBuffer(self.loop, self.transport, self._linger)
        self.cycle.transport = answer  # type: ignore[assignment]  # enough of one
        self._most = max(body_limit_at(parser.get_method(), self.url), body_limit(self.scope["path"]))
        if length > self._most:
            self._last()

    def on_body(self, body: bytes) -> None:
        """A piece of the body; of one that is too long the application gets more than it takes, and no more."""
        self._came += len(body)
        super().on_body(body)
        if self._came > self._most:
            self._last()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._part, self._waiting_since = _Part.NOTHING, None
        if self.cycle is not None:
            _buffer_of(self.cycle).is_patient = False
        self.scope["state"][WHOLE] = True

    def on_response_complete(self) -> None:
        self._flush()
        super().on_response_complete()
        if self._waiting_since is not None:
            self._waiting_since = self.loop.time()  # until now nothing was read of what comes next
        if self.transport.is_closing():
            self._watch_writing()

    def handle_websocket_upgrade(self) -> None:
        self._over = True
        super().handle_websocket_upgrade()

    def asked_upgrade(self) -> bytes | None:
        """WebSocket is the only protocol that there is besides."""
        return b"websocket" if is_upgrade(self.headers) else None

    def begins(self, cycle: RequestResponseCycle) -> None:
        self._running = cycle

    def _watch_writing(self) -> None:
        if self._write_timeout is not None:
            self._write_timeout.watch()

    def _is_answering(self) -> bool:
        return self._running is not None and not self._running.response_complete

    def _flush(self) -> None:
        """Send what the answer holds back: what follows goes past it, and perhaps ends the connection."""
        if self._running is not None:
            _buffer_of(self._running).flush()

    # Time.

    def _wait(self) -> None:
        """Let the time run for what has not come yet; the one timer looks when it could be over at the earliest."""
        if self._waiting_since is None:
            self._waiting_since = self.loop.time()
        if self._timer is None:
            self._timer = self.loop.call_later(self._seconds, self._look)

    def _still(self) -> None:
        self._waiting_since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._waiting_since is None:
            return
        if self._is_held():
            self._waiting_since = self.loop.time()
        earned = self._came / BODY_BYTES_PER_SECOND if self._part is _Part.BODY else 0.0
        left = self._waiting_since + self._seconds + earned - self.loop.time()
        if left > 0:
            self._timer = self.loop.call_later(left, self._look)
        elif self._part is _Part.REQUEST:
            self.transport.close()
        else:
            self._refuse(TooSlow())

    def _is_held(self) -> bool:
        """Says whether it is not the client's fault that nothing comes."""
        return self.flow.read_paused or (self._part is _Part.BODY and self.cycle.waiting_for_100_continue)

    # Refusals.

    def _stop(self, fault: GatewayError) -> NoReturn:
        self._fault = fault
        raise _Stopped()

    def _refuse(self, error: GatewayError) -> None:
        """End the connection with one answer at most to the request at fault, after those before it."""
        running = self._running
        self._over = True
        self._still()
        self._flush()
        if running is not None and not running.response_complete:
            if self._part is not _Part.BODY or self.pipeline:
                self._drop_queued()
                self.flow.resume_reading()
                running.keep_alive = False
                _buffer_of(running).is_patient = True
                return
            running.disconnected = True
            running.message_event.set()
            if running.response_started:
                self.transport.close()
                return
        elif self._part is _Part.BODY:
            self._linger()  # it was answered before it was all there
            return
        self._write(error)
        self._linger()

    def _write(self, error: GatewayError) -> None:
        request_id = token_hex(16)
        begun = self._part is _Part.HEAD or self._part is _Part.BODY
        path = self.url.partition(b"?")[0].decode("latin-1") if begun else ""
        answer = refused(error, path, request_id)
        self.transport.write(self._bytes(answer, request_id))
        record = RequestLog(request_id, _SURFACE, code=error.code)
        count_request(record, error.status, 0.0)
        if path.startswith("/"):
            method, path = self.parser.get_method().decode(), shown(unquote(path))  # as much of it as has come
        else:
            method = path = "-"
        logs.access.write(method, path, error.status, 0.0, record)

    def _bytes(self, answer: Response, request_id: str) -> bytes:
        headers = [
            *self.server_state.default_headers,
            *self._security.around(answer.raw_headers),
            (b"x-request-id", request_id.encode()),
            (b"connection", b"close"),
        ]
        lines = b"".join(b"%b: %b\r\n" % header for header in headers)
        return STATUS_LINE[answer.status_code] + lines + b"\r\n" + bytes(answer.body)

    def _last(self) -> None:
        """Let the answer to this request be the last one, whatever still comes of its body."""
        self.cycle.keep_alive = False
        if self.cycle.response_complete:
            self._linger()

    def _linger(self) -> None:
        """Close so that a client that still sends gets to read the answer: a closed socket would take it back."""
        self._over = True
        self._still()
        self._drop_queued()
        self.flow.resume_reading()
        if not self.transport.is_closing():
            self.transport.write_eof()
            self.loop.call_later(_LINGER_SECONDS, self.transport.close)
        self._watch_writing()


def _buffer_of(cycle: RequestResponseCycle) -> ResponseBuffer:
    return cast("ResponseBuffer", cycle.transport)
