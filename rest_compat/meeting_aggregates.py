"""Serves the aggregates of meetings."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from contract.aggregates import MeetingAggregateOrderField, MeetingDimension
from contract.criteria import Op
from resolvers.accounts import get_account
from resolvers.deals import get_deal
from resolvers.meeting_aggregates import MEETING_SUBJECT, aggregate_meetings
from rest_compat.aggregates import AggregateQuery, Named, answered
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import Exactly, Moment, Repeatable, Where

_NAMED: Final = {
    "account": Named(get_account, ("id", "name", "domain")),
    "deal": Named(get_deal, ("id", "name", "stage_id")),
}


class MeetingAggregateQuery(AggregateQuery):
    """Has the query parameters of GET /activities/meetings/aggregate."""

    group_by: Annotated[list[MeetingDimension] | None, Repeatable()] = Field(
        default=None, description="At most two, several times or by commas; none gives one group of everything."
    )
    order_by: MeetingAggregateOrderField = Field(
        default=MeetingAggregateOrderField.KEY, description="What groups are ordered by; ties by their keys."
    )
    from_: Annotated[Moment | None, Where(Op.GTE, "due_at")] = Field(
        default=None, alias="from", description="Only meetings due at or after this time."
    )
    to: Annotated[Moment | None, Where(Op.LTE, "due_at")] = Field(
        default=None, description="Only meetings due at or before this time."
    )
    owner_id: Exactly = Field(default=None, description="Only meetings owned by this user.")
    account_id: Exactly = Field(default=None, description="Only meetings linked to this account.")
    deal_id: Exactly = Field(default=None, description="Only meetings linked to this deal.")
    unlinked_account: Annotated[bool, Where(Op.IS_NULL, "account_id")] = Field(
        default=False, description="When true, only meetings with no account_id."
    )
    unlinked_deal: Annotated[bool, Where(Op.IS_NULL, "deal_id")] = Field(
        default=False, description="When true, only meetings with no deal_id."
    )


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
