"""Defines what tables share: identifiers, UTC times, exact money, the tenant key, and the naming of constraints."""

import re
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from decimal import Context, Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform
from uuid import UUID

from sqlalchemy import ColumnElement, ForeignKeyConstraint, Numeric, String, Table, Text, column
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Dialect
from sqlalchemy.types import JSON, TypeDecorator, TypeEngine
from sqlmodel import Field, SQLModel

from contract.limits import MONEY_DECIMALS
from contract.normal_form import folded
from storage.adapters.sqlmodel import SQLModelConfig, SQLModelMetaclass, set_on_class

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


FIRST_ID = "00000000-0000-0000-0000-000000000000"
"""The identifier behind which all others are."""


def new_id() -> str:
    """A new UUID of version 7 in its canonical form: unguessable, and growing with time so that indexes stay dense."""
    moment = time.time_ns() // 1_000_000
    value = (moment << 80) | secrets.randbits(80)
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    digits = f"{value:032x}"  # in a third of the time that UUID takes
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def first_id_at(moment: datetime) -> str:
    """Makes the identifier than which every one that was made before then is smaller."""
    return str(UUID(int=int(moment.timestamp() * 1000) << 80))


_CANONICAL = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_UUID = re.compile(rf"{_CANONICAL.pattern}|[0-9a-f]{{32}}", re.IGNORECASE | re.ASCII)


def is_identifier(text: str) -> bool:
    """Says whether the text is a UUID in its canonical form, which is the only one that a row's own can have."""
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

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        """The native type where there is one."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.UUID(as_uuid=False))
        return dialect.type_descriptor(String(36))


_WHOLE_DIGITS = 15


class Decoded:
    """Marks the types whose driver value `decode` turns into the service's, on either database."""

    @staticmethod
    def decode(value: Any) -> Any:  # Any: of each type its own
        """The service's value of a driver value that is not null."""
        raise NotImplementedError


class Money(Decoded, TypeDecorator[Decimal]):
    """An amount ≥ 0, under 10^15, exact to four decimals.

    SQLite has no exact decimal and its integers end before 10^19, so there the amount is text of fixed width, which
    sorts and compares as the number does.
    """

    impl = Numeric(_WHOLE_DIGITS + MONEY_DECIMALS, MONEY_DECIMALS)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str] | TypeEngine[Decimal]:
        """NUMERIC(19, 4), or text of fixed width."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(String(_WHOLE_DIGITS + 1 + MONEY_DECIMALS))
        return dialect.type_descriptor(Numeric(_WHOLE_DIGITS + MONEY_DECIMALS, MONEY_DECIMALS))

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> Decimal | str | None:
        """The stored form; the value lies in the column's range."""
        if value is None or dialect.name != "sqlite":
            return value
        return f"{value + 0:0{_WHOLE_DIGITS + 1 + MONEY_DECIMALS}.{MONEY_DECIMALS}f}"  # + 0 takes the sign from -0

    def process_result_value(self, value: Decimal | str | None, dialect: Dialect) -> Decimal | None:
        """The number without trailing zeros, the same on both databases."""
        return None if value is None else self.decode(value)

    @staticmethod
    def decode(value: Decimal | str) -> Decimal:
        """The number without trailing zeros. Of SQLite's text they are taken off, which is a fourth of the work."""
        if isinstance(value, str) and "." in value:
            return Decimal(value.rstrip("0").rstrip("."))
        return plain_decimal(Decimal(value))


_ALL_DIGITS = Context(prec=200)


def plain_decimal(value: Decimal) -> Decimal:
    """The same number with no trailing zeros and no exponent: 1500, 12.5. No digit is lost."""
    normal = value.normalize(_ALL_DIGITS)
    return normal.quantize(Decimal(1), context=_ALL_DIGITS) if normal.as_tuple().exponent > 0 else normal  # type: ignore[operator]  # finite by construction


