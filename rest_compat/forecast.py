"""Serves the forecast of deals."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from pydantic import Field

from contract.limits import FORECAST_MONTHS_DEFAULT, FORECAST_MONTHS_MAX
from resolvers.forecast import forecast_deals
from resolvers.shared.inputs import CalendarDate
from rest_compat.deal_aggregates import DealConditions
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import Whole


class ForecastQuery(DealConditions):
    """Has the query parameters of GET /deals/forecast."""

    from_: CalendarDate | None = Field(
        default=None, alias="from", description="A day of the first month; the current month unless given."
    )
    months: Whole = Field(
        default=FORECAST_MONTHS_DEFAULT,
        ge=1,
        le=FORECAST_MONTHS_MAX,
        description="How many months; one without deals is listed too.",
    )
    time_zone: str = Field(
        default="UTC", description="The IANA time zone that decides which month is current and what is overdue."
    )


async def forecast(call: RestRequest) -> RestResponse:
    """Answers with the months, what is overdue, what has no closing day, and what closes later."""
    query: ForecastQuery = call.query
    ahead = {"from": query.from_, "months": query.months, "time_zone": query.time_zone}
    return RestResponse(asdict(await forecast_deals(call.ctx, query.condition(), ahead)))


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/deals/forecast",
        forecast,
        "Forecast deals by month",
        resolver=forecast_deals,
        query=ForecastQuery,
        answer="DealForecast",
        graphql_field="Query.dealForecast",
        description="What open deals are expected to bring, month by month: value times the probability of the stage, "
        "for each currency. Every month is listed. `won` is of the won deals with a closing day in the month.",
    ),
)
