"""Tells an error tracker of internal errors, by what the log says of them and less (decision 884).

Its source are the lines of the log that say ERROR, which have an error's type and place and none of its words. Of these
go: the type, the frames, the words of the template, and identifiers that the service has made. So nothing that came
with a request can leave this way: not its text, its variables, headers, addresses, nor a name that a client chose.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Final

from contract.error_origin import Frame, Where, frames_of
from contract.tracing import current as running_span
from contract.tracing import ids_of
from gateway.observability.log_fields import chain, fields_of, words_of
from gateway.packages import PACKAGES
from gateway.settings import Settings

if TYPE_CHECKING:
    from gateway.observability.sentry import Sentry

OWN: Final = frozenset(PACKAGES)
"""The packages whose templates are known to hold nothing but words of the service."""
_NOT_TOLD: Final = ("sentry_sdk", "urllib3", "opentelemetry")
"""The loggers of what would tell of itself."""
_IDENTIFIERS: Final = frozenset({"request_id", "job", "run", "worker"})
_IDENTIFIER: Final = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_WORD: Final = re.compile(r"[a-z_]{1,60}")
_TYPE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}")


@dataclass(frozen=True, slots=True)
class Raised:
    """One error of those that led to a line: its type, and the frames that it came through."""

    type: str
    frames: Sequence[Frame]


@dataclass(frozen=True, slots=True)
class Report:
    """Holds what is told of one line."""

    logger: str
    words: str
    raised: Sequence[Raised] = ()
    tags: Mapping[str, str] = field(default_factory=dict)


class ErrorReports(logging.Handler):
    """Hands on what may be told; to be added to the root of the loggers while the process serves."""

    def __init__(self, dsn: str) -> None:
        super().__init__(logging.ERROR)
        sentry: type[Sentry] = import_module("gateway.observability.sentry").Sentry
        self._to = sentry(dsn)

    def emit(self, record: logging.LogRecord) -> None:
        """Tell of a line; one that cannot be told harms nobody."""
        if record.name.startswith(_NOT_TOLD):
            return
        try:
            self._to.send(report_of(record))
        except Exception:  # whatever the tracker's library does, the request goes on
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # the library's name
        """Say nothing: the line itself is in the log."""

    def close(self) -> None:
        """Have the last ones taken, for as long as the end of a process may wait."""
        logging.getLogger().removeHandler(self)
        self._to.close()
        super().close()


def reports_of(settings: Settings) -> ErrorReports | None:
    """The way to the tracker that the settings name; None where there is none, and nothing is loaded for it."""
    dsn = settings.sentry_dsn.get_secret_value()
    return ErrorReports(dsn) if dsn else None


def report_of(record: logging.LogRecord) -> Report:
    """Says what may be told of a line: of a library's, no word of the line itself."""
    is_own = record.name.partition(".")[0] in OWN
    fields = fields_of(record) if is_own else {}
    tags = {
        name: str(value) for name, value in fields.items() if name in _IDENTIFIERS and _IDENTIFIER.fullmatch(str(value))
    }
    if _WORD.fullmatch(kind := str(fields.get("kind", ""))):
        tags["kind"] = kind
    if (span := running_span()) is not None:
        tags |= ids_of(span)
    return Report(record.name, words_of(record) if is_own else "an error of a library", _raised(record, fields), tags)


def _raised(record: logging.LogRecord, fields: Mapping[str, object]) -> list[Raised]:
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        return [Raised(type(one).__name__, frames_of(one)) for one in chain(error)]
    kind, place = str(fields.get("type", "")), fields.get("at")
    frames = place.frames if isinstance(place, Where) else []
    return [Raised(kind, frames)] if _TYPE.fullmatch(kind) else []
