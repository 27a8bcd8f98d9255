"""Counts what statements of the database take, and gives each that takes long a line (decision 871)."""

from typing import Final

from gateway.observability import tallies
from gateway.observability.metrics import STATEMENT_SECONDS
from gateway.observability.slow_statements import tell
from storage.statements import CompiledStatement

_READ, _WRITE = (tallies.Observed(STATEMENT_SECONDS.labels(access)) for access in ("read", "write"))


class StatementTimes:
    """Hears of every statement that has ended."""

    def __init__(self, slow_seconds: float) -> None:
        self._slow: Final = slow_seconds

    def __call__(self, statement: CompiledStatement, seconds: float, failed: type[BaseException] | None) -> None:
        """Note the time of a statement, and what it raised, if it did."""
        with tallies.lock:
            (_WRITE if statement.writes else _READ).note(seconds)
        if seconds >= self._slow:
            tell(statement, seconds, failed)
