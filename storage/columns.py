"""Declares the columns of a record type: what each one holds, and what a caller may do with it.

A table class says everything about a column once: annotation, kind, description, uses. Inputs, GraphQL types, filters,
orders and REST documents are derived from that by plain functions; each layer has a table of its own that says what a
kind is there (`resolvers/shared/record_inputs.py`, `schema/records.py`, `rest_compat/documents.py`). Uses are opt-in:
of a column without one, only that it is shown is derived. What a class of a surface declares in its body comes on top
of that, so look there too (`CardCapture` of `resolvers/leads.py` writes the source of a lead).

A secret never gets a `column()`: `columns_of` refuses a table with a bare field, so nothing is derived from it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Flag, StrEnum, auto
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from sqlalchemy import BigInteger, ColumnElement, Computed, inspect
from sqlalchemy import Column as StoredColumn
from sqlalchemy import text as sql_text
from sqlalchemy.types import TypeEngine
from sqlmodel import Field

from contract.limits import EXTERNAL_KEY_MAX
from storage.base import (
    FOLDING,
    FOLDS,
    Document,
    Identifier,
    Money,
    Opaque,
    PlainDomain,
    PlainLongText,
    PlainText,
    Record,
    folded_copies,
    now,
)
from storage.worked_out import WorkedOut


class Kind(StrEnum):
    """The kind of a column's values. A vocabulary of `contract/vocabulary.py` stands for itself.

    OBJECT and OBJECTS are JSON that the service reads; JSON is only passed on, and reads leave it unparsed. LARGE is a
    whole number that may have more than 32 bits.
    """

    LINE = auto()
    TEXT = auto()
    EMAIL = auto()
    DOMAIN = auto()
    CURRENCY = auto()
    MONEY = auto()
    DATE = auto()
    MOMENT = auto()
    WHOLE = auto()
    LARGE = auto()
    NUMBER = auto()
    FLAG = auto()
    NAMES = auto()
    OBJECTS = auto()
    OBJECT = auto()
    JSON = auto()
    REFERENCE = auto()


LINE, TEXT, EMAIL, DOMAIN, CURRENCY, MONEY = Kind.LINE, Kind.TEXT, Kind.EMAIL, Kind.DOMAIN, Kind.CURRENCY, Kind.MONEY
DATE, MOMENT, WHOLE, NUMBER, FLAG = Kind.DATE, Kind.MOMENT, Kind.WHOLE, Kind.NUMBER, Kind.FLAG
LARGE = Kind.LARGE
NAMES, OBJECTS, OBJECT, JSON = Kind.NAMES, Kind.OBJECTS, Kind.OBJECT, Kind.JSON
REFERENCE = Kind.REFERENCE


class Use(Flag):
    """The uses that a caller may make of a column, beside reading it."""

    NONE = 0
    CREATE = auto()
    UPDATE = auto()
    FILTER = auto()
    SORT = auto()


NONE, CREATE, UPDATE, FILTER, SORT = Use.NONE, Use.CREATE, Use.UPDATE, Use.FILTER, Use.SORT
WRITE = CREATE | UPDATE


@dataclass(frozen=True, slots=True)
class _KindTypes:
    """The types of a kind in Python and in SQL; without an `sql` type SQLModel takes the annotation's."""

    python: type
    sql: TypeEngine[Any] | type[TypeEngine[Any]] | None = None  # Any: of whichever Python type
    sorts: bool = True


_KINDS: Mapping[Kind, _KindTypes] = {
    LINE: _KindTypes(str, PlainText),
    TEXT: _KindTypes(str, PlainLongText, sorts=False),
    EMAIL: _KindTypes(str, PlainText),
    DOMAIN: _KindTypes(str, PlainDomain),
    CURRENCY: _KindTypes(str, PlainText),
    MONEY: _KindTypes(Decimal, Money),
    DATE: _KindTypes(date),
    MOMENT: _KindTypes(datetime),
    WHOLE: _KindTypes(int),
    LARGE: _KindTypes(int, BigInteger),
    NUMBER: _KindTypes(float),
    FLAG: _KindTypes(bool),
    NAMES: _KindTypes(list, Document, sorts=False),
    OBJECTS: _KindTypes(list, Document, sorts=False),
    OBJECT: _KindTypes(dict, Document, sorts=False),
    JSON: _KindTypes(dict, Opaque(none_as_null=True), sorts=False),
    REFERENCE: _KindTypes(str, Identifier),
}
_FOLDED: Mapping[object, str] = {
    **dict.fromkeys((LINE, TEXT, EMAIL, DOMAIN, CURRENCY), "folds(...)"),
    NAMES: "folds_each(...)",
}
"""The kinds of text that filters compare letter case aside, each with what declares the copy that they read."""
_OF_A_VOCABULARY = _KindTypes(str, PlainText)


