"""Rows as JSON within a column: what their values look like there, and how these are read again."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import orjson
from sqlalchemy import Date, DateTime, Float, Numeric, Text, cast, func, literal_column
from sqlalchemy.types import UserDefinedType

from storage.adapters.sqlalchemy import plain_type
from storage.base import Decoded
from storage.expressions import AnyColumn, AnyType
from storage.statements import Decode


class JsonRows(Decoded, UserDefinedType[Any]):  # Any: rows of a kind of its own
    """The type of a column with rows as JSON: `read` makes rows of its lists, `decode` what the column's row has."""

    cache_ok = False

    def __init__(self, read: Decode, decode: Decode) -> None:
        self.read = read
        self.decode = decode  # type: ignore[assignment]  # of each instance its own


@dataclass(frozen=True, slots=True)
class Parsed:
    """Reads JSON; equal to what reads the same rows, so that statements have their readers in common."""

    read: Decode

    def __call__(self, text: str) -> object:
        """The rows."""
        return self.read(orjson.loads(text))


def as_json(*columns: AnyColumn) -> AnyColumn:
    """The rows with these columns as one value; a column that has rows itself is JSON already."""
    values = [column if isinstance(column.type, JsonRows) else _shown(column) for column in columns]
    return func.json_agg(func.json_build_array(*values))


def _shown(column: AnyColumn) -> AnyColumn:
    """The column as JSON holds it without loss: an amount as text, a moment as that of UTC."""
    kind = plain_type(column.type)
    if isinstance(kind, DateTime):
        return func.timezone(literal_column("'UTC'"), column)
    return cast(column, Text) if isinstance(kind, Numeric) and not isinstance(kind, Float) else column


def decoder(kind: AnyType) -> Decode | None:
    """Finds what makes of a value in JSON what a row has; None where it is that."""
    if isinstance(kind, Decoded):
        return kind.decode
    plain = plain_type(kind)
    if isinstance(plain, DateTime):
        return _moment
    if isinstance(plain, Date):
        return date.fromisoformat
    return float if isinstance(plain, Float) else None


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
