"""Statements compiled once per shape: the text for the driver, the order of its parameters, and light rows.

A shape is a select whose values are bound parameters. What the driver gives back becomes a named tuple; only the
columns whose driver value is not the service's own are converted.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import orjson
from sqlalchemy import Boolean, Date, DateTime, Select, Text, bindparam, cast
from sqlalchemy.engine import Dialect
from sqlalchemy.types import JSON, TypeDecorator

from storage import tenancy
from storage.base import Decoded, Identifier, Opaque
from storage.postgresql import SETTING

ORGANIZATION = bindparam("org_id", type_=Identifier)
"""Stands for the session's organization in a shape."""

Decode = Callable[[Any], Any]

_WALLED = (
    "WITH crm_wall AS MATERIALIZED (SELECT set_config('{setting}', {organization}, true) AS id) "
    "SELECT q.* FROM crm_wall, LATERAL (SELECT * FROM ({statement}) p WHERE crm_wall.id IS NOT NULL OFFSET 0) q"
)


class Prepared:
    """One shape, ready for the driver."""

    def __init__(self, statement: Select[Any], dialect: Dialect, *, tenant: bool) -> None:
        is_postgresql = dialect.name == "postgresql"
        columns = [*statement.selected_columns]
        if is_postgresql:
            statement = statement.with_only_columns(*map(_as_text, columns), maintain_column_froms=True)
        compiled = statement.compile(dialect=dialect)
        names: Sequence[str] = compiled.positiontup or ()
        encoders = {name: _encoder(compiled.binds[name].type, dialect) for name in names}
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        self._parameters = [_encoded(encoders[name], constants.get(name)) for name in names]
        self._given = [(i, name, encoders[name]) for i, name in enumerate(names) if name not in constants]
        pins = tenancy.read(str(compiled), dialect.name)
        if (pins.directory_tables - tenancy.SHARED_TABLES and tenant) or (pins.tenant_tables and not tenant):
            raise tenancy.TenantBreach("a statement on the wrong side of the directory")
        if any(names[position] != ORGANIZATION.key for position in pins.positions):
            raise tenancy.TenantBreach("a tenant table is pinned to a value of the caller's choice")
        self.text = _behind_wall(str(compiled), len(names)) if is_postgresql and tenant else str(compiled)
        self._is_walled = is_postgresql and tenant
        self.row: Any = namedtuple("Row", [column.key for column in columns])  # type: ignore[misc]
        self._read = _reader(self.row, [_decoder(column.type, dialect) for column in columns])

    def parameters(self, organization: str, values: Mapping[str, Any]) -> list[Any]:
        """The driver's parameters; `org_id` is always the session's."""
        parameters = self._parameters.copy()
        for index, name, encode in self._given:
            parameters[index] = organization if name == ORGANIZATION.key else _encoded(encode, values[name])
        if self._is_walled:
            parameters.append(organization)
        return parameters

    def rows(self, records: Sequence[Any]) -> list[Any]:
        """The driver's records as rows."""
        return self._read(records)


def _encoded(encode: Decode | None, value: Any) -> Any:
    return value if encode is None or value is None else encode(value)


def _as_text(column: Any) -> Any:
    """Identifiers and JSON come as text, which the driver reads fastest."""
    return cast(column, Text).label(column.key) if isinstance(column.type, Identifier | JSON) else column


def _behind_wall(text: str, count: int) -> str:
    """The statement as one that sets the organization itself, for its own transaction only (tenant wall 5).

    The inner select depends on the setting's row and is fenced by OFFSET 0, so it runs after it; were it ever to run
    before, the policies would show it nothing.
    """
    organization = f"${count + 1}::uuid::text"
    return _WALLED.format(setting=SETTING, organization=organization, statement=text)


def _encoder(kind: Any, dialect: Dialect) -> Decode | None:
    """How a value goes to the driver; None where it goes as it is."""
    if isinstance(kind, TypeDecorator) and dialect.name == "postgresql":
        return None
    return kind.dialect_impl(dialect).bind_processor(dialect) if not isinstance(kind, JSON) else _dump


def _dump(value: Any) -> str:
    return orjson.dumps(value).decode()


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _decoder(kind: Any, dialect: Dialect) -> Decode | None:
    """How a value comes from the driver; None where it comes as it should."""
    if isinstance(kind, Opaque):
        return orjson.Fragment
    if isinstance(kind, Decoded):
        return kind.decode
    if isinstance(kind, JSON):
        return orjson.loads
    if dialect.name == "postgresql":
        return None
    implementation = kind.impl_instance if isinstance(kind, TypeDecorator) else kind
    if isinstance(implementation, DateTime):
        return _moment
    if isinstance(implementation, Date):
        return date.fromisoformat
    return bool if isinstance(implementation, Boolean) else None


def _reader(row: Any, decoders: Sequence[Decode | None]) -> Callable[[Sequence[Any]], list[Any]]:
    """A function from the driver's records to rows."""
    make = row._make
    converted = [(index, decode) for index, decode in enumerate(decoders) if decode is not None]
    if not converted:
        return lambda records: list(map(make, records))

    def read(records: Sequence[Any]) -> list[Any]:
        rows = []
        for record in records:
            values = list(record)
            for index, decode in converted:
                if values[index] is not None:
                    values[index] = decode(values[index])
            rows.append(make(values))
        return rows

    return read
