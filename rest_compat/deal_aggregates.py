"""Serves the aggregates of deals."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from contract.aggregates import DealAggregateOrderField, DealDimension
from contract.criteria import Op
from contract.vocabulary import DealStatus
from resolvers.accounts import get_account
from resolvers.deal_aggregates import DEAL_SUBJECT, aggregate_deals
from resolvers.pipeline_stages import get_stage
from resolvers.shared.inputs import CalendarDate, Currency
from rest_compat.aggregates import AggregateQuery, Named, answered
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import Conditions, Exactly, Moment, Repeatable, Where

STAGE_KEYS: Final = ("id", "name", "position", "type", "probability")
_NAMED: Final = {
    "stage": Named(get_stage, STAGE_KEYS),
    "account": Named(get_account, ("id", "name", "domain")),
}


class DealConditions(Conditions):
    """Has the query parameters that say which deals count."""

    stage_id: Exactly = Field(default=None, description="Only deals in this stage.")
    account_id: Exactly = Field(default=None, description="Only deals of this account.")
    owner_id: Exactly = Field(default=None, description="Only deals owned by this user.")
    status: Annotated[DealStatus | None, Where()] = Field(default=None, description="Only deals that stand so.")
    currency_in: Annotated[list[Currency] | None, Repeatable(), Where(Op.IN, "currency")] = Field(
        default=None, description="Only deals in these currencies: several times, or by commas."
    )
    close_date_from: Annotated[CalendarDate | None, Where(Op.GTE, "close_date")] = Field(
        default=None, description="Only deals whose closing day is this or later."
    )
    close_date_to: Annotated[CalendarDate | None, Where(Op.LTE, "close_date")] = Field(
        default=None, description="Only deals whose closing day is this or earlier."
    )
    created_from: Annotated[Moment | None, Where(Op.GTE, "created_at")] = Field(
        default=None, description="Only deals made at or after this time."
    )
    created_to: Annotated[Moment | None, Where(Op.LTE, "created_at")] = Field(
        default=None, description="Only deals made at or before this time."
    )


class _Grouped(AggregateQuery):
    """Has the parameters that come before those that say which deals."""

    group_by: Annotated[list[DealDimension] | None, Repeatable()] = Field(
        default=None, description="At most two, several times or by commas; none gives one group of everything."
    )
    order_by: DealAggregateOrderField = Field(
        default=DealAggregateOrderField.KEY, description="What groups are ordered by; ties by their keys."
    )
    currency: str | None = Field(default=None, description="That of an order by sum or weighted; needed there.")


class DealAggregateQuery(DealConditions, _Grouped):
    """Has the query parameters of GET /deals/aggregate."""


async def aggregate(call: RestRequest) -> RestResponse:
    """Answers with the groups, what they come to, and all of them together."""
    query: DealAggregateQuery = call.query
    return await answered(call, aggregate_deals, DEAL_SUBJECT, query.group_by or [], query.order_by, _NAMED)


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/deals/aggregate",
        aggregate,
        "Count and add up deals",
        resolver=aggregate_deals,
        query=DealAggregateQuery,
        answer="DealAggregate",
        graphql_field="Query.dealAggregate",
        description="Groups of deals by at most two dimensions, what each comes to, and all of them together. Amounts "
        "are listed for each currency and never added across. `total` is of all groups, those that are not listed too.",
    ),
)
