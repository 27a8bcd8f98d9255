"""The server's WebSocket protocol, with what it lacks for clients that do not read (decision 83)."""

import logging
from typing import Any

from uvicorn._types import ASGISendEvent
from uvicorn.config import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

_CUT_SECONDS = 5.0


class Sockets(WebSocketsSansIOProtocol):
    """Never buffers more for a peer than one message beyond the transport's mark, and never waits for it for good.

    When the server ends, open connections are left to the application, which is told too and closes them itself.
    """

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        # The server's own lines would have the whole address in them, and the gateway writes its own.
        self.logger = logging.getLogger(__name__)
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

    async def run_asgi(self) -> None:
        """Run the application; what the peer has not taken a moment after its end is dropped with the connection."""
        await super().run_asgi()
        self.loop.call_later(_CUT_SECONDS, self.transport.abort)

    def shutdown(self) -> None:
        """The server ends."""
        self.stop_keepalive()
        if self.close_sent or not self.handshake_complete:
            super().shutdown()
