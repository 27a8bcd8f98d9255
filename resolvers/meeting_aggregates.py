"""Meetings counted by at most two dimensions (docs/analytics.md)."""

from collections.abc import Collection
from decimal import Decimal

from contract.aggregates import MeetingDimension
from contract.criteria import Condition
from contract.scopes import ScopeGroup
from resolvers.aggregates import COUNT, Aggregate, Figure, Grouping, Rows, Subject, aggregated, count_of, total_of
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from storage.queries.exact import average
from storage.queries.meeting_aggregates import MEETING_SOURCE


def _average(rows: Rows, _: str) -> float | None:
    found = average(Decimal(total_of(rows, "minutes")), total_of(rows, "timed"), 1)
    return None if found is None else float(found)


MEETING_SUBJECT = Subject(
    MEETING_SOURCE,
    MeetingDimension,
    {
        "count": COUNT,
        "completed_count": count_of("completed"),
        "account_count": count_of("accounts"),
        "total_minutes": count_of("minutes"),
        "average_minutes": Figure(("minutes", "timed"), _average),
    },
    keys={"owner": "owner_id", "account": "account_id", "deal": "deal_id"},
)


@requires(ScopeGroup.MEETINGS_READ)
async def aggregate_meetings(
    ctx: Context, condition: Condition, grouping: Grouping, wanted: Collection[str]
) -> Aggregate:
    """Meetings counted and added up, of each figure what is wanted. Raises Problems."""
    return await aggregated(ctx, MEETING_SUBJECT, condition, grouping, wanted)
