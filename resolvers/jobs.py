"""Jobs: what has become of the work that the organization asked for."""

from typing import Any

from contract.criteria import Selection
from contract.scopes import ScopeGroup
from resolvers.access import requires
from resolvers.context import Context
from resolvers.lists import by_id
from storage.queries import nouns


@requires(ScopeGroup.CRM_READ)
async def get_job(ctx: Context, job_id: str, selection: Selection | None = None) -> Any:
    """The job, or None."""
    return await by_id(ctx, nouns.JOBS, job_id, selection)
