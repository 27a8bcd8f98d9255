"""Jobs: what has become of the work that the organization asked for."""

from collections.abc import AsyncIterator

from contract.criteria import Selection
from contract.errors import NotFound
from contract.scopes import ScopeGroup
from contract.vocabulary import JobStatus
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.lists import by_id
from storage.queries import listables
from storage.rows import JobRow

ENDED = frozenset({JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.SUPERSEDED})
"""The states of a job that no other follows."""


@requires(ScopeGroup.CRM_READ, finds=(listables.JOBS,))
async def get_job(ctx: Context, job_id: str | None, selection: Selection | None = None) -> JobRow | None:
    """The job, or None."""
    return await by_id(ctx, listables.JOBS, job_id, selection)


@requires(ScopeGroup.CRM_READ)
async def watch_job(ctx: Context, job_id: str) -> AsyncIterator[JobRow]:
    """The job as it is, and again whenever it has changed, until it has ended. Raises NotFound."""
    job = await get_job(ctx, job_id)
    if job is None:
        raise NotFound(field=("id",))
    return _watched(ctx, job.id)


async def _watched(ctx: Context, job_id: str) -> AsyncIterator[JobRow]:
    """States that follow each other faster than they can be read may be left out; the last one never is."""
    seen: JobRow | None = None
    with ctx.services.feed.channel(ctx.org_id) as channel, channel.watching(job_id):
        while seen is None or seen.status not in ENDED:
            seen = await channel.job(job_id, seen)
            if seen is None:  # forgotten long after its end, which was not seen
                return
            yield seen
