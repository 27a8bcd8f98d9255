"""Finds the type of an expression, as far as the guard knows it, and how two of them are compared (decision 268).

An amount is text of fixed width on SQLite, where comparing it with a number or adding it up would be silently wrong.
So each expression has a type, and what has none is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final

from contract.catalog import ColumnKind
from contract.limits import MONEY_BELOW, MONEY_DECIMALS
from storage.base import as_uuid

COLLATION: Final = "crm_exact"


class Held(StrEnum):
    """The type of an expression: an AMOUNT as it is stored, a DECIMAL as exact functions give it."""

    TEXT = "a text"
    WHOLE = "a whole number"
    NUMBER = "a number"
    AMOUNT = "an amount"
    DECIMAL = "an exact figure of amounts"
    DATE = "a day"
    MOMENT = "a moment"
    LOCAL = "a time in a zone"
    SPAN = "a length of time"
    FLAG = "true or false"
    ID = "an identifier"
    NOTHING = "null"


OF_COLUMN: Final = {
    ColumnKind.TEXT: Held.TEXT,
    ColumnKind.INTEGER: Held.WHOLE,
    ColumnKind.FLOAT: Held.NUMBER,
    ColumnKind.DECIMAL: Held.AMOUNT,
    ColumnKind.DATE: Held.DATE,
    ColumnKind.DATETIME: Held.MOMENT,
    ColumnKind.BOOLEAN: Held.FLAG,
    ColumnKind.ID: Held.ID,
}
KIND_OF: Final = {
    **{held: kind for kind, held in OF_COLUMN.items()},
    Held.DECIMAL: ColumnKind.DECIMAL,
    Held.NOTHING: ColumnKind.TEXT,
}
EXACT: Final = frozenset({Held.AMOUNT, Held.DECIMAL})
NUMBERS: Final = frozenset({Held.WHOLE, Held.NUMBER})
_READ_AS: Final = frozenset({Held.DATE, Held.MOMENT, Held.ID})
_MONEY_WIDTH: Final = len(str(MONEY_BELOW)) + MONEY_DECIMALS


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression as it is sent, and what it holds.

    `literal` is the value where the text has it. `origin` is the table and the column that it is passed on from.
    `width` is how many fields were put together in it at most; `is_money` whether it is in a currency.
    """

    sql: str
    held: Held
    literal: str | Decimal | None = None
    origin: tuple[str, str] | None = None
    width: int = 1
    is_money: bool = False


class Untyped(Exception):
    """Two expressions do not go together; the words say why."""


def exact(value: Typed, dialect: str) -> str:
    """The SQL of an exact figure. Raises Untyped for what may be rounded."""
    if dialect != "sqlite" or value.held is Held.DECIMAL or value.held is Held.NOTHING:
        return value.sql
    if isinstance(value.literal, Decimal):
        return f"'{value.literal:f}'"
    if value.held in (Held.AMOUNT, Held.WHOLE):
        return f"crm_exact({value.sql})"
    raise Untyped(f"{value.held.value} is not exact, and cannot be worked out with an amount")


def taken(value: Typed, dialect: str) -> str:
    """The same where an exact function takes it, which reads amounts as they are stored. Raises Untyped."""
    return value.sql if value.held is Held.AMOUNT else exact(value, dialect)


def is_exact(one: Typed, other: Typed) -> bool:
    """Says whether the two are worked out exactly. Raises Untyped where one of them is, and the other cannot be."""
    if not {one.held, other.held} & EXACT:
        return False
    for side in (one, other):
        fits = side.held in EXACT or side.held in (Held.WHOLE, Held.NOTHING) or isinstance(side.literal, Decimal)
        if not fits:
            raise Untyped(f"an amount does not go with {side.held.value}")
    return True


