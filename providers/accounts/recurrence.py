"""The occurrences of a series in a window: rules by dateutil, exceptions of ours (decision 360).

Times are expanded as the clocks of the event's zone show them, and become moments afterwards, so that a meeting at nine
stays at nine on both sides of a change of the clocks.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice

from dateutil.rrule import rrulestr

from contract.integrations import OCCURRENCES_MAX

_FOLLOWED = {"DAILY": 1, "WEEKLY": 7, "MONTHLY": 28, "YEARLY": 365}
_STEPS_MAX = 40_000
_CYCLE = 400
"""The years after which the calendar repeats, weekdays and leap years alike."""
_DAY = timedelta(days=1)


class TooMany(Exception):
    """More occurrences than are followed, or a rule that repeats more often than daily."""


class NoRule(Exception):
    """The rule cannot be understood."""


def moment(clock: datetime, zone: tzinfo) -> datetime:
    """The moment at which the clocks of the zone show this. One that they skip counts by the offset of before."""
    if zone is UTC:
        return clock.replace(tzinfo=UTC)
    return clock.replace(tzinfo=zone, fold=0).astimezone(UTC)


def expanded(
    start: datetime,
    zone: tzinfo,
    rules: Iterable[str],
    extra: Iterable[datetime],
    left_out: frozenset[datetime],
    window: tuple[datetime, datetime],
) -> list[datetime]:
    """The starts in the window, as clocks of the zone show them, in their order. Raises TooMany or NoRule.

    All times are without a zone; `start` is the first. The rule's own start counts, whether or not the rule meets it.
    """
    first, last = (_clock(end, zone) for end in window)
    found = {start} if first - _DAY <= start <= last + _DAY else set()
    for rule in rules:
        found |= _of_rule(start, zone, rule, first - _DAY, last + _DAY)
    found |= {each for each in extra if first - _DAY <= each <= last + _DAY}
    if len(found) > OCCURRENCES_MAX:
        raise TooMany
    return sorted(found - left_out)


def _clock(moment: datetime, zone: tzinfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None)


def _of_rule(start: datetime, zone: tzinfo, text: str, first: datetime, last: datetime) -> set[datetime]:
    parts = _parts(text)
    frequency = parts.get("FREQ", "")
    if frequency not in _FOLLOWED:
        raise TooMany if frequency in ("HOURLY", "MINUTELY", "SECONDLY") else NoRule
    if any(len(parts.get(name, "").split(",")) > 1 for name in ("BYHOUR", "BYMINUTE", "BYSECOND")):
        raise TooMany
    interval = _number(parts.get("INTERVAL", "1"))
    if interval == 0:
        raise NoRule
    if frequency == "DAILY" and "BYMONTHDAY" in parts:  # the same by the year, which is gone through in fewer steps
        if interval != 1:
            raise NoRule
        parts["FREQ"] = "YEARLY"
    end = last
    if "UNTIL" in parts:
        end = min(end, _until(parts.pop("UNTIL"), zone))
    count = None
    if "COUNT" in parts:  # counted here: with an end beside it a rule is none of the library's
        count = _number(parts.pop("COUNT"))
        if count == 0:
            raise NoRule
        if (end - start).days // (_FOLLOWED[frequency] * interval) > _STEPS_MAX:
            raise TooMany
    else:
        start = _nearer(start, first, frequency, interval)
    if end < start:
        return set()
    later = (9_999 - end.year) // _CYCLE * _CYCLE
    parts["UNTIL"] = end.replace(year=end.year + later).strftime("%Y%m%dT%H%M%S")
    return _met(";".join(f"{name}={value}" for name, value in parts.items()), start, first, count, later)


def _met(rule: str, start: datetime, first: datetime, count: int | None, later: int) -> set[datetime]:
    """The times of a rule, gone through so many years later, when the calendar is the same.

    The library looks at a rule's end only where the rule is met, and else goes on to the year 9999.
    """
    found = set()
    try:
        for met in islice(rrulestr(rule, dtstart=start.replace(year=start.year + later), cache=False), count):
            each = met.replace(year=met.year - later)
            if each >= first:
                found.add(each)
            if len(found) > OCCURRENCES_MAX:
                raise TooMany
    except (ValueError, TypeError, OverflowError, KeyError, IndexError):
        raise NoRule from None
    return found


def _nearer(start: datetime, first: datetime, frequency: str, interval: int) -> datetime:
    """A start of the same series shortly before the window, so that a rule of centuries is not gone through."""
    step = timedelta(days=_FOLLOWED[frequency] * interval)
    if frequency not in ("DAILY", "WEEKLY") or first - start < 2 * step:
        return start
    return start + ((first - start) // step - 1) * step


def _parts(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.strip().upper().split(";") if part)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        raise NoRule
    return max(1, int(text)) if text.strip("0") else 0


def _until(text: str, zone: tzinfo) -> datetime:
    """The end of a rule as the clocks of the zone show it; of a day, its last second."""
    try:
        if len(text) == 8:
            return datetime.strptime(text, "%Y%m%d") + _DAY - timedelta(seconds=1)
        clock = datetime.strptime(text.rstrip("Z"), "%Y%m%dT%H%M%S")
        return _clock(clock.replace(tzinfo=UTC), zone) if text.endswith("Z") else clock
    except (ValueError, OverflowError):
        raise NoRule from None


def as_midnight(day: date) -> datetime:
    """The beginning of a day, without a zone."""
    return datetime(day.year, day.month, day.day)
