"""The events in an iCalendar text, each as a text of its own: bounded, whatever the text holds.

Only the lines that are read afterwards are kept of an event, so an attached file, a part within a part, or a line of
megabytes costs no more than reading past it. The text is decoded line by line, and an event is kept as bytes, so that
all of it takes about the memory of the content (decision 1031).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_NAMES = frozenset(
    {"UID", "DTSTART", "DTEND", "DURATION", "SUMMARY", "DESCRIPTION", "LOCATION", "ORGANIZER", "ATTENDEE", "CLASS"}
    | {"STATUS", "SEQUENCE", "LAST-MODIFIED", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID", "URL", "CONFERENCE"}
    | {"X-GOOGLE-CONFERENCE", "X-MICROSOFT-SKYPETEAMSMEETINGURL", "X-MICROSOFT-CDO-BUSYSTATUS"}
)
_DATES = frozenset({"RDATE", "EXDATE"})
_MANY = _DATES | {"ATTENDEE"}
_LINE_MAX, _TEXT_MAX, _MANY_MAX, _LINES_MAX = 8_000, 100_000, 1_500, 1_600
"""Those of which an event may have many leave room for the others: CLASS may stand behind them."""
_ZONES_MAX, _ZONE_LINES_MAX = 100, 500
_NAME = re.compile(r"[^:;]{0,79}(?=[:;])")
_LINE = re.compile(rb"[^\r\n]+")
_BOM = b"\xef\xbb\xbf"


class NoCalendar(Exception):
    """The text is no iCalendar, or breaks off."""


@dataclass(slots=True)
class Calendar:
    """The content of a text: its events, definitions of time zones, and what it says of itself."""

    events: list[bytes] = field(default_factory=list)
    """Each as its lines, which `lines_of` takes apart."""
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
            part.append(_cut(name, line))
        if not begun and line.strip():
            raise NoCalendar("The text does not begin with BEGIN:VCALENDAR")
        if found.events_seen > events_max:
            return found
    if not begun:
        raise NoCalendar("The text does not begin with BEGIN:VCALENDAR")
    if not ended:
        raise NoCalendar("The text breaks off before END:VCALENDAR")
    return found


def _cut(name: str, line: str) -> str:
    """The line, no longer than is kept. A list of dates ends with a whole one: with a broken one none of it counts."""
    longest = _TEXT_MAX if name == "DESCRIPTION" or name in _DATES else _LINE_MAX
    if name in _DATES and len(line) > longest:
        return line[:longest].rpartition(",")[0]
    return line[:longest]


def lines_of(event: bytes) -> list[str]:
    """The lines of an event."""
    return event.decode().split("\n")


def _end(found: Calendar, stack: list[str], part: list[str], line: str) -> None:
    """The innermost part ends; an end of another part is passed over, as if it were not there."""
    kind = line[4:].strip().upper()
    if not stack or stack[-1] != kind:
        return
    stack.pop()
    if len(stack) == 1 and kind == "VEVENT":
        found.events_seen += 1
        found.events.append("\n".join(part).encode())
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
    found = _NAME.match(line)
    return found[0].upper() if found else ""


def _lines(content: bytes) -> Iterator[str]:
    """The lines, of whichever encoding and ends, without the empty ones."""
    encoding = "utf-8" if _is_utf8(content) else "cp1252"
    for line in _unfolded(content):
        if text := line.decode(encoding, "replace").replace("\0", ""):
            yield text


def _is_utf8(content: bytes) -> bool:
    """Says whether every line is UTF-8 once it is unfolded: a line may be folded within a character."""
    try:
        for line in _unfolded(content):
            line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _unfolded(content: bytes) -> Iterator[bytearray]:
    """The lines: what begins with a space or a tab goes on with the one before."""
    line = bytearray()
    for found in _LINE.finditer(content, len(_BOM) if content.startswith(_BOM) else 0):
        piece = found[0]
        if piece.startswith((b" ", b"\t")):
            line += piece[1:]
            continue
        yield line
        line = bytearray(piece)
    yield line
