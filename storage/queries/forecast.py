"""Adds up what deals are expected to bring, by the months of their closing days, in one statement."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from sqlalchemy import Date, and_, bindparam, case, func, literal_column, or_
from sqlmodel import col

from contract.catalog import DateGrain
from contract.criteria import Condition
from contract.vocabulary import DealStatus
from storage.base import PlainText
from storage.expressions import AnySelect, Values
from storage.queries.deal_aggregates import DEAL_SOURCE
from storage.queries.filtering import bind, narrowed
from storage.queries.numbers import equals
from storage.queries.periods import beginning
from storage.queries.record_listables import DEALS
from storage.rows import Row
from storage.statements import ORG_PARAM
from storage.tables import Deal
from storage.tenancy.sessions import TenantSession

WON, OVERDUE, UNDATED, LATER, AHEAD = "won", "overdue", "undated", "later", "ahead"


@dataclass(frozen=True, slots=True)
class Days:
    """The days of a forecast: the present one, and the first and the last of its months."""

    today: date
    first: date
    last: date


class ExpectedRow(Row):
    """The deals of one place and currency; those that are won or ahead are in a month."""

    place: str
    month: date | None
    currency: str
    count: int


async def expected(
    session: TenantSession, condition: Condition, days: Days, parts: frozenset[str]
) -> Sequence[Any]:  # Any: an ExpectedRow with the parts that were asked for
    """The won deals of the months and the open ones, by place, month and currency, with these parts of DEAL_SOURCE.

    Open deals that close after today and before the first month are in none of the places (decision 259).
    """
    values: Values = asdict(days)
    shape = bind(DEALS, condition, values)

    def build() -> AnySelect:
        wanted = {name: DEAL_SOURCE.parts[name] for name in sorted(parts)}
        day, status = col(Deal.close_date), col(Deal.status)
        today, first, last = (bindparam(name, type_=Date) for name in ("today", "first", "last"))
        is_won, is_inside = equals(status, DealStatus.WON.value), and_(day >= first, day <= last)
        places = ((is_won, WON), (day.is_(None), UNDATED), (day < today, OVERDUE), (day > last, LATER))
        place = case(*((condition, _text(name)) for condition, name in places), else_=_text(AHEAD))
        month = case((and_(is_inside, or_(is_won, day >= today)), beginning(day, DateGrain.MONTH)))
        columns = [part.column.label(name) for name, part in wanted.items()]
        statement = DEALS.select(
            ORG_PARAM, place.label("place"), month.label("month"), col(Deal.currency).label("currency"), *columns
        )
        of_open = or_(day.is_(None), day < today, day >= first)
        statement = narrowed(statement, DEALS, shape).where(
            or_(and_(is_won, is_inside), and_(equals(status, DealStatus.OPEN.value), of_open))
        )
        for name in dict.fromkeys(join for part in wanted.values() for join in part.joins):
            target, on = DEAL_SOURCE.joins[name]
            statement = statement.outerjoin(target, on)
        rows = statement.subquery()
        by = (rows.c.place, rows.c.month, rows.c.currency)
        sums = [part.how(rows.c[name]).label(name) for name, part in wanted.items()]
        from_rows: AnySelect = rows.select().with_only_columns(*by, *sums, func.count().label("count"))
        return from_rows.group_by(*by).order_by(rows.c.currency)

    return await session.fetch(("forecast", shape, parts), build, **values)


def _text(name: str) -> object:
    return literal_column(f"'{name}'", PlainText)
