"""One event of an iCalendar text, read by the library: who, when, where, and what is said of it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from html import unescape
from importlib import import_module
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from contract.integrations import PARTICIPANTS_MAX, PLACE_KEPT, SUBJECT_KEPT, TEXT_KEPT, ParticipantResponse
from contract.normal_form import ordered
from contract.web_address import is_web_address
from providers.accounts.ports import Guest, Said
from providers.accounts.recurrence import as_midnight, moment

_RESPONSES = {
    "ACCEPTED": ParticipantResponse.ACCEPTED,
    "DECLINED": ParticipantResponse.DECLINED,
    "TENTATIVE": ParticipantResponse.TENTATIVE,
}
_CLASS = re.compile(r"CLASS[:;]", re.IGNORECASE)
_THINGS = ("RESOURCE", "ROOM")
_AWAY = ("OOF", "WORKINGELSEWHERE")
ADDRESS_MAX = 320
YEARS = range(1_900, 2_201)
_JOINING = re.compile(
    r"https://(?:[\w.-]+\.)?(?:zoom\.us/(?:j|my)|teams\.microsoft\.com/(?:l/meetup-join|meet)|teams\.live\.com/meet"
    r"|meet\.google\.com|webex\.com|whereby\.com)/[^\s<>\"']{1,900}",
    re.ASCII,
)
_Value = Any
"""The library's value of a property. Any: each is of its own kind."""


class Unreadable(Exception):
    """The event cannot be understood; the words say why."""


@dataclass(frozen=True, slots=True)
class When:
    """A time as the event's zone has it: `clock` is without a zone; of a day, its midnight."""

    clock: datetime
    zone: tzinfo
    is_day: bool

    @property
    def moment(self) -> datetime:
        return moment(self.clock, self.zone)

    @property
    def name(self) -> str:
        """The name of an occurrence that began then."""
        return self.clock.date().isoformat() if self.is_day else self.moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Zones:
    """The zones that an event can name: those of the IANA database, and what the text itself defines."""

    def __init__(self, defined: dict[str, list[str]], usual: str | None) -> None:
        self._defined = defined
        self._made: dict[str, tzinfo | None] = {}
        self.usual = self._known(usual) or UTC if usual else UTC
        self.note: str | None = None

    def named(self, name: str) -> tzinfo:
        """The zone; the calendar's own for one that nobody knows, which is noted."""
        if name not in self._made:
            self._made[name] = self._known(name) or self._of_text(name)
        found = self._made[name]
        if found is None:
            self.note = (
                f"The time zone «{name[:60]}» is unknown; its times are read as {zone_name(self.usual) or 'UTC'}."
            )
            return self.usual
        return found

    def _known(self, name: str) -> tzinfo | None:
        if name.upper() in ("UTC", "Z", "GMT"):
            return UTC
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return None

    def _of_text(self, name: str) -> tzinfo | None:
        lines = self._defined.get(name)
        if lines is None:
            return None
        text = "\r\n".join(["BEGIN:VTIMEZONE", *lines, "END:VTIMEZONE", ""])
        try:
            component: _Value = _library().Timezone.from_ical(text)
            made: tzinfo = component.to_tz()
            made.utcoffset(datetime(2026, 1, 1))
        except Exception:  # whatever a made-up zone does to the library: it is an unknown one
            return None
        return made


def _library() -> _Value:
    """The library, loaded when it is first used: feeds are read by a process of their own, and by no other."""
    return import_module("icalendar")


def zone_name(zone: tzinfo) -> str | None:
    """The name of the IANA database; None for a zone that a text defined."""
    return "UTC" if zone is UTC else getattr(zone, "key", None)


def parsed(lines: Iterable[str]) -> _Value:
    """The event of these lines. Raises Unreadable."""
    try:
        return _library().Event.from_ical("\r\n".join(["BEGIN:VEVENT", *lines, "END:VEVENT", ""]))
    except Exception:  # the library says ValueError, IndexError and others for what is no event
        raise Unreadable("The event is no iCalendar text") from None


def when(event: _Value, name: str, zones: Zones) -> When | None:
    """The time under this name; None where there is none. Raises Unreadable."""
    if name not in event:
        return None
    try:
        value = event[name]
        return of_value(value.dt, value.params.get("TZID"), zones)
    except Unreadable:
        raise
    except Exception:  # a list where one belongs, or what the library calls broken
        raise Unreadable(f"{name} is no time") from None