@dataclass(frozen=True, slots=True)
class Column:
    """A column as its table declares it.

    `name` is its name in the database and on the surfaces. What is `required_on_create` has no default; a column may
    have one and still take no null. `text` describes it in
    a sentence, `short` is the column within a sentence ("On {short}."), `words` replaces the derived sentence of one
    use. `least` and `most` bound a number, or the characters of a text. `to` names the table that a reference leads to.
    """

    name: str
    kind: Kind | type[StrEnum]
    text: str
    uses: Use
    nullable: bool
    required_on_create: bool
    default: object
    short: str
    words: Mapping[Use, str]
    least: int | None
    most: int | None
    example: object
    to: str | None


@dataclass(frozen=True, slots=True)
class _Declared:
    kind: Kind | type[StrEnum]
    text: str
    uses: Use
    short: str | None
    words: Mapping[Use, str]
    least: int | None
    most: int | None
    example: object
    to: str | None


AnyField = Any
"""A field of a table class. Any: the annotation beside it says its type."""

_DECLARED = "declared"  # in the column's `info`, which SQLAlchemy leaves to applications


def column(
    kind: Kind | type[StrEnum],
    text: str,
    uses: Use = NONE,
    *,
    default: object = PydanticUndefined,
    default_factory: Callable[[], object] | None = None,
    least: int | None = None,
    most: int | None = None,
    short: str | None = None,
    words: Mapping[Use, str] | None = None,
    example: object = None,
    to: str | None = None,
    name: str | None = None,
    stored: str | None = None,
    computed: str | None = None,
) -> AnyField:
    """A column of a record type, as a field of its table class; `Column` says what the arguments are.

    `name` is its name in the database where the class calls it otherwise. `stored` is what the database itself puts
    into a row that says nothing of it, `computed` the expression that it works the value out by: such a column is
    never written. `columns_of` checks it all when the first surface asks.
    """
    declared = _Declared(kind, text, uses, short, words or {}, least, most, example, to)
    kept: dict[str, object] = {"info": {_DECLARED: declared}}
    if name is not None:
        kept["name"] = name
    if stored is not None:
        kept["server_default"] = sql_text(stored)
    options: dict[str, Any] = {"sa_column_kwargs": kept}  # Any: SQLModel's own
    if computed is not None:
        options |= {"sa_column_args": [Computed(computed, persisted=True)], "nullable": False}
    if (sql := (_OF_A_VOCABULARY if not isinstance(kind, Kind) else _KINDS[kind]).sql) is not None:
        options["sa_type"] = sql
    if default_factory is not None:
        return Field(default_factory=default_factory, **options)
    return Field(default=default, **options)


def reference(to: str, text: str, uses: Use = NONE, **options: Any) -> AnyField:  # Any: those of `column`
    """A column that leads to a record of another table, or to none; its foreign key stands in `__table_args__`."""
    return column(REFERENCE, text, uses, default=None, to=to, **options)


def folds(of: str, *, default: str | None = None) -> AnyField:
    """The folded copy of a text column, by which lists compare letter case and width aside (decision 237).

    It is written with the column it is of (`storage/base.py: with_copies`), and no surface shows it.
    """
    return Field(default=default, sa_type=PlainText, sa_column_kwargs={"info": {FOLDS: of}})


def matches(of: str, fold: Callable[[str], str]) -> AnyField:
    """A copy of a text column as duplicates are found by it: null or empty where it says nothing (decision 430)."""

    def copy(value: str | None) -> str | None:
        return value and fold(value)

    return Field(default=None, sa_type=PlainText, sa_column_kwargs={"info": {FOLDS: of, FOLDING: copy}})


def folds_each(of: str) -> AnyField:
    """The folded copies of a list of texts, as `folds` has that of one."""
    return Field(default_factory=list, sa_type=Document, sa_column_kwargs={"info": {FOLDS: of}, "server_default": "[]"})


def is_copy(stored: ColumnElement[object]) -> bool:
    """Says whether the column is the folded copy of another, or is worked out of some."""
    return isinstance(stored, StoredColumn) and (FOLDS in stored.info or isinstance(stored.computed, WorkedOut))


MADE_AT = "2026-11-20T09:30:00Z"
"""The moment in the examples at which a record was made."""


def owner(uses: Use = NONE) -> AnyField:
    """The column `owner_id` of a record that a rep owns."""
    return column(
        LINE, "The subject of the owning rep.", uses, default=None, short="the owning rep", example="user_2mF7"
    )


