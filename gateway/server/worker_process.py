"""The worker beside a server: a process of its own, which begins and ends with the server's (decision 1182)."""

import asyncio
import logging
import os
import socket
import time
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from gateway.observability.shared_folder import SHARED_FOLDER
from gateway.server import program
from gateway.server.pauses import Pauses
from gateway.server.shutdown import END_SECONDS, LAST_WORK_SECONDS
from gateway.server.worker_link import Link, linked
from storage.change_feed import ChangeFeed
from storage.database import Database
from storage.meanwhile import meanwhile

_STARTING_SECONDS = 30.0
"""The seconds that a worker has to begin, on a machine that does much else."""
SILENCE_SECONDS = 60.0
"""The seconds after which a worker that says nothing hangs, and is killed. It says each second how it is."""
_LOOK_SECONDS = 1.0
_CLOSING_SECONDS = END_SECONDS - LAST_WORK_SECONDS - 0.5
"""What is left to a worker for its end once its jobs have had their time, before its server's own end comes."""
_KILLED_SECONDS = 0.3
"""The seconds that the system has to end one that was killed, at the most: within that half second."""

_log = logging.getLogger(__name__)


class WorkerProcess:
    """The worker's process, as its server sees it."""

    where = "in a process beside this one"

    def __init__(self, *, demo: bool, lease_seconds: float) -> None:
        """It counts as not working once it has said nothing for a lease, or for what it may take to begin."""
        self.running: Counter[str] = Counter()
        """No jobs: they run in the other process, which tells of them itself."""
        self._demo = demo
        self._silence_seconds = max(lease_seconds, _STARTING_SECONDS)
        self._process: Process | None = None
        self._link: Link | None = None
        self._ending, self._ended = asyncio.Event(), asyncio.Event()
        self._works = True
        self._heard_at = time.monotonic()

    @property
    def is_beating(self) -> bool:
        """Says whether the worker lately said that it works; at first it has the time to begin."""
        return self._works and time.monotonic() - self._heard_at < self._silence_seconds

    @asynccontextmanager
    async def followed(self, database: Database, feed: ChangeFeed) -> AsyncIterator[None]:
        """Have a worker meanwhile, hear of it, and let it hear of commits."""
        self._heard_at = time.monotonic()
        if database.dialect == "sqlite":
            database.committed.append(self._tell)
        async with meanwhile(self._keep(feed)):
            try:
                yield
            finally:
                await self.stop(LAST_WORK_SECONDS)

    async def stop(self, seconds: float) -> None:
        """Tell the worker to end, and wait until it has: its jobs have so many seconds, and then it closes.

        One that hangs is killed then, so that it does not outlive this process.
        """
        self._ending.set()
        self._tell_to_end()
        await self._waited_for(seconds + _CLOSING_SECONDS)
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._waited_for(_KILLED_SECONDS)

    async def _waited_for(self, seconds: float) -> None:
        """Wait until the worker has ended, for so many seconds at the most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()

    def _tell_to_end(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.terminate()

    async def _keep(self, feed: ChangeFeed) -> None:
        """Have a worker, and another in the place of one that died, until this process ends."""
        pauses = Pauses(SILENCE_SECONDS)
        try:
            while not self._ending.is_set():
                began = time.monotonic()
                try:
                    await self._one(feed)
                except Exception as error:  # too many processes, most likely; whatever it is, jobs have to go on
                    _log.warning("worker process cannot be started, and is tried again error=%s", error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._ending.wait(), pauses.after(time.monotonic() - began))
        finally:
            self._ended.set()

    async def _one(self, feed: ChangeFeed) -> None:
        """The life of one worker."""
        try:
            process = self._process = await self._started(feed)
            if self._ending.is_set():
                self._tell_to_end()
            code = await self._end_of(process)
        finally:
            if self._link is not None:
                self._link.close()
            self._link = self._process = None
        if not self._ending.is_set():
            line = "worker process died, and another takes its place process=%s exit_code=%s"
            _log.warning(line, process.pid, code)

    async def _end_of(self, process: Process) -> int:
        """The exit code of a worker, which is killed once it hangs."""
        waiting = asyncio.create_task(process.wait())
        try:
            while not (await asyncio.wait({waiting}, timeout=_LOOK_SECONDS))[0]:
                if time.monotonic() - self._heard_at > SILENCE_SECONDS and not self._ending.is_set():
                    _log.warning("worker process hangs, and is killed process=%s", process.pid)
                    self._heard_at = time.monotonic()
                    with suppress(ProcessLookupError):
                        process.kill()
        finally:
            waiting.cancel()
        return waiting.result()

    async def _started(self, feed: ChangeFeed) -> Process:
        """A worker that has begun, at the other end of a line that is its own.

        It is in a session of its own: what a terminal says to all processes in front, this one says to the worker.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            self._link = await linked(ours, feed, stated=self._stated)
            number = theirs.fileno()
            arguments = ["worker", "--line", str(number), *(["--demo"] if self._demo else [])]
            process = await asyncio.create_subprocess_exec(
                *program.command("gateway", *arguments),
                stdin=DEVNULL,
                pass_fds=(number,),
                env=_environment(),
                start_new_session=True,
            )
        self._heard_at = time.monotonic()
        return process

    def _stated(self, works: bool) -> None:
        self._works, self._heard_at = works, time.monotonic()

    def _tell(self, organization: str) -> None:
        if self._link is not None:
            self._link.tell(organization)


def _environment() -> dict[str, str]:
    """The worker's: without a folder to count in where there is none."""
    environment = program.environment()
    if not Path(environment.get(SHARED_FOLDER, os.curdir)).is_dir():
        del environment[SHARED_FOLDER]
    return environment
