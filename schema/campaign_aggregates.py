"""Aggregates of campaigns and their recipients on the GraphQL surface."""

from typing import Annotated, cast

import strawberry
from strawberry import UNSET

from contract.aggregates import CampaignAggregateOrderField, CampaignDimension, texts_of
from contract.catalog import DateGrain
from contract.limits import GROUPS_DEFAULT
from contract.outreach_vocabulary import CampaignStatus, EnrollmentStatus
from contract.vocabulary import SortDirection
from resolvers import campaign_aggregates, campaigns
from resolvers.aggregates import Figures
from schema.aggregates import Period, grouping_of, wanted
from schema.campaigns import Campaign, CampaignFilter
from schema.declare import Info, argument, enum, field, guarded_field, operation_field
from schema.execution.selections import selected
from schema.filters import condition_of

enum(CampaignDimension, "What campaigns can be grouped by.", **texts_of("campaigns", CampaignDimension))
enum(
    CampaignAggregateOrderField,
    "What groups of campaigns are ordered by.",
    KEY="The keys, null last.",
    ENROLLED_COUNT="The recipients.",
    REPLY_RATE="The reply rate, null last.",
    BOUNCE_RATE="The bounce rate, null last.",
)


@strawberry.type(
    description="What a group has in common. A field that was not grouped by is null; a campaign without recipients "
    "has no enrollment fields."
)
class CampaignGroupKey:
    @guarded_field(campaigns.get_campaign, "The campaign.", "campaign_id")
    async def campaign(root: strawberry.Parent[Figures], info: Info) -> Campaign | None:
        return await campaigns.get_campaign(info.context, root.campaign_id, selected(info))

    status: CampaignStatus | None = field("The campaign's status.")
    enrollment_status: EnrollmentStatus | None = field("The recipient's status.")
    enrolled_at: Period | None = field("The period of enrollment.")
    created_at: Period | None = field("The period in which the campaigns were made.")


@strawberry.type(description="What a group of campaigns comes to.")
class CampaignGroup:
    key: CampaignGroupKey = field("What they have in common.")
    count: int = field("The number of different campaigns.")
    enrolled_count: int = field("The recipients.")
    replied_count: int = field("Recipients who replied.")
    bounced_count: int = field("Recipients whose address bounced.")
    unsubscribed_count: int = field("Recipients who unsubscribed.")
    reply_rate: float | None = field(
        "Replied of enrolled, in percent, rounded half up to one decimal; null without recipients."
    )
    bounce_rate: float | None = field(
        "Bounced of enrolled, in percent, rounded half up to one decimal; null without recipients."
    )


@strawberry.type(description="Groups of campaigns, and all of them together.")
class CampaignAggregate:
    groups: list[CampaignGroup] = field("The groups, in the order asked for.")
    total: CampaignGroup = field("All campaigns that the filter takes, with their recipients.")
    group_count: int = field("How many groups there are.")
    truncated: bool = field("Whether there are more groups than are listed.")


@strawberry.input(description="The order of groups of campaigns.")
class CampaignAggregateOrder:
    field: CampaignAggregateOrderField = strawberry.field(
        description="By what.", default=CampaignAggregateOrderField.KEY
    )
    direction: SortDirection = strawberry.field(description="Which way.", default=SortDirection.ASC)


_NOTHING = cast("list[CampaignDimension]", ())
_BY_KEY = CampaignAggregateOrder()


@strawberry.type
class CampaignAggregateQueries:
    @operation_field(
        campaign_aggregates.aggregate_campaigns, "Campaigns and their recipients counted by at most two dimensions."
    )
    async def campaign_aggregate(
        self,
        info: Info,
        filter: Annotated[CampaignFilter | None, argument("Which campaigns count; all unless given.")] = UNSET,
        group_by: Annotated[
            list[CampaignDimension] | None, argument("None gives one group of everything. Two at most, each once.")
        ] = _NOTHING,
        grain: Annotated[DateGrain, argument("The width of the periods of date dimensions.")] = DateGrain.MONTH,
        time_zone: Annotated[str, argument("The time zone whose days and months moments fall into.")] = "UTC",
        order_by: Annotated[
            CampaignAggregateOrder | None, argument("The order of the groups; ties are in the order of the keys.")
        ] = _BY_KEY,
        first: Annotated[
            int | None, argument("How many groups are listed, 0 to 500; `total` covers all.")
        ] = GROUPS_DEFAULT,
    ) -> CampaignAggregate:
        grouping = grouping_of(group_by, grain, time_zone, order_by or _BY_KEY, first)
        return await campaign_aggregates.aggregate_campaigns(info.context, condition_of(filter), grouping, wanted(info))


QUERIES = CampaignAggregateQueries
