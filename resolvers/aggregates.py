"""Aggregates: records counted and added up by at most two dimensions (docs/analytics.md, decisions 252 to 257)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from itertools import groupby
from types import SimpleNamespace
from typing import Any

from contract.catalog import ColumnKind, DateGrain
from contract.criteria import Condition
from contract.errors import Path, Problem, Problems
from contract.limits import GROUP_DIMENSIONS_MAX, GROUPS_DEFAULT, GROUPS_MAX
from contract.vocabulary import SortDirection
from resolvers.outreach_inputs import TimeZone
from resolvers.shared.context import Context
from resolvers.shared.inputs import Currency, Input, parse
from storage.queries.aggregates import KEYS, Question, Source, aggregate
from storage.queries.exact import days


@dataclass(frozen=True, slots=True)
class Grouping:
    """Says how records are grouped: by what, how wide periods are, in which order, and how many groups are listed.

    `at` says where the request has the currency of the order.
    """

    by: Sequence[StrEnum] = ()
    grain: DateGrain = DateGrain.MONTH
    time_zone: str = "UTC"
    order: StrEnum | None = None
    direction: SortDirection = SortDirection.ASC
    currency: str | None = None
    first: int = GROUPS_DEFAULT
    at: Path = ("order_by", "currency")


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time from a day on, before another."""

    start: date
    end: date
    label: str


class Figures(SimpleNamespace):
    """The figures of a group, or its key: an attribute for each figure that was wanted, or for each dimension."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Groups of records, and all of them together."""

    groups: Sequence[Figures]
    total: Figures
    group_count: int
    truncated: bool


Rows = Sequence[Any]
"""The finest groups of one group. Any: rows with the parts that were asked for."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: the parts that it takes of the finest groups, and what it is of them on a database."""

    parts: tuple[str, ...]
    of: Callable[[Rows, str], object]


