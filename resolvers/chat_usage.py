"""Counts what an organization's chats asked of models, by day, member and model, without their texts (decision 336)."""

from collections.abc import Sequence
from datetime import date, timedelta

from contract.errors import Problem, Problems
from contract.scopes import ScopeGroup
from resolvers.chat_runs import check_on
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from storage.base import now
from storage.queries import model_usage as statements
from storage.tables import ModelUsage

_DAYS = timedelta(days=30)


@requires(ScopeGroup.ORG_ADMIN)
async def list_usage(ctx: Context, first: date | None = None, last: date | None = None) -> Sequence[ModelUsage]:
    """The days from one to another, today and the 30 days before it unless told, the newest first. Raises Problems."""
    check_on(ctx)
    until = last or now().date()
    since = first or (until - _DAYS if until - date.min > _DAYS else date.min)
    if until < since:
        raise Problems([Problem(("to",), "must not be before from", "range")])
    async with ctx.reading() as session:
        return await statements.between(session, since.isoformat(), until.isoformat())
