"""Periods in SQL: the day that a moment falls on in a time zone, and the first day of the period that a day is in.

The offsets of a zone come from Python's database of zones and are bound, so that both databases reckon with the same
ones, whatever they know of zones themselves (decision 253).
"""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import ClassVar
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, Date, Integer, bindparam, case, literal_column
from sqlmodel import UTCDateTime

from contract.catalog import ColumnKind, DateGrain
from storage.expressions import AnyColumn, Values
from storage.queries.dialects import Dialectal

_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
_BEFORE_ALL, _AFTER_ALL = datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 29, tzinfo=UTC)
"""Outside of these no offset is reckoned with: there would be no such day."""
_STEP = timedelta(days=3)
"""Less than any zone has kept an offset for: some had one for a week."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone: its offsets from UTC in seconds, and the moments at which each but the first begins."""

    moments: tuple[datetime, ...]
    offsets: tuple[int, ...]

    def bind(self, values: Values) -> None:
        """Put the values of its parameters among these."""
        values |= {f"moment{n}": moment for n, moment in enumerate(self.moments)}
        values |= {f"offset{n}": offset for n, offset in enumerate(self.offsets)}

    @property
    def size(self) -> int:
        """The number of its offsets, on which the text of a statement depends."""
        return len(self.offsets)

    def offset_at(self, moment: datetime) -> int:
        """The offset that is in force at a moment."""
        return self.offsets[bisect_right(self.moments, moment)]


@lru_cache(maxsize=100)
def zone_of(name: str) -> Zone:
    """The offsets of a zone of the IANA database, as they are from 1970 to 2100 and stay before and after."""
    zone = ZoneInfo(name)
    moments: list[datetime] = [_BEFORE_ALL]
    offsets: list[int] = [0, _offset(zone, _FIRST)]
    at = _FIRST
    while at < _LAST:
        following = at + _STEP
        if _offset(zone, following) != offsets[-1]:
            moments.append(_change(zone, at, following))
            offsets.append(_offset(zone, following))
        at = following
    if set(offsets) == {0}:
        return Zone((), (0,))
    return Zone((*moments, _AFTER_ALL), (*offsets, 0))


def _offset(zone: ZoneInfo, moment: datetime) -> int:
    difference = moment.astimezone(zone).utcoffset()
    return 0 if difference is None else int(difference.total_seconds())


def _change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The second at which the offset changes between the two."""
    old, low, high = _offset(zone, before), int(before.timestamp()), int(after.timestamp())
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(zone, datetime.fromtimestamp(middle, UTC)) == old else (low, middle)
    return datetime.fromtimestamp(high, UTC)


class _local_day(Dialectal[date]):
    """The day of a moment so many seconds away from UTC."""

    inherit_cache = True
    type = Date()
    templates: ClassVar = {
        "postgresql": "(timezone('UTC', {0}) + ({1}) * interval '1 second')::date",
        "sqlite": "date(substr({0}, 1, 19), ({1}) || ' seconds')",
    }


def local_day(moment: AnyColumn, size: int) -> ColumnElement[date]:
    """The day that a moment falls on in a zone with so many offsets, whose values `Zone.bind` puts in place."""
    return _local_day(moment, _offset_at(moment, 0, size - 1))


def _offset_at(moment: AnyColumn, first: int, last: int) -> ColumnElement[int]:
    """The offset of a moment, found by halves: of a hundred years of changes eight are looked at."""
    if first == last:
        return bindparam(f"offset{first}", type_=Integer)
    middle = (first + last + 1) // 2
    is_before = moment < bindparam(f"moment{middle - 1}", type_=UTCDateTime)
    return case((is_before, _offset_at(moment, first, middle - 1)), else_=_offset_at(moment, middle, last))


class _day(Dialectal[date]):
    """The day of a moment in UTC, as ad-hoc SQL has it."""

    inherit_cache = True
    type = Date()
    templates: ClassVar = {"postgresql": "CAST({0} AS date)", "sqlite": "date({0})"}


class _day_there(Dialectal[date]):
    """The day of a moment in a zone, as ad-hoc SQL has it."""

    inherit_cache = True
    type = Date()
    templates: ClassVar = {"postgresql": "CAST({0} AT TIME ZONE {1} AS date)", "sqlite": "local_date({0}, {1})"}


class _calendar_day(Dialectal[date]):
    """The day as the calendar has it: the driver of PostgreSQL writes the last one there is as infinity."""

    inherit_cache = True
    type = Date()
    templates: ClassVar = {
        "postgresql": "CASE {0} WHEN 'infinity'::date THEN '9999-12-31'::date"
        " WHEN '-infinity'::date THEN '0001-01-01'::date ELSE {0} END",
        "sqlite": "{0}",
    }
    ad_hoc: ClassVar = dict.fromkeys(templates, "{0}")


class _week(Dialectal[date]):
    inherit_cache = True
    type = Date()
    templates: ClassVar = {
        "postgresql": "date_trunc('week', ({0})::timestamp)::date",
        "sqlite": "date({0}, '-6 days', 'weekday 1')",
    }
    ad_hoc: ClassVar = {"postgresql": "CAST(date_trunc('week', {0}) AS date)"}


class _month(Dialectal[date]):
    inherit_cache = True
    type = Date()
    templates: ClassVar = {
        "postgresql": "date_trunc('month', ({0})::timestamp)::date",
        "sqlite": "date({0}, 'start of month')",
    }
    ad_hoc: ClassVar = {"postgresql": "CAST(date_trunc('month', {0}) AS date)"}


class _quarter(Dialectal[date]):
    inherit_cache = True
    type = Date()
    templates: ClassVar = {
        "postgresql": "date_trunc('quarter', ({0})::timestamp)::date",
        "sqlite": "date({0}, 'start of month', '-' || ((CAST(strftime('%m', {0}) AS INTEGER) - 1) % 3) || ' months')",
    }
    ad_hoc: ClassVar = {
        "postgresql": "CAST(date_trunc('quarter', {0}) AS date)",
        "sqlite": "CASE WHEN strftime('%m', {0}) < '04' THEN date({0}, 'start of year')"
        " WHEN strftime('%m', {0}) < '07' THEN date({0}, 'start of year', '+3 months')"
        " WHEN strftime('%m', {0}) < '10' THEN date({0}, 'start of year', '+6 months')"
        " ELSE date({0}, 'start of year', '+9 months') END",
    }


class _year(Dialectal[date]):
    inherit_cache = True
    type = Date()
    templates: ClassVar = {
        "postgresql": "date_trunc('year', ({0})::timestamp)::date",
        "sqlite": "date({0}, 'start of year')",
    }
    ad_hoc: ClassVar = {"postgresql": "CAST(date_trunc('year', {0}) AS date)"}


_BEGINNINGS = {DateGrain.WEEK: _week, DateGrain.MONTH: _month, DateGrain.QUARTER: _quarter, DateGrain.YEAR: _year}


def beginning(day: AnyColumn, grain: DateGrain) -> AnyColumn:
    """The first day of the period that a day is in."""
    shown = _calendar_day(day)
    return shown if grain is DateGrain.DAY else _BEGINNINGS[grain](shown)


def ad_hoc_beginning(column: AnyColumn, kind: ColumnKind, zone: str, grain: DateGrain) -> AnyColumn:
    """The first day of the period that a day or a moment is in, as ad-hoc SQL has it."""
    if kind is ColumnKind.DATETIME and zone_of(zone).size > 1:
        column = _day_there(column, literal_column(f"'{zone}'"))
    elif kind is ColumnKind.DATETIME and grain is DateGrain.DAY:
        column = _day(column)
    return beginning(column, grain)
