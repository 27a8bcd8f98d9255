"""Statements on jobs, their queue and the workers. Whoever needs both rows of a job takes the queue's first."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import DateTime, bindparam, case, delete, func, or_, select, update
from sqlmodel import col

from contract.vocabulary import JobStatus
from storage.base import Identifier, PlainText, as_uuid, first_id_at, now
from storage.expressions import AnyColumn, AnySelect
from storage.new_rows import new_row
from storage.queries.filtering import in_list
from storage.rows import JobRow, QueuedJobRow
from storage.statements import ORG_PARAM
from storage.tables import Job, JobWorker, QueuedJob
from storage.tenancy.sessions import TenantSession

_FORGOTTEN = timedelta(days=1)
_BATCH = 500
_SHOWN: tuple[AnyColumn, ...] = (
    Job.id,
    Job.kind,
    Job.status,
    Job.attempts,
    Job.error,
    Job.progress,
    Job.created_at,
    Job.started_at,
    Job.finished_at,
)
_UNFINISHED = (JobStatus.QUEUED.value, JobStatus.RUNNING.value)


async def put(session: TenantSession, *made: Job, due_at: datetime) -> None:
    """New jobs and their places in the queue; any writing session of the organization will do."""
    await session.insert(*made)
    await session.insert(*(new_row(QueuedJob, org_id=session.org_id, job_id=job.id, due_at=due_at) for job in made))


async def put_once(session: TenantSession, job: Job, due_at: datetime) -> Job:
    """Put the job in the queue unless an unfinished one of its kind has the key; return the one that is there then."""
    if await session.insert_missing(job):
        await session.insert(new_row(QueuedJob, org_id=session.org_id, job_id=job.id, due_at=due_at))
    elif (there := await unfinished(session, job.kind, job.key)) is not None:
        return there
    else:  # it has finished in this very moment
        return await put_once(session, job, due_at)
    found = await find(session, job.id)
    return job if found is None else found


async def put_missing(session: TenantSession, *made: Job, due_at: datetime) -> None:
    """New jobs, but for those whose key an unfinished one of their kind has: in two statements, however many."""
    new = await session.insert_each_missing(made)
    await session.insert(*(new_row(QueuedJob, org_id=session.org_id, job_id=job.id, due_at=due_at) for job in new))


async def put_back(session: TenantSession) -> int:
    """Give a batch of unfinished jobs that have no place in the queue one; how many there were."""
    missing = [new_row(QueuedJob, org_id=session.org_id, job_id=i, due_at=now()) for i in await without_place(session)]
    await session.insert_each_missing(missing)
    return len(missing)


async def without_place(session: TenantSession) -> Sequence[str]:
    """A batch of the unfinished jobs that have no place in the queue: a job gets and loses the two together."""

    def build() -> AnySelect:
        unfinished = or_(*(col(Job.status) == status for status in _UNFINISHED))
        place = select(col(QueuedJob.job_id)).where(
            col(QueuedJob.org_id) == ORG_PARAM, col(QueuedJob.job_id) == col(Job.id)
        )
        statement = select(col(Job.id)).where(col(Job.org_id) == ORG_PARAM, unfinished, ~place.exists())
        return statement.limit(_BATCH)

    return [row.id for row in await session.fetch("jobs_without_place", build)]


async def unfinished(session: TenantSession, kind: str, key: str | None) -> Job | None:
    """The job of this kind and key that is queued or runs."""
    return await session.find(Job, col(Job.kind) == kind, col(Job.key) == key, col(Job.status).in_(_UNFINISHED))


async def unfinished_keys(session: TenantSession, kind: str) -> set[str]:
    """The keys of the jobs of this kind that are queued or run."""

    def build() -> AnySelect:
        of_kind = col(Job.kind) == bindparam("kind", type_=PlainText)
        unfinished = or_(*(col(Job.status) == status for status in _UNFINISHED))
        statement = select(col(Job.key)).where(col(Job.org_id) == ORG_PARAM, of_kind, unfinished)
        return statement.where(col(Job.key).is_not(None))

    return {row.key for row in await session.fetch("unfinished_keys", build, kind=kind)}


async def states(session: TenantSession, ids: Sequence[str]) -> Sequence[JobRow]:
    """These jobs as everybody may see them, without what they were given; those that are there no more are left out."""

    def build() -> AnySelect:
        statement = select(*map(col, _SHOWN))
        return statement.where(col(Job.org_id) == ORG_PARAM, in_list(col(Job.id), "ids"))

    return await session.fetch("job_states", build, ids=ids)


async def ended_before(session: TenantSession, moment: datetime) -> list[str]:
    """A batch of the jobs that ended before then, found by the age in their identifiers."""

    def build() -> AnySelect:
        old = col(Job.id) < bindparam("bound", type_=Identifier)
        ended = col(Job.finished_at) < bindparam("moment", type_=DateTime(timezone=True))
        return select(col(Job.id)).where(col(Job.org_id) == ORG_PARAM, old, ended).limit(_BATCH)

    return [row.id for row in await session.fetch("jobs_ended", build, bound=first_id_at(moment), moment=moment)]


async def forget(session: TenantSession, ids: Sequence[str]) -> None:
    """Delete these jobs."""
    await session.execute(delete(Job).where(col(Job.org_id) == session.org_id, col(Job.id).in_(ids)))


async def find(session: TenantSession, job_id: str, *, lock: bool = False) -> Job | None:
    """The job, to be changed."""
    canonical = as_uuid(job_id)
    return None if canonical is None else await session.find(Job, id=canonical, lock=lock)


async def place(session: TenantSession, job_id: str) -> QueuedJob | None:
    """The job's place in the queue, locked, so that no worker takes it before this transaction ends."""
    return await session.find(QueuedJob, job_id=as_uuid(job_id), lock=True)


