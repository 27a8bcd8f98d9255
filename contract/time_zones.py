"""The time zones that can be named, and when days begin in them."""

from datetime import UTC, date, datetime
from functools import cache
from zoneinfo import ZoneInfo, available_timezones


@cache
def time_zones() -> frozenset[str]:
    """The names of the IANA database, but for the machine's own zone, which is another on each."""
    return frozenset(available_timezones()) - {"localtime"}


def beginning_of(day: date, zone: ZoneInfo) -> datetime:
    """The moment at which a day begins there; where its midnight is skipped, when the clock goes on."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
