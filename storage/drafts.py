"""New rows as light as rows that were read: an entity takes longer to construct than its insert to be sent."""

from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from pydantic_core import PydanticUndefined
from sqlmodel import SQLModel

from storage.adapters.sqlmodel import mappers

MODEL = "_model"
"""The attribute of a draft that says which table it is for."""


def draft(model: type[SQLModel], **values: Any) -> Any:
    """A named tuple with every column of the table, by its attribute's name: the given values, or the defaults."""
    kind, defaults = _kind(model)
    return kind(**{name: values[name] if name in values else make() for name, make in defaults.items()})


def model_of(record: Any) -> type[SQLModel]:
    """The table of a draft or an entity."""
    model: type[SQLModel] = getattr(record, MODEL, None) or type(record)
    return model


def entity(record: Any) -> Any:
    """The draft as an entity; an entity is one."""
    model = getattr(record, MODEL, None)
    return record if model is None else model(**record._asdict())


def table_of(record: Any) -> str | None:
    """The name of the table of a draft or an entity; None for what is neither."""
    model = getattr(record, MODEL, type(record))
    return str(model.__tablename__) if issubclass(model, SQLModel) else None


@cache
def model_named(table: str) -> Any:
    """The model of a table. Raises LookupError where there is no such table."""
    return {str(mapper.local_table): mapper.class_ for mapper in mappers()}[table]


@cache
def _kind(model: type[SQLModel]) -> tuple[Any, Mapping[str, Callable[[], Any]]]:
    mapped: Any = model
    names = [a.key for a in mapped.__mapper__.column_attrs]
    kind = type("Draft", (namedtuple("Draft", names),), {"__slots__": (), MODEL: model})
    return kind, {name: _default(model.model_fields[name]) for name in names}


def _default(field: Any) -> Callable[[], Any]:
    if field.default_factory is not None:
        factory: Callable[[], Any] = field.default_factory
        return factory
    value = None if field.default is PydanticUndefined else field.default
    return lambda: value
