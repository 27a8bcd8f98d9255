"""Serves the funnel of deals."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from pydantic import Field

from resolvers.funnel import FunnelStage, funnel_of_deals
from rest_compat.deal_aggregates import STAGE_KEYS, DealConditions
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import Moment
from rest_compat.schemas import JsonObject


class FunnelQuery(DealConditions):
    """Has the query parameters of GET /deals/funnel."""

    entered_from: Moment | None = Field(default=None, description="Only stays that began at this time or later.")
    entered_until: Moment | None = Field(default=None, description="Only stays that began before this time.")


async def funnel(call: RestRequest) -> RestResponse:
    """Answers with what happened in each stage, by position."""
    query: FunnelQuery = call.query
    found = await funnel_of_deals(call.ctx, query.condition(), query.entered_from, query.entered_until)
    return RestResponse({"stages": [_shown(one) for one in found.stages]})


def _shown(one: FunnelStage) -> JsonObject:
    return {**asdict(one), "stage": {key: getattr(one.stage, key) for key in STAGE_KEYS}}


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/deals/funnel",
        funnel,
        "Follow deals through the stages",
        resolver=funnel_of_deals,
        query=FunnelQuery,
        answer="DealFunnel",
        graphql_field="Query.dealFunnel",
        description="By the stage history: how many different deals entered each stage, are in it, went on or are "
        "lost, and how long ended stays were.",
    ),
)