async def hasten(session: TenantSession, job_id: str, moment: datetime) -> bool:
    """The job is due by then if it waits, and is due again at once if it runs. False where it has no place."""
    queued = await place(session, job_id)
    if queued is None:
        return False
    if queued.holder is not None:
        await session.update(queued, again=True)
    elif queued.due_at > moment:
        await session.update(queued, due_at=moment)
    return True


async def supersede(session: TenantSession, job_ids: Sequence[str]) -> list[str]:
    """Take those of the jobs back that wait, so that they will not run; which these are.

    The places in the queue come first, and all in one order, so that two callers never wait for each other.
    """
    ids = [canonical for i in job_ids if (canonical := as_uuid(i)) is not None]
    places = col(QueuedJob.org_id) == session.org_id, col(QueuedJob.job_id).in_(ids)
    held = await session.rows(
        select(col(QueuedJob.job_id)).where(*places).order_by(col(QueuedJob.job_id)).with_for_update()
    )
    if not held:
        return []
    own = col(Job.org_id) == session.org_id, col(Job.id).in_([row.job_id for row in held])
    taken_back = await session.rows(
        update(Job)
        .where(*own, col(Job.status) == JobStatus.QUEUED.value)
        .values(status=JobStatus.SUPERSEDED.value, finished_at=now())
        .returning(col(Job.id))
    )
    gone = [row.id for row in taken_back]
    await session.execute(
        delete(QueuedJob).where(col(QueuedJob.org_id) == session.org_id, col(QueuedJob.job_id).in_(gone))
    )
    return gone


async def remove(session: TenantSession, job_id: str) -> None:
    """The job has no place in the queue any more."""
    await session.execute(
        delete(QueuedJob).where(col(QueuedJob.org_id) == session.org_id, col(QueuedJob.job_id) == job_id)
    )


async def any_due(session: TenantSession) -> bool:
    """Says whether the queue has work, of any organization (a session of the directory)."""
    return bool(await session.fetch("job_due", _first_due, moment=now()))


