"""The offsets of time zones, by which moments are put into days on both databases (decision 253)."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from storage.queries.periods import zone_of

FIRST = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = [
    *("UTC", "Europe/Paris", "Asia/Kolkata", "Pacific/Apia", "Antarctica/Troll", "Africa/Casablanca"),
    *("America/Recife", "America/Noronha", "Asia/Gaza", "Asia/Hebron"),  # which kept an offset for a week
]


@pytest.mark.parametrize("name", ZONES)
def test_the_offset_of_any_moment_is_that_of_the_zone(name: str) -> None:
    zone, known, random = ZoneInfo(name), zone_of(name), Random(name)
    near = [moment + timedelta(seconds=s) for moment in known.moments[1:-1] for s in (-1, 0, 1)]
    anywhere = [FIRST + timedelta(seconds=random.randrange(130 * 365 * 86_400)) for _ in range(20_000)]
    for moment in (*near, *anywhere):
        expected = moment.astimezone(zone).utcoffset()
        assert expected is not None
        assert known.offsets[bisect_right(known.moments, moment)] == expected.total_seconds(), moment
