"""Rows as no database should give them, the same for everyone who fetches them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zlib import crc32


class OddText(str):
    """A text of another class than the plain one."""


class Broken:
    """A row that breaks when one of these attributes is read."""

    def __init__(self, row: Any, names: Sequence[str]) -> None:
        self._row = row
        self._names = names

    def __getattr__(self, name: str) -> Any:
        if name in self._names:
            raise RuntimeError(f"no {name}")
        return getattr(self._row, name)


_RAISES: Any = object()
_NULL: Any = None
WRONG = (
    *(_NULL, _NULL, _NULL, _RAISES),
    *("text", OddText("odd"), b"bytes"),
    *(7, 2**40, -(2**31) - 1, True, 1.5, float("nan"), float("-inf"), Decimal("1.50"), Decimal("NaN")),
    *(datetime(2026, 5, 1, 9, 30), datetime(2026, 5, 1, 9, 30, tzinfo=timezone(timedelta(hours=2)))),
    *(datetime(2026, 5, 1, tzinfo=UTC), date(2026, 5, 1)),
    *([], ["a", None], ("a",), {"k": 1}, object()),
)

_KEYS = {"parent_id", "rank"}
_LOOKED_UP = {
    "ids": {"id"},
    "latest": {"account_id"},
    "factors": {"health_score_id"},
    "stage_history": {"deal_id"},
    "page": {"id"},
    "containing": {"id", "name", "domain", "email", "first_name", "last_name"},
    "children": {"id"},
}
"""The columns that whoever fetches tells the rows apart by: one that is wrong would spoil a whole batch."""


@dataclass(frozen=True)
class Corruption:
    """Which values are wrong depends on the salt, the row and the column alone; `rate` of a thousand are."""

    salt: int
    rate: int

    def rows(self, key: Any, rows: Sequence[Any]) -> list[Any]:
        """The rows, as they are given out under the key of their statement."""
        kind = key[0] if isinstance(key, tuple) else key
        kept = _KEYS | _LOOKED_UP.get(kind, set())
        return [self._row(row, kept) for row in rows]

    def _row(self, row: Any, kept: set[str]) -> Any:
        identity = getattr(row, "id", None) or repr(row)
        changes: dict[str, Any] = {}
        broken = []
        for name, value in zip(row._fields, row, strict=True):
            number = crc32(f"{self.salt}/{identity}/{name}".encode())
            is_hit = number % 1_000 < self.rate
            if hasattr(value, "_fields"):
                changes[name] = None if is_hit else self._row(value, set())
            elif is_hit and name not in kept:
                wrong = WRONG[number // 1_000 % len(WRONG)]
                if wrong is _RAISES:
                    broken.append(name)
                elif name == "id":
                    changes[name] = OddText(value)
                else:
                    changes[name] = wrong
        if changes:
            row = row._replace(**changes)
        return Broken(row, broken) if broken else row
