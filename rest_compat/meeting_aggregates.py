"""Serves the aggregates of meetings."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from contract.aggregates import MeetingAggregateOrderField, MeetingDimension
from resolvers.accounts import get_account
from resolvers.deals import get_deal
from resolvers.meeting_aggregates import MEETING_SUBJECT, aggregate_meetings
from rest_compat.aggregates import AggregateQuery, Named, answered
from rest_compat.meetings import MeetingConditions
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import Repeatable

_NAMED: Final = {
    "account": Named(get_account, ("id", "name", "domain")),
    "deal": Named(get_deal, ("id", "name", "stage_id")),
}


class _Grouped(AggregateQuery):
    """Has the parameters that come before those that say which meetings."""

    group_by: Annotated[list[MeetingDimension] | None, Repeatable()] = Field(
        default=None, description="At most two, several times or by commas; none gives one group of everything."
    )
    order_by: MeetingAggregateOrderField = Field(
        default=MeetingAggregateOrderField.KEY, description="What groups are ordered by; ties by their keys."
    )


class MeetingAggregateQuery(MeetingConditions, _Grouped):
    """Has the query parameters of GET /activities/meetings/aggregate."""


async def aggregate(call: RestRequest) -> RestResponse:
    """Answers with the groups, what they come to, and all of them together."""
    query: MeetingAggregateQuery = call.query
    return await answered(call, aggregate_meetings, MEETING_SUBJECT, query.group_by or [], query.order_by, _NAMED)


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/activities/meetings/aggregate",
        aggregate,
        "Count meetings",
        resolver=aggregate_meetings,
        query=MeetingAggregateQuery,
        answer="MeetingAggregate",
        graphql_field="Query.meetingAggregate",
        description="Groups of meetings by at most two dimensions, what each comes to, and all of them together.",
        operation_id="meetings_aggregate",
    ),
)
