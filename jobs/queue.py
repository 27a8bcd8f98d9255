"""The port to what runs later: enqueue, schedule and status, inside the transaction of the business (decision 32)."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from contract.vocabulary import JobStatus
from storage.base import now
from storage.queries import jobs, nouns, records
from storage.sessions import TenantSession
from storage.tables import Job

AT_ONCE = timedelta()


async def enqueue(
    session: TenantSession,
    kind: str,
    arguments: Mapping[str, Any],
    *,
    delay: timedelta = AT_ONCE,
    key: str | None = None,
) -> Job:
    """Have the work done once this transaction is committed, not before `delay` has passed; the job's row.

    `kind` names work that is registered by `jobs.work.work`, `arguments` are plain JSON and its keyword arguments.
    Any writing session of an organization will do; with a `key` an appending one will not. While a job of this kind
    and key is unfinished there is no second one, and the row is that job's.
    """
    return await _put(session, Job(kind=kind, key=key, arguments=dict(arguments)), delay)


async def schedule(
    session: TenantSession, kind: str, arguments: Mapping[str, Any], *, every: timedelta, key: str = ""
) -> Job:
    """Have the work done now and again and again, `every` (at least a second) after a run has ended; the job's row.

    One job for all runs, whatever becomes of them, until it is superseded; scheduling it again changes nothing.
    """
    seconds = max(1, round(every.total_seconds()))
    return await _put(session, Job(kind=kind, key=key, arguments=dict(arguments), repeat_seconds=seconds), AT_ONCE)


async def _put(session: TenantSession, job: Job, delay: timedelta) -> Job:
    job.org_id = session.org_id
    if job.key is not None:
        return await jobs.put_once(session, job, now() + delay)
    await jobs.put(session, job, now() + delay)
    return job


async def status(session: TenantSession, job_id: object) -> Any:
    """The job's row; None where the organization has none such."""
    return await records.one(session, nouns.JOBS, job_id)


async def supersede(session: TenantSession, job_id: str) -> bool:
    """Take a job back that waits, for its first attempt or another: it will not run. False where it runs or ended."""
    place = await jobs.place(session, job_id)
    job = await jobs.find(session, job_id, lock=True) if place is not None else None
    if job is None or job.status != JobStatus.QUEUED:
        return False
    await jobs.remove(session, job.id)
    job.status = JobStatus.SUPERSEDED.value
    job.finished_at = now()
    await session.flush()
    return True