def of_value(value: object, zone: object, zones: Zones) -> When:
    """The time of the library's value. Raises Unreadable for one that no calendar of today needs."""
    if isinstance(value, tuple):
        value = value[0]
    if not isinstance(value, date) or value.year not in YEARS:
        raise Unreadable("A time lies before 1900 or after 2200")
    if not isinstance(value, datetime):
        return When(as_midnight(value), zones.usual, is_day=True)
    if value.tzinfo is None:
        named = zones.named(str(zone)) if zone else zones.usual
        return When(value.replace(microsecond=0), named, is_day=False)
    offset = value.utcoffset()
    own = UTC if offset is None or (zone_name(value.tzinfo) is None and not offset) else value.tzinfo
    return When(value.replace(tzinfo=None, microsecond=0), own, is_day=False)


def times(event: _Value, name: str, zones: Zones) -> list[When]:
    """The times of a list, such as EXDATE, which may be there several times; what is none is passed over."""
    found = []
    values = event.get(name, [])
    for value in values if isinstance(values, list) else [values]:
        for each in _dates(value):
            try:
                found.append(of_value(each.dt, each.params.get("TZID") or value.params.get("TZID"), zones))
            except (Unreadable, AttributeError, ValueError):
                continue
    return found


def _dates(value: _Value) -> Iterable[_Value]:
    """The dates of a list; none of one that the library calls broken."""
    try:
        found: Iterable[_Value] = getattr(value, "dts", ())
    except Exception:  # of whichever kind
        return ()
    return found


def length(event: _Value, start: When, zones: Zones) -> timedelta:
    """Says how long it takes; a day where it has a day and no end. Raises Unreadable."""
    end = when(event, "DTEND", zones)
    if end is not None:
        if start.is_day:
            return max(timedelta(days=1), timedelta(days=(end.clock.date() - start.clock.date()).days))
        return max(timedelta(), end.moment - start.moment)
    try:
        duration = getattr(event.get("DURATION"), "dt", None)
    except Exception:  # what the library calls broken
        raise Unreadable("DURATION is no length") from None
    if isinstance(duration, timedelta):
        return max(timedelta(), duration)
    return timedelta(days=1) if start.is_day else timedelta()


def text_of(event: _Value, name: str, longest: int) -> str | None:
    """The text under this name, trimmed and cut; None where there is none."""
    value = event.get(name)
    if isinstance(value, list):
        value = value[0] if value else None
    if value is None:
        return None
    text = "".join(c for c in str(value).strip()[:longest] if not "\ud800" <= c <= "\udfff")
    return ordered(text) or None


def number_of(event: _Value, name: str) -> int:
    try:
        return min(max(int(str(event.get(name, 0))[:10]), 0), 2**31 - 1)
    except ValueError:
        return 0


def changed_at(event: _Value) -> datetime | None:
    """Says when the event was last changed, by its own word."""
    value = getattr(event.get("LAST-MODIFIED"), "dt", None) if "LAST-MODIFIED" not in dict(event.errors) else None
    if not isinstance(value, datetime) or value.year not in YEARS:
        return None
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def is_private(lines: Iterable[str]) -> bool:
    """Says whether the event is to be kept from others: RFC 5545, 3.8.1.3 has what is not known read as private."""
    classes = (line.rpartition(":")[2].strip().upper() for line in lines if _CLASS.match(line))
    return any(each not in ("PUBLIC", "") for each in classes)


def said(event: _Value, start: When, *, is_private: bool) -> Said:
    """Read what is said of the event."""
    text = text_of(event, "DESCRIPTION", 4 * TEXT_KEPT)
    place = text_of(event, "LOCATION", PLACE_KEPT)
    url = text_of(event, "URL", PLACE_KEPT)
    guests = _guests(event)
    busy = (text_of(event, "X-MICROSOFT-CDO-BUSYSTATUS", 40) or "").upper()
    return Said(
        subject=text_of(event, "SUMMARY", SUBJECT_KEPT),
        text=None if text is None else plain(text)[:TEXT_KEPT] or None,
        place=place,
        conference_url=_conference(event, place, text),
        url=url if url and is_web_address(url) else None,
        time_zone=zone_name(start.zone),
        guests=guests,
        is_private=is_private,
        is_cancelled=(text_of(event, "STATUS", 40) or "").upper() == "CANCELLED",
        is_meeting=bool(guests) or busy not in _AWAY,
    )


