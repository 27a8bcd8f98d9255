"""uvicorn below its documented surface, which is `run`, `Config` and `Server`.

Its protocols are extended because deadlines, limits and one reading of every request have to be decided between the
parser and the application (decision 105). tests/adapters/test_uvicorn.py names every member that is relied on, with its
purpose and what it has to look like.
"""

import asyncio
import socket

import uvicorn
from uvicorn._types import ASGI3Application, ASGISendEvent
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
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


class HttpProtocol(HttpToolsProtocol):
    """The HTTP protocol, with public names for what a subclass uses and overrides."""

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
