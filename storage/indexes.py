"""Indexes of some of a table's rows: the others cost a write nothing (decision 1143)."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Index, TextClause, text

_Column = str | TextClause


def partial_index(name: str | None, *columns: _Column, where: str, unique: bool = False) -> Index:
    """An index of the rows for which the condition holds."""
    return _made(name, columns, text(where), unique=unique)


def index_of_given(*columns: str, name: str | None = None, unique: bool = False) -> Index:
    """An index of the rows that have its last column.

    Both databases go by it wherever that column is compared with something, since null is equal to nothing.
    """
    return _made(name, columns, text(f"{columns[-1]} IS NOT NULL"), unique=unique)


def _made(name: str | None, columns: Sequence[Any], where: TextClause, *, unique: bool) -> Index:  # Any: as Index's
    return Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)
