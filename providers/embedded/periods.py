"""Stretches of time in words: today, next week, the last 30 days, since Monday, in October, before 2026-03-01."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from providers.embedded.words import Word, WordKind, form_of

_THIS: Final = frozenset({"this", "current"})
_LAST: Final = frozenset({"last", "previous", "past", "prior"})
_NEXT: Final = frozenset({"next", "coming", "following", "upcoming"})
_DAYS: Final = {form_of(name): at for at, name in enumerate(("monday", "tuesday", "wednesday", "thursday"))} | {
    form_of(name): at for at, name in enumerate(("friday", "saturday", "sunday"), 4)
}
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december"),
)
_NUMBERS: Final = {
    word: n for n, word in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 1)
}
_UNITS: Final = frozenset({"day", "week", "month", "quarter", "year"})
_MOST: Final = 1_000
AHEAD: Final = "that lies ahead"


@dataclass(frozen=True, slots=True)
class Period:
    """From a day on, before another; what is open has no end. `words` are how it is told."""

    words: str
    start: date | None = None
    end: date | None = None
    before: "Period | None" = None
    """The period meant of the past where it has not begun: of Friday the last one, of December that of last year."""

    def begun(self, today: date) -> "Period | None":
        """It, or the one before, if that has begun."""
        if self.start is None or self.start <= today:
            return self
        return None if self.before is None else self.before.begun(today)

    def days(self) -> dict[str, str]:
        """A condition on a day."""
        found = {} if self.start is None else {"gte": self.start.isoformat()}
        return found if self.end is None else {**found, "lt": self.end.isoformat()}

    def moments(self, zone: ZoneInfo) -> dict[str, str]:
        """A condition on a moment: days begin where the member is."""
        found = {} if self.start is None else {"gte": moment_of(self.start, zone)}
        return found if self.end is None else {**found, "lt": moment_of(self.end, zone)}


def moment_of(day: date, zone: ZoneInfo) -> str:
    """Says when a day begins there."""
    return datetime.combine(day, time(), zone).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def period_at(words: Sequence[Word], place: int, today: date) -> tuple[Period, int] | None:
    """The period that the words there say, and how many they are."""
    try:
        return _bounded(words, place, today) or _plain(words, place, today)
    except (ValueError, OverflowError):
        return None  # the calendar has no such day


def _form(words: Sequence[Word], place: int) -> str:
    return words[place].form if place < len(words) else ""


def _plain(words: Sequence[Word], place: int, today: date) -> tuple[Period, int] | None:
    at = place + (_form(words, place) == "the")
    found = _named(words, at, today) or _relative(words, at, today) or _calendar(words, at, today)
    return None if found is None else (found[0], found[1] + at - place)


def _span(start: date, end: date, words: str = "") -> Period:
    last = end - timedelta(days=1)
    told = said(start) if start == last else f"{said(start)} to {said(last)}"
    return Period(f"{words} ({told})" if words else told, start, end)


def said(day: date) -> str:
    """A day in words."""
    return f"{day.day} {_MONTHS[day.month - 1].capitalize()} {day.year}"


def _named(words: Sequence[Word], place: int, today: date) -> tuple[Period, int] | None:
    offset = {"today": 0, "yesterday": -1, "tomorrow": 1}.get(_form(words, place))
    if offset is not None:
        day = today + timedelta(days=offset)
        return _span(day, day + timedelta(days=1), _form(words, place)), 1
    weekday = _DAYS.get(_form(words, place))
    if weekday is not None and not words[place].text.lower().endswith("days"):  # Mondays are many
        day = today + timedelta(days=(weekday - today.weekday()) % 7)
        before = day - timedelta(days=7)
        return replace(_span(day, day + timedelta(days=1)), before=_span(before, before + timedelta(days=1))), 1
    return None


def _relative(words: Sequence[Word], place: int, today: date) -> tuple[Period, int] | None:
    form, unit = _form(words, place), _form(words, place + 1)
    if form not in _THIS | _LAST | _NEXT:
        return None
    if unit in _DAYS and form not in _NEXT:  # the next Friday is another one to everybody
        monday = today - timedelta(days=today.weekday())
        day = monday + timedelta(days=_DAYS[unit])
        if form in _LAST:
            day = today - timedelta(days=(today.weekday() - _DAYS[unit]) % 7 or 7)
        return _span(day, day + timedelta(days=1), f"{form} {unit.capitalize()}"), 2
    if unit in _UNITS - {"day"}:
        by = 0 if form in _THIS else 1 if form in _NEXT else -1
        start = _moved(_first(today, unit), unit, by)
        return _span(start, _moved(start, unit, 1), f"{'this' if not by else form} {unit}"), 2
    number, counted = _number(words, place + 1), _form(words, place + 2)
    if number is None or counted not in _UNITS or form in _THIS:
        return None
    told = f"{form} {number} {counted}{'' if number == 1 else 's'}"
    if form in _NEXT:
        return _span(today, _moved(today, counted, number) + timedelta(days=1), told), 3
    return _span(_moved(today, counted, -number), today + timedelta(days=1), told), 3


def _number(words: Sequence[Word], place: int) -> int | None:
    if place >= len(words):
        return None
    word = words[place]
    if word.kind is WordKind.NUMBER and word.number is not None and word.number == int(word.number):
        return int(word.number) if 0 < word.number <= _MOST else None
    return _NUMBERS.get(word.form)


def _calendar(words: Sequence[Word], place: int, today: date) -> tuple[Period, int] | None:
    """2026-11-03, October, October 2026, Q3, Q3 2026, 2026."""
    if place >= len(words):
        return None
    word, year = words[place], _year(words, place + 1)
    if word.day is not None:
        return _span(word.day, word.day + timedelta(days=1)), 1
    size, of = (1, today.year) if year is None else (2, year)
    month = _MONTHS.index(word.text.lower()) + 1 if word.text.lower() in _MONTHS else None
    if month is not None and (word.text[0].isupper() or word.form != "may"):
        start = date(of, month, 1)
        return _yearly(start, "month", "", year), size
    if word.form in ("q1", "q2", "q3", "q4"):
        start = date(of, 3 * int(word.form[1]) - 2, 1)
        return _yearly(start, "quarter", word.form.upper(), year), size
    alone = _year(words, place)
    return None if alone is None else (_span(date(alone, 1, 1), date(alone + 1, 1, 1)), 1)


def _yearly(start: date, unit: str, told: str, year: int | None) -> Period:
    """A month or quarter; where it is said without a year, that of the year before may be meant."""
    found = _span(start, _moved(start, unit, 1), told)
    if year is not None:
        return found
    before = _moved(start, "year", -1)
    return replace(found, before=_span(before, _moved(before, unit, 1), told))


def _year(words: Sequence[Word], place: int) -> int | None:
    text = words[place].text if place < len(words) else ""
    return int(text) if len(text) == 4 and text.isascii() and text.isdigit() and "1900" <= text <= "2199" else None


def _bounded(words: Sequence[Word], place: int, today: date) -> tuple[Period, int] | None:
    """Since Monday, after 2026-03-01, before June, until next week, by Friday, between October and November."""
    form = _form(words, place)
    if form in ("between", "from"):
        return _from_to(words, place, today)
    if form not in ("since", "after", "before", "until", "by"):
        return None
    if (inner := _plain(words, place + 1, today)) is None:
        return None
    start, end = inner[0].start, inner[0].end
    weekday = _DAYS.get(_form(words, place + 1))
    if form in ("since", "after") and weekday is not None and start is not None and end is not None and start > today:
        start, end = start - timedelta(days=7), end - timedelta(days=7)
    if start is None or end is None:
        return None
    match form:
        case "since":
            return Period(f"since {said(start)}", start), 1 + inner[1]
        case "after":
            return Period(f"after {said(end - timedelta(days=1))}", end), 1 + inner[1]
        case "before":
            return Period(f"before {said(start)}", None, start), 1 + inner[1]
    return Period(f"until {said(end - timedelta(days=1))}", None, end), 1 + inner[1]


def _from_to(words: Sequence[Word], place: int, today: date) -> tuple[Period, int] | None:
    first = _plain(words, place + 1, today)
    at = place + 1 + (first[1] if first is not None else 0)
    if first is None or _form(words, at) not in ("and", "to", "until", "through"):
        return None
    second = _plain(words, at + 1, today)
    if second is None or first[0].start is None or second[0].end is None or first[0].start >= second[0].end:
        return None
    return _span(first[0].start, second[0].end), at + 1 + second[1] - place


def _first(day: date, unit: str) -> date:
    match unit:
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    return day.replace(month=1, day=1)


def _moved(day: date, unit: str, by: int) -> date:
    """A day so many units later; of a month that is shorter its last day."""
    if unit in ("day", "week"):
        return day + timedelta(days=by * (7 if unit == "week" else 1))
    months = day.month - 1 + by * {"month": 1, "quarter": 3, "year": 12}[unit]
    year, month = day.year + months // 12, months % 12 + 1
    for last in (day.day, 30, 29, 28):
        try:
            return date(year, month, last)
        except ValueError:
            continue
    raise ValueError("no such day")
