"""Rows of tables as named tuples: those that were read with all their columns, and drafts of new ones alike.

They are made by the columns' attributes, and cannot be changed: a session gives the row that a change makes of one.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ParamSpec, TypeVar

from pydantic_core import PydanticUndefined
from sqlmodel import SQLModel

from storage.base import derived
from storage.tables import load

P = ParamSpec("P")
ModelT = TypeVar("ModelT", bound=SQLModel)

AnyRow = Any
"""A row, or a record of the table's class. Any: which one only its table says."""
MODEL = "_model"
"""The attribute of a row that says which table it is of."""


def new_row(model: Callable[P, ModelT], /, *_: P.args, **values: P.kwargs) -> ModelT:
    """A named tuple with every column of the table, by its attribute's name: the given values, or the defaults."""
    kind, defaults = _kind(model)
    given = derived(getattr(kind, MODEL), defaults, values)
    row: ModelT = kind._make([given[name] if name in given else make() for name, make in defaults.items()])
    return row


def model_of(record: ModelT) -> type[ModelT]:
    """The table of a row or a record."""
    model: type[ModelT] = getattr(record, MODEL, None) or type(record)
    return model


def as_row(record: AnyRow) -> AnyRow:
    """The record as a row; a row is one."""
    if getattr(record, MODEL, None) is not None:
        return record
    kind = row_kind(type(record))
    return kind(*(getattr(record, name) for name in kind._fields))


def row_kind(model: type[SQLModel]) -> AnyRow:
    """The class of a table's rows."""
    return _kind(model)[0]


def table_of(record: AnyRow) -> str | None:
    """The name of the table of a row or a record; None for what is neither."""
    model = getattr(record, MODEL, type(record))
    return str(model.__tablename__) if issubclass(model, SQLModel) else None


def model_named(table: str) -> AnyRow:
    """The model of a table. Raises LookupError where there is no such table."""
    return load(table)


@cache
def _kind(model: type[SQLModel]) -> tuple[AnyRow, Mapping[str, Callable[[], object]]]:
    mapped: Any = model  # Any: the type checker does not know what a mapper adds
    names = [a.key for a in mapped.__mapper__.column_attrs]
    kind = type(f"{model.__name__}Row", (namedtuple("Row", names),), {"__slots__": (), MODEL: model})
    return kind, {name: _default(model.model_fields[name]) for name in names}


def _default(field: Any) -> Callable[[], object]:  # Any: SQLModel's factories take nothing, unlike pydantic's
    if field.default_factory is not None:
        factory: Callable[[], object] = field.default_factory
        return factory
    value = None if field.default is PydanticUndefined else field.default
    return lambda: value
