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
from schema.declare import enum, shown
from schema.filters import DateFilter, DateTimeFilter, DecimalFilter, IDFilter, IntFilter, StringFilter
from storage.base import Record
from storage.columns import (
    CREATE,
    CURRENCY,
    DATE,
    EMAIL,
    FILTER,
    FLAG,
    JSON,
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
    facts_of,
    is_versioned,
)

T = TypeVar("T")

_TYPES: dict[Kind, Any] = {  # Any: a new type such as ID is no class
    LINE: str,
    TEXT: str,
    EMAIL: str,
    CURRENCY: str,
    MONEY: Decimal,
    DATE: date,
    MOMENT: datetime,
    WHOLE: int,
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
    CURRENCY: StringFilter,
    MONEY: DecimalFilter,
    DATE: DateFilter,
    MOMENT: DateTimeFilter,
    WHOLE: IntFilter,
    REFERENCE: IDFilter,
}
_TEXTS = (LINE, EMAIL, CURRENCY)


def record(model: type[Record], description: str, *, hidden: Collection[str] = ()) -> Callable[[type[T]], type[T]]:
    """An object type with a field for each column but the hidden ones, in the table's order."""

    def declare(cls: type[T]) -> type[T]:
        shown_columns = [fact for fact in facts_of(model) if fact.name not in hidden]
        _put_first(cls, {fact.name: (_or_null(_type(fact), fact.nullable), shown(fact.text)) for fact in shown_columns})
        return strawberry.type(cls, description=description)

    return declare


def record_input(model: type[Record], use: Use, description: str) -> Callable[[type[T]], type[T]]:
    """An input with the columns that may be written so. An update leaves out what stays, so it has no defaults."""

    def declare(cls: type[T]) -> type[T]:
        fields = {fact.name: _input_field(fact, use) for fact in facts_of(model) if use in fact.uses}
        if use is UPDATE and is_versioned(model):
            text = "Change only this version of the record."
            fields["expected_version"] = (int | None, shown(text, default=UNSET))
        _put_first(cls, fields)
        return strawberry.input(cls, description=description)

    return declare


def record_filter(
    model: type[Record], *, plural: str | None = None, combines: bool = True
) -> Callable[[type[T]], type[T]]:
    """A filter with a comparator for each column that lists filter by, after `id`.

    `and`, `or` and `not` come first, unless it says that it does not combine.
    """

    def declare(cls: type[T]) -> type[T]:
        name = cls.__name__
        combining: dict[str, tuple[Any, Any]] = {
            "and_": (f"list[{name}] | None", shown("All of these hold.", name="and", default=UNSET)),
            "or_": (f"list[{name}] | None", shown("At least one of these holds.", name="or", default=UNSET)),
            "not_": (f"{name} | None", shown("This does not hold.", name="not", default=UNSET)),
        }
        fields = combining if combines else {}
        fields["id"] = (IDFilter | None, shown("On the identifier.", default=UNSET))
        own = get_annotations(cls)
        for fact in facts_of(model):
            if FILTER in fact.uses:
                comparator = None if fact.name in own else _filter(fact) | None
                fields[fact.name] = (comparator, shown(_words(fact, FILTER), default=UNSET))
        _put_first(cls, fields)
        return strawberry.input(cls, description=f"Conditions on {_plural(model, plural)}, all of which must hold.")

    return declare


def record_order(
    model: type[Record], *, by: str = "created_at", plural: str | None = None, description: str | None = None
) -> Callable[[type[T]], type[T]]:
    """An order by each column that lists are sorted by, with its enum; by the column `by` unless told."""

    def declare(cls: type[T]) -> type[T]:
        nouns = _plural(model, plural)
        sortable = [fact for fact in facts_of(model) if SORT in fact.uses]
        field_enum = Enum(  # type: ignore[misc]  # its members are the table's
            f"{cls.__name__}Field", [(fact.name.upper(), fact.name) for fact in sortable], module=cls.__module__
        )
        texts = {fact.name.upper(): _order_words(fact, nouns) for fact in sortable}
        enum(field_enum, f"What {nouns} can be ordered by.", **texts)
        fields = {
            "field": (field_enum, shown("What to order by.", default=field_enum(by))),
            "direction": (SortDirection, shown("Which end comes first.", default=SortDirection.DESC)),
        }
        _put_first(cls, fields)
        usual = f"The order of {nouns}; createdAt descending, then id, break ties."
        return strawberry.input(cls, description=description or usual)

    return declare


def _put_first(cls: type, fields: dict[str, tuple[Any, Any]]) -> None:
    """Gives a class these fields before its own ones; where it has one of the same name, its own takes the place."""
    own = get_annotations(cls)
    annotations: dict[str, Any] = {}
    for name, (annotation, field) in fields.items():
        if name in own:
            annotations[name] = own.pop(name)
            continue
        annotations[name] = annotation
        setattr(cls, name, field)
    cls.__annotations__ = {**annotations, **own}


def _type(fact: Column) -> Any:
    return _TYPES[fact.kind] if isinstance(fact.kind, Kind) else fact.kind


def _or_null(kind: Any, nullable: bool) -> Any:
    return kind | None if nullable else kind


def _input_field(fact: Column, use: Use) -> tuple[Any, Any]:
    """A required column is required on creation; elsewhere what is left out takes its default, or stays."""
    text = _words(fact, use)
    if use is CREATE and fact.required:
        return _type(fact), shown(text)
    has_default = use is CREATE and not fact.nullable
    return _type(fact) | None, shown(text, default=fact.default if has_default else UNSET)


def _filter(fact: Column) -> Any:
    if not isinstance(fact.kind, Kind):
        raise TypeError(f"{fact.name} is a {fact.kind.__name__}, whose filter stands in the body of its class")
    return _FILTERS[fact.kind]


def _words(fact: Column, use: Use) -> str:
    """The sentence on a column where it is used so."""
    if (said := next((text for uses, text in fact.words.items() if use in uses), None)) is not None:
        return said
    if use is FILTER:
        return f"On {fact.short}."
    if fact.kind is MONEY:
        return f"{_capital(fact.short)}: not negative, under 10^15, at most four decimals."
    if fact.least == 1 and fact.kind in _TEXTS:
        return f"{fact.text.removesuffix('.')}, not empty."
    return fact.text


def _order_words(fact: Column, nouns: str) -> str:
    if (said := next((text for uses, text in fact.words.items() if SORT in uses), None)) is not None:
        return said
    sentence = _capital(fact.short)
    if fact.kind in _TEXTS:
        sentence += ", by code point"
    return f"{sentence}; {nouns} without one come last." if fact.nullable else f"{sentence}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _plural(model: type[Record], plural: str | None) -> str:
    return plural or str(model.__tablename__).replace("_", " ")
