"""Says what log lines depend on, without the settings of all else: a supervisor knows no more of them."""

from dataclasses import dataclass
from enum import StrEnum


class LogFormat(StrEnum):
    """The form in which a log line is written."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The settings that log lines are written by; `otel` has them name the trace that they belong to."""

    level: str
    form: LogFormat
    otel: bool
