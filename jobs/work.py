"""Work that jobs name by its kind: how it is registered, what it is given, and how it fails."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from contract.vocabulary import JobStatus
from jobs.long_places import LongPlaces
from providers.ports import Ports
from storage.base import now
from storage.database import Database
from storage.queries import jobs
from storage.tables import Job
from storage.tenancy.sessions import TenantSession

ATTEMPTS = 5
SECONDS_MAX = 600.0


class WorkFailed(Exception):
    """The work cannot be done, and trying again would not help; the words are for the client's eyes."""


class Retry(Exception):
    """The work did not succeed this time; the words are for the client's eyes.

    `after` is when to try again, else the backoff says; attempts are counted all the same.
    """

    def __init__(self, words: str, *, after: timedelta | None = None) -> None:
        super().__init__(words)
        self.after = after


class NotYet(Exception):
    """It is not the work's turn: it is due again after a while, and this attempt does not count."""

    def __init__(self, after: timedelta) -> None:
        super().__init__()
        self.after = after


class NoPlace(Exception):
    """The work would take long, and the worker has no place for that now: it is due again when there is one."""


class LeaseLost(Exception):
    """The job is another run's by now, or was taken back: this one must leave no trace. Not to be caught by work."""


@dataclass(slots=True)
class Run:
    """One attempt at a job, and all that its work may touch."""

    org_id: str
    job_id: str
    attempt: int
    """Counted from 1."""
    is_last: bool
    """Whether no other attempt follows if this one fails."""
    ports: Ports
    _database: Database
    _holder: str
    _long: LongPlaces | None = None
    is_finished: bool = field(default=False, init=False)

    def reading(self) -> AbstractAsyncContextManager[TenantSession]:
        return self._database.reading(self.org_id)

    def directory(self) -> AbstractAsyncContextManager[TenantSession]:
        return self._database.directory()

    def apart(self) -> AbstractAsyncContextManager[TenantSession]:
        """A transaction that stands whatever becomes of the job: for what the outside has done already."""
        return self._database.writing(self.org_id)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[TenantSession]:
        """A transaction of the job's organization. Raises LeaseLost, so that only one run of a job can ever write."""
        async with self._database.writing(self.org_id) as session:
            place = await jobs.place(session, self.job_id)
            if place is None or place.holder != self._holder:
                raise LeaseLost
            yield session

    @asynccontextmanager
    async def finishing(self) -> AsyncIterator[TenantSession]:
        """The last transaction of the run: what it writes and that the job has succeeded are one commit.

        Work that ends without it, or whose job is a scheduled one, may be repeated after its last transaction, so it
        has to bear that.
        """
        async with self.writing() as session:
            yield session
            job = await jobs.find(session, self.job_id, lock=True)
            if job is None:
                raise LeaseLost
            if ends := job.repeat_seconds is None:
                await finish(session, job)
        self.is_finished = ends  # not before the commit, which may fail

    def takes_long(self) -> None:
        """Say that this attempt may take minutes, before it begins to. Raises NoPlace, which leaves no trace of it.

        A worker has places for that, fewer than it has for all work, so that what is short does not wait for it.
        """
        if self._long is not None and not self._long.take(self.org_id, self._holder):
            raise NoPlace

    async def went_on(self, session: TenantSession, fraction: float) -> None:
        """Say in the transaction of a step how much is done; attempts are counted anew from there.

        For work that goes on where it stood: being cut off often does not end what makes progress each time.
        """
        job = await jobs.find(session, self.job_id, lock=True)
        if job is not None:
            await session.update(job, attempts=1, progress=min(1.0, max(0.0, fraction)))
        self.is_last = False

    async def progress(self, fraction: float) -> None:
        """Say how much is done, from 0 to 1; a transaction of its own."""
        async with self.writing() as session:
            job = await jobs.find(session, self.job_id, lock=True)
            if job is not None:
                await session.update(job, progress=min(1.0, max(0.0, fraction)))


async def finish(session: TenantSession, job: Job, error: str | None = None) -> None:
    """Write that the job has succeeded, or failed with this error, and take it off the queue."""
    status, progress = (JobStatus.SUCCEEDED, 1.0) if error is None else (JobStatus.FAILED, job.progress)
    await session.update(job, status=status.value, error=error, finished_at=now(), progress=progress)
    await jobs.remove(session, job.id)


Function = Callable[..., Awaitable[None]]
GaveUp = Callable[[TenantSession, Job, str], Awaitable[None]]
"""Called with a job that has failed for good and the words for clients, in the transaction that writes so."""
FunctionT = TypeVar("FunctionT", bound=Function)


@dataclass(frozen=True, slots=True)
class Work:
    """The work for the jobs of a kind."""

    kind: str
    function: Function
    attempts: int
    seconds: float
    gave_up: GaveUp | None = None


KINDS: dict[str, Work] = {}
"""All work that this process knows, by kind."""


def work(
    kind: str, *, attempts: int = ATTEMPTS, seconds: float = SECONDS_MAX, gave_up: GaveUp | None = None
) -> Callable[[FunctionT], FunctionT]:
    """Register `async def f(run: Run, **arguments)` for the jobs of a kind; the module belongs into `jobs.kinds`.

    An attempt that raises, or takes longer than `seconds`, is followed by another after a growing pause, `attempts`
    in all; then `gave_up` is called, also where the process died in the last of them. The words of a GatewayError,
    `Retry` or `WorkFailed` are shown to clients, of others none. What computes for long goes to a thread: the worker
    shares the event loop with requests.
    """

    def register(function: FunctionT) -> FunctionT:
        if kind in KINDS:
            raise ValueError(f"two kinds of work are called {kind}")
        KINDS[kind] = Work(kind, function, attempts, seconds, gave_up)
        return function

    return register
