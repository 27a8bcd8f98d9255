"""Derives the GraphQL type, filter, order and inputs of a record type from its table (`storage/columns.py`).

Each decorator goes on a class statement, so that the class has a name, a home and a docstring of its own. A field in
the class's body takes the place of the derived one; links, child lists and whatever no column holds stand there.
"""

from collections.abc import Callable, Collection
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from inspect import get_annotations
from typing import Any, TypeVar

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON as AnyJSON

from contract.vocabulary import SortDirection
from schema.declare import clearing, enum, field
from schema.filters import (
    DateFilter,
    DateTimeFilter,
    DecimalFilter,
    IDFilter,
    IntFilter,
    StringFilter,
    StringListFilter,
)
from storage.base import Record
from storage.columns import (
    CREATE,
    CURRENCY,
    DATE,
    DOMAIN,
    EMAIL,
    FILTER,
    FLAG,
    JSON,
    LARGE,
    LINE,
    MOMENT,
    MONEY,
    NAMES,
    NUMBER,
    OBJECT,
    OBJECTS,
    REFERENCE,
    SORT,
    TEXT,
    UPDATE,
    WHOLE,
    Column,
    Kind,
    Use,
    columns_of,
    is_versioned,
)

T = TypeVar("T")
_Annotation = Any
"""An annotation. Any: types, unions and names in quotes have no type in common."""
_Fields = dict[str, tuple[_Annotation, object]]
"""Fields by name, each with its annotation and what the library makes of it."""

_TYPES: dict[Kind, _Annotation] = {
    LINE: str,
    TEXT: str,
    EMAIL: str,
    DOMAIN: str,
    CURRENCY: str,
    MONEY: Decimal,
    DATE: date,
    MOMENT: datetime,
    WHOLE: int,
    LARGE: float,
    NUMBER: float,
    FLAG: bool,
    NAMES: list[str],
    OBJECTS: AnyJSON,
    OBJECT: AnyJSON,
    JSON: AnyJSON,
    REFERENCE: strawberry.ID,
}
_FILTERS: dict[Kind, type] = {
    LINE: StringFilter,
    TEXT: StringFilter,
    EMAIL: StringFilter,
    DOMAIN: StringFilter,
    CURRENCY: StringFilter,
    MONEY: DecimalFilter,
    DATE: DateFilter,
    MOMENT: DateTimeFilter,
    WHOLE: IntFilter,
    NAMES: StringListFilter,
    REFERENCE: IDFilter,
}
_TEXTS = (LINE, EMAIL, DOMAIN, CURRENCY)


def record(
    model: type[Record],
    description: str,
    *,
    hidden: Collection[str] = (),
    only: Collection[str] | None = None,
    is_interface: bool = False,
) -> Callable[[type[T]], type[T]]:
    """An object type, or an interface, with a field for each column but the hidden ones, in the table's order.

    `only` names those of a type that shares its table with others.
    """

    def declare(cls: type[T]) -> type[T]:
        shown_columns = [column for column in _of(model, only) if column.name not in hidden]
        _put_first(
            cls,
            {column.name: (_or_null(_type(column), column.nullable), field(column.text)) for column in shown_columns},
        )
        return (strawberry.interface if is_interface else strawberry.type)(cls, description=description)

    return declare


def record_input(
    model: type[Record], use: Use, description: str, *, only: Collection[str] | None = None, of_one: bool = True
) -> Callable[[type[T]], type[T]]:
    """An input with the columns that may be written so. An update leaves out what stays, so it has no defaults.

    `only` names those of a type that shares its table with others. One that is not `of_one` record that the caller has
    seen names no version.
    """

    def declare(cls: type[T]) -> type[T]:
        fields: _Fields = {column.name: _input_field(column, use) for column in _of(model, only) if use in column.uses}
        if use is UPDATE and of_one and is_versioned(model):
            text = "Change only this version of the record."
            fields["expected_version"] = (int | None, field(text, default=UNSET))
        _put_first(cls, fields)
        made: type[T] = strawberry.input(cls, description=description)
        return clearing(made) if use is UPDATE and of_one else made

    return declare


