"""The server's configuration: what is the same for each of its processes."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

import uvicorn

from gateway.server.shutdown import GRACEFUL_SECONDS

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from gateway.settings import Settings

SILENCE_SECONDS: Final = 60
"""The seconds for which one of several processes may say nothing, as while it starts, before it is replaced."""


class Config(uvicorn.Config):
    """Configures the server. Its protocols and the application are loaded by the process that serves (decision 900).

    So are the settings: a supervisor knows where they are, and how many `workers` there are to be (decision 1192).
    """

    def __init__(self, settings: "Callable[[], Settings]", *, demo: bool, workers: int) -> None:
        super().__init__(
            self.make,
            factory=True,
            workers=workers,
            loop="uvloop",
            ws_per_message_deflate=False,  # its windows would be most of what an idle connection costs
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACEFUL_SECONDS,
            timeout_worker_healthcheck=SILENCE_SECONDS,
        )
        self._settings_of = settings
        self._demo = demo

    @cached_property
    def _settings(self) -> "Settings":
        return self._settings_of()

    def make(self) -> "Starlette":
        """Make the application."""
        from gateway.app import create

        return create(self._settings, demo=self._demo, beside=True)

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