def compared(one: Typed, sign: str, other: Typed, dialect: str) -> str:
    """The SQL of a comparison. Raises Untyped."""
    one, other = read_as(one, other.held, dialect), read_as(other, one.held, dialect)
    if is_exact(one, other) and dialect == "sqlite":
        one, other = _stored(one, other), _stored(other, one)
        if one.held is not Held.AMOUNT or other.held is not Held.AMOUNT:
            if Held.NOTHING in (one.held, other.held):
                return f"({one.sql} {sign} {other.sql})"
            return f"(crm_compare({taken(one, dialect)}, {taken(other, dialect)}) {sign} 0)"
    elif {one.held, other.held} == {Held.DATE, Held.MOMENT} and dialect == "sqlite":
        one, other = _moment(one), _moment(other)
    elif not _go_together(one, other):
        raise Untyped(f"{one.held.value} cannot be compared with {other.held.value}")
    return f"({one.sql} {sign} {other.sql})"


def _go_together(one: Typed, other: Typed) -> bool:
    pair = {one.held, other.held}
    whole = len(pair) == 1 or Held.NOTHING in pair or pair <= NUMBERS or pair == {Held.DATE, Held.MOMENT}
    return whole or bool(pair & EXACT)


def read_as(value: Typed, held: Held, dialect: str) -> Typed:
    """A text of the statement as what it is beside: a day, a moment, an identifier. Raises Untyped for none."""
    if value.held is not Held.TEXT or not isinstance(value.literal, str) or held not in _READ_AS:
        return value
    text = value.literal
    try:
        if held is Held.DATE:
            written = date.fromisoformat(text).isoformat()
        elif held is Held.MOMENT:
            moment = datetime.fromisoformat(text)
            moment = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
            written = moment.isoformat(" ", "microseconds") + ("" if dialect == "sqlite" else "+00")
        else:
            written = as_uuid(text) or ""
    except (ValueError, OverflowError):
        written = ""
    if not written:
        raise Untyped(f"{held.value} is compared with a text that is none")
    kinds = {Held.DATE: "date", Held.MOMENT: "timestamptz", Held.ID: "uuid"}
    sql = f"'{written}'" if dialect == "sqlite" else f"CAST('{written}' AS {kinds[held]})"
    return replace(value, sql=sql, held=held)


def _stored(value: Typed, other: Typed) -> Typed:
    """A number of the text beside an amount, as amounts are stored, where one can be that number."""
    number = value.literal
    if other.held is not Held.AMOUNT or not isinstance(number, Decimal) or not 0 <= number < MONEY_BELOW:
        return value
    if number != round(number, MONEY_DECIMALS):
        return value
    return replace(value, sql=f"'{number:0{_MONEY_WIDTH}.{MONEY_DECIMALS}f}'", held=Held.AMOUNT)


def _moment(value: Typed) -> Typed:
    if value.held is Held.MOMENT:
        return value
    return replace(value, sql=f"({value.sql} || ' 00:00:00.000000')", held=Held.MOMENT)


def united(values: Sequence[Typed], dialect: str) -> tuple[Held, list[str]]:
    """Find the type of a list of alternatives, and read each as that. Raises Untyped where they hold different ones."""
    real = next((one.held for one in values if one.held in _READ_AS), Held.TEXT)
    values = [read_as(one, real, dialect) for one in values]
    kinds = {one.held for one in values} - {Held.NOTHING}
    plain = [one.sql for one in values]
    if len(kinds) <= 1:
        return next(iter(kinds), Held.NOTHING), plain
    if kinds & EXACT:
        first = next(one for one in values if one.held in EXACT)
        for one in values:
            is_exact(first, one)
        return Held.DECIMAL, [exact(one, dialect) for one in values]
    if kinds <= NUMBERS:
        return Held.NUMBER, plain
    raise Untyped(f"{' and '.join(sorted(kind.value for kind in kinds))} are alternatives")


def ordered(value: Typed, sql: str, dialect: str) -> str:
    """The SQL that sorts by the value."""
    return f"{sql} COLLATE {COLLATION}" if dialect == "sqlite" and value.held is Held.DECIMAL else sql
