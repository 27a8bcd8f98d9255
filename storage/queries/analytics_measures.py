"""The figures of semantic queries: what each is made of, in the service and in the SQL that callers are shown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import func, literal_column

from storage.expressions import AnyColumn
from storage.queries.aggregates import SUM, Part
from storage.queries.exact import (
    amount_of,
    average,
    days,
    days_on_average,
    money_average,
    money_average_rest,
    money_carried,
    money_rest,
    percent,
    tenths,
    tenths_of_days,
    tenths_of_percent,
    weighed,
)
from storage.queries.numbers import NONE, ONE

Figures = Any
"""A row of the parts of a group. Any: its columns are those that were asked for."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of rows in ad-hoc SQL: the columns of its parts, and how many records it has."""

    columns: Mapping[str, AnyColumn]
    parts: Mapping[str, Part]
    count: AnyColumn

    def sum(self, part: str) -> AnyColumn:
        """Combine the part over the group; null of nothing."""
        return self.parts[part].how(self.columns[part])

    def number(self, part: str) -> AnyColumn:
        """The same; 0 of nothing."""
        found = self.sum(part)
        return func.coalesce(found, NONE) if self.parts[part].how is SUM else found


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure: the parts that it takes, its value of them on a database, and the columns that it is ordered by.

    `ad_hoc` is the same figure in ad-hoc SQL.
    """

    parts: tuple[str, ...]
    value: Callable[[Figures, str], object]
    terms: Callable[[AnyColumn], Sequence[AnyColumn]]
    ad_hoc: Callable[[Group], AnyColumn]
    unit: str | None = None


def count_of_records() -> Measure:
    """Says how many records there are."""
    return Measure((), lambda row, _: int(row.count), lambda fine: [fine["count"]], lambda group: group.count)


def counted(part: str) -> Measure:
    """Says how many of them the part counts."""
    return Measure(
        (part,),
        lambda row, _: int(getattr(row, part) or 0),
        lambda fine: [func.coalesce(fine[part], 0)],
        lambda group: group.number(part),
    )


def added(part: str, unit: str) -> Measure:
    """Make the measure that adds up a number; null where no record has one."""

    def value(row: Figures, _: str) -> int | None:
        found = getattr(row, part)
        return None if found is None else int(found)

    return Measure((part,), value, lambda fine: [fine[part]], lambda group: group.sum(part), unit)


def amount(high: str, low: str, is_weighed: bool = False) -> Measure:
    """Make the measure that adds up amounts; null where no record has one (decision 273)."""

    def value(row: Figures, dialect: str) -> Decimal | None:
        if getattr(row, high) is None:
            return None
        total = amount_of(dialect, getattr(row, high), getattr(row, low))
        return weighed(total) if is_weighed else total

    def terms(fine: AnyColumn) -> list[AnyColumn]:
        return [money_carried(fine[high], fine[low]), money_rest(fine[high], fine[low])]

    def ad_hoc(group: Group) -> AnyColumn:
        return group.sum(high).op("/")(literal_column("100")) if is_weighed else group.sum(high)

    return Measure((high, low), value, terms, ad_hoc, "money")


def average_amount() -> Measure:
    """The average of the amounts, rounded half up to four decimals."""

    def value(row: Figures, dialect: str) -> Decimal | None:
        return average(amount_of(dialect, row.high, row.low), int(row.valued or 0))

    def terms(fine: AnyColumn) -> list[AnyColumn]:
        sums = fine["high"], fine["low"], fine["valued"]
        return [money_average(*sums), money_average_rest(*sums)]

    return Measure(("high", "low", "valued"), value, terms, lambda group: func.avg(group.columns["high"]), "money")


def rate(part: str, *others: str) -> Measure:
    """The part of the whole: of itself with others, or of all records where there are none."""

    def value(row: Figures, _: str) -> float | None:
        base = row.count if not others else sum(int(getattr(row, name) or 0) for name in (part, *others))
        return percent(int(getattr(row, part) or 0), int(base))

    def terms(fine: AnyColumn) -> list[AnyColumn]:
        base = fine["count"]
        if others:
            base = sum((fine[name] for name in others), fine[part])
        return [tenths_of_percent(fine[part], base)]

    def ad_hoc(group: Group) -> AnyColumn:
        base = sum((group.number(name) for name in others), group.number(part)) if others else group.count
        return _percentage(group.number(part), base)

    return Measure((part, *others), value, terms, ad_hoc, "percent")


def share(part: str, of: str) -> Measure:
    """The one part of the other in percent."""
    return Measure(
        (part, of),
        lambda row, _: percent(int(getattr(row, part) or 0), int(getattr(row, of) or 0)),
        lambda fine: [tenths_of_percent(fine[part], fine[of])],
        lambda group: _percentage(group.number(part), group.number(of)),
        "percent",
    )


def _percentage(part: AnyColumn, whole: AnyColumn) -> AnyColumn:
    """The one of the other in percent, to one decimal."""
    return func.round(literal_column("100.0").op("*")(part).op("/")(func.nullif(whole, NONE)), ONE)


def average_days(seconds: str, micros: str, timed: str) -> Measure:
    """The average length of time in days, rounded half up to one decimal."""

    def value(row: Figures, dialect: str) -> float | None:
        return days(dialect, getattr(row, seconds), getattr(row, micros), int(getattr(row, timed) or 0))

    return Measure(
        (seconds, micros, timed),
        value,
        lambda fine: [tenths_of_days(fine[seconds], fine[micros], fine[timed])],
        lambda group: days_on_average(group.columns[seconds]),
        "days",
    )


def average_number(total: str, number: str, unit: str | None = None) -> Measure:
    """The average of numbers, rounded half up to one decimal."""

    def value(row: Figures, _: str) -> float | None:
        found = average(Decimal(int(getattr(row, total) or 0)), int(getattr(row, number) or 0), 1)
        return None if found is None else float(found)

    def ad_hoc(group: Group) -> AnyColumn:
        return func.round(func.avg(group.columns[total]), ONE)

    return Measure((total, number), value, lambda fine: [tenths(fine[total], fine[number])], ad_hoc, unit)
