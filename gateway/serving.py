"""The server as it is run: it says where it listens, and ends without losing a request that is on its way."""

import asyncio
import socket
import time
from typing import Any

import uvicorn
from uvicorn.supervisors import multiprocess

LAST_REQUEST_SECONDS = 1.0
"""How long connections without a request are kept at the end: one may be on its way (decision 116)."""
_TICK_SECONDS = 0.02


class Server(uvicorn.Server):
    """A server that at its end takes no new connections, but whatever still comes over those that it has."""

    def __init__(self, config: uvicorn.Config, banner: str = "") -> None:
        super().__init__(config)
        self._banner = banner

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start; then print the banner, where there is one."""
        await super().startup(sockets)
        if self.started and self._banner:
            print(self._banner, flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End: each further answer closes its connection, and what stays idle for a moment is closed."""
        for server in self.servers:
            server.close()
        self.server_state.default_headers = [*self.server_state.default_headers, (b"connection", b"close")]
        loop = asyncio.get_running_loop()
        end = loop.time() + LAST_REQUEST_SECONDS
        while self._any_idle() and loop.time() < end and not self.force_exit:  # noqa: ASYNC110  # nothing tells of it
            await asyncio.sleep(_TICK_SECONDS)
        await super().shutdown(sockets)

    def _any_idle(self) -> bool:
        return any(_is_idle(connection) for connection in self.server_state.connections)


def _is_idle(connection: Any) -> bool:
    """Whether an HTTP connection waits for a request; a WebSocket never does."""
    cycle = getattr(connection, "cycle", connection)
    return cycle is None or bool(getattr(cycle, "response_complete", False))


class Process(multiprocess.Process):
    """One of several, with a server that ends as ours does. That it lives is asked for without waiting."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        self._asked_at: float | None = None

    def is_alive(self, timeout: float = 5) -> bool:
        """Whether it runs, and owes no answer for that many seconds; what is asked now, a later call hears.

        The supervisor's own way is to wait that long. One that died with a question open was not missed until then,
        and nobody was told to end (decision 129).
        """
        if not self.process.is_alive():
            return False
        while self.parent_conn.poll():
            self.parent_conn.recv()
            self._asked_at = None
        if self._asked_at is None:
            self.parent_conn.send(b"ping")
            self._asked_at = time.monotonic()
        return time.monotonic() - self._asked_at < timeout

    @property
    def server(self) -> uvicorn.Server:
        if self._server is None:
            self._server = Server(self.config)
        return self._server


class Processes(multiprocess.Multiprocess):
    """Processes on one socket. SIGHUP replaces one after the other, each once its successor answers."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        # The supervisor makes its processes by this name, and takes no other class for them.
        multiprocess.Process = Process  # type: ignore[misc]
        super().__init__(config, sockets)
