"""The events in an iCalendar text, each as a text of its own: bounded, whatever the text holds.

Only the lines that are read afterwards are kept of an event, so an attached file, a part within a part, or a line of
megabytes costs no more than reading past it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

_NAMES = frozenset(
    {"UID", "DTSTART", "DTEND", "DURATION", "SUMMARY", "DESCRIPTION", "LOCATION", "ORGANIZER", "ATTENDEE", "CLASS"}
    | {"STATUS", "SEQUENCE", "LAST-MODIFIED", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID", "URL", "CONFERENCE"}
    | {"X-GOOGLE-CONFERENCE", "X-MICROSOFT-SKYPETEAMSMEETINGURL", "X-MICROSOFT-CDO-BUSYSTATUS"}
)
_MANY = frozenset({"ATTENDEE", "RDATE", "EXDATE"})
_LINE_MAX, _TEXT_MAX, _MANY_MAX, _LINES_MAX = 8_000, 100_000, 1_500, 1_600
"""Those of which an event may have many leave room for the others: CLASS may stand behind them."""
_ZONES_MAX, _ZONE_LINES_MAX = 100, 500


class NoCalendar(Exception):
    """The text is no iCalendar, or breaks off."""


@dataclass(slots=True)
class Calendar:
    """The content of a text: its events, definitions of time zones, and what it says of itself."""

    events: list[list[str]] = field(default_factory=list)
    zones: dict[str, list[str]] = field(default_factory=dict)
    zone: str | None = None
    name: str | None = None
    events_seen: int = 0


def read_text(content: bytes, events_max: int) -> Calendar:
    """The calendar. Raises NoCalendar. Events beyond the most are counted, and not kept."""
    found = Calendar()
    stack: list[str] = []
    part: list[str] = []
    begun = ended = False
    for line in _lines(content):
        name = _name(line)
        if name == "BEGIN":
            kind = line[6:].strip().upper()
            stack.append(kind)
            begun = begun or kind == "VCALENDAR"
            if len(stack) == 2:
                part = []
            elif stack[1:2] == ["VTIMEZONE"] and len(part) < _ZONE_LINES_MAX:
                part.append(line)
        elif name == "END":
            _end(found, stack, part, line)
            ended = ended or not stack
        elif len(stack) == 1:
            _of_calendar(found, name, line)
        elif stack[1:2] == ["VTIMEZONE"]:
            if len(part) < _ZONE_LINES_MAX:
                part.append(line[:_LINE_MAX])
        elif len(stack) == 2 and name in _NAMES and len(part) < (_MANY_MAX if name in _MANY else _LINES_MAX):
            part.append(line[: _TEXT_MAX if name == "DESCRIPTION" else _LINE_MAX])
        if not begun and line.strip():
            raise NoCalendar("The text does not begin with BEGIN:VCALENDAR")
        if found.events_seen > events_max:
            return found
    if not begun:
        raise NoCalendar("The text does not begin with BEGIN:VCALENDAR")
    if not ended:
        raise NoCalendar("The text breaks off before END:VCALENDAR")
    return found


def _end(found: Calendar, stack: list[str], part: list[str], line: str) -> None:
    """The innermost part ends; an end of another part is passed over, as if it were not there."""
    kind = line[4:].strip().upper()
    if not stack or stack[-1] != kind:
        return
    stack.pop()
    if len(stack) == 1 and kind == "VEVENT":
        found.events_seen += 1
        found.events.append(list(part))
    elif len(stack) == 1 and kind == "VTIMEZONE" and len(found.zones) < _ZONES_MAX:
        named = next((each[5:].strip() for each in part if each.upper().startswith("TZID:")), None)
        if named:
            found.zones[named] = list(part)
    elif stack[1:2] == ["VTIMEZONE"] and len(part) < _ZONE_LINES_MAX:
        part.append(line)


def _of_calendar(found: Calendar, name: str, line: str) -> None:
    value = line.partition(":")[2].strip()[:200]
    if name == "X-WR-TIMEZONE":
        found.zone = found.zone or value
    elif name == "X-WR-CALNAME":
        found.name = found.name or value


def _name(line: str) -> str:
    end = next((place for place, c in enumerate(line[:80]) if c in ":;"), 0)
    return line[:end].upper()


def _lines(content: bytes) -> Iterator[str]:
    """The lines, unfolded, of whichever encoding and ends."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\n ", "").replace("\n\t", "").replace("\0", "")
    yield from filter(None, text.split("\n"))
