"""Indexes of some of a table's rows: the others cost a write nothing (decision 1143)."""

from sqlalchemy import Index, TextClause, text


def partial_index(name: str | None, *columns: str | TextClause, where: str, unique: bool = False) -> Index:
    """An index of the rows for which the condition holds."""
    condition = text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


def index_of_given(*columns: str, name: str | None = None, unique: bool = False) -> Index:
    """An index of the rows that have its last column.

    Both databases go by it wherever that column is compared with something, since null is equal to nothing.
    """
    return partial_index(name, *columns, where=f"{columns[-1]} IS NOT NULL", unique=unique)
