"""The rows that statements read: for each table a class with its columns, none of which is ever set.

A row is a named tuple that is made for its statement (`storage/statements.py: row_of`), so the classes here have no
instances. What is in them is for the type checker alone, which finds it in `rows.pyi`: `./run rows` makes that of the
tables. A row has the columns that were selected, and where a listable adds some, its class stands beside it.
"""

from storage.tables import TABLES

_NAMES = frozenset(f"{home.partition('.')[2]}Row" for home in TABLES.values())


class Row:
    """A row of some table."""


class RecordRow(Row):
    """A row of a table whose rows have identifiers of their own."""


def __getattr__(name: str) -> type[RecordRow]:
    """The class of a table's rows, which is known without the table's own."""
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = type(name, (RecordRow,), {})
    globals()[name] = made
    return made
