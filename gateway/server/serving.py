"""The server as it is run: it says where it listens, and ends without losing a request that is on its way."""

import asyncio
import logging
import math
import os
import signal
import socket
import time
from contextlib import suppress
from types import FrameType

import uvicorn

from gateway.adapters import uvicorn as adapter
from gateway.server import memory
from gateway.server.pauses import Pauses
from gateway.server.shutdown import END_SECONDS

LAST_REQUEST_SECONDS = 1.0
"""The seconds that connections without a request are kept at the end: one may be on its way (decision 116)."""
_TICK_SECONDS = 0.02
_ORPHANED_SECONDS = 1.0
"""The seconds for which a process looks whether it was left alone: the system closes a pipe before it says so."""
_LATE_SECONDS = 0.7
"""The seconds after its end by force at which a process is killed."""
_BEGUN_SECONDS = 10.0
"""The seconds: a process that dies sooner after its server had begun counts as one that cannot begin."""

_log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """A server that at its end takes no new connections, but whatever still comes over those that it has."""

    def __init__(self, config: uvicorn.Config, banner: str = "") -> None:
        super().__init__(config)
        self._banner = banner

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            _log.info("server process started process=%d", os.getpid())
            memory.settle()
            if self._banner:
                print(self._banner, flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End: each further answer closes its connection, and what stays idle for a moment is closed."""
        adapter.stop_listening(self)
        self.server_state.default_headers = [*self.server_state.default_headers, (b"connection", b"close")]
        loop = asyncio.get_running_loop()
        end = loop.time() + LAST_REQUEST_SECONDS
        while self._any_idle() and loop.time() < end and not self.force_exit:  # noqa: ASYNC110  # there is no event for it
            await asyncio.sleep(_TICK_SECONDS)
        await super().shutdown(sockets)
        _log.info("server process ended process=%d", os.getpid())

    def _any_idle(self) -> bool:
        return any(adapter.is_idle(connection) for connection in self.server_state.connections)


class Process(adapter.Process):
    """One of several, with a server that ends as ours does. That it lives is asked for without waiting."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        self.lived = 0.0
        """The seconds after its server had begun at which it was last seen to run; none where that never did."""
        self._begun_at: float | None = None
        self._asked_at: float | None = None
        self._supervisor = os.getpid()

    def is_alive(self, timeout: float = 5) -> bool:
        """Says whether it runs, and owes no answer for that many seconds; what is asked now, a later call hears.

        The supervisor's own way is to wait that long. One that died with a question open was not missed until then,
        and no process was notified to end (decision 129).
        """
        if not self.process.is_alive():
            return False
        while self.parent_conn.poll():
            if self.parent_conn.recv() and self._begun_at is None:  # it says whether its server has begun
                self._begun_at = time.monotonic()
            self._asked_at = None
        if self._asked_at is None:
            self.parent_conn.send(b"ping")
            self._asked_at = time.monotonic()
        return time.monotonic() - self._asked_at < timeout

    def look(self) -> None:
        """Note that it still runs, if it does."""
        if self.is_alive() and self._begun_at is not None:
            self.lived = time.monotonic() - self._begun_at

    def make_server(self) -> Server:
        return Server(self.config)

    def always_pong(self) -> None:
        """Answer the supervisor, and end with it, should it be killed: the address would stay taken (decision 1195)."""
        self.parent_conn.close()  # this process has a copy of the other end, too
        with suppress(OSError, EOFError):
            super().always_pong()
        end = time.monotonic() + _ORPHANED_SECONDS
        while time.monotonic() < end:  # the pipe of a process that is told to end is closed as well
            if os.getppid() != self._supervisor:
                _log.warning("the supervisor is gone, and this process ends process=%d", os.getpid())
                os.kill(os.getpid(), signal.SIGTERM)
                return
            time.sleep(_TICK_SECONDS)


class Processes(adapter.Multiprocess):
    """Processes on one socket. SIGHUP replaces one after the other, each once its successor answers."""

    processes: list[Process]  # type: ignore[assignment]  # it makes them of the class that it is given

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets, Process)
        self.should_exit = _Flag()  # type: ignore[assignment]  # what is asked of an event
        self._end_at = math.inf
        self._pauses = Pauses(_BEGUN_SECONDS)
        self._again_at = -math.inf
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._end)

    def keep_subprocess_alive(self) -> None:
        """Put another in the place of each process that died or hangs, and warn of it.

        Then there is a pause: processes that cannot begin would take the machine's time from those that work (1202).
        It is none for one that could: whoever else died is replaced with it.
        """
        for process in self.processes:
            process.look()
        died = [process.lived for process in self.processes if not process.process.is_alive()]
        if time.monotonic() < self._again_at and max(died, default=0.0) <= _BEGUN_SECONDS:
            return
        before = list(self.processes)
        super().keep_subprocess_alive()
        replaced = [(former, new) for former, new in zip(before, self.processes, strict=True) if new is not former]
        for former, process in replaced:
            line = "server process died, and another takes its place process=%s exit_code=%s successor=%s"
            _log.warning(line, former.pid, former.process.exitcode, process.pid)
        if replaced:
            shortest = min(former.lived for former, _ in replaced)
            self._again_at = time.monotonic() + self._pauses.after(shortest)

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        """Tell every process at once, also while one of them is being replaced (decision 138)."""
        if not self.should_exit.is_set():
            self._end_at = time.monotonic() + END_SECONDS + _LATE_SECONDS
            self.should_exit.set()
        for process in self.processes:
            if process.process.is_alive():
                process.process.terminate()

    def join_all(self) -> None:
        """Wait for the processes, and kill one that hangs so that not even its own end by force comes."""
        for process in self.processes:
            process.process.join(max(0.0, min(self._end_at - time.monotonic(), END_SECONDS + _LATE_SECONDS)))
            if process.process.is_alive():
                process.kill()
                process.join()


class _Flag:
    """Has as much of an event as the supervisor uses. A signal's handler may set it while it is waited for."""

    def __init__(self) -> None:
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True

    def wait(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not self._is_set and time.monotonic() < end:
            time.sleep(_TICK_SECONDS)
        return self._is_set
