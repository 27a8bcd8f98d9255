"""Statements compiled once per shape: the text for the driver, the order of its parameters, and light rows.

A shape is a select whose values are bound parameters. What the driver gives back becomes a named tuple; only the
columns whose driver value is not the service's own are converted.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import cache, lru_cache, partial
from operator import itemgetter
from typing import Any

import orjson
from sqlalchemy import Boolean, Date, DateTime, Select, Text, bindparam, cast, insert
from sqlalchemy.engine import Dialect
from sqlalchemy.types import JSON, TypeDecorator
from sqlmodel import SQLModel

from storage import tenancy
from storage.adapters.sqlalchemy import bind_processor, bound_type, plain_type, positions
from storage.base import Decoded, Identifier, Opaque, Tenant
from storage.postgresql import SETTING, SOUGHT_SETTING

ORGANIZATION = bindparam("organization", type_=Identifier)
"""Stands for the session's organization in a shape."""

Decode = Callable[[Any], Any]
INSIDE = "__"
"""Between the name of a link and the name of a column of the linked row."""

SOUGHT = "crm_sought"
"""The execution option of a shape that names the parameter with the question of its full-text search."""

_WALLED = (
    "WITH crm_wall AS MATERIALIZED (SELECT set_config('{setting}', {organization}, true){sought} AS id) "
    "SELECT q.* FROM crm_wall, LATERAL (SELECT * FROM ({statement}) p WHERE crm_wall.id IS NOT NULL OFFSET 0) q"
)


class Prepared:
    """One shape, ready for the driver."""

    def __init__(self, statement: Any, dialect: Dialect, *, tenant: bool, walled: bool = True) -> None:
        is_postgresql = dialect.name == "postgresql"
        columns = [*statement.exported_columns]
        if is_postgresql and isinstance(statement, Select):
            statement = statement.with_only_columns(*map(_as_text, columns), maintain_column_froms=True)
        compiled = statement.compile(dialect=dialect)
        names = positions(compiled)
        encoders = {name: _encoder(bound_type(compiled, name), dialect) for name in names}
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        self._parameters = [_encoded(encoders[name], constants.get(name)) for name in names]
        self._given = [(i, name, encoders[name]) for i, name in enumerate(names) if name not in constants]
        pinned = tenancy.pinned(str(compiled), dialect.name, inside=tenant)
        if any(names[position] != ORGANIZATION.key for position in pinned):
            raise tenancy.TenantBreach("a tenant table is pinned to a value of the caller's choice")
        self._is_walled = is_postgresql and tenant and walled
        self._sought = statement.get_execution_options().get(SOUGHT) if is_postgresql else None
        if self._sought is not None and not self._is_walled:
            raise RuntimeError("a full-text search is a transaction of its own")
        self.text = (
            _behind_wall(str(compiled), len(names), searches=self._sought is not None)
            if self._is_walled
            else str(compiled)
        )
        self.rows = _reader(tuple(c.key for c in columns), tuple(_decoder(c.type, dialect) for c in columns))
        """Turns the driver's records into rows."""

    def parameters(self, organization: str, values: Mapping[str, Any]) -> list[Any]:
        """The driver's parameters; the organization is always the session's."""
        parameters = self._parameters.copy()
        for index, name, encode in self._given:
            parameters[index] = organization if name == ORGANIZATION.key else _encoded(encode, values[name])
        if self._is_walled:
            parameters.append(organization)
        if self._sought is not None:
            parameters.append(values[self._sought])
        return parameters


def insertion(model: type[SQLModel]) -> Any:
    """The insert of one record of a table, each column by a parameter of its attribute's name."""
    mapped: Any = model
    attributes = mapped.__mapper__.column_attrs
    values = {a.columns[0]: bindparam(f"new_{a.key}", type_=a.columns[0].type) for a in attributes}
    if issubclass(model, Tenant) or mapped.__tablename__ in tenancy.SHARED_TABLES:
        values[mapped.__table__.c.org_id] = ORGANIZATION
    return insert(mapped.__table__).values(values)


@cache
def attributes(model: type[SQLModel]) -> tuple[tuple[str, str], ...]:
    """The parameters of a table's insert, each with the attribute that its value comes from."""
    mapped: Any = model
    return tuple((f"new_{a.key}", a.key) for a in mapped.__mapper__.column_attrs)