@dataclass(frozen=True, slots=True)
class Subject:
    """Records that can be aggregated: where they come from, their dimensions and their figures."""

    source: Source
    dimensions: type[StrEnum]
    figures: Mapping[str, Figure]
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The other names that can be wanted, each with the parts that it takes."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """The names that dimensions have in a key, where those are not their own."""


def total_of(rows: Rows, part: str) -> int:
    """The part of all these rows together."""
    return int(sum(getattr(row, part) or 0 for row in rows))


def count_of(part: str) -> Figure:
    """A figure that is a part itself."""
    return Figure((part,), lambda rows, _: total_of(rows, part))


def average_days(rows: Rows, dialect: str) -> float | None:
    """The average of the lengths of time whose parts are `timed`, `seconds` and `micros`, in days."""
    seconds = sum((row.seconds for row in rows if row.seconds is not None), 0)
    return days(dialect, seconds, total_of(rows, "micros"), total_of(rows, "timed"))


COUNT = Figure((), lambda rows, _: total_of(rows, "count"))


async def aggregated(
    ctx: Context,
    subject: Subject,
    condition: Condition,
    grouping: Grouping,
    wanted: Collection[str],
    by_amount: Collection[StrEnum] = (),
) -> Aggregate:
    """The groups of a subject's records with what is wanted of each, and all of them together.

    Orders `by_amount` need a currency. Raises Problems.
    """
    currency = _checked(grouping, by_amount)
    figures = {name: figure for name, figure in subject.figures.items() if name in wanted}
    parts = [part for figure in figures.values() for part in figure.parts]
    parts += [part for name in wanted for part in subject.parts.get(name, ())]
    question = Question(
        tuple(one.value for one in grouping.by),
        frozenset(parts),
        grouping.grain,
        grouping.time_zone,
        None if grouping.order is None or grouping.order.value == "key" else grouping.order.value,
        grouping.direction,
        currency,
        grouping.first,
    )
    async with ctx.reading() as session:
        rows = await aggregate(session, subject.source, condition, question)
        dialect = session.dialect

    def shown(of: Rows) -> Figures:
        key = _key(subject, grouping, of[0] if of and of[0].place is not None else None)
        return Figures(key=key, **{name: figure.of(of, dialect) for name, figure in figures.items()})

    total = [row for row in rows if row.place is None]
    placed = groupby((row for row in rows if row.place is not None), key=lambda row: row.place)
    groups = [shown(list(of)) for _, of in placed]
    number = int(total[0].groups or 0) if total else 0
    if not grouping.by:  # one group of everything, also of nothing
        number, groups = 1, [shown(total)] if grouping.first else []
    return Aggregate(groups, shown(total), number, len(groups) < number)


def _checked(grouping: Grouping, by_amount: Collection[StrEnum]) -> str | None:
    """Returns the currency of the order. Raises Problems for what cannot be asked."""
    problems = []
    if len(grouping.by) > GROUP_DIMENSIONS_MAX:
        problems.append(Problem(("group_by",), f"must not have more than {GROUP_DIMENSIONS_MAX} items", "too_long"))
    elif len(set(grouping.by)) < len(grouping.by):
        problems.append(Problem(("group_by",), "must not have one dimension twice", "value_error"))
    if not 0 <= grouping.first <= GROUPS_MAX:
        problems.append(Problem(("first",), f"must be between 0 and {GROUPS_MAX}", "value_error"))
    if grouping.order in by_amount and grouping.currency is None:
        problems.append(Problem(grouping.at, "is needed to order by amounts", "value_error"))
    if grouping.order not in by_amount and grouping.currency is not None:
        problems.append(Problem(grouping.at, "goes with an order by amounts only", "value_error"))
    currency = None
    try:
        parse(_Zone, {"time_zone": grouping.time_zone})
    except Problems as error:
        problems += error.problems
    if grouping.currency is not None and not problems:
        currency = parse(_InCurrency, {grouping.at[-1]: grouping.currency}, at=grouping.at[:-1]).currency
    if problems:
        raise Problems(problems)
    return currency


class _Zone(Input):
    time_zone: TimeZone


class _InCurrency(Input):
    currency: Currency


def _key(subject: Subject, grouping: Grouping, row: Any) -> Figures:  # Any: a row of the keys, or None
    """Makes a group's key: a value for each dimension that the records have, null where it was not asked for."""
    key = dict.fromkeys((subject.keys.get(one.value, one.value) for one in subject.dimensions), None)
    if row is not None:
        for name, one in zip(KEYS, grouping.by, strict=False):
            value = getattr(row, name)
            if value is not None and subject.source.dimensions[one.value].kind in (
                ColumnKind.DATE,
                ColumnKind.DATETIME,
            ):
                value = period_of(value, grouping.grain)
            key[subject.keys.get(one.value, one.value)] = value
    return Figures(**key)


def period_of(start: date, grain: DateGrain) -> Period:
    """The period of this width that begins on the day; what would end behind the last day there is ends on that."""
    return Period(start, _end(start, grain), _label(start, grain))


_MONTHS = {DateGrain.MONTH: 1, DateGrain.QUARTER: 3, DateGrain.YEAR: 12}


def _end(start: date, grain: DateGrain) -> date:
    try:
        if grain in _MONTHS:
            month = start.month - 1 + _MONTHS[grain]
            return date(start.year + month // 12, month % 12 + 1, 1)
        return start + timedelta(days=7 if grain is DateGrain.WEEK else 1)
    except (OverflowError, ValueError):
        return date.max


def _label(start: date, grain: DateGrain) -> str:
    if grain is DateGrain.WEEK:
        year, week, _ = start.isocalendar()
        return f"{year:04}-W{week:02}"
    if grain is DateGrain.QUARTER:
        return f"{start.year:04}-Q{(start.month + 2) // 3}"
    return {DateGrain.DAY: start.isoformat(), DateGrain.MONTH: start.isoformat()[:7]}.get(grain, f"{start.year:04}")
