"""Stretches of time in words: this month, last quarter, the last 30 days, in October, since 2026-03-01."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from contract.catalog import DateGrain
from resolvers.questions.tokens import Token, TokenKind


@dataclass(frozen=True, slots=True)
class Stretch:
    """From a day on, before another; what is open has no end. `words` are how it was said.

    `days_back` is the length of what counts back from today.
    """

    words: str
    start: date | None = None
    end: date | None = None
    grain: DateGrain | None = None
    is_back: bool = False

    def is_ahead(self, today: date) -> bool:
        """Says whether it has days that are not over."""
        return self.end is None or self.end > today


GRAINS: Final = {g.value: g for g in DateGrain}
_THIS = {"this", "current"}
_LAST = {"last", "previous", "past", "prior"}
_NEXT = {"next", "coming", "following"}
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december"),
)
_SHORT = {name[:3]: n for n, name in enumerate(_MONTHS, 1)} | {"sept": 9}
MONTHS: Final = frozenset({*_MONTHS, *_SHORT})
_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10, "twelve": 12}


def first_of(day: date, grain: DateGrain) -> date:
    """The first day of the period that a day is in."""
    match grain:
        case DateGrain.DAY:
            return day
        case DateGrain.WEEK:
            return day - timedelta(days=day.weekday())
        case DateGrain.MONTH:
            return day.replace(day=1)
        case DateGrain.QUARTER:
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    return day.replace(month=1, day=1)


def moved(day: date, grain: DateGrain, by: int) -> date:
    """A day so many periods later; of a month that is shorter its last day."""
    if grain in (DateGrain.DAY, DateGrain.WEEK):
        return day + timedelta(days=by * (7 if grain is DateGrain.WEEK else 1))
    months = day.month - 1 + by * {DateGrain.MONTH: 1, DateGrain.QUARTER: 3, DateGrain.YEAR: 12}[grain]
    year, month = day.year + months // 12, months % 12 + 1
    for last in (day.day, 30, 29, 28):
        try:
            return date(year, month, last)
        except ValueError:
            continue
    raise ValueError("no such day")


def stretch_at(tokens: Sequence[Token], today: date) -> tuple[Stretch, int] | None:
    """The stretch that these words begin with, and how many they are; None where they begin with none."""
    if not tokens:
        return None
    forms = [token.form for token in tokens[:6]] + [""] * 6
    found = _named_day(forms, today) or _relative(tokens, forms, today) or _calendar(tokens, forms, today)
    found = found or _bounded(tokens, forms, today)
    if found is None:
        return None
    try:
        stretch, size = found
    except (OverflowError, ValueError):
        return None
    return stretch, size


def _named_day(forms: Sequence[str], today: date) -> tuple[Stretch, int] | None:
    offset = {"today": 0, "yesterday": -1, "tomorrow": 1}.get(forms[0])
    if offset is None:
        return None
    day = today + timedelta(days=offset)
    return Stretch(forms[0], day, day + timedelta(days=1), DateGrain.DAY), 1


def _relative(tokens: Sequence[Token], forms: Sequence[str], today: date) -> tuple[Stretch, int] | None:
    """Last quarter, next year, this month, the last 30 days, year to date."""
    if tuple(forms[:3]) == ("year", "to", "date") or forms[0] == "ytd":
        size = 1 if forms[0] == "ytd" else 3
        start = first_of(today, DateGrain.YEAR)
        return Stretch("year to date", start, today + timedelta(days=1), DateGrain.YEAR), size
    at = 1 if forms[0] == "the" else 0
    word, size = forms[at], at + 1
    if word not in _THIS | _LAST | _NEXT:
        return None
    number = _number(tokens[size]) if size < len(tokens) else None
    if number is not None and forms[size + 1] in GRAINS:
        return _counted(word, number, GRAINS[forms[size + 1]], today), size + 2
    grain = GRAINS.get(forms[size])
    if grain is None:
        return None
    first = first_of(today, grain)
    start = moved(first, grain, 0 if word in _THIS else -1 if word in _LAST else 1)
    size += 1
    if forms[size : size + 2] == ["so", "far"]:
        size += 2
    said = "this" if word in _THIS else "last" if word in _LAST else "next"
    return Stretch(f"{said} {grain.value}", start, moved(start, grain, 1), grain), size


def _counted(word: str, number: int, grain: DateGrain, today: date) -> Stretch:
    words = f"{'next' if word in _NEXT else 'last'} {number} {grain.value}s"
    if word in _NEXT:
        return Stretch(words, today, moved(today, grain, number) + timedelta(days=1), grain)
    return Stretch(words, moved(today, grain, -number), today + timedelta(days=1), grain, is_back=True)


def length_at(tokens: Sequence[Token], today: date) -> tuple[Stretch, int] | None:
    """A length of time that ends today, as in «for 60 days»."""
    if len(tokens) < 2 or (number := _number(tokens[0])) is None or tokens[1].form not in GRAINS:
        return None
    grain = GRAINS[tokens[1].form]
    start = moved(today, grain, -number)
    return Stretch(f"for {number} {grain.value}s", start, today + timedelta(days=1), grain, is_back=True), 2


def _number(token: Token) -> int | None:
    if token.kind is TokenKind.NUMBER and token.number is not None and token.number == int(token.number):
        return int(token.number) if 0 < token.number <= 10_000 else None
    return _NUMBERS.get(token.form)


def _calendar(tokens: Sequence[Token], forms: Sequence[str], today: date) -> tuple[Stretch, int] | None:
    """October, October 2026, Q3, Q3 2026, 2026, 2026-11-03."""
    if tokens[0].day is not None:
        day = tokens[0].day
        return Stretch(tokens[0].text, day, day + timedelta(days=1), DateGrain.DAY), 1
    year = _year(tokens[1]) if len(tokens) > 1 else None
    size = 1 if year is None else 2
    month = _month(tokens[0])
    if month is not None:
        start = date(year or today.year, month, 1)
        words = f"{_MONTHS[month - 1].capitalize()}{f' {year}' if year else ''}"
        return Stretch(words, start, moved(start, DateGrain.MONTH, 1), DateGrain.MONTH), size
    if forms[0] in ("q1", "q2", "q3", "q4"):
        start = date(year or today.year, 3 * int(forms[0][1]) - 2, 1)
        words = f"{forms[0].upper()}{f' {year}' if year else ''}"
        return (
            Stretch(words, start, moved(start, DateGrain.QUARTER, 1), DateGrain.QUARTER),
            size,
        )
    alone = _year(tokens[0])
    if alone is not None:
        return Stretch(str(alone), date(alone, 1, 1), date(alone + 1, 1, 1), DateGrain.YEAR), 1
    return None


def _month(token: Token) -> int | None:
    word = token.text.casefold()
    if token.kind is not TokenKind.WORD or (word == "may" and not token.text[0].isupper()):
        return None
    return _MONTHS.index(word) + 1 if word in _MONTHS else _SHORT.get(word) if token.text[0].isupper() else None


def _year(token: Token) -> int | None:
    is_year = token.kind is TokenKind.NUMBER and len(token.text) == 4 and token.text.isdigit()
    return int(token.text) if is_year and 1900 <= int(token.text) <= 2200 else None


def _bounded(tokens: Sequence[Token], forms: Sequence[str], today: date) -> tuple[Stretch, int] | None:
    """Since March, before 2026-03-01, between October and November, from 2026-01-01 to 2026-03-31."""
    if forms[0] in ("since", "after", "before", "until"):
        inner = stretch_at(tokens[1:], today)
        if inner is None or inner[0].start is None or inner[0].end is None:
            return None
        start, end, words = inner[0].start, inner[0].end, f"{forms[0]} {inner[0].words}"
        span = {"since": (start, None), "after": (end, None), "before": (None, start), "until": (None, end)}[forms[0]]
        return Stretch(words, *span), 1 + inner[1]
    if forms[0] not in ("between", "from"):
        return None
    first = stretch_at(tokens[1:], today)
    if first is None:
        return None
    at = 1 + first[1]
    if at >= len(tokens) or tokens[at].form not in ("and", "to", "until", "through"):
        return None
    second = stretch_at(tokens[at + 1 :], today)
    if second is not None and second[1] == 2 and first[1] == 1:  # January to March 2025: both are of that year
        first = _calendar((tokens[1], tokens[at + 2]), (forms[1],), today) or first
        first = first[0], 1
    if second is None or first[0].start is None or second[0].end is None or first[0].start >= second[0].end:
        return None
    words = f"{first[0].words} to {second[0].words}"
    return Stretch(words, first[0].start, second[0].end), at + 1 + second[1]
