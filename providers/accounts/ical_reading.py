"""Reading a feed, in a child process: each event or series of it, with the occurrences in the window.

It is small: what is found is packed page by page, so that neither process has all of it at once (decision 1031).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from contract.integrations import FEED_EVENTS_MAX, ITEMS_OF_A_STREAM_MAX
from providers.accounts.ical_events import (
    Unreadable,
    When,
    Zones,
    changed_at,
    is_private,
    length,
    number_of,
    parsed,
    said,
    times,
    when,
)
from providers.accounts.ical_text import Calendar, NoCalendar, lines_of, read_text
from providers.accounts.ports import Occurrence, Said, Seen
from providers.accounts.recurrence import NoRule, TooMany, expanded, moment
from providers.children.frames import packed, unpacked
from providers.children.limits import MEBIBYTE, Limits

READING = Limits(
    "feeds",
    processes=2,
    memory_bytes=320 * MEBIBYTE,
    processor_seconds=60,
    seconds=90,
    result_bytes=64 * MEBIBYTE,
)
"""The limits for one feed. A usual one takes some tenths of a second of them."""
PAGE = 100
"""The events of a page, and so of a transaction."""
_UID_BYTES_MAX = 1_000
"""The bytes of an identifier that an index takes beside the keys before it."""


@dataclass(frozen=True, slots=True)
class Feed:
    """The content of a feed; `wrong` says what keeps it from being read, `is_too_large` that it is too much."""

    pages: tuple[bytes, ...] = ()
    """Each a packed list of `Seen`."""
    number: int = 0
    """The events and series on all of the pages."""
    name: str | None = None
    wrong: str | None = None
    is_too_large: bool = False


@dataclass(slots=True)
class _Part:
    """One VEVENT: the event itself, or, with a `recurrence`, what holds for one of its occurrences."""

    start: When
    length: timedelta
    said: Said
    sequence: int
    changed_at: datetime | None
    recurrence: When | None
    holds_on: bool
    rules: list[str]
    extra: list[When]
    left_out: list[When]


def wrong_with(content: bytes) -> str | None:
    """Say in words why the text cannot be read as a calendar; None where it can."""
    try:
        read_text(content, FEED_EVENTS_MAX)
    except NoCalendar as error:
        return str(error)
    return None


def read_feed(content: bytes, window_from: datetime, window_until: datetime) -> Feed:
    """The feed's events. What is wrong with one of them is told of it alone."""
    try:
        calendar = read_text(content, FEED_EVENTS_MAX)
    except NoCalendar as error:
        return Feed(wrong=str(error))
    if calendar.events_seen > FEED_EVENTS_MAX:
        return Feed(wrong=f"The feed has more than {FEED_EVENTS_MAX:,} events", is_too_large=True)
    pages: list[bytes] = []
    page: list[Seen] = []
    events = occurrences = 0
    for seen in _events(calendar, (window_from, window_until)):
        events += 1
        occurrences += max(1, len(seen.occurrences))
        if occurrences > ITEMS_OF_A_STREAM_MAX:
            return Feed(wrong=f"The feed has more than {ITEMS_OF_A_STREAM_MAX:,} meetings", is_too_large=True)
        page.append(seen)
        if len(page) == PAGE:
            pages.append(packed(page))
            page = []
    return Feed((*pages, packed(page)) if page else tuple(pages), events, calendar.name)


def page_of(data: bytes) -> list[Seen]:
    """The events of a page. Raises ValueError where it is none, or larger than a whole feed may be."""
    found = unpacked(data, READING.result_bytes)
    if not isinstance(found, list):
        raise ValueError("not a page")
    return found


def _events(calendar: Calendar, window: tuple[datetime, datetime]) -> Iterator[Seen]:
    """The events and series, each with all of its parts, wherever in the text they are."""
    zones = Zones(calendar.zones, calendar.zone)
    groups: dict[str, list[bytes]] = {}
    for place, event in enumerate(calendar.events):
        groups.setdefault(_uid(lines_of(event)) or f"\0{place}", []).append(event)
    for uid, texts in groups.items():
        parts = [lines_of(each) for each in texts]
        yield _unnamed(parts[0]) if uid.startswith("\0") else _seen(uid, parts, zones, window)


def _uid(lines: list[str]) -> str:
    line = next((each for each in lines if each[:4].upper() in ("UID:", "UID;")), "")
    uid = line.partition(":")[2].strip()
    return uid if len(uid.encode()) <= _UID_BYTES_MAX else f"long-{_digest(uid)}"


def _digest(text: str) -> str:
    from hashlib import sha256  # few events need it, and its library takes four megabytes

    return sha256(text.encode()).hexdigest()


def _unnamed(lines: list[str]) -> Seen:
    """An event without an identifier could never be found again: it is told by its words, a private one by its time."""
    hidden = is_private(lines)
    told = [line for line in lines if line[:7].upper() == "DTSTART"] if hidden else lines
    key = f"unnamed-{_digest(chr(10).join(told))[:32]}"
    return Seen(key, key, Said(is_private=hidden), problem="unreadable", note="The event has no UID.")