def _encoded(encode: Decode | None, value: Any) -> Any:
    return value if encode is None or value is None else encode(value)


def _as_text(column: Any) -> Any:
    """Identifiers and JSON come as text, which the driver reads fastest."""
    return cast(column, Text).label(column.key) if isinstance(column.type, Identifier | JSON) else column


def _behind_wall(text: str, count: int, *, searches: bool) -> str:
    """The statement as one that sets the organization itself, for its own transaction only (tenant wall 5).

    A full-text search sets its question in the same way: the policy of the entries asks it (decision 47).
    The inner select depends on the setting's row and is fenced by OFFSET 0, so it runs after it; were it ever to run
    before, the policies would show it nothing.
    """
    organization = f"${count + 1}::uuid::text"
    sought = f" || set_config('{SOUGHT_SETTING}', ${count + 2}::text, true)" if searches else ""
    return _WALLED.format(setting=SETTING, organization=organization, statement=text, sought=sought)


def _encoder(kind: Any, dialect: Dialect) -> Decode | None:
    """Finds how a value goes to the driver; None where it goes as it is."""
    if isinstance(kind, TypeDecorator) and dialect.name == "postgresql":
        return None
    return bind_processor(kind, dialect) if not isinstance(kind, JSON) else _dump


def parsed(value: Any) -> Any:
    """An opaque JSON value as what it stands for; any other as it is."""
    return orjson.loads(orjson.dumps(value)) if isinstance(value, orjson.Fragment) else value


def _dump(value: Any) -> str:
    return orjson.dumps(value).decode()


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _decoder(kind: Any, dialect: Dialect) -> Decode | None:
    """Finds how a value comes from the driver; None where it comes as it should."""
    if isinstance(kind, Opaque):
        return orjson.Fragment
    if isinstance(kind, Decoded):
        return kind.decode
    if isinstance(kind, JSON):
        return orjson.loads
    if dialect.name == "postgresql":
        return None
    implementation = plain_type(kind)
    if isinstance(implementation, DateTime):
        return _moment
    if isinstance(implementation, Date):
        return date.fromisoformat
    return bool if isinstance(implementation, Boolean) else None


@lru_cache(maxsize=500)
def _reader(keys: tuple[str, ...], decoders: tuple[Decode | None, ...]) -> Callable[[Sequence[Any]], list[Any]]:
    """A function from the driver's records to rows, written for these columns, which many statements have in common."""
    kind = row_of(keys)
    if not any(decoders):
        make = partial(tuple.__new__, kind)
        return lambda records: list(map(make, records))
    # tuple's constructor is what the named tuple's own comes to, without a call in between.
    names: dict[str, Any] = {"row": kind, "new": tuple.__new__}
    values = []
    for index, decode in enumerate(decoders):
        value = f"r[{index}]"
        if decode is not None:
            names[f"d{index}"] = decode
            value = f"(None if {value} is None else d{index}({value}))"
        values.append(value)
    source = f"lambda records: [new(row, ({', '.join(values)},)) for r in records]"
    reader: Callable[[Sequence[Any]], list[Any]] = eval(source, names)  # noqa: S307  # written here, from column names
    return reader


def row_of(keys: Sequence[str]) -> Any:
    """A named tuple of the columns. Those whose keys have INSIDE in them belong to a linked row as well.

    That row is made when it is asked for, and None where its id is null; what only needs its columns reads them here.
    """
    linked: dict[str, dict[str, int]] = {}
    for index, key in enumerate(keys):
        link, inside, name = key.partition(INSIDE)
        if inside:
            linked.setdefault(link, {})[name] = index
    links = {link: property(_link(places)) for link, places in linked.items()}
    return type("Row", (namedtuple("Row", keys),), {"__slots__": (), **links})


def _link(places: Mapping[str, int]) -> Callable[[Any], Any]:
    kind, identifier, take = namedtuple("Row", places), places["id"], itemgetter(*places.values())
    if len(places) == 1:
        return lambda row: None if row[identifier] is None else kind(row[identifier])
    return lambda row: None if row[identifier] is None else tuple.__new__(kind, take(row))
