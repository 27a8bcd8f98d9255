"""Defines what tables share: identifiers, UTC times, exact money, the tenant key, and the naming of constraints."""

import re
import secrets
import time
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import ColumnElement, ForeignKeyConstraint, Numeric, String, Text, column
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Dialect
from sqlalchemy.types import JSON, TypeDecorator, TypeEngine
from sqlmodel import Field, SQLModel

from contract.limits import MONEY_DECIMALS
from storage.adapters.sqlmodel import set_on_class

SQLModel.metadata.naming_convention = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
}


def now() -> datetime:
    """The present moment, aware, in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """A new UUID of version 7 in its canonical form: unguessable, and growing with time so that indexes stay dense."""
    moment = time.time_ns() // 1_000_000
    value = (moment << 80) | secrets.randbits(80)
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return str(UUID(int=value))


def first_id_at(moment: datetime) -> str:
    """Makes the identifier than which every one that was made before then is smaller."""
    return str(UUID(int=int(moment.timestamp() * 1000) << 80))


_CANONICAL = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_UUID = re.compile(rf"{_CANONICAL.pattern}|[0-9a-f]{{32}}", re.IGNORECASE | re.ASCII)


def is_identifier(text: str) -> bool:
    """Whether the text is a UUID in its canonical form, which is the only one that a row's own can have."""
    return _CANONICAL.fullmatch(text) is not None


def as_uuid(text: object) -> str | None:
    """The canonical form of an identifier, or None where no row can have it."""
    if not isinstance(text, str):
        return None
    if is_identifier(text):
        return text
    if _UUID.fullmatch(text) is None:
        return None
    return str(UUID(text))  # which alone would take signs, blanks and digits of other scripts


class Identifier(TypeDecorator[str]):
    """A canonical UUID as text in Python; the native type on PostgreSQL, text on SQLite."""

    impl = String(36)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The native type where there is one."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.UUID(as_uuid=False))
        return dialect.type_descriptor(String(36))


_WHOLE_DIGITS = 15


class Decoded:
    """Marks the types whose driver value `decode` turns into the service's, on either database."""

    @staticmethod
    def decode(value: Any) -> Any:
        """The service's value of a driver value that is not null."""
        raise NotImplementedError


class Money(Decoded, TypeDecorator[Decimal]):
    """An amount ≥ 0, under 10^15, exact to four decimals.

    SQLite has no exact decimal and its integers end before 10^19, so there the amount is text of fixed width, which
    sorts and compares as the number does.
    """

    impl = Numeric(_WHOLE_DIGITS + MONEY_DECIMALS, MONEY_DECIMALS)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """NUMERIC(19, 4), or text of fixed width."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(String(_WHOLE_DIGITS + 1 + MONEY_DECIMALS))
        return dialect.type_descriptor(Numeric(_WHOLE_DIGITS + MONEY_DECIMALS, MONEY_DECIMALS))

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> Any:
        """The stored form; the value lies in the column's range."""
        if value is None or dialect.name != "sqlite":
            return value
        return f"{value + 0:0{_WHOLE_DIGITS + 1 + MONEY_DECIMALS}.{MONEY_DECIMALS}f}"  # + 0 takes the sign from -0

    def process_result_value(self, value: Any, dialect: Dialect) -> Decimal | None:
        """The number without trailing zeros, the same on both databases."""
        return None if value is None else self.decode(value)

    @staticmethod
    def decode(value: Any) -> Decimal:
        """The number without trailing zeros."""
        return plain_decimal(Decimal(value))


def plain_decimal(value: Decimal) -> Decimal:
    """The same number with no trailing zeros and no exponent: 1500, 12.5."""
    normal = value.normalize()
    return normal.quantize(Decimal(1)) if normal.as_tuple().exponent > 0 else normal  # type: ignore[operator]  # finite by construction


PlainText = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that sorts by code point on both databases (decision 9)."""


class LongText(Text):
    """Text that may be hundreds of kilobytes long, which lists look out for (storage/queries/bounding.py)."""


PlainLongText = LongText().with_variant(LongText(collation="C"), "postgresql")

Document = JSON(none_as_null=True)
"""JSON as text, so that a document comes back with its keys in the order they were given, on both databases."""


class Opaque(JSON):
    """JSON that is only passed on: reads leave it unparsed."""


class Directory(SQLModel):
    """Base of the tables that say who belongs where; they are read before an organization is known."""


class Tenant(SQLModel):
    """Base of the tables whose rows belong to one organization: the key starts with it (tenant wall 1)."""

    tenant: ClassVar[bool] = True

    org_id: str = Field(default="", sa_type=Identifier, primary_key=True)


class _OrganizationColumn:
    """`Tenant.org_id` as an expression: pydantic leaves none on the class, and SQLAlchemy makes one per table only."""

    def __get__(self, _record: object, owner: type) -> ColumnElement[str]:
        if owner is not Tenant:
            raise AttributeError("org_id")
        return column("org_id", Identifier)


set_on_class(Tenant, "org_id", _OrganizationColumn())


class Record(Tenant):
    """A tenant row with an identifier of its own."""

    id: str = Field(default_factory=new_id, sa_type=Identifier, primary_key=True)


def tenant_key(table: str, *columns: str, to: str | None = None, ondelete: str | None = None) -> ForeignKeyConstraint:
    """A foreign key that carries the organization: another organization's row can never be its target."""
    local = columns[0]
    return ForeignKeyConstraint(["org_id", local], [f"{table}.org_id", f"{table}.{to or 'id'}"], ondelete=ondelete)
