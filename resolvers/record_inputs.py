"""Derives the inputs of a record type from its table (`storage/columns.py`)."""

from collections.abc import Callable, Collection
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field, StrictBool, StrictInt, create_model

from resolvers.inputs import Amount, CalendarDate, Currency, Email, Input, Line, Moment, Reference, RequiredLine, Text
from storage.base import Record
from storage.columns import (
    CREATE,
    CURRENCY,
    DATE,
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
    Column,
    Kind,
    Use,
    fact_of,
    facts_of,
    is_versioned,
)

M = TypeVar("M", bound=Input)

_TYPES: dict[Kind, Any] = {  # Any: a type with its constraints has no type of its own
    LINE: Line,
    TEXT: Text,
    EMAIL: Email,
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


def fields_of(model: type[Record], use: Use, *, only: Collection[str] | None = None) -> Callable[[type[M]], type[M]]:
    """Adds the columns with this use to an input class; a field in its body takes the place of the derived one.

    For UPDATE, where the table has a `version`, `expected_version` is added too, whatever `only` names. There every
    field takes null: `change_record` refuses it for the columns of `never_null`.

    `only` names those of a body whose fields are published and stay what they are when the table gets a column.
    mypy does not see what is derived: a field that code reads by name is declared in the body, the others come out of
    `given()`. Raises TypeError for a kind that no input is known for, and for a named column without the use.
    """

    def derive(cls: type[M]) -> type[M]:
        named = facts_of(model) if only is None else [_with_use(fact_of(model, name), use, model) for name in only]
        taken = [fact for fact in named if use in fact.uses and fact.name not in cls.model_fields]
        fields: dict[str, Any] = {fact.name: _field(fact, use) for fact in taken}  # Any: pydantic's pairs
        if use is UPDATE and is_versioned(model):
            fields["expected_version"] = (int | None, None)
        return create_model(cls.__name__, __base__=cls, __module__=cls.__module__, __doc__=cls.__doc__, **fields)

    return derive


def _with_use(fact: Column, use: Use, model: type[Record]) -> Column:
    if use not in fact.uses:
        raise TypeError(f"{model.__name__}.{fact.name} is named in an input to {use.name}, which is none of its uses")
    return fact


def never_null(model: type[Record]) -> tuple[str, ...]:
    """The columns that may be changed and that a record is never without."""
    return tuple(fact.name for fact in facts_of(model) if UPDATE in fact.uses and not fact.nullable)


def _field(fact: Column, use: Use) -> tuple[Any, Any]:
    """The type and the default of a field, as `create_model` takes them."""
    kind = _type(fact)
    if use is CREATE:
        if fact.required:
            return kind, ...
        return (kind | None, None) if fact.nullable else (kind, fact.default)
    return kind | None, None  # null passes here; change_record refuses it for the columns of never_null


def _type(fact: Column) -> Any:
    if not isinstance(fact.kind, Kind):
        return Annotated[fact.kind, AfterValidator(lambda value: value.value)]
    if fact.kind is LINE and fact.least == 1 and fact.most is None:
        return RequiredLine
    if fact.kind not in _TYPES:
        raise TypeError(f"no input is known for a {fact.kind.name}: declare {fact.name} in the input's body")
    kind = _TYPES[fact.kind]
    bounded = fact.least is not None or fact.most is not None
    if fact.kind is WHOLE and bounded:
        return Annotated[kind, Field(ge=fact.least, le=fact.most)]
    if bounded:
        return Annotated[kind, Field(min_length=fact.least, max_length=fact.most)]
    return kind
