"""The port to what runs later: enqueue, schedule and status, inside the transaction of the business (decision 32).

While the process traces, a job carries the span that asks for it (decision 882); one that is scheduled carries none.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TypeVar

from contract.tracing import TRACEPARENT
from contract.tracing import current as running_span
from storage.base import Record, new_id, now
from storage.new_rows import new_row
from storage.queries import jobs, listables, records
from storage.rows import JobRow
from storage.tables import Job
from storage.tenancy.sessions import TenantSession

AT_ONCE = timedelta()
RecordT = TypeVar("RecordT", bound=Record)


async def enqueue(
    session: TenantSession,
    kind: str,
    arguments: Mapping[str, object],
    *,
    delay: timedelta = AT_ONCE,
    key: str | None = None,
) -> Job:
    """Have the work done once this transaction is committed, not before `delay` has passed; the job's row.

    `kind` names work that is registered by `jobs.work.work`, `arguments` are plain JSON and its keyword arguments.
    Any writing session of an organization will do; with a `key` an appending one will not. While a job of this kind
    and key is unfinished there is no second one, and the row is that job's.
    """
    return await _put(
        session, new_row(Job, org_id=session.org_id, kind=kind, key=key, arguments=_carried(arguments)), delay
    )


async def enqueue_for(
    session: TenantSession, kind: str, argument: str, draft: Callable[[str, str], RecordT]
) -> tuple[RecordT, Job]:
    """Insert a record that says how the work on it stands, and have that work done; both rows.

    `draft` makes the record of its identifier and the job's; the work is told the former, by the argument's name.
    """
    record_id = new_id()
    job = await enqueue(session, kind, {argument: record_id})
    [made] = await session.insert(draft(record_id, job.id))
    return made, job


async def enqueue_each(session: TenantSession, kind: str, arguments: Sequence[Mapping[str, object]]) -> list[Job]:
    """The same for many at once, in as many statements as for one; their rows."""
    made = [new_row(Job, org_id=session.org_id, kind=kind, arguments=_carried(each)) for each in arguments]
    await jobs.put(session, *made, due_at=now())
    return made


async def enqueue_missing(session: TenantSession, kind: str, arguments: Mapping[str, Mapping[str, object]]) -> None:
    """The same for those of these keys under which no job of the kind is unfinished."""
    made = [
        new_row(Job, org_id=session.org_id, kind=kind, key=key, arguments=_carried(each))
        for key, each in arguments.items()
    ]
    await jobs.put_missing(session, *made, due_at=now())


async def schedule(
    session: TenantSession, kind: str, arguments: Mapping[str, object], *, every: timedelta, key: str = ""
) -> Job:
    """Have the work done now and again and again, `every` (at least a second) after a run has ended; the job's row.

    One job for all runs, whatever becomes of them, until it is superseded; scheduling it again changes nothing.
    """
    seconds = max(1, round(every.total_seconds()))
    return await _put(
        session,
        new_row(Job, org_id=session.org_id, kind=kind, key=key, arguments=dict(arguments), repeat_seconds=seconds),
        AT_ONCE,
    )


def _carried(arguments: Mapping[str, object]) -> dict[str, object]:
    """Gives what the work is told, and the span that asks for it, which the worker takes out again."""
    span = running_span()
    return dict(arguments) if span is None else {**arguments, TRACEPARENT: span.traceparent}


async def _put(session: TenantSession, job: Job, delay: timedelta) -> Job:
    if job.key is not None:
        return await jobs.put_once(session, job, now() + delay)
    await jobs.put(session, job, due_at=now() + delay)
    return job


async def hasten(session: TenantSession, kind: str, key: str) -> bool:
    """Have the unfinished job of this kind and key run now; one that runs already runs once more (decision 370).

    It locks the job's place in the queue, which comes before whatever the job's work locks.
    """
    job = await jobs.unfinished(session, kind, key)
    return job is not None and await jobs.hasten(session, job.id, now())


async def status(session: TenantSession, job_id: object) -> JobRow | None:
    """The job's row; None where the organization has none such."""
    return await records.one(session, listables.JOBS, job_id)


async def supersede(session: TenantSession, job_id: str) -> bool:
    """Take a job back that waits, for its first attempt or another: it will not run. False where it runs or ended."""
    return bool(await jobs.supersede(session, [job_id]))


async def supersede_each(session: TenantSession, job_ids: Sequence[str]) -> None:
    """The same for many at once, in as many statements as for one."""
    await jobs.supersede(session, job_ids)
