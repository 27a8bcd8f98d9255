"""Log lines: one per event, as text or JSON, with secrets cut out whatever wrote them."""

import json
import logging
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TextIO

import orjson
import structlog
from structlog.typing import EventDict, Processor

from contract.tracing import current as running_span
from contract.tracing import ids_of
from gateway.observability import terminal_log
from gateway.observability.log_fields import error_fields, named_arguments, trace_fields
from gateway.observability.log_settings import LogFormat, LogSettings
from gateway.observability.redaction import redact

if TYPE_CHECKING:
    from transport.request_log import RequestLog


def _finished(render: Processor) -> Processor:
    """The rendered line, without credentials and without line ends: what it was made of may have had either."""

    def finish(logger: object, method: str, event: EventDict) -> str:
        line = str(render(logger, method, event))
        return redact(line).replace("\r", "\\r").replace("\n", "\\n")

    return finish


class AccessLog:
    """The line that every request leaves, written straight to the stream: it costs what it writes and little more."""

    def __init__(self) -> None:
        self._handler: logging.StreamHandler[TextIO] | None = None
        self._as_json = False
        self._watched = False
        self._colored = False
        self._probes = False
        self._traced = False

    def configure(self, settings: LogSettings, handler: "logging.StreamHandler[TextIO]") -> None:
        """Write where the handler writes, if the level lets the lines through."""
        self._handler = handler if settings.level in ("DEBUG", "INFO") else None
        self._as_json = settings.form is LogFormat.JSON
        self._watched = not self._as_json and terminal_log.is_watched(handler.stream)
        self._colored = self._watched and terminal_log.has_colors(handler.stream)
        self._probes = settings.level == "DEBUG"
        self._traced = settings.otel

    def write(self, method: str, path: str, status: int, seconds: float, record: "RequestLog") -> None:
        """One line, with the fields of any other log line and always the same ones of its own (decision 122)."""
        if self._handler is None:
            return
        if self._watched:
            self._show(method, path, status, seconds, record)
            return
        seconds_now, moment = divmod(time.time(), 1)
        timestamp = f"{_second(int(seconds_now))}.{int(moment * 1_000_000):06}Z"
        asked = _asked(method, path, status)
        done = _done(record.surface, record.operation, record.name, record.caller, record.organization)
        ms, request_id = round(seconds * 1000, 1), redact(record.request_id)
        ids = ids_of(span) if self._traced and (span := running_span()) is not None else {}
        if self._as_json:
            fields = {**asked.fields, "ms": ms, **done.fields, "cost": record.cost, "code": record.code or None}
            fields |= {"request_id": request_id, **ids}
            fields |= {"level": "info", "logger": "gateway.access", "timestamp": timestamp, "event": "request"}
            line = _as_json(fields)
        else:
            cost = "" if record.cost is None else f" cost={record.cost}"
            code = f" code={record.code!r}" if record.code else ""
            shown = f"{asked.text} ms={ms}{done.text}{cost}{code} request_id={request_id!r}{_shown(ids)}"
            line = f"timestamp={timestamp!r} level='info' event='request'{shown} logger='gateway.access'"
        _put(self._handler.stream, line)

    def _show(self, method: str, path: str, status: int, seconds: float, record: "RequestLog") -> None:
        if self._handler is None or (terminal_log.is_probe(path) and not self._probes):
            return
        asked, name = record.operation or f"{method} {_redacted(path)}", record.name and _redacted(record.name)
        moment = datetime.now().astimezone()
        line = terminal_log.request_line(moment, asked, name, status, seconds, record, colored=self._colored)
        _put(self._handler.stream, line)


class _Part(NamedTuple):
    """A part of lines that is the same in many: its fields, and the same as text."""

    fields: Mapping[str, object]
    text: str


@lru_cache(maxsize=1_000)
def _asked(method: str, path: str, status: int) -> _Part:
    fields = {"method": method, "path": redact(path), "status": status}
    return _Part(fields, _shown(fields))


@lru_cache(maxsize=1_000)
def _done(surface: str, operation: str, name: str | None, caller: str, organization: str | None) -> _Part:
    fields = {
        "surface": surface,
        "operation": operation or None,
        "operation_name": name and redact(name),
        "caller": caller,
        "organization": organization,
    }
    return _Part(fields, _shown(fields))


def _shown(fields: Mapping[str, object]) -> str:
    """The fields that there are, each behind a blank."""
    return "".join([f" {name}={value!r}" for name, value in fields.items() if value is not None])


def _put(stream: TextIO, line: str) -> None:
    stream.write(line + "\n")
    stream.flush()


def _as_json(fields: Mapping[str, object]) -> str:
    """The fields in ASCII, so that nothing in them looks like the end of a line to any reader."""
    line = orjson.dumps(fields)
    return line.decode() if line.isascii() else json.dumps(fields)


@lru_cache(maxsize=2)
def _second(timestamp: int) -> str:
    """The second in ISO 8601; a busy process asks for the same one again and again."""
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%dT%H:%M:%S")


_redacted = lru_cache(maxsize=1_000)(redact)
"""Redacts what repeats, such as paths, which are bounded in length, and keeps the result."""


access = AccessLog()


def configure(settings: LogSettings) -> None:
    """Send every logger of the process through one formatter on stderr."""
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if settings.otel and not (settings.form is not LogFormat.JSON and terminal_log.is_watched(sys.stderr)):
        shared.append(trace_fields)
    renderer = _finished(structlog.processors.KeyValueRenderer(key_order=_TEXT_ORDER))
    if settings.form is LogFormat.JSON:
        renderer = _finished(structlog.processors.JSONRenderer())
    elif terminal_log.is_watched(sys.stderr):
        renderer = terminal_log.Renderer(colored=terminal_log.has_colors(sys.stderr))
    has_fields = settings.form is LogFormat.JSON
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*([named_arguments] if has_fields else []), *shared],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            error_fields if has_fields else structlog.processors.format_exc_info,
            renderer,
        ],
        pass_foreign_args=has_fields,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    access.configure(settings, handler)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.level)
    for name, level in _QUIET.items():
        logging.getLogger(name).setLevel(level)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


_TEXT_ORDER = ["timestamp", "level", "event"]
_QUIET = {
    "aiosqlite": logging.WARNING,  # writes statements with their values, which are people's data and hashes of secrets
    "asyncpg": logging.WARNING,
    "httpx": logging.WARNING,  # writes whole addresses, which may hold secrets
    "httpcore": logging.WARNING,
    "uvicorn.access": logging.WARNING,  # the gateway writes its own line per request
    "uvicorn.error": logging.WARNING,  # and its own when a process starts, ends or died
    "gateway.server.websocket_protocol": logging.WARNING,
    "alembic": logging.WARNING,
    "sqlalchemy": logging.WARNING,
    "opentelemetry": logging.CRITICAL,  # a line for each batch that is not taken; the gateway says it once
    "sentry_sdk": logging.CRITICAL,
    "urllib3": logging.ERROR,  # a line for each retry of these two
}
