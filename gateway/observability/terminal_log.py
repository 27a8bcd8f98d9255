"""Words log lines for people who watch a terminal: a short line for each request, without what only programs need.

A file or a pipe gets the same facts by name (decision 640).
"""

import os
import re
from datetime import datetime
from typing import TYPE_CHECKING, Final, TextIO

from structlog.typing import EventDict

from gateway.observability.redaction import redact

if TYPE_CHECKING:
    from transport.request_log import RequestLog

WIDTH: Final = 120
"""The columns that a line has at the most that tells of no trouble."""

_PROBES: Final = frozenset({"/health", "/ready", "/metrics"})
_PLAIN: Final = "\x1b[0m"
_FAINT, _RED, _YELLOW, _GREEN = "\x1b[2m", "\x1b[31m", "\x1b[33m", "\x1b[32m"
_UUID: Final = re.compile(r"\b([0-9a-f]{8}-[0-9a-f]{4})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_LEVELS: Final = {"warning": _YELLOW, "error": _RED, "critical": _RED}


def is_watched(stream: TextIO) -> bool:
    """Says whether somebody reads the stream as it comes."""
    return stream.isatty()


def has_colors(stream: TextIO) -> bool:
    """Says whether the stream shows colors, and nobody asked for none (no-color.org)."""
    return is_watched(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def is_probe(path: str) -> bool:
    """Says whether a machine asks for this path again and again."""
    return path in _PROBES


def request_line(
    moment: datetime, asked: str, name: str | None, status: int, seconds: float, record: "RequestLog", *, colored: bool
) -> str:
    """One request in at most 120 columns: local time, status, milliseconds, operation, organization, cost, code.

    `asked` is the operation, or method and path where there is none; it and the client's `name` are cut where the line
    would be too long.
    """
    organization = "" if record.organization is None else f"org {_printable(record.organization)[:13]}"
    cost = "" if record.cost is None else f"cost {record.cost}"
    tail = "  ".join(filter(None, (organization, cost, record.code)))
    head = f"{moment:%H:%M:%S} {status:3d} {seconds * 1000:7.0f} ms  "
    operation = f"{asked} ({name})" if name else asked
    room = WIDTH - len(head) - len(tail) - 2
    words = _cut(_printable(operation), max(room, 10))
    if not colored:
        return f"{head}{words}  {tail}".rstrip()
    shade = _RED if status >= 500 else _YELLOW if status >= 400 else _GREEN
    digits = f"{moment:%H:%M:%S} {shade}{status:3d}{_PLAIN} {seconds * 1000:7.0f} ms  "
    return f"{digits}{words}  {_FAINT}{tail}{_PLAIN}"


class Renderer:
    """Renders any other line, without credentials: local time, what happened, and who says so.

    Warnings and errors are marked and whole; in lines that tell of no trouble identifiers are short, and what is too
    long is cut. The lines of a traceback follow, each indented, so that no text of others begins a line of the log.
    """

    def __init__(self, *, colored: bool) -> None:
        self._colored = colored

    def __call__(self, _logger: object, _method: str, event: EventDict) -> str:
        level, said = str(event.pop("level")), str(event.pop("event"))
        logger, exception = event.pop("logger", ""), event.pop("exception", None)
        moment = datetime.fromisoformat(event.pop("timestamp")).astimezone()
        more = "".join(f" {name}={value!r}" for name, value in event.items())
        mark = "" if level in ("info", "debug") else f"{level.upper()}: "
        if self._colored and level in _LEVELS:
            mark = f"{_LEVELS[level]}{mark}{_PLAIN}"
        traced = [] if exception is None else [f"    {_printable(line)}" for line in str(exception).splitlines()]
        words = redact(_printable(said + more))  # before they are cut: half a credential looks like none
        if level == "info":
            words = _cut(_UUID.sub(r"\1", words), WIDTH - len(f"{moment:%H:%M:%S}   ({logger})"))
        return redact("\n".join([f"{moment:%H:%M:%S} {mark}{words}  ({logger})", *traced]))


def _printable(text: str) -> str:
    """The text without what would move the cursor, color the rest, or look like another line."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
