"""Campaigns and their recipients counted by at most two dimensions (docs/analytics.md)."""

from collections.abc import Collection

from contract.aggregates import CampaignDimension
from contract.criteria import Condition
from contract.scopes import ScopeGroup
from resolvers.aggregates import Aggregate, Figure, Grouping, Subject, aggregated, count_of, total_of
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from storage.queries.campaign_aggregates import CAMPAIGN_SOURCE
from storage.queries.exact import percent


def _rate(part: str) -> Figure:
    """So many of the recipients in percent."""
    return Figure((part, "enrolled"), lambda rows, _: percent(total_of(rows, part), total_of(rows, "enrolled")))


CAMPAIGN_SUBJECT = Subject(
    CAMPAIGN_SOURCE,
    CampaignDimension,
    {
        "count": count_of("campaigns"),
        "enrolled_count": count_of("enrolled"),
        "replied_count": count_of("replied"),
        "bounced_count": count_of("bounced"),
        "unsubscribed_count": count_of("unsubscribed"),
        "reply_rate": _rate("replied"),
        "bounce_rate": _rate("bounced"),
    },
    keys={"campaign": "campaign_id"},
)


@requires(ScopeGroup.OUTREACH_READ)
async def aggregate_campaigns(
    ctx: Context, condition: Condition, grouping: Grouping, wanted: Collection[str]
) -> Aggregate:
    """Campaigns and their recipients counted, of each figure what is wanted. Raises Problems."""
    return await aggregated(ctx, CAMPAIGN_SUBJECT, condition, grouping, wanted)