def _conference(event: _Value, place: str | None, text: str | None) -> str | None:
    for name in ("X-GOOGLE-CONFERENCE", "X-MICROSOFT-SKYPETEAMSMEETINGURL", "CONFERENCE"):
        found = text_of(event, name, PLACE_KEPT)
        if found and is_web_address(found):
            return found
    return joining(place, text)


def joining(*texts: str | None) -> str | None:
    """The first address in the texts at which a known service holds meetings."""
    return next((found[0] for text in texts if text and (found := _JOINING.search(text))), None)


def _guests(event: _Value) -> tuple[Guest, ...]:
    """Says who takes part, each address once, the organizer first."""
    found: dict[str, Guest] = {}
    for name in ("ORGANIZER", "ATTENDEE"):
        values = event.get(name, [])
        for value in values if isinstance(values, list) else [values]:
            guest = _guest(value, is_organizer=name == "ORGANIZER")
            if guest is None or (guest.email.lower() not in found and len(found) >= PARTICIPANTS_MAX):
                continue
            there = found.get(guest.email.lower())
            if there is not None:
                guest = Guest(there.email, there.name or guest.name, guest.response, there.is_organizer)
            found[guest.email.lower()] = guest
    return tuple(found.values())


def _guest(value: _Value, *, is_organizer: bool) -> Guest | None:
    params = getattr(value, "params", {})
    if str(params.get("CUTYPE", "")).upper() in _THINGS:
        return None
    text = str(value).strip()
    email = text[7:].strip() if text.lower().startswith("mailto:") else str(params.get("EMAIL", text)).strip()
    if "@" not in email or len(email) > ADDRESS_MAX or any(c.isspace() for c in email) or not email.isprintable():
        return None
    name = str(params.get("CN", "")).strip().strip('"')[:200]
    response = _RESPONSES.get(str(params.get("PARTSTAT", "")).upper(), ParticipantResponse.NO_RESPONSE)
    if is_organizer:
        response = ParticipantResponse.ACCEPTED
    return Guest(email, ordered(name) if name and name.lower() != email.lower() else None, response, is_organizer)


_BREAKS = frozenset({"br", "p", "div", "tr", "li", "h1", "h2", "h3", "table"})
_TAG = re.compile(r"<(?:br|p|div|html|body|span|a|table|b|ul|li)\b[^<>]{0,500}>", re.IGNORECASE)
_MARK = re.compile(r"<(?P<end>/?)(?P<name>[a-z][a-z0-9]*+)[^<>]*+>|<!--|<[!?][^<>]*+>", re.IGNORECASE)

_VAST = re.compile(r"&#(?:x[0-9a-f]{7,}+|[0-9]{8,}+);?", re.IGNORECASE)
"""A number of no character. The library would make an integer of it, of more digits than Python allows."""


def plain(text: str) -> str:
    """The text without the marks of HTML, where it has some.

    One pass with steps that never go back: the standard library's reader takes the square of the text's length.
    """
    if not _TAG.search(text):
        return text
    parts: list[str] = []
    at = 0
    while (mark := _MARK.search(text, at)) is not None:
        parts.append(text[at : mark.start()])
        name, at = (mark["name"] or "").lower(), mark.end()
        if mark[0] == "<!--":
            at = _behind(text, "-->", at)
        elif name in _BREAKS and not mark["end"]:
            parts.append("\n")
        elif name in _HIDDEN and not mark["end"]:
            at = _behind(text, f"</{name}>", at)
    parts.append(text[at:])
    whole = _VAST.sub("\ufffd", "".join(parts))
    return re.sub(r"\n{3,}", "\n\n", unescape(whole)).strip()


_HIDDEN = frozenset({"script", "style"})


def _behind(text: str, end: str, at: int) -> int:
    """Find the end of what is not shown: that of the text where it is not ended, so that it is looked for once."""
    found = re.compile(re.escape(end), re.IGNORECASE).search(text, at)
    return len(text) if found is None else found.end()
