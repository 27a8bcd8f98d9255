"""Names what statements are made of where nothing more is known of it before they run."""

from typing import Any

from sqlalchemy import Select
from sqlalchemy.types import TypeEngine

AnyEntity = Any
"""A table's class, or an alias of it. Any: to the type checker neither has its columns as expressions."""

AnyColumn = Any
"""A value that a statement selects or compares. Any: attributes, labels and columns of subqueries share no type."""

AnyType = TypeEngine[Any]
"""The type of a column. Any: of what values is known to whoever declared it."""

AnySelect = Select[*tuple[Any, ...]]
"""A select. Any: its columns are chosen at run time."""

Values = dict[str, Any]
"""The values of a statement's parameters, by their names. Any: they are of the parameters' types."""
