"""Statements on single rows of any table: find, insert, change, delete; and many new rows in one statement.

Their parameters are named after the table's attributes. `inside` an organization's session, tables with an
organization are pinned to it, the directory's that are shared among them; the directory's own sessions pin nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

import orjson
from sqlalchemy import ColumnElement, TextClause, bindparam, delete, insert, inspect, select, text, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Dialect
from sqlalchemy.types import LargeBinary
from sqlmodel import SQLModel, UTCDateTime

from storage.base import Tenant
from storage.expressions import AnyColumn, AnySelect, Values
from storage.statements import ORG_PARAM, AnyRow, AnyValue, encoder
from storage.tenancy.guard import SHARED_TABLES

AnyTable = Any
"""A table's class, its mapper or its table. Any: the classes have them, and the type checker does not know."""


def finding(model: type[SQLModel], names: Sequence[str], *, lock: bool, inside: bool) -> AnySelect:
    """The rows whose columns equal parameters of their names."""
    equal = [_attribute(model, n) == bindparam(n, type_=_attribute(model, n).type) for n in names]
    statement = select(*_attributes(model)).where(*equal, *_own(model, inside))
    return statement.with_for_update() if lock else statement


def locking(model: type[SQLModel], *, inside: bool) -> AnySelect:
    """The lock of the row with this identifier, of which nothing else is wanted."""
    identifier = _table(model).c.id
    sought = identifier == bindparam("id", type_=identifier.type)
    return select(identifier).where(sought, *_own(model, inside)).with_for_update()


def found(
    model: type[SQLModel], conditions: Sequence[AnyColumn], equal: Values, *, lock: bool, inside: bool
) -> AnySelect:
    """The rows that meet the conditions, with the values in them."""
    equals = [_attribute(model, name) == value for name, value in equal.items()]
    statement = select(*_attributes(model)).where(*conditions, *equals, *_own(model, inside))
    return statement.with_for_update() if lock else statement


def insertion(model: type[SQLModel], *, inside: bool, missing: bool = False) -> AnyTable:
    """The insert of one row, each column by a parameter `new_` and its attribute's name; `missing` unless it is there.

    SQLite has that clause in the same words, and its compiler takes the statement of PostgreSQL's dialect.
    """
    values = {a.columns[0]: bindparam(f"new_{a.key}", type_=a.columns[0].type) for a in _written(model)}
    if inside and has_organization(model):
        values[_table(model).c.org_id] = ORG_PARAM
    if missing:
        return postgresql.insert(_table(model)).values(values).on_conflict_do_nothing()
    return insert(_table(model)).values(values)


def inserted(model: type[SQLModel], row: AnyRow) -> Values:
    """The parameters of that."""
    return {f"new_{a.key}": getattr(row, a.key) for a in _written(model)}


def updating(model: type[SQLModel], names: Sequence[str], *, inside: bool) -> AnyTable:
    """A change of these columns of one row, found by its key."""
    return update(_table(model)).where(*_by_key(model, inside)).values(new_values(model, names))


def new_values(model: type[SQLModel], names: Sequence[str]) -> dict[AnyColumn, AnyColumn]:
    """Have these columns get the parameters `new_` and their attributes' names."""
    stored = {a.key: a.columns[0] for a in _mapped(model)}
    return {stored[name]: bindparam(f"new_{name}", type_=stored[name].type) for name in names}


def new_parameters(changes: Mapping[str, AnyValue]) -> Values:
    """The parameters of that."""
    return {f"new_{name}": value for name, value in changes.items()}


def deleting(model: type[SQLModel], *, inside: bool) -> AnyTable:
    """The deletion of one row."""
    return delete(_table(model)).where(*_by_key(model, inside))


def key_of(model: type[SQLModel], row: AnyRow, *, inside: bool) -> Values:
    """The parameters that find one row."""
    return {f"key_{a.key}": getattr(row, a.key) for a in _keys(model, inside)}


def insertion_of_many(model: type[SQLModel], dialect: Dialect, *, inside: bool, missing: bool = False) -> TextClause:
    """The insert of any number of rows, which come as one JSON parameter, `rows`.

    Row-level security refuses COPY; and as the text is the same for every number, it is compiled once. With `missing`,
    rows that are there stay as they are, and the keys of the others come back.
    """
    names, values, source = _many(model, dialect, inside=inside)
    tail = f" ON CONFLICT DO NOTHING RETURNING {', '.join(_key_names(model))}" if missing else ""
    return _pinned(
        f"INSERT INTO {_table(model).name} ({', '.join(names)}) SELECT {', '.join(values)} FROM {source}{tail}",  # noqa: S608  # only names of our own tables
        model,
        inside=inside,
    )


def updating_many(model: type[SQLModel], changed: Sequence[str], dialect: Dialect, *, inside: bool) -> TextClause:
    """The change of these columns of any number of rows, which come whole as one JSON parameter, `rows`."""
    names, values, source = _many(model, dialect, inside=inside)
    by_name = dict(zip(names, values, strict=True))
    quote, table = dialect.identifier_preparer.quote, _table(model).name
    stored = {a.key: quote(a.columns[0].name) for a in _mapped(model)}
    sets = ", ".join(f"{stored[name]} = {by_name[stored[name]]}" for name in changed)
    on = " AND ".join(f"{table}.{stored[a.key]} = {by_name[stored[a.key]]}" for a in _keys(model, inside))
    own = f" AND {table}.org_id = {by_name['org_id']}" if inside and has_organization(model) else ""
    source = source.removesuffix(" WHERE true")
    return _pinned(f"UPDATE {table} SET {sets} FROM {source} WHERE {on}{own}", model, inside=inside)  # noqa: S608  # the same