def external_key(records: str, uses: Use) -> AnyField:
    """The column `external_key` of a record that another system has, too."""
    given = f"The key in another system, 1 to {EXTERNAL_KEY_MAX} characters, unique among the organization's {records}"
    return column(
        LINE,
        f"The key in another system, unique among the organization's {records}.",
        uses,
        default=None,
        least=1,
        most=EXTERNAL_KEY_MAX,
        words={CREATE: f"{given}.", UPDATE: f"{given}; null clears it."},
        example="erp-10293",
    )


def created(uses: Use = FILTER | SORT) -> AnyField:
    """The column `created_at`."""
    return column(
        MOMENT,
        "When the record was made.",
        uses,
        default_factory=now,
        short="when the record was made",
        example=MADE_AT,
    )


def updated(uses: Use = FILTER | SORT, *, stored: str | None = None) -> AnyField:
    """The column `updated_at`."""
    return column(
        MOMENT,
        "When the record last changed.",
        uses,
        default_factory=now,
        short="when the record last changed",
        example="2026-11-20T09:41:12.004000Z",
        stored=stored,
    )


def versioned(*, stored: str | None = None) -> AnyField:
    """The column `version`, which an update may name as the one that it was made for."""
    return column(WHOLE, "Grows with each change; see `expectedVersion`.", default=1, example=3, stored=stored)


def is_versioned(model: type[Record]) -> bool:
    """Says whether the record type has the column `version`, so that its updates take an `expected_version`."""
    return any(column.name == "version" for column in columns_of(model))


@cache
def columns_of(model: type[Record]) -> tuple[Column, ...]:
    """The columns of a record type in the order of its class, without `org_id`, `id` and folded copies.

    Raises TypeError.

    There are as many cached values as tables.
    """
    return tuple(_checked(model, *one) for one in _stored(model))


def column_of(model: type[Record], name: str) -> Column:
    """The column of this name, whatever the others say of themselves. Raises TypeError where there is none."""
    for one in _stored(model):
        if one[2].name == name:
            return _checked(model, *one)
    known = ", ".join([*Record.model_fields, *(stored.name for _, _, stored in _stored(model))])
    raise TypeError(f"{model.__name__} has no column {name}; it has {known}")


def _stored(model: type[Record]) -> Iterator[tuple[str, FieldInfo, StoredColumn[object]]]:
    attributes = inspect(model).column_attrs
    for attribute, info in model.model_fields.items():
        stored = attributes[attribute].columns[0]
        if attribute not in Record.model_fields and not is_copy(stored):
            yield attribute, info, stored


def _checked(model: type[Record], attribute: str, info: FieldInfo, stored: StoredColumn[object]) -> Column:
    """The column, once what is said of it agrees with itself. Raises TypeError."""
    place = f"{model.__name__}.{attribute}"
    declared: _Declared | None = stored.info.get(_DECLARED)
    if declared is None:
        raise TypeError(f"{place} does not say what it is: write {attribute}: ... = column(KIND, text, uses)")
    is_kind = isinstance(declared.kind, Kind)
    kind = _KINDS[declared.kind] if isinstance(declared.kind, Kind) else _OF_A_VOCABULARY
    called = f"a {declared.kind.name}" if isinstance(declared.kind, Kind) else f"a {declared.kind.__name__}"
    held, nullable = _without_none(info.annotation)
    if held is not kind.python:
        raise TypeError(f"{place} is {called}, so annotate it with {kind.python.__name__}")
    required = info.is_required()
    if nullable and required:
        raise TypeError(f"{place} may be null but has no default: write default=None")
    if SORT in declared.uses and not kind.sorts:
        raise TypeError(f"{place} is {called}, which no list can be ordered by")
    if FILTER in declared.uses and is_kind and declared.kind in (NUMBER, LARGE, OBJECTS, OBJECT, JSON, FLAG):
        raise TypeError(f"{place} is {called}, for which there is no filter")
    if FILTER in declared.uses and declared.kind in _FOLDED and stored.name not in folded_copies(model):
        raise TypeError(f"{place} is filtered by, so add its copy: folded_{attribute} = {_FOLDED[declared.kind]}")
    return Column(
        name=stored.name,
        kind=declared.kind,
        text=declared.text,
        uses=declared.uses,
        nullable=nullable,
        required_on_create=required,
        default=None if required else info.default,
        short=declared.short or declared.text[0].lower() + declared.text[1:].rstrip("."),
        words=declared.words,
        least=declared.least,
        most=declared.most,
        example=declared.example,
        to=declared.to,
    )


def _without_none(annotation: object) -> tuple[object, bool]:
    """The class that an annotation names, without its parameters, and whether null is allowed beside it."""
    parts = [part for part in get_args(annotation) if part is not NoneType]
    nullable = NoneType in get_args(annotation)
    held = parts[0] if nullable and len(parts) == 1 else annotation
    return get_origin(held) or held, nullable
