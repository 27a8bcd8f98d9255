"""Aggregates of leads on the GraphQL surface."""

from typing import Annotated, cast

import strawberry
from strawberry import UNSET

from contract.aggregates import LeadAggregateOrderField, LeadDimension, texts_of
from contract.catalog import DateGrain
from contract.limits import GROUPS_DEFAULT
from contract.vocabulary import CaptureSource, LeadStatus, SortDirection
from resolvers import lead_aggregates
from schema.aggregates import Period, grouping_of, wanted
from schema.declare import Info, argument, enum, field, operation_field
from schema.filters import condition_of
from schema.leads import LeadFilter

enum(LeadDimension, "What leads can be grouped by.", **texts_of("leads", LeadDimension))
enum(
    LeadAggregateOrderField,
    "What groups of leads are ordered by.",
    KEY="The keys, null last.",
    COUNT="The number of leads.",
    CONVERSION_RATE="The conversion rate, null last.",
)


@strawberry.type(
    description="What a group of leads has in common. A field that was not grouped by is null; so is one that the "
    "group's leads lack."
)
class LeadGroupKey:
    status: LeadStatus | None = field("The status.")
    source: CaptureSource | None = field("How the leads were captured.")
    owner_id: str | None = field("The owning rep's subject.")
    tag: str | None = field("The tag.")
    disqualified_reason: str | None = field("The reason.")
    created_at: Period | None = field("The period in which the records were made.")
    converted_at: Period | None = field("The period of conversion.")


@strawberry.type(description="What a group of leads comes to.")
class LeadGroup:
    key: LeadGroupKey = field("What the leads have in common.")
    count: int = field("The number of leads.")
    converted_count: int = field("Those converted.")
    disqualified_count: int = field("Those disqualified.")
    conversion_rate: float | None = field(
        "Converted of all, in percent, rounded half up to one decimal; null for no leads."
    )
    average_days_to_convert: float | None = field(
        "Converted leads: days from capture to conversion, on average, rounded half up to one decimal; null without "
        "one."
    )


@strawberry.type(description="Groups of leads, and all of them together.")
class LeadAggregate:
    groups: list[LeadGroup] = field("The groups, in the order asked for.")
    total: LeadGroup = field("All leads that the filter takes, each once.")
    group_count: int = field("How many groups there are.")
    truncated: bool = field("Whether there are more groups than are listed.")


@strawberry.input(description="The order of groups of leads.")
class LeadAggregateOrder:
    field: LeadAggregateOrderField = strawberry.field(description="By what.", default=LeadAggregateOrderField.KEY)
    direction: SortDirection = strawberry.field(description="Which way.", default=SortDirection.ASC)


_NOTHING = cast("list[LeadDimension]", ())
_BY_KEY = LeadAggregateOrder()


@strawberry.type
class LeadAggregateQueries:
    @operation_field(lead_aggregates.aggregate_leads, "Leads counted by at most two dimensions.")
    async def lead_aggregate(
        self,
        info: Info,
        filter: Annotated[LeadFilter | None, argument("Which leads count; all unless given.")] = UNSET,
        group_by: Annotated[
            list[LeadDimension] | None, argument("None gives one group of everything. Two at most, each once.")
        ] = _NOTHING,
        grain: Annotated[DateGrain, argument("The width of the periods of date dimensions.")] = DateGrain.MONTH,
        time_zone: Annotated[str, argument("The time zone whose days and months moments fall into.")] = "UTC",
        order_by: Annotated[
            LeadAggregateOrder | None, argument("The order of the groups; ties are in the order of the keys.")
        ] = _BY_KEY,
        first: Annotated[
            int | None, argument("How many groups are listed, 0 to 500; `total` covers all.")
        ] = GROUPS_DEFAULT,
    ) -> LeadAggregate:
        grouping = grouping_of(group_by, grain, time_zone, order_by or _BY_KEY, first)
        return await lead_aggregates.aggregate_leads(info.context, condition_of(filter), grouping, wanted(info))


QUERIES = LeadAggregateQueries
