"""The rows that statements read: for each table a class with its columns, none of which is ever set.

A row is a named tuple that is made for its statement (`storage/statements.py: row_of`), so the classes here have no
instances. What is in them is for the type checker alone, which finds it in `rows.pyi`: `./run rows` makes that of the
tables. A row has the columns that were selected, and where a listable adds some, its class stands beside it.
"""

import storage.tables  # noqa: F401  # registers the tables
from storage.adapters.sqlmodel import mappers
from storage.base import Record


class Row:
    """A row of some table."""


class RecordRow(Row):
    """A row of a table whose rows have identifiers of their own."""


for _model in [mapper.class_ for mapper in mappers()]:
    _name = f"{_model.__name__}Row"
    globals()[_name] = type(_name, (RecordRow if issubclass(_model, Record) else Row,), {})
