"""The worker beside a server: a process of its own, which begins and ends with the server's (decision 1182)."""

import asyncio
import logging
import socket
import sys
import time
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from gateway.server.shutdown import END_SECONDS, LAST_WORK_SECONDS
from gateway.server.worker_link import Link, linked
from storage.change_feed import ChangeFeed
from storage.database import Database
from storage.meanwhile import meanwhile

_AGAIN_SECONDS = 1.0
"""The pause before another worker begins, so that one that cannot begin is no busy loop."""
_CLOSING_SECONDS = END_SECONDS - LAST_WORK_SECONDS
"""What is left to a process for its end once its jobs have had their time."""

_log = logging.getLogger(__name__)


class WorkerProcess:
    """The worker's process, as its server sees it."""

    where = "in a process beside this one"

    def __init__(self, *, demo: bool, silence_seconds: float) -> None:
        """It counts as not working once it has said nothing for so many seconds."""
        self.running: Counter[str] = Counter()
        """No jobs: they run in the other process, which tells of them itself."""
        self._demo = demo
        self._silence_seconds = silence_seconds
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
        """Tell the worker to end, and wait until it has: its jobs have so many seconds, and then it closes."""
        self._ending.set()
        self._end()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds + _CLOSING_SECONDS):
                await self._ended.wait()

    def _end(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.terminate()

    async def _keep(self, feed: ChangeFeed) -> None:
        """Start a worker, and another in the place of one that died, until this process ends."""
        while not self._ending.is_set():
            try:
                process = self._process = await self._started(feed)
            except OSError as error:  # too many processes or files
                _log.warning("worker process cannot be started, and is tried again error=%s", error.strerror)
            else:
                if self._ending.is_set():
                    self._end()
                code = await process.wait()
                self._cut()
                if not self._ending.is_set():
                    line = "worker process died, and another takes its place process=%s exit_code=%s"
                    _log.warning(line, process.pid, code)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), _AGAIN_SECONDS)
        self._ended.set()

    async def _started(self, feed: ChangeFeed) -> Process:
        """A worker that has begun, at the other end of a line that is its own."""
        ours, theirs = socket.socketpair()
        self._link = await linked(ours, feed, stated=self._stated)
        try:
            with theirs:
                number = theirs.fileno()
                arguments = ["worker", "--line", str(number), *(["--demo"] if self._demo else [])]
                return await asyncio.create_subprocess_exec(
                    sys.executable, "-P", "-m", "gateway", *arguments, stdin=DEVNULL, pass_fds=(number,)
                )
        except OSError:
            self._cut()
            raise

    def _cut(self) -> None:
        """End the line to a worker that is gone."""
        if self._link is not None:
            self._link.close()
        self._link = self._process = None

    def _stated(self, works: bool) -> None:
        self._works, self._heard_at = works, time.monotonic()

    def _tell(self, organization: str) -> None:
        if self._link is not None:
            self._link.tell(organization)
