"""Derives the inputs of a record type from its table (`storage/columns.py`)."""

from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field, StrictBool, StrictInt, StrictStr, create_model

from resolvers.shared.inputs import (
    Amount,
    CalendarDate,
    Currency,
    Domain,
    Email,
    Input,
    Line,
    Moment,
    Reference,
    RequiredLine,
    Text,
    storable,
)
from storage.base import Record
from storage.columns import (
    CREATE,
    CURRENCY,
    DATE,
    DOMAIN,
    EMAIL,
    FLAG,
    LINE,
    MOMENT,
    MONEY,
    NAMES,
    REFERENCE,
    TEXT,
    UPDATE,
    WHOLE,
    WRITE,
    Column,
    Kind,
    Use,
    column_of,
    columns_of,
    is_versioned,
)
from storage.new_rows import model_named

M = TypeVar("M", bound=Input)

_TYPES: dict[Kind, Any] = {  # Any: a type with its constraints has no type of its own
    LINE: Line,
    TEXT: Text,
    EMAIL: Email,
    DOMAIN: Domain,
    CURRENCY: Currency,
    MONEY: Amount,
    DATE: CalendarDate,
    MOMENT: Moment,
    WHOLE: StrictInt,
    FLAG: StrictBool,
    NAMES: list[Line],
    REFERENCE: Reference,
}
"""The type that a value of each kind has to be. What is missing here is declared by the input that takes it."""


def fields_of(
    model: type[Record], use: Use, *, only: Collection[str] | None = None, of_one: bool = True
) -> Callable[[type[M]], type[M]]:
    """Adds the columns with this use to an input class; a field in its body takes the place of the derived one.

    For UPDATE, where the table has a `version`, `expected_version` is added too, whatever `only` names. There every
    field takes null: `change_record` refuses it for the columns of `never_cleared`. An input that is not `of_one`
    record that the caller has seen names no version.

    `only` names those of a body whose fields are published and stay what they are when the table gets a column.
    mypy does not see what is derived: a field that code reads by name is declared in the body, the others come out of
    `given()`. Raises TypeError for a kind that no input is known for, and for a named column without the use.
    """

    def derive(cls: type[M]) -> type[M]:
        named = columns_of(model) if only is None else [_with_use(column_of(model, name), use, model) for name in only]
        taken = [column for column in named if use in column.uses and column.name not in cls.model_fields]
        fields: dict[str, Any] = {column.name: _field(column, use) for column in taken}  # Any: pydantic's pairs
        if use is UPDATE and of_one and is_versioned(model):
            fields["expected_version"] = (int | None, None)
        made = create_model(cls.__name__, __base__=cls, __module__=cls.__module__, __doc__=cls.__doc__, **fields)
        made.of_table, made.is_change = model, use is UPDATE
        return made

    return derive


@cache
def references_of(model: type[Record]) -> Mapping[str, type[Record]]:
    """The columns that a caller may point at another record, with the table that each leads to.

    There are as many cached values as tables.
    """
    return {
        column.name: model_named(column.to)
        for column in columns_of(model)
        if column.to is not None and column.uses & WRITE
    }


def _with_use(column: Column, use: Use, model: type[Record]) -> Column:
    if use not in column.uses:
        raise TypeError(f"{model.__name__}.{column.name} is named in an input to {use.name}, which is none of its uses")
    return column


def never_cleared(model: type[Record]) -> tuple[str, ...]:
    """The columns that may be changed and that a record is never without."""
    return tuple(column.name for column in columns_of(model) if UPDATE in column.uses and not column.nullable)


def _field(column: Column, use: Use) -> tuple[Any, Any]:  # Any: pydantic's pairs
    """The type and the default of a field, as `create_model` takes them."""
    kind = _type(column)
    if use is CREATE:
        if column.required_on_create:
            return kind, ...
        return (kind | None, None) if column.nullable else (kind, column.default)
    return kind | None, None  # null passes here; change_record refuses it for the columns of never_cleared


def _type(column: Column) -> Any:  # Any: as in _TYPES
    if not isinstance(column.kind, Kind):
        return Annotated[column.kind, AfterValidator(lambda value: value.value)]
    if column.kind is LINE and column.least == 1 and column.most is None:
        return RequiredLine
    if column.kind not in _TYPES:
        raise TypeError(f"no input is known for a {column.kind.name}: declare {column.name} in the input's body")
    kind = _TYPES[column.kind]
    bounded = column.least is not None or column.most is not None
    if column.kind is WHOLE and bounded:
        return Annotated[kind, Field(ge=column.least, le=column.most)]
    if bounded:  # before the validator, behind which a text would be counted in items
        return Annotated[StrictStr, Field(min_length=column.least, max_length=column.most), AfterValidator(storable)]
    return kind