def _first_due() -> AnySelect:
    return (
        select(col(QueuedJob.job_id))
        .where(col(QueuedJob.due_at) <= bindparam("moment", type_=DateTime(timezone=True)))
        .order_by(col(QueuedJob.due_at))
        .limit(1)
    )


class Depth(NamedTuple):
    """The numbers of jobs due, due later, and in a worker's hands; and since when the first of those due is."""

    due: int
    later: int
    held: int
    first_due_at: datetime | None


async def depth(session: TenantSession) -> Depth:
    """Says how long the queue is, of all organizations (a session of the directory)."""
    due_at, is_held = col(QueuedJob.due_at), col(QueuedJob.holder).is_not(None)
    is_due = due_at <= now()
    found = await session.row(
        select(
            func.count().filter(is_due).label("due"),
            func.count().filter(~is_due & ~is_held).label("later"),
            func.count().filter(~is_due & is_held).label("held"),
            func.min(case((is_due, due_at))).label("first_due_at"),
        ).select_from(QueuedJob)
    )
    return Depth(0, 0, 0, None) if found is None else Depth(found.due, found.later, found.held, found.first_due_at)


async def claim(
    session: TenantSession,
    holder: str,
    until: datetime,
    *,
    avoiding: Collection[str],
    avoiding_long: Collection[str] | None = (),
) -> QueuedJobRow | None:
    """The job that has been due for longest becomes this holder's, as it was (a session of the directory).

    None is taken of the organizations to be avoided, none that takes long of those of `avoiding_long`; None is all.
    """
    due = (
        select(col(QueuedJob.org_id), col(QueuedJob.job_id), col(QueuedJob.is_long))
        .where(col(QueuedJob.due_at) <= now())
        .order_by(col(QueuedJob.due_at), col(QueuedJob.job_id))
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    if avoiding:
        due = due.where(col(QueuedJob.org_id).not_in(avoiding))
    if avoiding_long is None:
        due = due.where(col(QueuedJob.is_long).is_(False))
    elif avoiding_long:
        due = due.where(or_(col(QueuedJob.is_long).is_(False), col(QueuedJob.org_id).not_in(avoiding_long)))
    found: QueuedJobRow | None = await session.row(due)
    if found is not None:
        await session.execute(
            update(QueuedJob)
            .where(col(QueuedJob.org_id) == found.org_id, col(QueuedJob.job_id) == found.job_id)
            .values(holder=holder, due_at=until, again=False)
        )
    return found


async def renew(session: TenantSession, holders: Sequence[str], until: datetime) -> set[str]:
    """Hold on for longer; those of the holders that still hold something (a session of the directory)."""
    rows = await session.rows(
        update(QueuedJob)
        .where(col(QueuedJob.holder).in_(holders))
        .values(due_at=until)
        .returning(col(QueuedJob.holder))
    )
    return {row.holder for row in rows}


async def beat(session: TenantSession, worker: JobWorker) -> None:
    """The worker is there; those that went without a word a day ago are forgotten (a session of the directory)."""
    moment = now()
    noted = await session.execute(update(JobWorker).where(col(JobWorker.id) == worker.id).values(beat_at=moment))
    if not noted:
        await session.execute(delete(JobWorker).where(col(JobWorker.beat_at) < moment - _FORGOTTEN))
        await session.insert(JobWorker(id=worker.id, started_at=worker.started_at, beat_at=moment))


async def leave(session: TenantSession, worker: JobWorker) -> None:
    """The worker is gone (a session of the directory)."""
    await session.execute(delete(JobWorker).where(col(JobWorker.id) == worker.id))


async def beating(session: TenantSession, since: datetime) -> int:
    """Counts the workers that have beaten since then (a session of the directory)."""
    counted: int = await session.scalar(select(func.count()).where(col(JobWorker.beat_at) >= since))
    return counted
