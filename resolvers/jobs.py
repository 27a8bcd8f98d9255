"""Jobs: what has become of the work that the organization asked for."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from contract.criteria import Selection
from contract.errors import NotFound, Unavailable
from contract.scopes import ScopeGroup
from contract.vocabulary import JobStatus
from resolvers.access import requires
from resolvers.context import Context
from resolvers.lists import by_id
from storage.feed import PAUSE_SECONDS
from storage.queries import nouns

ENDED = frozenset({JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.SUPERSEDED})
"""The states of a job that no other follows."""


@requires(ScopeGroup.CRM_READ)
async def get_job(ctx: Context, job_id: str, selection: Selection | None = None) -> Any:
    """The job, or None."""
    return await by_id(ctx, nouns.JOBS, job_id, selection)


@requires(ScopeGroup.CRM_READ)
async def watch_job(ctx: Context, job_id: str) -> AsyncIterator[Any]:
    """The job as it is, and again whenever it has changed, until it has ended. Raises NotFound."""
    job = await get_job(ctx, job_id)
    if job is None:
        raise NotFound(field=("id",))
    return _watched(ctx, job_id, job)


async def _watched(ctx: Context, job_id: str, job: Any) -> AsyncIterator[Any]:
    with ctx.services.feed.channel(ctx.org_id) as channel:
        yield job
        while job.status not in ENDED:
            version = channel.version
            ctx.forget()
            try:
                found = await get_job(ctx, job_id)
            except Unavailable:  # the job goes on when the database is back
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            if found is None:  # forgotten long after its end, which was not seen
                return
            if _state(found) != _state(job):
                job = found
                yield job
            else:
                await channel.changed(version)


def _state(job: Any) -> tuple[Any, ...]:
    return (job.status, job.attempts, job.progress, job.error, job.started_at, job.finished_at)
