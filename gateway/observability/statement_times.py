"""Counts what statements of the database take, and gives each that takes long a line (decision 871)."""

import logging
from typing import Final

from gateway.observability import tallies
from gateway.observability.metrics import STATEMENT_SECONDS
from storage.statements import CompiledStatement

_log = logging.getLogger(__name__)

_TEXT_MAX: Final = 2_000
"""Characters of a statement that a line has."""
_READ, _WRITE = (tallies.Observed(STATEMENT_SECONDS.labels(access)) for access in ("read", "write"))


class StatementTimes:
    """Hears of every statement that has ended. Its text has no values in it, and its parameters are in no line."""

    def __init__(self, slow_seconds: float) -> None:
        self._slow = slow_seconds

    def __call__(self, statement: CompiledStatement, seconds: float, failed: type[BaseException] | None) -> None:
        """Note the time of a statement, and what it raised, if it did."""
        with tallies.lock:
            (_WRITE if statement.writes else _READ).note(seconds)
        if seconds >= self._slow:
            line = "slow statement ms=%.1f failed=%s digest=%s statement=%s"
            _log.warning(line, seconds * 1000, failed and failed.__name__, statement.digest, _shown(statement.text))


def _shown(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _TEXT_MAX else f"{words[:_TEXT_MAX]}…"
