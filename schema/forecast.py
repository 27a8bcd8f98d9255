"""The forecast of deals on the GraphQL surface."""

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.limits import FORECAST_MONTHS_DEFAULT
from resolvers import forecast
from schema.aggregates import Period
from schema.deals import DealFilter, MoneyTotal
from schema.declare import Info, argument, field, operation_field
from schema.execution.selections import field_of
from schema.execution.tree import Field
from schema.filters import condition_of


@strawberry.type(description="Open deals of one part of a forecast.")
class ForecastSlot:
    count: int = field("The number of deals.")
    totals: list[MoneyTotal] = field("The amounts, one item for each currency.")
    weighted: list[MoneyTotal] = field("Amount times probability, exact, one item for each currency.")
    unweighted_count: int = field("Deals with an amount that no probability weighs.")


@strawberry.type(description="One month of a forecast.")
class ForecastMonth:
    period: Period = field("The month.")
    open: ForecastSlot = field("Open deals that are to close in it; those overdue are left out.")
    won: list[MoneyTotal] = field("Deals already won with a closing day in it, one item for each currency.")


@strawberry.type(description="The months ahead, and what lies outside of them.")
class DealForecast:
    months: list[ForecastMonth] = field("One item for each month, without gaps.")
    overdue: ForecastSlot = field("Open deals whose closing day has passed; they are in no month.")
    undated: ForecastSlot = field("Open deals without a closing day.")
    later: ForecastSlot = field("Open deals with a closing day behind the last month.")


@strawberry.type
class ForecastQueries:
    @operation_field(
        forecast.forecast_deals,
        "What open deals are expected to bring, month by month: value times the probability of the stage.",
    )
    async def deal_forecast(
        self,
        info: Info,
        filter: Annotated[DealFilter | None, argument("Which deals count; all unless given.")] = UNSET,
        from_: Annotated[
            date | None, argument("A day of the first month; the current month unless given.", name="from")
        ] = UNSET,
        months: Annotated[
            int | None, argument("How many months, 1 to 24; a month without deals is listed too.")
        ] = FORECAST_MONTHS_DEFAULT,
        time_zone: Annotated[
            str, argument("The time zone that decides which month is current and what is overdue.")
        ] = "UTC",
    ) -> DealForecast:
        given = {"from": from_ or None, "months": months, "time_zone": time_zone}
        ahead = {name: value for name, value in given.items() if value is not None}
        wanted = forecast.WANTED.intersection(_names(field_of(info).fields))
        return await forecast.forecast_deals(info.context, condition_of(filter), ahead, wanted)


def _names(fields: Iterable[Field]) -> Iterator[str]:
    """The names of what is selected, at any depth."""
    for one in fields:
        if one.declared is not None:
            yield one.declared.python_name
        yield from _names(one.fields)


QUERIES = ForecastQueries
