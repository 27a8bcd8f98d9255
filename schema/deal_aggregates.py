"""Aggregates of deals on the GraphQL surface."""

from typing import Annotated, cast

import strawberry
from strawberry import UNSET

from contract.aggregates import DealAggregateOrderField, DealDimension, texts_of
from contract.catalog import DateGrain
from contract.limits import GROUPS_DEFAULT
from contract.vocabulary import DealStatus, GeoScope, SortDirection
from resolvers import accounts, deal_aggregates, pipeline_stages
from schema.accounts import Account
from schema.aggregates import MoneySummary, Period, grouping_of, wanted
from schema.deals import DealFilter, MoneyTotal
from schema.declare import Info, argument, enum, field, link_field, operation_field
from schema.filters import condition_of
from schema.pipeline_stages import PipelineStage

enum(DealDimension, "What deals can be grouped by.", **texts_of("deals", DealDimension))
enum(
    DealAggregateOrderField,
    "What groups of deals are ordered by.",
    KEY="The keys: stages by position, periods by time, texts by code point, null last.",
    COUNT="The number of deals.",
    SUM="The sum in the currency that `currency` names.",
    WEIGHTED="The weighted sum in the currency that `currency` names.",
    WIN_RATE="The win rate, null last.",
    SALES_CYCLE_DAYS="The sales cycle, null last.",
)


@strawberry.type(
    description="What a group of deals has in common. A field that was not grouped by is null; so is one that the "
    "group's deals lack."
)
class DealGroupKey:
    stage: PipelineStage | None = link_field(
        "stage", pipeline_stages.get_stage, "The stage; null also for deals in no stage."
    )
    owner_id: str | None = field("The owning rep's subject.")
    account_id: strawberry.ID | None = field("The account's identifier.")
    account: Account | None = link_field("account", accounts.get_account, "The account.")
    industry: str | None = field("The account's industry.")
    status: DealStatus | None = field("Where the deals stand.")
    currency: str | None = field("The currency.")
    source: str | None = field("Where the deals came from.")
    geo_scope: GeoScope | None = field("The reach of the deals.")
    close_date: Period | None = field("The period of the closing day.")
    created_at: Period | None = field("The period of creation.")
    closed_at: Period | None = field("The period of winning or losing.")


@strawberry.type(description="What a group of deals comes to. Only what is selected is computed.")
class DealGroup:
    key: DealGroupKey = field("What the deals have in common; all null where nothing was grouped by.")
    count: int = field("The number of deals.")
    values: list[MoneySummary] = field("The amounts, one item for each currency, by code.")
    weighted: list[MoneyTotal] = field(
        "Open deals: amount times the probability of the stage, exact, one item for each currency."
    )
    unweighted_count: int = field(
        "Open deals with an amount whose stage has no probability, or that have no stage: not in `weighted`, never "
        "guessed."
    )
    open_count: int = field("The open ones.")
    won_count: int = field("The won ones.")
    lost_count: int = field("The lost ones.")
    win_rate: float | None = field(
        "Won of won and lost, in percent, rounded half up to one decimal; null where none is won or lost."
    )
    sales_cycle_days: float | None = field(
        "Won deals: days from creation to winning, on average, rounded half up to one decimal; null without one."
    )


@strawberry.type(description="Groups of deals, and all of them together.")
class DealAggregate:
    groups: list[DealGroup] = field("The groups, in the order asked for.")
    total: DealGroup = field("All deals that the filter takes, those of groups that are not listed included.")
    group_count: int = field("How many groups there are.")
    truncated: bool = field("Whether there are more groups than are listed.")


@strawberry.input(description="The order of groups of deals.")
class DealAggregateOrder:
    field: DealAggregateOrderField = strawberry.field(description="By what.", default=DealAggregateOrderField.KEY)
    direction: SortDirection = strawberry.field(description="Which way.", default=SortDirection.ASC)
    currency: str | None = strawberry.field(
        description="The currency of SUM and WEIGHTED; needed there, refused elsewhere.", default=UNSET
    )


_NOTHING = cast("list[DealDimension]", ())
_BY_KEY = DealAggregateOrder()


@strawberry.type
class DealAggregateQueries:
    @operation_field(
        deal_aggregates.aggregate_deals,
        "Deals counted and added up by at most two dimensions. Not paged: `filter` decides what is counted, `first` "
        "how many groups are listed.",
    )
    async def deal_aggregate(
        self,
        info: Info,
        filter: Annotated[DealFilter | None, argument("Which deals count; all unless given.")] = UNSET,
        group_by: Annotated[
            list[DealDimension] | None, argument("None gives one group of everything. Two at most, each once.")
        ] = _NOTHING,
        grain: Annotated[DateGrain, argument("The width of the periods of date dimensions.")] = DateGrain.MONTH,
        time_zone: Annotated[
            str,
            argument(
                "The time zone whose days and months moments fall into, a name of the IANA database; dates have none."
            ),
        ] = "UTC",
        order_by: Annotated[
            DealAggregateOrder | None, argument("The order of the groups; ties are in the order of the keys.")
        ] = _BY_KEY,
        first: Annotated[
            int | None, argument("How many groups are listed, 0 to 500; `total` covers all.")
        ] = GROUPS_DEFAULT,
    ) -> DealAggregate:
        grouping = grouping_of(group_by, grain, time_zone, order_by or _BY_KEY, first)
        return await deal_aggregates.aggregate_deals(info.context, condition_of(filter), grouping, wanted(info))


QUERIES = DealAggregateQueries
