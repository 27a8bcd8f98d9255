"""Records as the driver gave them, for those who only write them: with what each column is written as (decision 1186).

A row of an export is written once and never read. To make a row of it, an amount of each number and a moment in UTC of
each time takes as long as to write them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson
from sqlalchemy import Date, DateTime

from storage.adapters.sqlalchemy import plain_type
from storage.base import Money
from storage.expressions import AnyType

if TYPE_CHECKING:
    from storage.statements import AnyValue, Decode

AS_SENT: Final = "crm_as_sent"
"""The execution option of a shape whose records stay as the driver gives them."""


class SentColumn(NamedTuple):
    """A column of such records. Where a function is None, the value is what it would make."""

    name: str
    decode: Decode | None
    """Makes the service's value, as rows have it."""
    for_json: Decode | None
    """Makes what orjson writes as it writes the service's value, moments without a zone being in UTC."""
    as_text: Decode | None
    """Makes the text that it is, of kinds that are no text of anybody's. None for all other kinds."""


class SentRecords(list["Sequence[AnyValue]"]):
    """Records with their columns."""

    __slots__ = ("columns",)

    def __init__(self, columns: tuple[SentColumn, ...], records: Iterable[Sequence[AnyValue]]) -> None:
        super().__init__(records)
        self.columns = columns

    def place(self, name: str) -> int:
        """Finds where in a record the column of this name is. Raises ValueError where there is none."""
        return [column.name for column in self.columns].index(name)


def sent_column(name: str, kind: AnyType, dialect: str, decode: Decode | None) -> SentColumn:
    """Says how a column of this type is written, which rows have decoded so."""
    if isinstance(kind, Money):
        return SentColumn(name, decode, _number, _digits)
    if dialect == "sqlite":
        implementation = plain_type(kind)
        if isinstance(implementation, DateTime):
            return SentColumn(name, decode, datetime.fromisoformat, _moment)
        if isinstance(implementation, Date):  # the text is as orjson writes the day
            return SentColumn(name, decode, None, None)
    return SentColumn(name, decode, decode, None)


def _digits(amount: Decimal | str) -> str:
    """The digits of `Money.decode(amount)`: none that says nothing."""
    text = amount if isinstance(amount, str) else format(amount, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    text = text.lstrip("0")
    return text if text and text[0] != "." else f"0{text}"


def _number(amount: Decimal | str) -> orjson.Fragment:
    return orjson.Fragment(_digits(amount))


def _moment(text: str) -> str:
    return f"{datetime.fromisoformat(text).isoformat()}Z"
