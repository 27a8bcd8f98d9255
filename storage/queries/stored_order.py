"""Has SQLite read a table's rows as they lie, where all that meet a condition are read (decision 1201).

Without an index for the condition it goes by whichever begins with the organization, or by that of a key of groups, and
so to rows from all over the file. Their primary key tells the time at which they came, so they lie in its order.
"""

import re
from collections.abc import Collection
from typing import ClassVar, Final

from sqlalchemy import Column, Index, Table, UniqueConstraint
from sqlalchemy.sql.visitors import iterate

from storage.expressions import AnyEntity, AnySelect
from storage.queries.dialects import Dialectal, unsought

AS_STORED: Final = "likelihood({0} >= '', 0.99)"
"""Holds for each row by its identifier, and gives the primary key a little advantage."""
_STORED: Final = ["org_id", "id"]
"""The primary key of a table whose rows come in by their identifiers."""
_WORDS: Final = re.compile(r"\w+")


class _as_stored(Dialectal[bool]):
    inherit_cache = True
    name = "as_stored"  # of no type: the toolkit would compare a boolean with 1, and no index has that
    templates: ClassVar = {"postgresql": "true", "sqlite": AS_STORED}


def as_stored(statement: AnySelect, entity: AnyEntity, keys: Collection[str] = ()) -> AnySelect:
    """Have a select of an entity's rows read them as they lie, where it has to read them.

    `keys` are the columns by which they are grouped then: their order is none to read in.
    """
    if not _reads_rows(statement, entity):
        return statement
    columns = [unsought(c.element).label(c.name) if c.name in keys else c for c in statement.selected_columns]
    return statement.with_only_columns(*columns, maintain_column_froms=True).where(_as_stored(entity.id))


def _reads_rows(statement: AnySelect, entity: AnyEntity) -> bool:
    """Says whether the select has to read rows of the entity's table, and not an index alone."""
    table: Table = entity.__table__
    names = {part.name for part in iterate(statement) if isinstance(part, Column) and part.table.name == table.name}
    return is_beyond_indexes(table, names)


def is_beyond_indexes(table: Table, names: Collection[str]) -> bool:
    """Says whether a table that lies by its identifiers has no index with all these columns.

    The identifier is none of them then: few are sought by it, and the condition would be in the way of that.
    """
    if [column.name for column in table.primary_key] != _STORED or "id" in names:
        return False
    return not any({*names} - {"org_id"} <= index for index in _indexes(table))


def _indexes(table: Table) -> tuple[frozenset[str], ...]:
    """The columns of each index, with those that say which rows it has."""
    names = frozenset(column.name for column in table.columns)
    unique = [one for one in table.constraints if isinstance(one, UniqueConstraint)]
    texts = [_text(index) for index in table.indexes]
    if table.name == "activities":
        from storage.tables.activities import LISTING_INDEXES  # which a process has that reads them

        texts += [f"{columns} type" for columns in LISTING_INDEXES.values()]
    found = [names.intersection(_WORDS.findall(text)) for text in texts]
    return *found, *(frozenset(column.name for column in one.columns) for one in unique)


def _text(index: Index) -> str:
    return f"{[*map(str, index.expressions)]} {index.dialect_options['sqlite']['where']}"
