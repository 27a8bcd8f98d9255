"""One attempt at a job, from its claim to what became of it, each step a transaction that only the holder can make."""

import asyncio
import logging
import random
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from contract.error_origin import origin_of
from contract.errors import GatewayError
from contract.tracing import TRACEPARENT, Facts, Span, SpanKind, Tracer
from contract.vocabulary import JobStatus
from jobs.long_places import LongPlaces
from jobs.work import KINDS, LeaseLost, NoPlace, NotYet, Retry, Run, Work, WorkFailed, finish
from providers.ports import Ports
from storage.base import now
from storage.database import Database
from storage.queries import jobs
from storage.tables import Job
from storage.tenancy.sessions import TenantSession

_log = logging.getLogger(__name__)

_FIRST_PAUSE = 2.0
_LONGEST_PAUSE = 600.0
_CUT_OFF = "The work was cut off in its last attempt"


class Outcome(StrEnum):
    """The outcome of an attempt."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    RETRIED = "retried"
    RELEASED = "released"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that a worker holds: `holder` is new for every claim."""

    org_id: str
    job_id: str
    holder: str


@dataclass(frozen=True, slots=True)
class _Failure:
    words: str
    is_final: bool = False
    after: timedelta | None = None


def pause(attempt: int) -> timedelta:
    """The wait after this attempt failed: 2 s doubled each time up to 10 min, less a random fifth (decision 34)."""
    seconds = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(attempt - 1, 20))
    return timedelta(seconds=seconds * random.uniform(0.8, 1))  # noqa: S311  # only spreads the attempts


class Attempt:
    """One run of a claimed job."""

    def __init__(
        self,
        database: Database,
        ports: Ports,
        claim: Claim,
        tracer: Tracer | None = None,
        long: LongPlaces | None = None,
    ) -> None:
        self._database = database
        self._long = long
        self._tracer = tracer
        self._span: Span | None = None
        self._claim = claim
        self._ports = ports
        self.kind = "unknown"
        """The kind of the job, once it is known: a label of few values, whatever is in the table."""

    async def make(self) -> Outcome:
        """Do the work. Raises Unavailable where its end could not be written; the job is due again in a while then.

        A cancelled attempt gives its job back, uncounted.
        """
        try:
            begun = await self._begin()
            if begun is None:
                return Outcome.FAILED
            work, run, arguments = begun
            failure = await self._do(work, run, arguments)
            if run.is_finished:
                return Outcome.SUCCEEDED
            return await self._end(work, run, failure)
        except LeaseLost:
            return Outcome.LOST
        except NotYet as error:
            await self._release(error.after)
            return Outcome.RELEASED
        except NoPlace:
            await self._release(is_long=True)
            return Outcome.RELEASED
        except asyncio.CancelledError:
            await self._release()
            raise

    def ended(self, outcome: Outcome) -> None:
        """Note what became of it, where the process traces: nothing of this attempt follows."""
        if self._span is not None:
            self._span.note({"crm.job.outcome": outcome.value})
            if outcome in (Outcome.FAILED, Outcome.RETRIED):
                self._span.fail()
            self._span.end()

    def _trace(self, run: Run, asked_by: object) -> None:
        """Begin a span within that which asked for the job, where the process traces."""
        if self._tracer is None:
            return
        facts: Facts = {
            "crm.job.kind": self.kind,
            "crm.job.id": run.job_id,
            "crm.job.attempt": run.attempt,
            "crm.organization.id": run.org_id,
        }
        parent = asked_by if isinstance(asked_by, str) else None
        self._span = self._tracer.root(f"job {self.kind}", SpanKind.JOB, facts, parent=parent)

    async def _begin(self) -> tuple[Work, Run, dict[str, object]] | None:
        """Note that it runs; None where it must not: no such work, or its attempts are used up by crashes."""
        async with self._database.writing(self._claim.org_id) as session:
            job = await self._held(session)
            work = KINDS.get(job.kind)
            if work is None:
                await finish(session, job, f"This version of the service knows no work of kind {job.kind}")
                return None
            self.kind = job.kind
            if job.attempts >= work.attempts:
                await self._settle(session, job, _CUT_OFF)
                return None
            job = await session.update(
                job, attempts=job.attempts + 1, status=JobStatus.RUNNING.value, started_at=job.started_at or now()
            )
            is_last = job.attempts >= work.attempts
            whose = job.org_id, job.id, job.attempts
            run = Run(*whose, is_last, self._ports, self._database, self._claim.holder, self._long)
            arguments = dict(job.arguments)
        self._trace(run, arguments.pop(TRACEPARENT, None))
        return work, run, arguments

    async def _do(self, work: Work, run: Run, arguments: dict[str, object]) -> _Failure | None:
        limit = asyncio.timeout(work.seconds)
        try:
            async with limit:
                await work.function(run, **arguments)
        except (LeaseLost, NoPlace, NotYet):
            raise
        except WorkFailed as error:
            return _Failure(str(error), is_final=True)
        except Retry as error:
            return _Failure(str(error), after=error.after)
        except GatewayError as error:
            return _Failure(error.message)
        except Exception as error:
            if limit.expired():
                return _Failure(f"The work took longer than {work.seconds:g} seconds")
            at = origin_of(error)
            _log.error("internal error job=%s kind=%s type=%s at=%s", run.job_id, work.kind, type(error).__name__, at)
            return _Failure(GatewayError.message)
        return None

    async def _end(self, work: Work, run: Run, failure: _Failure | None) -> Outcome:
        async with self._database.writing(self._claim.org_id) as session:
            job = await self._held(session)
            if failure is None or failure.is_final or run.is_last:
                await self._settle(session, job, failure.words if failure else None)
                return Outcome.FAILED if failure else Outcome.SUCCEEDED
            wait = pause(run.attempt) if failure.after is None else failure.after
            await self._requeue(session, job, wait, error=failure.words)
            return Outcome.RETRIED

    async def _settle(self, session: TenantSession, job: Job, error: str | None) -> None:
        """The run is over: so is the job, unless it is one that repeats."""
        if job.repeat_seconds is None:
            gave_up = KINDS[job.kind].gave_up
            if error is not None and gave_up is not None:
                await gave_up(session, job, error)
            await finish(session, job, error)
            return
        wait = timedelta(seconds=job.repeat_seconds)
        await self._requeue(session, job, wait, error=error, attempts=0, progress=0.0)

    async def _release(self, wait: timedelta = timedelta(), *, is_long: bool = False) -> None:
        try:
            async with self._database.writing(self._claim.org_id) as session:
                job = await self._held(session)
                begun = 1 if job.status == JobStatus.RUNNING else 0
                await self._requeue(session, job, wait, is_long=is_long, attempts=job.attempts - begun)
        except LeaseLost:
            return

    async def _requeue(
        self, session: TenantSession, job: Job, wait: timedelta, *, is_long: bool = False, **changes: object
    ) -> None:
        await session.update(job, status=JobStatus.QUEUED.value, **changes)
        queued = await jobs.place(session, job.id)
        if queued is not None:
            due_at = now() if queued.again else now() + wait
            await session.update(queued, holder=None, due_at=due_at, again=False, is_long=is_long)

    async def _held(self, session: TenantSession) -> Job:
        """The job, while it is this claim's. Raises LeaseLost."""
        queued = await jobs.place(session, self._claim.job_id)
        job = await jobs.find(session, self._claim.job_id, lock=True) if queued is not None else None
        if queued is None or job is None or queued.holder != self._claim.holder:
            raise LeaseLost
        return job
