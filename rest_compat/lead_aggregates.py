"""Serves the aggregates of leads."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from contract.aggregates import LeadAggregateOrderField, LeadDimension
from contract.criteria import Op
from contract.vocabulary import CaptureSource, LeadStatus
from resolvers.lead_aggregates import LEAD_SUBJECT, aggregate_leads
from rest_compat.aggregates import AggregateQuery, answered
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import Exactly, Repeatable, Since, Where


class LeadAggregateQuery(AggregateQuery):
    """Has the query parameters of GET /leads/aggregate."""

    group_by: Annotated[list[LeadDimension] | None, Repeatable()] = Field(
        default=None, description="At most two, several times or by commas; none gives one group of everything."
    )
    order_by: LeadAggregateOrderField = Field(
        default=LeadAggregateOrderField.KEY, description="What groups are ordered by; ties by their keys."
    )
    status: Annotated[LeadStatus | None, Where()] = Field(default=None, description="Only leads in this state.")
    source: Annotated[CaptureSource | None, Where()] = Field(
        default=None, description="Only leads that were captured so."
    )
    owner_id: Exactly = Field(default=None, description="Only leads owned by this user.")
    updated_since: Since = Field(default=None, description="Only leads that changed at or after this time.")
    tag: Annotated[str | None, Where(Op.CONTAINS, "tags")] = Field(
        default=None, description="Only leads with this tag."
    )


async def aggregate(call: RestRequest) -> RestResponse:
    """Answers with the groups, what they come to, and all of them together."""
    query: LeadAggregateQuery = call.query
    return await answered(call, aggregate_leads, LEAD_SUBJECT, query.group_by or [], query.order_by, {})


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/leads/aggregate",
        aggregate,
        "Count leads",
        resolver=aggregate_leads,
        query=LeadAggregateQuery,
        answer="LeadAggregate",
        graphql_field="Query.leadAggregate",
        description="Groups of leads by at most two dimensions, what each comes to, and all of them together. By tag, "
        "a lead is in the group of each of its tags, and once in the total.",
        operation_id="leads_aggregate",
    ),
)
