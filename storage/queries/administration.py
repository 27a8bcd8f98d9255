"""Statements of the operator's commands, which look at the organizations from outside."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from sqlalchemy import func, select, update
from sqlmodel import col

from contract.vocabulary import JobStatus
from storage.base import now
from storage.new_rows import new_row
from storage.queries import jobs
from storage.statements import AnyRow
from storage.tables import Credential, Job, Membership, Organization, QueuedJob, Webhook
from storage.tenancy.sessions import TenantSession


async def organizations(session: TenantSession) -> Sequence[AnyRow]:
    """Every organization with how many may call in it, by identifier (a session of the directory)."""
    present = col(Membership.ended_at).is_(None)
    statement = (
        select(
            col(Organization.external_id),
            col(Organization.name),
            col(Organization.created_at),
            col(Organization.suspended_at),
            col(Organization.cluster),
            func.count(col(Membership.subject)).filter(present).label("members"),
        )
        .outerjoin(Membership, col(Membership.org_id) == Organization.id)
        .group_by(col(Organization.id))
        .order_by(col(Organization.external_id))
    )
    return await session.rows(statement)


async def rename(session: TenantSession, external_id: str, name: str) -> bool:
    """Give an organization another name; False where there is none such (a session of the directory)."""
    own = col(Organization.external_id) == external_id
    return bool(await session.execute(update(Organization).where(own).values(name=name)))


async def suspend(session: TenantSession, external_id: str, moment: datetime | None) -> bool:
    """Suspend an organization, or with None have it go on; False where it is so already (the directory's session)."""
    own = col(Organization.external_id) == external_id
    is_open = col(Organization.suspended_at).is_(None)
    changed = update(Organization).where(own, is_open if moment else ~is_open).values(suspended_at=moment)
    return bool(await session.execute(changed))


async def live_credentials(session: TenantSession, org_id: str | None, owner: str | None) -> Sequence[AnyRow]:
    """The keys and tokens that are not revoked, newest first, as far as they may be seen (the directory's session)."""
    statement = (
        select(
            col(Credential.id),
            col(Credential.kind),
            col(Credential.name),
            col(Credential.hint),
            col(Credential.owner_subject),
            col(Credential.created_at),
            col(Credential.last_used_at),
            col(Credential.expires_at),
            col(Organization.external_id),
        )
        .outerjoin(Organization, col(Organization.id) == Credential.org_id)
        .where(col(Credential.revoked_at).is_(None))
        .order_by(col(Credential.created_at).desc(), col(Credential.id))
    )
    if org_id is not None:
        statement = statement.where(col(Credential.org_id) == org_id)
    return await session.rows(statement if owner is None else statement.where(col(Credential.owner_subject) == owner))


async def newest_jobs(session: TenantSession, status: JobStatus | None, most: int) -> Sequence[AnyRow]:
    """The organization's jobs, newest first, without what they were given; of one status if one is named."""
    statement = (
        select(
            col(Job.id),
            col(Job.kind),
            col(Job.status),
            col(Job.attempts),
            col(Job.error),
            col(Job.created_at),
            col(Job.finished_at),
            col(QueuedJob.due_at),
        )
        .outerjoin(QueuedJob, (col(QueuedJob.org_id) == Job.org_id) & (col(QueuedJob.job_id) == Job.id))
        .where(col(Job.org_id) == session.org_id)
        .order_by(col(Job.id).desc())
        .limit(most)
    )
    return await session.rows(statement if status is None else statement.where(col(Job.status) == status.value))


class Retried(StrEnum):
    """The outcome for a job that was to be tried again."""

    DUE = "due"
    MISSING = "missing"
    RUNNING = "running"
    ENDED = "ended"
    TWICE = "twice"


async def retry(session: TenantSession, job_id: str) -> Retried:
    """Have a job that failed begin anew, with all its attempts, or one that waits be due now (decision 624)."""
    queued = await jobs.place(session, job_id)
    job = await jobs.find(session, job_id, lock=True)
    if job is None:
        return Retried.MISSING
    if job.status == JobStatus.RUNNING:
        return Retried.RUNNING
    if queued is not None:
        await session.update(queued, due_at=now())
        return Retried.DUE
    if job.status != JobStatus.FAILED:
        return Retried.ENDED
    if job.key is not None and await jobs.unfinished(session, job.kind, job.key) is not None:
        return Retried.TWICE
    anew = {"status": JobStatus.QUEUED.value, "attempts": 0, "error": None, "progress": 0.0, "finished_at": None}
    await session.update(job, **anew)
    await session.insert(new_row(QueuedJob, org_id=session.org_id, job_id=job.id, due_at=now()))
    return Retried.DUE


async def webhooks(session: TenantSession) -> Sequence[AnyRow]:
    """The organization's webhooks, oldest first."""
    return await session.rows(
        select(
            col(Webhook.id),
            col(Webhook.url),
            col(Webhook.types),
            col(Webhook.active),
            col(Webhook.failures),
            col(Webhook.failing_since),
            col(Webhook.created_at),
            col(Webhook.created_by),
        )
        .where(col(Webhook.org_id) == session.org_id)
        .order_by(col(Webhook.id))
    )