def record_filter(model: type[Record], *, plural: str | None = None) -> Callable[[type[T]], type[T]]:
    """A filter with a comparator for each column that lists filter by, after `and`, `or`, `not` and `id`."""

    def declare(cls: type[T]) -> type[T]:
        name = cls.__name__
        fields: _Fields = {
            "and_": (f"list[{name}] | None", field("All of these hold.", name="and", default=UNSET)),
            "or_": (f"list[{name}] | None", field("At least one of these holds.", name="or", default=UNSET)),
            "not_": (f"{name} | None", field("This does not hold.", name="not", default=UNSET)),
        }
        fields["id"] = (IDFilter | None, field("On the identifier.", default=UNSET))
        own = get_annotations(cls)
        for column in columns_of(model):
            if FILTER in column.uses:
                comparator = None if column.name in own else _filter(column) | None
                fields[column.name] = (comparator, field(_words(column, FILTER), default=UNSET))
        _put_first(cls, fields)
        return strawberry.input(cls, description=f"Conditions on {_plural(model, plural)}, all of which must hold.")

    return declare


def record_order(
    model: type[Record], *, by: str = "created_at", plural: str | None = None, description: str | None = None
) -> Callable[[type[T]], type[T]]:
    """An order by each column that lists are sorted by, with its enum; by the column `by` unless told."""

    def declare(cls: type[T]) -> type[T]:
        nouns = _plural(model, plural)
        sortable = [column for column in columns_of(model) if SORT in column.uses]
        field_enum = Enum(  # type: ignore[misc]  # its members are the table's
            f"{cls.__name__}Field", [(column.name.upper(), column.name) for column in sortable], module=cls.__module__
        )
        texts = {column.name.upper(): _order_words(column, nouns) for column in sortable}
        enum(field_enum, f"What {nouns} can be ordered by.", **texts)
        fields: _Fields = {
            "field": (field_enum, field("What to order by.", default=field_enum(by))),
            "direction": (SortDirection, field("Which end comes first.", default=SortDirection.DESC)),
        }
        _put_first(cls, fields)
        usual = f"The order of {nouns}; createdAt descending, then id, break ties."
        return strawberry.input(cls, description=description or usual)

    return declare


def _of(model: type[Record], only: Collection[str] | None) -> list[Column]:
    return [column for column in columns_of(model) if only is None or column.name in only]


def _put_first(cls: type, fields: _Fields) -> None:
    """Gives a class these fields before its own ones; where it has one of the same name, its own takes the place."""
    own = get_annotations(cls)
    annotations: dict[str, _Annotation] = {}
    for name, (annotation, made) in fields.items():
        if name in own:
            annotations[name] = own.pop(name)
            continue
        annotations[name] = annotation
        setattr(cls, name, made)
    cls.__annotations__ = {**annotations, **own}


def _type(column: Column) -> _Annotation:
    return _TYPES[column.kind] if isinstance(column.kind, Kind) else column.kind


def _or_null(kind: _Annotation, nullable: bool) -> _Annotation:
    return kind | None if nullable else kind


def _input_field(column: Column, use: Use) -> tuple[_Annotation, object]:
    """A required column is required on creation; elsewhere what is left out takes its default, or stays."""
    text = _words(column, use)
    if use is CREATE and column.required_on_create:
        return _type(column), field(text)
    has_default = use is CREATE and not column.nullable
    return _type(column) | None, field(text, default=column.default if has_default else UNSET)


def _filter(column: Column) -> type:
    if not isinstance(column.kind, Kind):
        raise TypeError(f"{column.name} is a {column.kind.__name__}, whose filter stands in the body of its class")
    return _FILTERS[column.kind]


def _words(column: Column, use: Use) -> str:
    """The sentence on a column where it is used so."""
    if (said := next((text for uses, text in column.words.items() if use in uses), None)) is not None:
        return said
    if use is FILTER:
        return f"On {column.short}."
    if column.kind is MONEY:
        return (
            f"{_capital(column.short)}: not negative, under 10^15; more than four decimals are rounded, half to even."
        )
    if column.least == 1 and column.kind in _TEXTS:
        return f"{column.text.removesuffix('.')}, not empty."
    return column.text


def _order_words(column: Column, nouns: str) -> str:
    if (said := next((text for uses, text in column.words.items() if SORT in uses), None)) is not None:
        return said
    sentence = _capital(column.short)
    if column.kind in _TEXTS:
        sentence += ", by code point"
    return f"{sentence}; {nouns} without one come last." if column.nullable else f"{sentence}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _plural(model: type[Record], plural: str | None) -> str:
    return plural or str(model.__tablename__).replace("_", " ")
