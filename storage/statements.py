"""Statements compiled once per shape: the text for the driver, the order of its parameters, and light rows.

A shape is a select whose values are bound parameters. What the driver gives back becomes a named tuple; only the
columns whose driver value is not the service's own are converted.
"""

import re
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import cached_property, lru_cache, partial
from hashlib import sha256
from operator import itemgetter
from typing import Any

import orjson
from sqlalchemy import (
    Boolean,
    ColumnElement,
    CompoundSelect,
    Date,
    DateTime,
    Delete,
    Select,
    Text,
    TextClause,
    Update,
    bindparam,
    cast,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import with_loader_criteria
from sqlalchemy.types import JSON, TypeDecorator
from sqlmodel import UTCDateTime

from storage.adapters.sqlalchemy import Compiled, bind_processor, plain_type
from storage.base import Decoded, Identifier, Opaque, Tenant, is_identifier
from storage.expressions import AnyColumn, AnyType
from storage.logged import LINKED, LOGGED
from storage.postgres.tenant_connection import SEARCH_SETTING, SETTING
from storage.sent_records import AS_SENT, SentRecords, sent_column
from storage.shared_rows import SHARED, SharedRows
from storage.tenancy import guard

ORG_PARAM = bindparam("organization", type_=Identifier, required=False)
"""Stands for the session's organization in a shape."""

AnyStatement = Any
"""A statement. Any: selects, changes and texts have no class in common that says what they have."""
AnyValue = Any
"""A value of a parameter or a column. Any: it is of that one's type."""
AnyKind = Any
"""The class of a statement's rows. Any: it is made when the statement is compiled."""
AnyRow = Any
"""A row. Any: its columns are those of its statement; `storage/rows.pyi` says which where they are a table's."""
Decode = Callable[[AnyValue], AnyValue]
INSIDE = "__"
"""Between the name of a link and the name of a column of the linked row."""

_NUMBERED = re.compile(r"\$(\d+)")

SEARCH_PARAM = "crm_sought"
"""The execution option of a shape that names the parameter with the question of its full-text search."""

_SCOPE = "WITH tenant_scope AS MATERIALIZED (SELECT set_config('{setting}', {organization}, true){sought} AS id)"
_SCOPED = (
    "{scope} SELECT q.* FROM tenant_scope"
    ", LATERAL (SELECT * FROM ({statement}) p WHERE tenant_scope.id IS NOT NULL OFFSET 0) q"
)


_FOLLOWING = (
    "{scope}, log_reached AS MATERIALIZED (SELECT c.last >= {at_least} AS is_fresh FROM tenant_scope, LATERAL "
    "(SELECT last FROM event_counters WHERE org_id = {organization} AND tenant_scope.id IS NOT NULL OFFSET 0) c) "
    "SELECT q.*, log_reached.is_fresh FROM log_reached LEFT JOIN LATERAL "
    "(SELECT p.*, true AS is_row FROM ({statement}) p WHERE log_reached.is_fresh OFFSET 0) q ON true"
)
"""The same for a replica: the freshness and the rows are of one moment, and the rows are not looked for before."""


class CompiledStatement:
    """One shape, ready for the driver.

    `is_scoped` ones set the organization themselves, so that they are a transaction of their own. The rows are named
    tuples of what is selected, or of `kind`, which has the same columns; those of a shape that is AS_SENT are none.
    """

    def __init__(
        self,
        statement: AnyStatement,
        dialect: Dialect,
        *,
        tenant: bool,
        scoped: bool = True,
        kind: AnyKind = None,
        whole: bool = False,
    ) -> None:
        is_postgresql = dialect.name == "postgresql"
        columns = [*statement.exported_columns] if hasattr(statement, "exported_columns") else []
        sent = statement
        if is_postgresql and isinstance(statement, Select):
            sent = statement.with_only_columns(*map(_as_text, columns), maintain_column_froms=True)
        self._compiled = compiled = Compiled(sent, dialect, known=statement)
        self._names = names = compiled.names
        self._encoders = {name: encoder(compiled.types[name], dialect) for name in names}
        constants = {name: value for name, value in compiled.values().items() if value is not None}
        self._parameters = [_encoded(self._encoders[name], constants.get(name)) for name in names]
        self._given = [(i, name, self._encoders[name]) for i, name in enumerate(names) if name not in constants]
        self._pinned = guard.pinned(compiled.text, dialect.name, inside=tenant)
        pins = guard.read(compiled.text, dialect.name)
        self.writes = pins.writes
        self.is_scoped = is_postgresql and tenant and scoped and isinstance(statement, Select) and not self.writes
        logged = pins.tenant_tables - (LINKED.keys() - pins.alone) <= LOGGED
        self.is_logged = self.is_scoped and logged and not pins.directory_tables
        """Whether the change log tells of every change to what it reads, so that a replica may answer it."""
        self.is_of_directory = not pins.directory_tables.isdisjoint(guard.OF_DIRECTORY)
        self.is_of_organization = bool(pins.tenant_tables or pins.directory_tables - guard.OF_DIRECTORY)
        self.has_rows = bool(columns) or (isinstance(statement, TextClause) and _gives_rows(compiled.text, pins.writes))
        self.is_text = isinstance(statement, TextClause)
        self._sought = statement.get_execution_options().get(SEARCH_PARAM) if is_postgresql else None
        if self._sought is not None and not self.is_scoped:
            raise RuntimeError("a full-text search is a transaction of its own")
        self.text = self._with_tenant_scope(_SCOPED) if self.is_scoped else compiled.text
        decoders = tuple(_decoder(c.type, dialect, whole=whole or kind is not None) for c in columns)
        self.rows: Callable[[Sequence[AnyValue]], list[AnyRow]]
        if statement.get_execution_options().get(AS_SENT):
            sent_columns = (sent_column(c.key, c.type, dialect.name, d) for c, d in zip(columns, decoders, strict=True))
            self.rows = partial(SentRecords, tuple(sent_columns))
        else:
            self.rows = _reader_of(kind or _row_kind(tuple(c.key for c in columns)), decoders)
        """Turns the driver's records into rows."""

    @cached_property
    def following_text(self) -> str:
        """The same for a replica, with one more parameter: the number up to which it has to have the change log.

        Each record has two more columns: whether it is a row, and whether the replica is fresh. Where there is no row
        to give, or the replica is behind, there is one record that is none; a log that has not begun gives none at all.
        """
        return self._with_tenant_scope(_FOLLOWING)

    @cached_property
    def summary(self) -> str:
        """Says what it does, and to which table first."""
        return guard.summary(self._compiled.text, writes=self.writes)

    @cached_property
    def digest(self) -> str:
        """Stands for its text, in fewer characters."""
        return sha256(self.text.encode()).hexdigest()[:16]

    def parameters(self, organization: str, values: Mapping[str, AnyValue]) -> list[AnyValue]:
        """The driver's parameters; the organization is always the session's.

        Raises TenantBreach where a table is pinned to anything else.
        """
        parameters = self._parameters.copy()
        for index, name, encode in self._given:
            parameters[index] = organization if name == ORG_PARAM.key else _encoded(encode, values[name])
        return self._sent(parameters, organization, values)

    def parameters_of(self, organization: str, extracted: Sequence[AnyValue]) -> list[AnyValue]:
        """The driver's parameters, with the values of another statement of this structure."""
        found = self._compiled.values(extracted)
        parameters = [
            organization if name == ORG_PARAM.key else _encoded(self._encoders[name], found[name])
            for name in self._names
        ]
        return self._sent(parameters, organization, found)

    def written_out(self, parameters: Sequence[AnyValue]) -> str:
        """The text with its parameters in it, for the message that begins a transaction: that one carries none.

        Only identifiers in their canonical form are let into a text (decision 940).
        """
        if not all(isinstance(value, str) and is_identifier(value) for value in parameters):
            raise guard.TenantBreach("a value in a text that is no identifier")
        return _NUMBERED.sub(lambda number: f"'{parameters[int(number[1]) - 1]}'", self.text)

    def _with_tenant_scope(self, form: str) -> str:
        """The statement as one that sets the organization itself, for its own transaction only (isolation layer 5).

        A full-text search sets its question in the same way: the policy of the entries asks it (decision 47).
        The inner select depends on the setting's row and is fenced by OFFSET 0, so it runs after it; were it ever to
        run before, the policies would show it nothing.
        """
        count, searches = len(self._names), self._sought is not None
        sought = f" || set_config('{SEARCH_SETTING}', ${count + 2}::text, true)" if searches else ""
        scope = _SCOPE.format(setting=SETTING, organization=f"${count + 1}::uuid::text", sought=sought)
        at_least = f"${count + 2 + searches}::bigint"
        return form.format(
            scope=scope, organization=f"${count + 1}::uuid", at_least=at_least, statement=self._compiled.text
        )

    def _sent(self, parameters: list[AnyValue], organization: str, values: Mapping[str, AnyValue]) -> list[AnyValue]:
        for position in self._pinned:
            if parameters[position] is not organization and str(parameters[position]) != organization:
                raise guard.TenantBreach("a tenant table is pinned to another organization")
        if self.is_scoped:
            parameters.append(organization)
        if self._sought is not None:
            parameters.append(values[self._sought])
        return parameters


class NoValues(dict[str, AnyValue]):
    """The values of parameters that have none."""

    def __missing__(self, _name: str) -> None:
        return None


def narrowed(statement: AnyStatement) -> AnyStatement:
    """The statement, with each entity in it narrowed to the session's organization (tenant isolation layer 3)."""
    if not isinstance(statement, Select | Update | Delete | CompoundSelect):
        return statement
    return statement.options(with_loader_criteria(Tenant, _own, include_aliases=True))


def _own(entity: type[Tenant]) -> ColumnElement[bool]:
    return entity.org_id == ORG_PARAM  # type: ignore[return-value]  # of the class, so it is an expression


def _gives_rows(text: str, writes: bool) -> bool:
    return not writes or "returning" in text.lower()


def _encoded(encode: Decode | None, value: object) -> object:
    return value if encode is None or value is None else encode(value)


def _as_text(column: AnyColumn) -> AnyColumn:
    """Identifiers and JSON come as text, which the driver reads fastest."""
    return cast(column, Text).label(column.key) if isinstance(column.type, Identifier | JSON) else column


def encoder(kind: AnyType, dialect: Dialect) -> Decode | None:
    """Finds how a value goes to the driver; None where it goes as it is."""
    if isinstance(kind, TypeDecorator) and dialect.name == "postgresql" and not isinstance(kind, UTCDateTime):
        return None
    return bind_processor(kind, dialect) if not isinstance(kind, JSON) else compact_json


def parsed(value: object) -> object:
    """An opaque JSON value as what it stands for; any other as it is."""
    return orjson.loads(orjson.dumps(value)) if isinstance(value, orjson.Fragment) else value


def compact_json(value: object) -> str:
    """The value as documents are stored: without blanks, on both databases."""
    return orjson.dumps(value).decode()


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text + "Z")  # a fifth of what it takes to put UTC in afterwards


