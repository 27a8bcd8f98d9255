"""The server's configuration: what is the same for each of its processes."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import uvicorn

from gateway.server.shutdown import GRACEFUL_SECONDS
from gateway.settings import Settings

if TYPE_CHECKING:
    from starlette.applications import Starlette


class Config(uvicorn.Config):
    """Configures the server. Its protocols and the application are loaded by the process that serves (decision 900)."""

    def __init__(self, make: "Callable[[], Starlette]", settings: Settings, *, silence_seconds: int) -> None:
        super().__init__(
            make,
            factory=True,
            workers=settings.workers,
            loop="uvloop",
            ws_per_message_deflate=False,  # its windows would be most of what an idle connection costs
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACEFUL_SECONDS,
            timeout_worker_healthcheck=silence_seconds,
        )
        self._settings = settings

    def load(self) -> None:
        """Load the protocols, then what uvicorn loads."""
        from gateway.middleware.security_headers import SecurityHeaders
        from gateway.server.http_protocol import HttpServerProtocol
        from gateway.server.unfinished_messages import Unfinished
        from gateway.server.websocket_protocol import WebSocketServerProtocol

        seconds, security = self._settings.receive_seconds, SecurityHeaders(self._settings.public_url)
        self.http = partial(HttpServerProtocol, seconds=seconds, security=security)  # type: ignore[assignment]
        self.ws = partial(  # type: ignore[assignment]  # both are called, as the classes would be
            WebSocketServerProtocol, security=security, unfinished=Unfinished(), seconds=seconds
        )
        super().load()
