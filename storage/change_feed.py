"""News of the organizations' change logs, jobs and answers for whoever waits for it, in this process (decision 80).

What wakes an organization's channel is a commit of this process that is not quiet (decision 1205), the word of another
process, or a moment's pause, which covers what neither of them told. What there is to know is always read from the
tables, so a wake-up too many or too few changes nothing but the delay.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from contextvars import Context
from itertools import takewhile
from secrets import SystemRandom
from typing import TYPE_CHECKING

from sqlalchemy.engine import make_url

from contract.errors import TimedOut, Unavailable
from storage.database import Database
from storage.postgres.pg_notify import Listener
from storage.queries import events, jobs
from storage.rows import ChatRunRow, EventRow, JobRow
from storage.tenancy.sessions import TenantSession
from storage.watched_rows import WatchedRows

if TYPE_CHECKING:
    from storage.queries.analytics_runs import Head

PAUSE_SECONDS = 1.0
"""The seconds that a channel waits unwoken, at the most. It is up to a fifth less by chance: channels that were woken
together would else look together from then on, and a request among twenty looks waits for all of them."""

_vary = SystemRandom().uniform
_KEPT = 1_000
_AT_ONCE = 2
"""How many channels look at a time on SQLite (decision 1145). All look each second, and each on a connection of its own
would keep as many open, none of them ever idle long enough to be closed, with the memory that each has."""

Turn = AbstractAsyncContextManager[object]
Work = Callable[[], Coroutine[object, object, None]]
Paced = Callable[[Work], Awaitable[None]]


class Channel:
    """One organization's news. It is read once for all that follow it, who hold nothing of the database meanwhile."""

    def __init__(self, database: Database, organization: str, turn: Turn, paced: Paced) -> None:
        self.readers = 0
        self._database = database
        self._turn, self._paced = turn, paced
        self._organization = organization
        self._woken = asyncio.Event()
        self._news = asyncio.Event()
        self._recent: deque[EventRow] = deque()
        self._from = self._newest = -1  # the log is known from behind the one up to the other
        self._watched: Counter[str] = Counter()
        self._jobs: Mapping[str, JobRow | None] = {}
        self._is_log_read = False
        self.chat_runs: WatchedRows[ChatRunRow] = WatchedRows(_chat_runs, self.wake, self._check)
        """Those runs of chats that somebody waits for."""
        self.analytics_runs: WatchedRows[Head] = WatchedRows(_analytics_runs, self.wake, self._check)
        """Those answers to questions that somebody follows."""
        self._runs = (self.chat_runs, self.analytics_runs)
        # In nobody's context: it serves all readers, and the request of the first is not what it is a part of.
        self.reading = asyncio.create_task(self._read_on(), context=Context())

    def wake(self) -> None:
        """Something may be new."""
        self._woken.set()

    async def after(self, sequence: int) -> Sequence[EventRow]:
        """The next events of the log; waits until there are any."""
        sequence = max(sequence, 0)
        if not self._is_log_read:
            self._is_log_read = True
            self.wake()
        while True:
            if sequence < self._from:
                try:
                    async with self._database.reading(self._organization) as session:
                        return await events.after(session, sequence)
                except (Unavailable, TimedOut):  # the log is where it was when the database is back
                    await asyncio.sleep(PAUSE_SECONDS)
                    continue
            fresh = list(takewhile(lambda event: event.sequence > sequence, reversed(self._recent)))
            if fresh:
                return fresh[::-1]
            await self._told()

    @contextmanager
    def watching(self, job_id: str) -> Iterator[None]:
        """Have the job read along."""
        if not self._watched[job_id]:  # what was seen of it before may be long ago
            self._jobs = {known: job for known, job in self._jobs.items() if known != job_id}
        self._watched[job_id] += 1
        self.wake()
        try:
            yield
        finally:
            self._watched[job_id] -= 1
            if not self._watched[job_id]:
                del self._watched[job_id]

    async def job(self, job_id: str, seen: JobRow | None) -> JobRow | None:
        """The job, once it is not as it was seen, if it was; None when it is there no more. It has to be watched."""
        while job_id not in self._jobs or (seen is not None and self._jobs[job_id] == seen):
            await self._told()
        return self._jobs[job_id]

    async def _told(self) -> None:
        """Wait for news. Raises what keeps the channel from reading."""
        self._check()
        await self._news.wait()

    def _check(self) -> None:
        """Raise what keeps the channel from reading."""
        if self.reading.done():
            self.reading.result()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _read_on(self) -> None:
        try:
            while True:
                with suppress(Unavailable, TimedOut):
                    await (self._read() if self._woken.is_set() else self._paced(self._read))
                with suppress(TimeoutError):
                    async with asyncio.timeout(PAUSE_SECONDS * _vary(0.8, 1.0)):
                        await self._woken.wait()
        finally:
            self._tell()
            for runs in self._runs:
                runs.end()

    async def _read(self) -> None:
        """Look at everything that somebody waits for."""
        self._woken.clear()
        for runs in self._runs:
            if runs.any:
                async with self._looking() as session:
                    await runs.look(session)
        if self._is_log_read:
            await self._read_log()
        await self._read_jobs()

    @asynccontextmanager
    async def _looking(self) -> AsyncIterator[TenantSession]:
        """A session to look for news, in turn with other channels."""
        async with self._turn, self._database.reading(self._organization) as session:
            yield session

    async def _read_log(self) -> None:
        async with self._looking() as session:
            if self._newest < 0:
                self._from = self._newest = await events.last_sequence(session)
                self._tell()
            rows = await events.after(session, self._newest)
        if not rows:
            return
        self._recent.extend(rows)
        self._newest = rows[-1].sequence
        while len(self._recent) > _KEPT:
            self._from = self._recent.popleft().sequence
        if len(rows) == events.BATCH:
            self.wake()  # there are more
        self._tell()

    async def _read_jobs(self) -> None:
        if not self._watched:
            return
        watched = list(self._watched)
        async with self._looking() as session:
            found = {job.id: job for job in await jobs.states(session, watched)}
        before, self._jobs = self._jobs, {job_id: found.get(job_id) for job_id in watched}
        if before != self._jobs:
            self._tell()


