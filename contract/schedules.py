"""Says when what is scheduled by a local clock is due: once for each of its days, through changes of the clock.

A local time that a change skips is the next one that exists, one that comes twice is its first.
"""

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from contract.vocabulary import ReportFrequency, Weekday

_DAY, _SECOND = timedelta(days=1), timedelta(seconds=1)
_WEEKDAYS = list(Weekday)


@dataclass(frozen=True, slots=True)
class Rhythm:
    """A local time on each day, on a day of each week, or on a day of each month; a shorter month has its last one."""

    frequency: ReportFrequency
    at: time
    zone: ZoneInfo
    weekday: Weekday | None = None
    day_of_month: int | None = None

    def after(self, moment: datetime) -> datetime:
        """The first moment later than this one."""
        local = moment.astimezone(self.zone).date()
        return next(due for day in self._days(local) if (due := _moment(day, self.at, self.zone)) > moment)

    def _days(self, local: date) -> Iterator[date]:
        """Yields its days in their order, from one that lies before the local day."""
        if self.frequency is ReportFrequency.MONTHLY:
            assert self.day_of_month is not None  # noqa: S101  # whoever makes one says it
            year, month = (local.year, local.month - 1) if local.month > 1 else (local.year - 1, 12)
            while True:
                yield date(year, month, min(self.day_of_month, monthrange(year, month)[1]))
                year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        day = local - 2 * _DAY
        step = _DAY
        if self.frequency is ReportFrequency.WEEKLY:
            assert self.weekday is not None  # noqa: S101  # the same
            day -= timedelta(days=(day.weekday() - _WEEKDAYS.index(self.weekday)) % 7)
            step = timedelta(days=7)
        while True:
            yield day
            day += step


def _moment(day: date, at: time, zone: ZoneInfo) -> datetime:
    """The moment at which the clock there shows the time on the day, or first shows a later one."""
    wanted = datetime.combine(day, at)
    first = wanted.replace(tzinfo=zone).astimezone(UTC)
    if first.astimezone(zone).replace(tzinfo=None) == wanted:
        return first
    before, behind = wanted.replace(tzinfo=zone, fold=1).astimezone(UTC), first
    while behind - before > _SECOND:  # the change lies between the two, and is at a whole second
        middle = (before + (behind - before) / 2).replace(microsecond=0)
        if middle.astimezone(zone).replace(tzinfo=None) < wanted:
            before = middle
        else:
            behind = middle
    return behind