PlainText = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that sorts by code point on both databases (decision 9)."""


class LongText(Text):
    """Text that may be hundreds of kilobytes long, which lists look out for (storage/queries/row_size_limit.py)."""


class DomainText(Text):
    """Text that is an Internet domain in its one spelling, which conditions are brought to as well (decision 215)."""


PlainDomain = DomainText().with_variant(DomainText(collation="C"), "postgresql")

PlainLongText = LongText().with_variant(LongText(collation="C"), "postgresql")

JsonDict = dict[str, Any]
"""An object of JSON. Any: what is in it is known to those who write and read it."""

Stored = SQLModel
"""A record of any table, or a row."""

Document = JSON(none_as_null=True)
"""JSON as text, so that a document comes back with its keys in the order they were given, on both databases."""


class Opaque(JSON):
    """JSON that is only passed on: reads leave it unparsed."""


if TYPE_CHECKING:

    @dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(Field,))
    class _Frozen(SQLModelMetaclass):
        """Rows are named tuples: what reads as a field of a table is never set on one."""

else:
    _Frozen = SQLModelMetaclass


_UNBUILT = SQLModelConfig(defer_build=True)
"""No row is validated by its table's class, so that what would do it is not made: it takes 2 MiB of each process."""


class Directory(SQLModel, metaclass=_Frozen):
    """Base of the tables that say who belongs where; they are read before an organization is known."""

    model_config = _UNBUILT


class Tenant(SQLModel, metaclass=_Frozen):
    """Base of the tables whose rows belong to one organization: the key starts with it (tenant isolation layer 1)."""

    model_config = _UNBUILT
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

    def __init__(self, **values: Any) -> None:  # Any: each is of its column's type
        super().__init__(**derived(type(self), type(self).model_fields, values))


FOLDS, FOLDING = "folds", "folding"
"""The keys, in a column's `info`, of the column whose folded copy it is, and of what folds its texts another way."""


@cache
def folded_copies(model: type[SQLModel]) -> Mapping[str, str]:
    """The columns that have a folded copy, each with the name of the copy (decision 237).

    There are as many cached values as tables.
    """
    return {of: copy for of, copy, fold in copies_of(model) if fold is folded_copy}


@cache
def copies_of(model: type[SQLModel]) -> tuple[tuple[str, str, Callable[[object], object]], ...]:
    """All copies: the column, its copy, and what makes the copy's value of the column's.

    There are as many cached values as tables.
    """
    table: Table = model.__table__  # type: ignore[attr-defined]  # every table class has one
    copies = [c for c in table.columns if FOLDS in c.info]
    return tuple((c.info[FOLDS], c.name, c.info.get(FOLDING, folded_copy)) for c in copies)


def with_copies(model: type[SQLModel], values: Mapping[str, object]) -> dict[str, object]:
    """The values with the copies of those that have one: whoever writes the column writes all of them."""
    written = dict(values)
    for name, copy, fold in copies_of(model):
        if name in values:
            written[copy] = fold(values[name])
    return written


def folded_copy(value: Any) -> Any:  # Any: a text or a list of them, and the same of what they fold to
    """The folded copy of a column's value: of a text, of each of a list, or None."""
    return [folded(text) for text in value] if isinstance(value, list) else value and folded(value)


def derived(
    model: type[SQLModel], columns: Collection[str], values: Mapping[str, object]
) -> dict[str, Any]:  # Any: each of its column's type
    """The values of a new record with those that follow from them.

    It was last changed at the very moment that it was made (decision 211), and its texts have their folded copies.
    """
    given = with_copies(model, values)
    if "updated_at" in columns and "created_at" in columns:
        made = given.setdefault("created_at", now())
        given.setdefault("updated_at", made)
    return given


def tenant_key(table: str, *columns: str, to: str | None = None, ondelete: str | None = None) -> ForeignKeyConstraint:
    """A foreign key that carries the organization: another organization's row can never be its target."""
    local = columns[0]
    return ForeignKeyConstraint(["org_id", local], [f"{table}.org_id", f"{table}.{to or 'id'}"], ondelete=ondelete)
