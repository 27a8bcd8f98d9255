"""The server's WebSocket protocol, with what it lacks for clients that do not read (decision 83)."""

import logging
from email.utils import formatdate
from http import HTTPStatus
from secrets import token_hex
from typing import Any

from starlette.exceptions import HTTPException
from uvicorn._types import ASGISendEvent
from uvicorn.config import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.datastructures import Headers
from websockets.http11 import Response
from websockets.server import ServerProtocol
from websockets.typing import StatusLike

from gateway.security_headers import SecurityHeaders
from rest_compat.errors import error_response

_CUT_SECONDS = 5.0


class _Handshake(ServerProtocol):
    """Refuses in the gateway's words."""

    def __init__(self, security: SecurityHeaders, **options: Any) -> None:
        super().__init__(**options)
        self._security = security

    def reject(self, status: StatusLike, text: str) -> Response:
        """The answer to a handshake that the application does not know of; the library's words are not used."""
        request_id = token_hex(16)
        answer = error_response(HTTPException(int(status)), request_id)
        given = self._security.around(answer.raw_headers, "")
        headers = Headers((name.decode(), value.decode()) for name, value in given)
        headers.update({"Date": formatdate(usegmt=True), "Connection": "close", "X-Request-Id": request_id})
        return Response(int(status), HTTPStatus(status).phrase, headers, bytes(answer.body))


class Sockets(WebSocketsSansIOProtocol):
    """Never buffers more for a peer than one message beyond the transport's mark, and never waits for it for good.

    When the server ends, open connections are left to the application, which is told too and closes them itself.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: Any = None,
        *,
        security: SecurityHeaders,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        # The lines of the server and its library would have the whole address in them; the gateway writes its own.
        self.logger = logging.getLogger(__name__)
        self.conn = _Handshake(security, max_size=config.ws_max_size, logger=self.logger)
        # Nor may the library write frames and headers, at whatever level: the ends of tokens stand in them.
        self.conn.debug = False

    def handle_ping(self) -> None:
        """Answer, unless the answers are not read."""
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
        """The server ends."""
        self.stop_keepalive()
        if self.close_sent or not self.handshake_complete:
            super().shutdown()
