"""Leads counted by at most two dimensions (docs/analytics.md)."""

from collections.abc import Collection

from contract.aggregates import LeadDimension
from contract.criteria import Condition
from contract.scopes import ScopeGroup
from resolvers.aggregates import (
    COUNT,
    Aggregate,
    Figure,
    Grouping,
    Subject,
    aggregated,
    average_days,
    count_of,
    total_of,
)
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from storage.queries.exact import percent
from storage.queries.lead_aggregates import LEAD_SOURCE

LEAD_SUBJECT = Subject(
    LEAD_SOURCE,
    LeadDimension,
    {
        "count": COUNT,
        "converted_count": count_of("converted"),
        "disqualified_count": count_of("disqualified"),
        "conversion_rate": Figure(
            ("converted",), lambda rows, _: percent(total_of(rows, "converted"), total_of(rows, "count"))
        ),
        "average_days_to_convert": Figure(("timed", "seconds", "micros"), average_days),
    },
    keys={"owner": "owner_id"},
)


@requires(ScopeGroup.CRM_READ)
async def aggregate_leads(ctx: Context, condition: Condition, grouping: Grouping, wanted: Collection[str]) -> Aggregate:
    """Leads counted, of each figure what is wanted. Raises Problems."""
    return await aggregated(ctx, LEAD_SUBJECT, condition, grouping, wanted)
