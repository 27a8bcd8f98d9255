"""The values of answers to statements, alike on both databases, and where an answer ends."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any, Protocol

import orjson

from contract.analytics_results import ResultColumn, Value
from contract.catalog import ColumnKind
from contract.errors import AnalyticsFailed
from contract.limits import ANALYTICS_BYTES_MAX
from storage.analytics.guard import Guarded
from storage.base import plain_decimal

BATCH = 50
"""Rows that are fetched at a time."""
OUT_OF_RANGE = "A number is out of range"
_WHOLE = range(-(2**63), 2**63)
_EXACT_FLOATS = 2.0**53


class Runner(Protocol):
    """Runs statements that the guard let through, on connections of their own."""

    dialect: str

    async def run(self, guarded: Guarded, organization: str, answer: "Answer") -> None:
        """Fill the answer. Raises AnalyticsFailed, AnalyticsRefused (SESSION), TimedOut, Unavailable."""

    async def close(self) -> None:
        """Close every connection."""


class Answer:
    """The rows of an answer, as far as it may go: what is behind its end is not fetched."""

    def __init__(self, columns: Sequence[ResultColumn], rows_max: int) -> None:
        self._kinds = [column.kind for column in columns]
        self._max = rows_max
        self._left = ANALYTICS_BYTES_MAX
        self.rows: list[list[Value]] = []
        self.truncated = False

    def take(self, found: Sequence[Any]) -> bool:  # Any: rows of a driver
        """Take rows; whether there is room for more. Raises AnalyticsFailed."""
        for row in found:
            values = [value_of(kind, value) for kind, value in zip(self._kinds, row, strict=True)]
            self._left -= len(orjson.dumps(values)) + 1
            if len(self.rows) == self._max or self._left < 0:
                self.truncated = True
                return False
            self.rows.append(values)
        return True


def value_of(kind: ColumnKind, value: Any) -> Value:  # Any: of a driver
    """A value of a driver as answers have it: exact decimals, days and moments as texts. Raises AnalyticsFailed."""
    if value is None:
        return None
    match kind:
        case ColumnKind.DECIMAL:
            return format(plain_decimal(Decimal(value)), "f")
        case ColumnKind.FLOAT:
            return _number(float(value))
        case ColumnKind.INTEGER:
            return _whole(value)
        case ColumnKind.BOOLEAN:
            return bool(value)
        case ColumnKind.DATETIME:
            moment = value if isinstance(value, datetime) else datetime.fromisoformat(value).replace(tzinfo=UTC)
            return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case ColumnKind.DATE if isinstance(value, date):
            return value.isoformat()
    return str(value)


def _number(value: float) -> float:
    if not isfinite(value):
        raise AnalyticsFailed(OUT_OF_RANGE)
    return value


def _whole(value: Any) -> int:  # Any: of a driver
    """A whole number of 64 bits. SQLite goes on with a rounded one where it has no room, which is refused."""
    if isinstance(value, float) and abs(value) > _EXACT_FLOATS:
        raise AnalyticsFailed(OUT_OF_RANGE)
    found = int(value)
    if found not in _WHOLE:
        raise AnalyticsFailed(OUT_OF_RANGE)
    return found
