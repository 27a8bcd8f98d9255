"""Serves POST /analytics/query: figures and rows by names of the catalogue."""

from __future__ import annotations

from typing import Final

from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.analytics_queries import run_query
from rest_compat.analytics_results import result_body
from rest_compat.operations import RestOperation, RestRequest, RestResponse


async def query(call: RestRequest) -> RestResponse:
    """Answers with the rows of the query."""
    body: AnalyticsQuery = call.body
    return RestResponse(result_body(await run_query(call.ctx, body)))


OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/analytics/query",
        query,
        "Run a semantic query",
        resolver=run_query,
        body=AnalyticsQuery,
        answer="AnalyticsResult",
        graphql_field="Query.analyticsQuery",
        description="Figures and rows by names of the catalogue, such as the plan that an answer showed.",
        example={"entity": "deals", "measures": ["value_sum"], "by": ["stage"]},
        operation_id="analytics_query",
    ),
)
