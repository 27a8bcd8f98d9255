"""Serves the aggregates of campaigns and their recipients."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from contract.aggregates import CampaignAggregateOrderField, CampaignDimension
from contract.outreach_vocabulary import CampaignStatus
from resolvers.campaign_aggregates import CAMPAIGN_SUBJECT, aggregate_campaigns
from resolvers.campaigns import get_campaign
from rest_compat.aggregates import AggregateQuery, Named, answered
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import Repeatable, Where

_NAMED: Final = {"campaign": Named(get_campaign, ("id", "name", "status"))}


class CampaignAggregateQuery(AggregateQuery):
    """Has the query parameters of GET /outreach/campaigns/aggregate."""

    group_by: Annotated[list[CampaignDimension] | None, Repeatable()] = Field(
        default=None, description="At most two, several times or by commas; none gives one group of everything."
    )
    order_by: CampaignAggregateOrderField = Field(
        default=CampaignAggregateOrderField.KEY, description="What groups are ordered by; ties by their keys."
    )
    status: Annotated[CampaignStatus | None, Where()] = Field(default=None, description="Only campaigns that stand so.")


async def aggregate(call: RestRequest) -> RestResponse:
    """Answers with the groups, what they come to, and all of them together."""
    query: CampaignAggregateQuery = call.query
    return await answered(call, aggregate_campaigns, CAMPAIGN_SUBJECT, query.group_by or [], query.order_by, _NAMED)


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/outreach/campaigns/aggregate",
        aggregate,
        "Count campaigns and their recipients",
        resolver=aggregate_campaigns,
        query=CampaignAggregateQuery,
        answer="CampaignAggregate",
        graphql_field="Query.campaignAggregate",
        description="Groups of campaigns by at most two dimensions, what each comes to, and all of them together.",
        operation_id="campaigns_aggregate",
    ),
)