def _many(model: type[SQLModel], dialect: Dialect, *, inside: bool) -> tuple[list[str], list[str], str]:
    """The columns of a table, their values in a row `r` of the parameter, and what gives these rows."""
    table = _table(model)
    names = [dialect.identifier_preparer.quote(a.columns[0].name) for a in _written(model)]
    if dialect.name == "sqlite":
        values = [f"json_extract(r.value, '$[{index}]')" for index in range(len(names))]
        source, organization = "json_each(:rows) AS r WHERE true", ":organization"
    else:
        values = [f"r.{name}" for name in names]
        source = f"json_populate_recordset(CAST(NULL AS {table.name}), CAST(:rows AS json)) AS r"
        organization = "CAST(:organization AS uuid)"
    if inside and has_organization(model):
        values[[a.key for a in _written(model)].index("org_id")] = organization
    return names, values, source


def _pinned(statement: str, model: type[SQLModel], *, inside: bool) -> TextClause:
    made = text(statement)
    return made.bindparams(ORG_PARAM) if inside and has_organization(model) else made


def _key_names(model: type[SQLModel]) -> list[str]:
    return [a.columns[0].name for a in _mapped(model) if a.columns[0].primary_key]


def identity_of(model: type[SQLModel], row: AnyRow) -> tuple[AnyRow, ...]:
    """The whole key of a row."""
    key: tuple[AnyRow, ...] = _identity(model)(row)
    return key


@cache
def _identity(model: type[SQLModel]) -> Callable[[AnyRow], AnyRow]:
    """Gives the whole key of a row. There are as many cached values as tables."""
    names = [a.key for a in _mapped(model) if a.columns[0].primary_key]
    return attrgetter(*names) if len(names) > 1 else lambda row: (getattr(row, names[0]),)


def many_inserted(model: type[SQLModel], rows: Sequence[AnyRow], dialect: Dialect) -> str:
    """The parameter of that."""
    columns = [a.columns[0] for a in _written(model)]
    if any(isinstance(column.type, LargeBinary) for column in columns):
        raise TypeError(f"{model.__name__} has bytes, which JSON cannot carry")
    values = [list(row) for row in map(_reader(model), rows)]
    for index, column in enumerate(columns):
        # SQLite has none of PostgreSQL's types: each value takes the form that its column's type gives it.
        is_carried = dialect.name == "postgresql" and not isinstance(column.type, UTCDateTime)
        if not is_carried and (encode := encoder(column.type, dialect)):
            for row in values:
                if row[index] is not None:
                    row[index] = encode(row[index])
    if dialect.name == "sqlite":
        return orjson.dumps(values).decode()
    names = [str(column.name) for column in columns]
    return orjson.dumps([dict(zip(names, row, strict=True)) for row in values], default=str).decode()


@cache
def _reader(model: type[SQLModel]) -> Callable[[AnyRow], tuple[AnyRow, ...]]:
    """Gives what is written of a row. There are as many cached values as tables."""
    return attrgetter(*(a.key for a in _written(model)))


@cache
def _mapped(model: type[SQLModel]) -> tuple[AnyTable, ...]:
    mapped: AnyTable = inspect(model)
    return tuple(mapped.column_attrs)


@cache
def _written(model: type[SQLModel]) -> tuple[AnyTable, ...]:
    """The attributes but for those that the database works out."""
    return tuple(a for a in _mapped(model) if a.columns[0].computed is None)


@cache
def _keys(model: type[SQLModel], inside: bool) -> tuple[AnyTable, ...]:
    """The attributes of the primary key, but for an organization that is pinned."""
    keys = [a for a in _mapped(model) if a.columns[0].primary_key]
    return tuple(a for a in keys if not (inside and a.key == "org_id"))


def _attributes(model: type[SQLModel]) -> list[AnyColumn]:
    return [_attribute(model, a.key) for a in _mapped(model)]


def _attribute(model: type[SQLModel], name: str) -> AnyColumn:
    return _table(model).c.org_id if name == "org_id" else getattr(model, name)


@cache
def columns_of_table(model: type[SQLModel]) -> tuple[str, ...]:
    """The names of the columns that a row of a table is written with, but for the organization."""
    return tuple(str(c.name) for c in _table(model).columns if c.name != "org_id" and c.computed is None)


def _table(model: AnyTable) -> AnyTable:
    return model.__table__


def has_organization(model: type[SQLModel]) -> bool:
    """Says whether the rows of a table belong to an organization, or may."""
    return issubclass(model, Tenant) or str(model.__tablename__) in SHARED_TABLES


def _own(model: type[SQLModel], inside: bool) -> list[ColumnElement[bool]]:
    return [_table(model).c.org_id == ORG_PARAM] if inside and has_organization(model) else []


def _by_key(model: type[SQLModel], inside: bool) -> list[ColumnElement[bool]]:
    keys = [a.columns[0] == bindparam(f"key_{a.key}", type_=a.columns[0].type) for a in _keys(model, inside)]
    return [*keys, *_own(model, inside)]