def _decoder(kind: AnyType, dialect: Dialect, *, whole: bool = False) -> Decode | None:
    """Finds how a value comes from the driver; None where it comes as it should. `whole` rows have no unparsed JSON."""
    if isinstance(kind, Opaque) and not whole:
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
def _reader_of(kind: AnyKind, decoders: tuple[Decode | None, ...]) -> Callable[[Sequence[AnyValue]], list[AnyRow]]:
    """A function from the driver's records to rows of this kind, which many statements have in common."""
    if not any(decoders):
        make = partial(tuple.__new__, kind)
        return lambda records: list(map(make, records))
    # tuple's constructor is what the named tuple's own comes to, without a call in between.
    names: dict[str, AnyValue] = {"row": kind, "new": tuple.__new__}
    values, shared = [], []
    for index, decode in enumerate(decoders):
        value = f"r[{index}]"
        if isinstance(decode, SharedRows):  # one record has the rows of all
            shared.append(f"for s{index} in (d{index}(r[{index}] for r in records),) ")
            value = f"s{index}(r[{kind._fields.index(decode.local)}])"
        elif decode is not None:
            value = f"(None if {value} is None else d{index}({value}))"
        names[f"d{index}"] = decode
        values.append(value)
    source = f"lambda records: [new(row, ({', '.join(values)},)) {''.join(shared)}for r in records]"
    reader: Callable[[Sequence[AnyValue]], list[AnyRow]] = eval(source, names)  # noqa: S307  # made of column names
    return reader


