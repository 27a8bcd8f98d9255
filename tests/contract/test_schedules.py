"""Moments of schedules: the local clock's, each once, in every time zone and through ten years of its changes."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.schedules import Rhythm
from contract.time_zones import time_zones
from contract.vocabulary import ReportFrequency, Weekday

DAILY, WEEKLY, MONTHLY = ReportFrequency.DAILY, ReportFrequency.WEEKLY, ReportFrequency.MONTHLY
ZONES = sorted(time_zones())
ATS = st.builds(time, st.integers(0, 23), st.integers(0, 59))
STARTS = st.datetimes(datetime(2010, 1, 1), datetime(2037, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))


def moments(rhythm: Rhythm, after: datetime, number: int) -> list[datetime]:
    found = []
    for _ in range(number):
        after = rhythm.after(after)
        found.append(after)
    return found


def expected(day: date, at: time, zone: ZoneInfo) -> datetime:
    """The moment by looking through the minutes around: another way to the same."""
    wanted = datetime.combine(day, at)
    moment = wanted.replace(tzinfo=UTC) - timedelta(hours=15)
    clock = moment.astimezone(zone).replace(tzinfo=None)
    while clock < wanted:  # changes of these years are at whole quarters of an hour
        moment += timedelta(minutes=15)
        clock = moment.astimezone(zone).replace(tzinfo=None)
    earlier = [moment - timedelta(minutes=n) for n in range(14, -1, -1)]
    return next(m for m in earlier if m.astimezone(zone).replace(tzinfo=None) >= wanted)


def local(moment: datetime, zone: str) -> str:
    return moment.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(ZONES), ATS, STARTS)
def test_each_day_of_ten_years_has_one_moment(name: str, at: time, start: datetime) -> None:
    zone = ZoneInfo(name)
    rhythm = Rhythm(DAILY, at, zone)
    found = moments(rhythm, start, 3_653)
    assert all(first < second for first, second in pairwise(found))
    clocks = [moment.astimezone(zone) for moment in found]
    exact = [clock for clock in clocks if clock.time().replace(tzinfo=None) == at]
    assert len({clock.date() for clock in exact}) == len(exact)  # none twice where the clock goes back
    assert len(exact) >= 3_653 - 30  # the others are what changes of the clock skipped
    for moment, clock in zip(found, clocks, strict=True):
        if clock.time().replace(tzinfo=None) != at:  # then nothing before it on this clock was as late
            before = (moment - timedelta(seconds=1)).astimezone(zone).replace(tzinfo=None)
            assert before.time() < at or before.date() < clock.date()
            assert clock.replace(tzinfo=None) - before > timedelta(minutes=1)  # it is the change itself
    days = [clock.date() for clock in clocks]
    missing = {days[0] + timedelta(days=n) for n in range((days[-1] - days[0]).days)} - set(days)
    for day in missing:  # a day that the calendar there does not have
        assert expected(day, time(0), zone).astimezone(zone).date() > day


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(ZONES), ATS, STARTS, st.sampled_from(Weekday))
def test_each_week_has_one_moment(name: str, at: time, start: datetime, weekday: Weekday) -> None:
    zone = ZoneInfo(name)
    found = moments(Rhythm(WEEKLY, at, zone, weekday=weekday), start, 522)
    first = start.date() - timedelta(days=9)
    first -= timedelta(days=(first.weekday() - list(Weekday).index(weekday)) % 7)
    wanted = [expected(first + timedelta(weeks=n), at, zone) for n in range(525)]
    assert found == [moment for moment in wanted if moment > start][:522]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ZONES), ATS, STARTS, st.integers(1, 31))
def test_each_month_has_one_moment(name: str, at: time, start: datetime, day: int) -> None:
    zone = ZoneInfo(name)
    found = moments(Rhythm(MONTHLY, at, zone, day_of_month=day), start, 120)
    first = start.date()
    wanted = []
    for n in range(-2, 123):
        year, month = divmod(first.year * 12 + first.month - 1 + n, 12)
        wanted.append(expected(date(year, month + 1, min(day, monthrange(year, month + 1)[1])), at, zone))
    assert found == [moment for moment in wanted if moment > start][:120]


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(ZONES),
    ATS,
    STARTS,
    st.sampled_from(ReportFrequency),
    st.timedeltas(timedelta(0), timedelta(days=90)),
)
def test_the_next_moment_does_not_depend_on_when_it_is_asked(
    name: str, at: time, start: datetime, frequency: ReportFrequency, pause: timedelta
) -> None:
    rhythm = Rhythm(frequency, at, ZoneInfo(name), weekday=Weekday.FRIDAY, day_of_month=31)
    due = rhythm.after(start)
    assert due > start
    asked = min(start + pause, due - timedelta(microseconds=1))
    assert rhythm.after(asked) == due
    assert rhythm.after(due) > due


@pytest.mark.parametrize(
    ("rhythm", "after", "due"),
    [
        # Seven o'clock in Berlin is another moment in summer.
        (Rhythm(MONTHLY, time(7), ZoneInfo("Europe/Berlin"), day_of_month=1), "2026-02-01T06:00", "2026-03-01T06:00"),
        (Rhythm(MONTHLY, time(7), ZoneInfo("Europe/Berlin"), day_of_month=1), "2026-03-01T06:00", "2026-04-01T05:00"),
        # 02:30 is skipped: three o'clock is what comes next; 02:30 comes twice, and the first one counts.
        (Rhythm(DAILY, time(2, 30), ZoneInfo("Europe/Berlin")), "2026-03-28T12:00", "2026-03-29T01:00"),
        (Rhythm(DAILY, time(2, 30), ZoneInfo("Europe/Berlin")), "2026-03-29T01:00", "2026-03-30T00:30"),
        (Rhythm(DAILY, time(2, 30), ZoneInfo("Europe/Berlin")), "2026-10-24T12:00", "2026-10-25T00:30"),
        (Rhythm(DAILY, time(2, 30), ZoneInfo("Europe/Berlin")), "2026-10-25T00:30", "2026-10-26T01:30"),
        # Half an hour is skipped.
        (Rhythm(DAILY, time(2, 15), ZoneInfo("Australia/Lord_Howe")), "2026-10-03T12:00", "2026-10-03T15:30"),
        # Midnight is skipped.
        (Rhythm(DAILY, time(0), ZoneInfo("Africa/Cairo")), "2026-04-23T12:00", "2026-04-23T22:00"),
        # A whole day is skipped: its moment is the beginning of the next, whose own follows.
        (Rhythm(DAILY, time(7), ZoneInfo("Pacific/Apia")), "2011-12-29T17:00", "2011-12-30T10:00"),
        (Rhythm(DAILY, time(7), ZoneInfo("Pacific/Apia")), "2011-12-30T10:00", "2011-12-30T17:00"),
        (Rhythm(DAILY, time(0), ZoneInfo("Pacific/Apia")), "2011-12-29T10:00", "2011-12-30T10:00"),
        (Rhythm(DAILY, time(0), ZoneInfo("Pacific/Apia")), "2011-12-30T10:00", "2011-12-31T10:00"),
        # A shorter month has its last day, the leap day included.
        (Rhythm(MONTHLY, time(7), ZoneInfo("UTC"), day_of_month=31), "2028-01-31T07:00", "2028-02-29T07:00"),
        (Rhythm(MONTHLY, time(7), ZoneInfo("UTC"), day_of_month=31), "2028-02-29T07:00", "2028-03-31T07:00"),
        (Rhythm(MONTHLY, time(7), ZoneInfo("UTC"), day_of_month=30), "2027-01-30T07:00", "2027-02-28T07:00"),
        (Rhythm(WEEKLY, time(7), ZoneInfo("UTC"), weekday=Weekday.MONDAY), "2026-11-24T16:00", "2026-11-30T07:00"),
    ],
)
def test_moments_through_changes_of_the_clock(rhythm: Rhythm, after: str, due: str) -> None:
    found = rhythm.after(datetime.fromisoformat(after).replace(tzinfo=UTC))
    assert found == datetime.fromisoformat(due).replace(tzinfo=UTC)
