"""Serves the aggregates of accounts."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from contract.aggregates import AccountAggregateOrderField, AccountDimension
from resolvers.account_aggregates import ACCOUNT_SUBJECT, aggregate_accounts
from rest_compat.aggregates import AggregateQuery, answered
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import Exactly, Repeatable


class AccountAggregateQuery(AggregateQuery):
    """Has the query parameters of GET /accounts/aggregate."""

    group_by: Annotated[list[AccountDimension] | None, Repeatable()] = Field(
        default=None, description="At most two, several times or by commas; none gives one group of everything."
    )
    order_by: AccountAggregateOrderField = Field(
        default=AccountAggregateOrderField.KEY, description="What groups are ordered by; ties by their keys."
    )
    owner_id: Exactly = Field(default=None, description="Only accounts owned by this user.")
    industry: Exactly = Field(default=None, description="Only accounts of this industry.")


async def aggregate(call: RestRequest) -> RestResponse:
    """Answers with the groups, what they come to, and all of them together."""
    query: AccountAggregateQuery = call.query
    return await answered(call, aggregate_accounts, ACCOUNT_SUBJECT, query.group_by or [], query.order_by, {})


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/accounts/aggregate",
        aggregate,
        "Count accounts",
        resolver=aggregate_accounts,
        query=AccountAggregateQuery,
        answer="AccountAggregate",
        graphql_field="Query.accountAggregate",
        description="Groups of accounts by at most two dimensions, what each comes to, and all of them together. "
        "`scored_count`, `average_health` and grouping or ordering by them need what the health of an account needs; "
        "without it the two are left out, and such an order, or `health_trend`, is 403.",
    ),
)