def row_of(keys: Sequence[str | None]) -> AnyKind:
    """A named tuple of the columns. Those whose keys have INSIDE in them belong to a linked row as well.

    That row is made when it is asked for, and None where its id is null; what only needs its columns reads them here.
    Of a row that others have as well there is SHARED alone, which stands in place of its id, too.
    """
    linked: dict[str, dict[str, int]] = {}
    for index, key in enumerate(keys):  # None is the key of an expression without a name
        link, inside, name = (key or "").partition(INSIDE)
        if inside:
            linked.setdefault(link, {})[name] = index
    links: dict[str, AnyValue] = {"__slots__": ()}
    for link, places in linked.items():
        links[link] = property(_shared(places[SHARED]) if SHARED in places else _link(places))
    kind = type("Row", (namedtuple("Row", [key or "" for key in keys], rename=True),), links)
    for link, places in linked.items():
        if SHARED in places:
            setattr(kind, f"{link}{INSIDE}id", getattr(kind, f"{link}{INSIDE}{SHARED}"))
    return kind


def _shared(place: int) -> Callable[[AnyRow], AnyRow | None]:
    return lambda row: None if row[place] is None else row[place].row


def _link(places: Mapping[str, int]) -> Callable[[AnyRow], AnyRow | None]:
    kind, identifier, take = namedtuple("Row", places), places["id"], itemgetter(*places.values())
    if len(places) == 1:
        return lambda row: None if row[identifier] is None else kind(row[identifier])
    return lambda row: None if row[identifier] is None else tuple.__new__(kind, take(row))


_row_kind = lru_cache(maxsize=500)(row_of)


def reader(keys: tuple[str, ...], decoders: tuple[Decode | None, ...]) -> Callable[[Sequence[AnyValue]], list[AnyRow]]:
    """A function from lists of values under these keys to rows, which are as those of a statement."""
    return _reader_of(_row_kind(keys), decoders)
