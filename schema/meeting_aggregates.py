"""Aggregates of meetings on the GraphQL surface."""

from typing import Annotated, cast

import strawberry
from strawberry import UNSET

from contract.aggregates import MeetingAggregateOrderField, MeetingDimension, texts_of
from contract.catalog import DateGrain
from contract.limits import GROUPS_DEFAULT
from contract.vocabulary import ActivitySource, MeetingState, SortDirection
from resolvers import accounts, deals, meeting_aggregates
from schema.accounts import Account
from schema.aggregates import Period, grouping_of, wanted
from schema.deals import Deal
from schema.declare import Info, argument, enum, field, link_field, operation_field
from schema.filters import condition_of
from schema.meetings import MeetingFilter

enum(MeetingDimension, "What meetings can be grouped by.", **texts_of("meetings", MeetingDimension))
enum(
    MeetingAggregateOrderField,
    "What groups of meetings are ordered by.",
    KEY="The keys, null last.",
    COUNT="The number of meetings.",
    TOTAL_MINUTES="The minutes added up.",
)


@strawberry.type(
    description="What a group of meetings has in common. A field that was not grouped by is null; so is one that the "
    "group's meetings lack."
)
class MeetingGroupKey:
    owner_id: str | None = field("The owning rep's subject.")
    account_id: strawberry.ID | None = field("The account's identifier.")
    account: Account | None = link_field("account", accounts.get_account, "The account.")
    industry: str | None = field("The account's industry.")
    deal_id: strawberry.ID | None = field("The deal's identifier.")
    deal: Deal | None = link_field("deal", deals.get_deal, "The deal.")
    source: ActivitySource | None = field("Where the meetings came from.")
    state: MeetingState | None = field("The state.")
    due_at: Period | None = field("The period of the scheduled time.")
    completed_at: Period | None = field("The period of completion.")
    created_at: Period | None = field("The period in which the records were made.")


@strawberry.type(description="What a group of meetings comes to.")
class MeetingGroup:
    key: MeetingGroupKey = field("What the meetings have in common.")
    count: int = field("The number of meetings.")
    completed_count: int = field("Those marked done.")
    account_count: int = field("Different accounts among them.")
    total_minutes: int = field("The lengths that are known, added up, in minutes.")
    average_minutes: float | None = field(
        "The lengths that are known, on average, rounded half up to one decimal; null where none is known."
    )


@strawberry.type(description="Groups of meetings, and all of them together.")
class MeetingAggregate:
    groups: list[MeetingGroup] = field("The groups, in the order asked for.")
    total: MeetingGroup = field("All meetings that the filter takes.")
    group_count: int = field("How many groups there are.")
    truncated: bool = field("Whether there are more groups than are listed.")


@strawberry.input(description="The order of groups of meetings.")
class MeetingAggregateOrder:
    field: MeetingAggregateOrderField = strawberry.field(description="By what.", default=MeetingAggregateOrderField.KEY)
    direction: SortDirection = strawberry.field(description="Which way.", default=SortDirection.ASC)


_NOTHING = cast("list[MeetingDimension]", ())
_BY_KEY = MeetingAggregateOrder()


@strawberry.type
class MeetingAggregateQueries:
    @operation_field(
        meeting_aggregates.aggregate_meetings,
        "Meetings counted by at most two dimensions, for example per owner and month.",
    )
    async def meeting_aggregate(
        self,
        info: Info,
        filter: Annotated[MeetingFilter | None, argument("Which meetings count; all unless given.")] = UNSET,
        group_by: Annotated[
            list[MeetingDimension] | None, argument("None gives one group of everything. Two at most, each once.")
        ] = _NOTHING,
        grain: Annotated[DateGrain, argument("The width of the periods of date dimensions.")] = DateGrain.MONTH,
        time_zone: Annotated[str, argument("The time zone whose days and months moments fall into.")] = "UTC",
        order_by: Annotated[
            MeetingAggregateOrder | None, argument("The order of the groups; ties are in the order of the keys.")
        ] = _BY_KEY,
        first: Annotated[
            int | None, argument("How many groups are listed, 0 to 500; `total` covers all.")
        ] = GROUPS_DEFAULT,
    ) -> MeetingAggregate:
        grouping = grouping_of(group_by, grain, time_zone, order_by or _BY_KEY, first)
        return await meeting_aggregates.aggregate_meetings(info.context, condition_of(filter), grouping, wanted(info))


QUERIES = MeetingAggregateQueries
