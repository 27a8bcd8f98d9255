"""The functions that SQLite lacks, on connections of ad-hoc SQL alone: exact amounts, days in a zone (decision 268)."""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from typing import Any, Final

from contract.limits import MONEY_DECIMALS
from storage.analytics.typed import COLLATION
from storage.queries.periods import zone_of

_Given = str | int | None
_EXACT: Final = Context(prec=80, rounding=ROUND_HALF_UP, traps=[Inexact, InvalidOperation, DivisionByZero, Overflow])
_ROUNDED: Final = Context(prec=80, rounding=ROUND_HALF_UP, traps=[InvalidOperation, DivisionByZero, Overflow])
_UNIT: Final = Decimal(1).scaleb(-MONEY_DECIMALS)


def _number(value: _Given) -> Decimal:
    if not isinstance(value, str | int):
        raise TypeError("no exact figure")
    return Decimal(value)


def _written(value: Decimal) -> str:
    """One text for each number, so that equal ones are equal texts."""
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _of_two(work: Callable[[Decimal, Decimal], Decimal]) -> Callable[[_Given, _Given], str | None]:
    def called(one: _Given, other: _Given) -> str | None:
        return None if one is None or other is None else _written(work(_number(one), _number(other)))

    return called


def _of_one(work: Callable[[Decimal], Decimal]) -> Callable[[_Given], str | None]:
    def called(one: _Given) -> str | None:
        return None if one is None else _written(work(_number(one)))

    return called


def _divided(one: Decimal, other: Decimal) -> Decimal:
    return _ROUNDED.quantize(_ROUNDED.divide(one, other), _UNIT)


def _rounded(one: Decimal, digits: Decimal) -> Decimal:
    return _ROUNDED.quantize(one, Decimal(1).scaleb(-int(digits)))


def _compared(one: _Given, other: _Given) -> int | None:
    return None if one is None or other is None else int(_number(one).compare(_number(other)))


def _quotient(one: int | float | None, other: int | float | None) -> int | float | None:
    """The quotient of numbers, of whole ones towards zero; by zero it is refused, as PostgreSQL does."""
    if one is None or other is None:
        return None
    if isinstance(one, int) and isinstance(other, int):
        found = abs(one) // abs(other)
        return found if (one < 0) == (other < 0) else -found
    return one / other


def _remainder(one: int | None, other: int | None) -> int | None:
    """The rest of a division towards zero; by zero it is refused, as PostgreSQL does."""
    if one is None or other is None:
        return None
    found = abs(one) % abs(other)
    return -found if one < 0 else found


def _nearest(value: float | None) -> int | None:
    """The nearest whole number, half away from zero; SQLite refuses what it has no room for."""
    if value is None:
        return None
    return int(Decimal(value).quantize(Decimal(1), ROUND_HALF_UP, _ROUNDED))


def _whole(value: str | int | None) -> int | None:
    """A text as a whole number; anything else is refused, as PostgreSQL does."""
    if value is None:
        return None
    text = str(value).strip()
    if not text.isascii() or not text.lstrip("+-").isdigit():
        raise ValueError("no whole number")
    return int(text)


def _local_date(moment: str | None, zone: str) -> str | None:
    """The day that a moment falls on in a zone."""
    if moment is None:
        return None
    found = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    return (found + timedelta(seconds=zone_of(zone).offset_at(found))).date().isoformat()


class _Sum:
    """A sum, also within a window that moves."""

    def __init__(self) -> None:
        self.number = 0
        self.sum = Decimal(0)

    def step(self, value: _Given) -> None:
        """Add a value."""
        if value is not None:
            self.number += 1
            self.sum = _EXACT.add(self.sum, _number(value))

    def inverse(self, value: _Given) -> None:
        """Take a value out again."""
        if value is not None:
            self.number -= 1
            self.sum = _EXACT.subtract(self.sum, _number(value))

    def value(self) -> str | None:
        """Return the sum of the values so far."""
        return _written(self.sum) if self.number else None

    def finalize(self) -> str | None:
        """Return the final value."""
        return self.value()


class _Average(_Sum):
    """An average, half up to four decimals."""

    def value(self) -> str | None:
        """Return the average of the values so far."""
        return _written(_divided(self.sum, Decimal(self.number))) if self.number else None


class _Largest:
    """The largest value; of the smallest, the signs are the other way round."""

    sign = 1

    def __init__(self) -> None:
        self.found: Decimal | None = None

    def step(self, value: _Given) -> None:
        """Look at a value."""
        if value is not None:
            number = _number(value)
            if self.found is None or int(number.compare(self.found)) * self.sign > 0:
                self.found = number

    def finalize(self) -> str | None:
        """Return the value that was found."""
        return None if self.found is None else _written(self.found)


class _Smallest(_Largest):
    """The smallest value."""

    sign = -1


_FUNCTIONS: Final[tuple[tuple[str, int, Callable[..., Any]], ...]] = (  # Any: what SQLite gives and takes
    ("crm_exact", 1, _of_one(lambda one: one)),
    ("crm_neg", 1, _of_one(_EXACT.minus)),
    ("crm_abs", 1, _of_one(_EXACT.abs)),
    ("crm_add", 2, _of_two(_EXACT.add)),
    ("crm_sub", 2, _of_two(_EXACT.subtract)),
    ("crm_mul", 2, _of_two(_EXACT.multiply)),
    ("crm_div", 2, _of_two(_divided)),
    ("crm_round", 2, _of_two(_rounded)),
    ("crm_compare", 2, _compared),
    ("crm_quotient", 2, _quotient),
    ("crm_remainder", 2, _remainder),
    ("crm_nearest", 1, _nearest),
    ("crm_whole", 1, _whole),
    ("crm_local_date", 2, _local_date),
)
_WINDOWS: Final = (("crm_sum", _Sum), ("crm_avg", _Average))
_AGGREGATES: Final[tuple[tuple[str, Callable[[], Any]], ...]] = (  # Any: the same
    ("crm_min", _Smallest),
    ("crm_max", _Largest),
)
NAMES: Final = frozenset(name for name, *_ in (*_FUNCTIONS, *_WINDOWS, *_AGGREGATES))
"""The names of all of them."""


def register(connection: sqlite3.Connection) -> None:
    """Give a connection the functions."""
    for name, number, work in _FUNCTIONS:
        connection.create_function(name, number, work, deterministic=True)
    for name, kind in _WINDOWS:
        connection.create_window_function(name, 1, kind)
    for name, found in _AGGREGATES:
        connection.create_aggregate(name, 1, found)
    connection.create_collation(COLLATION, lambda one, other: int(Decimal(one).compare(Decimal(other))))
