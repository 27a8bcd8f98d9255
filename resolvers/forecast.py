"""Forecasts the amounts that open deals are expected to bring, by month (docs/analytics.md, decision 259)."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

from pydantic import Field

from contract.catalog import DateGrain
from contract.criteria import Condition
from contract.errors import Problem, Problems
from contract.limits import FORECAST_MONTHS_DEFAULT, FORECAST_MONTHS_MAX
from contract.scopes import ScopeGroup
from resolvers.aggregates import Period, Rows, period_of, total_of
from resolvers.deal_aggregates import DEAL_SUBJECT, weighted_of
from resolvers.deals import MoneyTotal
from resolvers.outreach_inputs import TimeZone
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, parse
from storage.base import now
from storage.queries import forecast as statements
from storage.queries.exact import amount_of


@dataclass(frozen=True, slots=True)
class ForecastSlot:
    """The open deals of one part of a forecast."""

    count: int
    totals: Sequence[MoneyTotal]
    weighted: Sequence[MoneyTotal]
    unweighted_count: int


@dataclass(frozen=True, slots=True)
class ForecastMonth:
    """A month with the open deals that are to close in it, and what was won in it."""

    period: Period
    open: ForecastSlot
    won: Sequence[MoneyTotal]


@dataclass(frozen=True, slots=True)
class Forecast:
    """The months ahead, and what lies outside of them."""

    months: Sequence[ForecastMonth]
    overdue: ForecastSlot
    undated: ForecastSlot
    later: ForecastSlot


class Ahead(Input):
    """Says which months are looked at: from that of a day on, or from the current one."""

    first: Annotated[date | None, Field(alias="from")] = None
    months: Annotated[int, Field(ge=1, le=FORECAST_MONTHS_MAX)] = FORECAST_MONTHS_DEFAULT
    time_zone: TimeZone = "UTC"


_SUM: Final = ("high", "low")
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "totals": _SUM,
    "won": _SUM,
    "weighted": DEAL_SUBJECT.figures["weighted"].parts,
    "unweighted_count": DEAL_SUBJECT.figures["unweighted_count"].parts,
}
WANTED: Final = frozenset(_PARTS)
"""The names of all that can be wanted of a forecast, each of which takes sums of its own."""


@requires(ScopeGroup.CRM_READ)
async def forecast_deals(
    ctx: Context, condition: Condition, ahead: Mapping[str, object], wanted: Collection[str] = WANTED
) -> Forecast:
    """Forecast what deals bring in the months of `Ahead`, with those sums alone that are wanted. Raises Problems."""
    asked = parse(Ahead, ahead)
    today = now().astimezone(ZoneInfo(asked.time_zone)).date()
    periods = _months(asked.first or today, asked.months)
    # The last month that there is ends with its last day, and not before another one.
    last = periods[-1].end if periods[-1].end == date.max else periods[-1].end - timedelta(days=1)
    days = statements.Days(today, periods[0].start, last)
    parts = frozenset(part for name in wanted for part in _PARTS[name])
    async with ctx.reading() as session:
        rows = await statements.expected(session, condition, days, parts)
        dialect = session.dialect

    found: defaultdict[tuple[str, date | None], list[Any]] = defaultdict(list)  # Any: of the parts
    for row in rows:
        found[row.place, row.month].append(row)

    def slot(place: str, month: date | None = None) -> ForecastSlot:
        these = found[place, month]
        return ForecastSlot(
            sum(row.count for row in these),
            _totals(these, dialect) if "totals" in wanted else [],
            weighted_of(these, dialect) if "weighted" in wanted else [],
            total_of(these, "unweighed") if "unweighted_count" in wanted else 0,
        )

    def won(month: date) -> Sequence[MoneyTotal]:
        return _totals(found[statements.WON, month], dialect) if "won" in wanted else []

    months = [ForecastMonth(one, slot(statements.AHEAD, one.start), won(one.start)) for one in periods]
    return Forecast(months, *(slot(place) for place in (statements.OVERDUE, statements.UNDATED, statements.LATER)))


def _months(day: date, number: int) -> list[Period]:
    """The months from that of the day on. Raises Problems where there are not so many."""
    found = [(day.year * 12 + day.month - 1 + n) for n in range(number)]
    if found[-1] // 12 > date.max.year:
        raise Problems([Problem(("from",), f"must have {number} months from its own on", "value_error")])
    return [period_of(date(month // 12, month % 12 + 1, 1), DateGrain.MONTH) for month in found]


def _totals(rows: Rows, dialect: str) -> list[MoneyTotal]:
    return [MoneyTotal(row.currency, amount_of(dialect, row.high, row.low), row.count) for row in rows]
