"""Log lines: one per event, as text or JSON, with secrets cut out whatever wrote them."""

import logging
import re
import sys
from typing import Any

import structlog
from structlog.typing import EventDict, Processor

from gateway.settings import LogFormat, Settings

_SECRETS = re.compile(
    r"\b(ak|pat)_[A-Za-z0-9]+\.[A-Za-z0-9_-]+"  # keys and tokens
    r"|\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*(\.[A-Za-z0-9_-]*)?"  # session tokens
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"  # passwords in addresses
)


def redact(text: str) -> str:
    """The text without credentials."""
    return _SECRETS.sub("[redacted]", text)


def _redacted(_logger: Any, _method: str, event: EventDict) -> EventDict:
    return {key: redact(value) if isinstance(value, str) else value for key, value in event.items()}


def configure(settings: Settings) -> None:
    """Send every logger of the process through one formatter on stderr."""
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: Processor = structlog.processors.KeyValueRenderer(key_order=_TEXT_ORDER)
    if settings.log_format is LogFormat.JSON:
        renderer = structlog.processors.JSONRenderer()
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.PositionalArgumentsFormatter(), *shared],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            _redacted,
            renderer,
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.log_level)
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
    "httpx": logging.WARNING,  # writes whole addresses, which may hold secrets
    "httpcore": logging.WARNING,
    "uvicorn.access": logging.WARNING,  # the gateway writes its own line per request
    "alembic": logging.WARNING,
    "sqlalchemy": logging.WARNING,
}
