"""Aggregates of accounts on the GraphQL surface."""

from typing import Annotated, cast

import strawberry
from strawberry import UNSET

from contract.aggregates import AccountAggregateOrderField, AccountDimension, texts_of
from contract.catalog import DateGrain
from contract.limits import GROUPS_DEFAULT
from contract.vocabulary import HealthTrend, SortDirection
from resolvers import account_aggregates
from resolvers.aggregates import Figures
from schema import health  # noqa: F401  # which declares the trends
from schema.accounts import AccountFilter
from schema.aggregates import Period, grouping_of, wanted
from schema.declare import Info, argument, enum, field, guarded_field, operation_field
from schema.filters import condition_of

enum(AccountDimension, "What accounts can be grouped by.", **texts_of("accounts", AccountDimension))
enum(
    AccountAggregateOrderField,
    "What groups of accounts are ordered by.",
    KEY="The keys, null last.",
    COUNT="The number of accounts.",
    AVERAGE_HEALTH="The average health, null last.",
)


@strawberry.type(
    description="What a group of accounts has in common. A field that was not grouped by is null; so is one that the "
    "group's accounts lack."
)
class AccountGroupKey:
    industry: str | None = field("The industry.")
    owner_id: str | None = field("The owning rep's subject.")

    @guarded_field(account_aggregates.health_of, "The trend of the latest snapshot.", "health_trend")
    async def health_trend(root: strawberry.Parent[Figures], info: Info) -> HealthTrend | None:
        return cast("HealthTrend | None", await account_aggregates.health_of(info.context, root, "health_trend"))

    created_at: Period | None = field("The period in which the records were made.")


@strawberry.type(description="What a group of accounts comes to.")
class AccountGroup:
    key: AccountGroupKey = field("What the accounts have in common.")
    count: int = field("The number of accounts.")
    with_open_deals_count: int = field("Those with an open deal.")

    @guarded_field(account_aggregates.health_of, "Those that were scored at least once.", "scored_count")
    async def scored_count(root: strawberry.Parent[Figures], info: Info) -> int:
        return cast("int", await account_aggregates.health_of(info.context, root, "scored_count"))

    @guarded_field(
        account_aggregates.health_of,
        "The latest score of each scored account, on average, rounded half up to one decimal; null where none was "
        "scored.",
        "average_health",
    )
    async def average_health(root: strawberry.Parent[Figures], info: Info) -> float | None:
        return cast("float | None", await account_aggregates.health_of(info.context, root, "average_health"))


@strawberry.type(description="Groups of accounts, and all of them together.")
class AccountAggregate:
    groups: list[AccountGroup] = field("The groups, in the order asked for.")
    total: AccountGroup = field("All accounts that the filter takes.")
    group_count: int = field("How many groups there are.")
    truncated: bool = field("Whether there are more groups than are listed.")


@strawberry.input(description="The order of groups of accounts.")
class AccountAggregateOrder:
    field: AccountAggregateOrderField = strawberry.field(description="By what.", default=AccountAggregateOrderField.KEY)
    direction: SortDirection = strawberry.field(description="Which way.", default=SortDirection.ASC)


_NOTHING = cast("list[AccountDimension]", ())
_BY_KEY = AccountAggregateOrder()


@strawberry.type
class AccountAggregateQueries:
    @operation_field(
        account_aggregates.aggregate_accounts,
        "Accounts counted by at most two dimensions, with the average of their latest health scores.",
    )
    async def account_aggregate(
        self,
        info: Info,
        filter: Annotated[AccountFilter | None, argument("Which accounts count; all unless given.")] = UNSET,
        group_by: Annotated[
            list[AccountDimension] | None, argument("None gives one group of everything. Two at most, each once.")
        ] = _NOTHING,
        grain: Annotated[DateGrain, argument("The width of the periods of date dimensions.")] = DateGrain.MONTH,
        time_zone: Annotated[str, argument("The time zone whose days and months moments fall into.")] = "UTC",
        order_by: Annotated[
            AccountAggregateOrder | None, argument("The order of the groups; ties are in the order of the keys.")
        ] = _BY_KEY,
        first: Annotated[
            int | None, argument("How many groups are listed, 0 to 500; `total` covers all.")
        ] = GROUPS_DEFAULT,
    ) -> AccountAggregate:
        grouping = grouping_of(group_by, grain, time_zone, order_by or _BY_KEY, first)
        return await account_aggregates.aggregate_accounts(info.context, condition_of(filter), grouping, wanted(info))


QUERIES = AccountAggregateQueries