class ChangeFeed:
    """The channels of one process: each lives as long as somebody reads it.

    `listen_url` is where PostgreSQL is listened to, where that is another address than that of the statements.
    `paced` does work that requests go before: a look that nobody called for (decision 1199).
    """

    def __init__(self, database: Database, listen_url: str | None = None, paced: Paced = lambda work: work()) -> None:
        self._database, self._paced = database, paced
        self._listen_url = database.url if listen_url is None else make_url(listen_url)
        self._channels: dict[str, Channel] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._turn: Turn = asyncio.Semaphore(_AT_ONCE) if database.dialect == "sqlite" else nullcontext()
        database.committed.append(self.wake)

    def wake(self, organization: str) -> None:
        """Let those look who follow the organization."""
        channel = self._channels.get(organization)
        if channel is not None:
            channel.wake()

    def followed(self, organization: str) -> Channel | None:
        """The organization's channel, where somebody reads it."""
        return self._channels.get(organization)

    def hear(self, organization: str) -> None:
        """Take another process's word that something was committed there."""
        self.wake(organization)
        for heard in self._database.heard:
            heard(organization)

    @contextmanager
    def channel(self, organization: str) -> Iterator[Channel]:
        """The organization's channel, for one reader."""
        found = self._channels.get(organization)
        if found is None:
            found = self._channels[organization] = Channel(self._database, organization, self._turn, self._paced)
        found.readers += 1
        try:
            yield found
        finally:
            found.readers -= 1
            if not found.readers:
                del self._channels[organization]
                found.reading.cancel()
                self._ending.add(found.reading)
                found.reading.add_done_callback(self._ending.discard)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen to other processes, and tell them; what cannot be heard is found a moment later all the same."""
        listener = Listener(self._database, self._listen_url, self.hear, self._wake_all)
        listening = None
        if self._database.dialect == "postgresql":
            listening = asyncio.create_task(listener.run())
            self._database.committed_at_all.append(listener.tell)
        try:
            yield
        finally:
            if listening is not None:
                self._database.committed_at_all.remove(listener.tell)
                listening.cancel()
                self._ending.add(listening)
            await asyncio.gather(*self._ending, return_exceptions=True)

    def _wake_all(self) -> None:
        for channel in self._channels.values():
            channel.wake()


async def _chat_runs(session: TenantSession, ids: Sequence[str]) -> Sequence[ChatRunRow]:
    from storage.queries import chat_runs  # with their tables, which who only examines does not need

    return await chat_runs.heads(session, ids)


async def _analytics_runs(session: TenantSession, ids: Sequence[str]) -> "Sequence[Head]":
    from storage.queries import analytics_runs  # the same

    return await analytics_runs.heads(session, ids)
