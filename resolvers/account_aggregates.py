"""Accounts counted by at most two dimensions, with their latest health (docs/analytics.md, decision 258)."""

from collections.abc import Collection
from typing import Final

from contract.aggregates import AccountAggregateOrderField, AccountDimension
from contract.criteria import Condition
from contract.errors import Forbidden
from contract.scopes import ScopeGroup
from resolvers.aggregates import (
    COUNT,
    Aggregate,
    Figure,
    Figures,
    Grouping,
    Rows,
    Subject,
    aggregated,
    count_of,
    total_of,
)
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from storage.queries.account_aggregates import ACCOUNT_SOURCE, HEALTH_PARTS
from storage.queries.exact import percent


def _average(rows: Rows, _: str) -> float | None:
    """The average of scores, each of a hundred."""
    return percent(total_of(rows, "scores"), 100 * total_of(rows, "scored"))


ACCOUNT_SUBJECT = Subject(
    ACCOUNT_SOURCE,
    AccountDimension,
    {
        "count": COUNT,
        "with_open_deals_count": count_of("with_open_deals"),
        "scored_count": count_of("scored"),
        "average_health": Figure(HEALTH_PARTS, _average),
    },
    keys={"owner": "owner_id"},
)
_HEALTH: Final = frozenset(("scored_count", "average_health"))


@requires(ScopeGroup.CRM_READ)
async def aggregate_accounts(
    ctx: Context, condition: Condition, grouping: Grouping, wanted: Collection[str]
) -> Aggregate:
    """Accounts counted, of each figure what is wanted; those of health where the caller may read it.

    Who may not is told of it neither by groups nor by their order (decision 258). Raises Forbidden or Problems.
    """
    group, scopes = ScopeGroup.MEETINGS_READ, ctx.caller.scopes
    if not group.passes(scopes):
        if AccountDimension.HEALTH_TREND in grouping.by or grouping.order is AccountAggregateOrderField.AVERAGE_HEALTH:
            raise Forbidden(group, scopes)
        wanted = frozenset(wanted) - _HEALTH
    return await aggregated(ctx, ACCOUNT_SUBJECT, condition, grouping, wanted)


@requires(ScopeGroup.MEETINGS_READ)
async def health_of(ctx: Context, group: Figures, name: str) -> object:
    """Read the figure of health that a group of accounts, or its key, has under this name."""
    return getattr(group, name)
