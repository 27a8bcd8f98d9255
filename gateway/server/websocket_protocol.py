"""The server's WebSocket protocol, with what it lacks for clients that do not read, or that send without an end.

Who does not read is decision 83, what is sent decision 137.
"""

import logging
from asyncio import AbstractEventLoop, TimerHandle
from email.utils import formatdate
from http import HTTPStatus
from secrets import token_hex
from typing import Any

from starlette.exceptions import HTTPException
from uvicorn import Config
from websockets import CloseCode, Frame
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.typing import StatusLike

from contract.limits import (
    ANONYMOUS_BODY_MAX_BYTES,
    BODY_BYTES_PER_SECOND,
    SOCKET_FRAGMENTS_MAX,
    SOCKET_INIT_MAX_BYTES,
    SOCKET_MESSAGE_MAX_BYTES,
    SOCKET_QUEUED_MAX,
)
from gateway.adapters.uvicorn import ASGISendEvent, ServerState, WebSocketProtocol
from gateway.adapters.websockets import QuietProtocol
from gateway.middleware.security_headers import SecurityHeaders
from gateway.server.unfinished_messages import Unfinished
from transport.errors import error_response

RECEIVED = "crm.received"
"""The extension by which the application says whose messages these are, and that long ones may come."""

_CUT_SECONDS = 5.0
_LINGER_SECONDS = 2.0


class _Handshake(QuietProtocol):
    """Refuses in the gateway's words."""

    def __init__(self, security: SecurityHeaders, **options: Any) -> None:  # those of the library
        super().__init__(**options)
        self._security = security

    def reject(self, status: StatusLike, text: str) -> Response:
        """The answer to a handshake that the application does not know of; the library's words are not used."""
        request_id = token_hex(16)
        answer = error_response(HTTPException(int(status)), request_id)
        given = self._security.around(answer.raw_headers)
        headers = Headers((name.decode(), value.decode()) for name, value in given)
        headers.update({"Date": formatdate(usegmt=True), "Connection": "close", "X-Request-Id": request_id})
        return Response(int(status), HTTPStatus(status).phrase, headers, bytes(answer.body))


class WebSocketServerProtocol(WebSocketProtocol):
    """Never buffers more for a peer than one message beyond the transport's mark, and never waits for it for good.

    Of what a peer sends there is one message at most, in so many pieces, and only for as long as a body may take.
    When the server ends, open connections are left to the application, which is notified too and closes them itself.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],  # as the server has it
        _loop: AbstractEventLoop | None = None,
        *,
        security: SecurityHeaders,
        unfinished: Unfinished,
        seconds: float,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._unfinished = unfinished
        self._seconds = seconds
        self._address = ""
        self._kept = 0
        """Bytes of a message that is not whole yet, and since when there are any."""
        self._kept_since = 0.0
        self._timer: TimerHandle | None = None
        self._over = False
        # The lines of the server and its library would have the whole address in them; the gateway writes its own.
        self.logger = logging.getLogger(__name__)
        self.conn = self._messages = _Handshake(security, max_size=SOCKET_INIT_MAX_BYTES, logger=self.logger)

    # What the application says.

    def belong_to(self, address: str) -> None:
        self._keep(0)
        self._address = address

    def begin(self, *, is_anonymous: bool) -> None:
        """Take messages of any length that a message may have; of who shows no credential, what a body may be."""
        self._messages.take(ANONYMOUS_BODY_MAX_BYTES if is_anonymous else SOCKET_MESSAGE_MAX_BYTES)

    # What comes.

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if self.client is not None:
            self._address = self.client[0]
        if not self.handshake_complete:  # it was not refused
            self.scope["extensions"][RECEIVED] = self  # type: ignore[assignment]  # ours

    def data_received(self, data: bytes) -> None:
        if not self._over:
            super().data_received(data)
            self._note_unfinished()

    def _note_unfinished(self) -> None:
        if not self._over and not self._keep(self._messages.unfinished):
            self._end(CloseCode.TRY_AGAIN_LATER, "Too much is unfinished from this address")

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) >= SOCKET_FRAGMENTS_MAX:
            self._end(CloseCode.MESSAGE_TOO_BIG, "A message in too many pieces")
        elif not self._over:
            super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        self._kept_since = self.loop.time()
        if self.queue.qsize() >= SOCKET_QUEUED_MAX:
            self._end(CloseCode.TRY_AGAIN_LATER, "Too many messages at once")
        elif not self._over:
            if self.curr_msg_data_type == "text" and not _is_utf8(self.frames):
                self._end(CloseCode.INVALID_DATA, "A text that is no UTF-8")
            else:
                super().send_receive_event_to_app()

    def connection_lost(self, exc: Exception | None) -> None:
        self._keep(0)
        super().connection_lost(exc)

    def _keep(self, kept: int) -> bool:
        """Notes that so much of a message is there; False if it is too much."""
        if kept == self._kept:
            return True
        if not self._kept:
            self._kept_since = self.loop.time()
        more, self._kept = kept - self._kept, kept
        if kept and self._timer is None:
            self._timer = self.loop.call_later(self._seconds, self._look)
        elif not kept and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return self._unfinished.change(self._address, more)

    def _look(self) -> None:
        """See whether the message has taken too long; while nothing is read, that is not its sender's fault."""
        self._timer = None
        now = self.loop.time()
        if self.read_paused:
            self._kept_since = now
        left = self._kept_since + self._seconds + self._kept / BODY_BYTES_PER_SECOND - now
        if left > 0:
            self._timer = self.loop.call_later(left, self._look)
        else:
            self._end(CloseCode.POLICY_VIOLATION, "A message was not finished in time")

    def _end(self, code: CloseCode, reason: str) -> None:
        """Close, and take nothing more."""
        if not self._over:
            self.conn.fail(code, reason)
            self.handle_parser_exception()

    def handle_parser_exception(self) -> None:
        self._over = True
        self._keep(0)
        self.frames = []
        self._messages.forget()
        closed = None if self.close_sent else self.conn.close_sent
        code = CloseCode.ABNORMAL_CLOSURE if closed is None else closed.code
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code})
        if self.conn.close_sent is None:  # it came before the upgrade was answered
            self.transport.close()
            return
        if closed is not None:
            self.transport.write(b"".join(self.conn.data_to_send()))
        self._linger()

    def _linger(self) -> None:
        """Close so that a peer that still sends gets to read why: a closed socket would take it back."""
        self.close_sent = self.disconnected = True
        self.stop_keepalive()
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        if self.close_timer is not None:
            self.close_timer.cancel()
        self.close_timer = self.loop.call_later(_LINGER_SECONDS, self.transport.close)
        self.transport.write_eof()

    # What the server and the library do.

    def handle_ping(self) -> None:
        """Answer, unless the answers are not read, or nothing is written any more: others may have come with it."""
        if self._over:
            return
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    async def send(self, message: ASGISendEvent) -> None:
        """Send; a close does not wait for what was sent before it to be read."""
        if message["type"] == "websocket.close":
            self.writable.set()
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body"):
            self.handshake_complete = True  # refused, which is no mistake of the application's

    async def run_asgi(self) -> None:
        """Run the application; what the peer has not taken a moment after its end is dropped with the connection."""
        await super().run_asgi()
        self.loop.call_later(_CUT_SECONDS, self.transport.abort)

    def shutdown(self) -> None:
        self.stop_keepalive()
        if self.close_sent or not self.handshake_complete:
            super().shutdown()


def _is_utf8(pieces: list[bytes]) -> bool:
    whole = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    if whole.isascii():
        return True
    try:
        whole.decode()
    except UnicodeDecodeError:
        return False
    return True