def _seen(uid: str, texts: list[list[str]], zones: Zones, window: tuple[datetime, datetime]) -> Seen:
    zones.note = None
    try:
        parts = [_part(lines, zones) for lines in texts]
    except Unreadable as error:
        return Seen(uid, uid, _shown(texts), problem="unreadable", note=f"{error}.")
    own = [part for part in parts if part.recurrence is None]
    # Of several states of one event the newest counts.
    master = max(own, key=lambda part: part.sequence) if own else None
    single: dict[str, _Part] = {}
    for part in parts:
        if part.recurrence is not None:
            there = single.get(part.recurrence.name)
            if there is None or there.sequence <= part.sequence:
                single[part.recurrence.name] = part
    shown = master or parts[0]
    made = Seen(
        uid,
        uid,
        shown.said,
        is_recurring=bool(single) or bool(shown.rules or shown.extra),
        note=zones.note,
        sequence=max(part.sequence for part in parts),
        changed_at=max((part.changed_at for part in parts if part.changed_at is not None), default=None),
        starts_at=shown.start.moment,
    )
    try:
        return replace(made, occurrences=tuple(_occurrences(master, single, window)))
    except TooMany:
        words = "The series has too many occurrences, or repeats more often than daily."
        return replace(made, problem="too_many", note=words)
    except (NoRule, OverflowError, ValueError):
        what = "rule of recurrence" if made.is_recurring else "length"
        return replace(made, problem="unreadable", note=f"Its {what} cannot be understood.")


def _shown(texts: list[list[str]]) -> Said:
    """Of an event that cannot be read, whether it is private, and else what it is called."""
    lines = [line for lines in texts for line in lines]
    if is_private(lines):
        return Said(is_private=True)
    line = next((each for each in lines if each.upper().startswith(("SUMMARY:", "SUMMARY;"))), "")
    return Said(subject=line.partition(":")[2].strip()[:200] or None)


def _part(lines: list[str], zones: Zones) -> _Part:
    event = parsed(lines)
    start = when(event, "DTSTART", zones)
    if start is None:
        raise Unreadable("The event has no start")
    rules = [line.partition(":")[2] for line in lines if line[:6].upper() in ("RRULE:", "RRULE;")]
    recurrence = when(event, "RECURRENCE-ID", zones)
    holds_on = recurrence is not None and str(event["RECURRENCE-ID"].params.get("RANGE", "")).upper() == "THISANDFUTURE"
    return _Part(
        start,
        length(event, start, zones),
        said(event, start, is_private=is_private(lines)),
        number_of(event, "SEQUENCE"),
        changed_at(event),
        recurrence,
        holds_on,
        rules[:10],
        times(event, "RDATE", zones),
        times(event, "EXDATE", zones),
    )


def _occurrences(master: _Part | None, single: dict[str, _Part], window: tuple[datetime, datetime]) -> list[Occurrence]:
    """The event's one occurrence, or those of the series in the window, with what holds for single ones."""
    found: dict[str, Occurrence] = {}
    if master is not None and not (master.rules or master.extra):
        if not single:
            return [_occurrence("", master.start, master.length, None)]
        found[master.start.name] = _occurrence(master.start.name, master.start, master.length, None)
    elif master is not None:
        for start in _starts(master, window):
            found[start.name] = _later(master, single, start)
    for name, part in single.items():
        is_near = window[0] <= part.start.moment <= window[1] or name in found
        if is_near or (len(single) == 1 and master is None):
            found[name] = _occurrence(name, part.start, part.length, part.said)
    return list(found.values())


def _starts(master: _Part, window: tuple[datetime, datetime]) -> list[When]:
    """The original starts of the series in the window."""
    zone, is_day = master.start.zone, master.start.is_day

    def clock(at: When) -> datetime:
        return at.clock if at.is_day or is_day else at.moment.astimezone(zone).replace(tzinfo=None)

    clocks = expanded(
        master.start.clock,
        zone,
        master.rules,
        [clock(each) for each in master.extra],
        frozenset(clock(each) for each in master.left_out),
        window,
    )
    inside = (When(each, zone, is_day) for each in clocks)
    return [each for each in inside if window[0] <= moment(each.clock, zone) <= window[1]]


def _later(master: _Part, single: dict[str, _Part], start: When) -> Occurrence:
    """The occurrence as the series has it, or as «this and future» has it from an earlier one on."""
    marks = [part for part in single.values() if part.holds_on and part.recurrence is not None]
    before = [part for part in marks if part.recurrence is not None and part.recurrence.moment <= start.moment]
    if not before:
        return _occurrence(start.name, start, master.length, None)
    part = max(before, key=lambda each: each.recurrence.moment)  # type: ignore[union-attr]  # those have one
    by = part.start.clock - part.recurrence.clock if part.recurrence is not None else timedelta()
    return _occurrence(start.name, When(start.clock + by, part.start.zone, part.start.is_day), part.length, part.said)


def _occurrence(recurrence: str, start: When, length: timedelta, own: Said | None) -> Occurrence:
    begins = start.moment
    if start.is_day:  # a day is as long as its zone has it
        return Occurrence(recurrence, begins, moment(start.clock + length, start.zone), True, own)
    return Occurrence(recurrence, begins, begins + length, False, own)
