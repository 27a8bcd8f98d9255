"""Gives each statement of the database that takes long a line of the log (decision 871)."""

import logging
from typing import Final

from storage.statements import CompiledStatement

_log = logging.getLogger("gateway.observability.statement_times")

_TEXT_MAX: Final = 2_000
"""Characters of a statement that a line has."""


class SlowStatements:
    """Hears of every statement that has ended, and counts nothing: for a process that nobody asks for its metrics."""

    def __init__(self, slow_seconds: float) -> None:
        self._slow = slow_seconds

    def __call__(self, statement: CompiledStatement, seconds: float, failed: type[BaseException] | None) -> None:
        """Tell of a statement that took long, and what it raised, if it did."""
        if seconds >= self._slow:
            tell(statement, seconds, failed)


def tell(statement: CompiledStatement, seconds: float, failed: type[BaseException] | None) -> None:
    """Write the line of a statement. Its text has no values in it, and its parameters are in no line."""
    line = "slow statement ms=%.1f failed=%s digest=%s statement=%s"
    _log.warning(line, seconds * 1000, failed and failed.__name__, statement.digest, _shown(statement.text))


def _shown(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _TEXT_MAX else f"{words[:_TEXT_MAX]}…"
