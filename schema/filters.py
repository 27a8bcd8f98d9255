"""Filter inputs, and their translation into conditions."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import strawberry
from strawberry import UNSET

from contract.criteria import All, Any_, Compare, Condition, Not, Op, Order, Related
from contract.errors import Path, Problem, Problems
from contract.limits import FILTER_CONDITIONS_MAX, FILTER_DEPTH_MAX, FILTER_LIST_MAX
from contract.vocabulary import SortDirection, StringMatchMode
from schema.adapters.strawberry import to_camel_case
from schema.declare import enum, field

enum(
    SortDirection,
    "Which end of the order comes first.",
    ASC="Smallest, earliest or alphabetically first.",
    DESC="Largest, latest or alphabetically last.",
)


enum(
    StringMatchMode,
    "How texts are compared.",
    EXACT="By code point.",
    IGNORE_CASE="Letter case and width aside, in every script, the same on both databases.",
)


class Comparator:
    """Marks the inputs that compare one field with values."""


CONDITIONS = "conditions"
"""The attribute of a filter's class with functions, by the names of fields that are no comparators, which make the
conditions that their values state."""


_EQ = "Equals the value; null asks for rows without one."
_NEQ = "Differs from the value; rows without one differ from every value."
_IN = "Is one of these."
_NIN = "Is none of these; rows without a value are none of them."
_GT, _GTE = "Is greater or later than the value.", "Is the value, or greater or later."
_LT, _LTE = "Is less or earlier than the value.", "Is the value, or less or earlier."
_NULL = "Whether the field is empty."


@strawberry.input(description="Conditions on an identifier, all of which must hold.")
class IDFilter(Comparator):
    eq: strawberry.ID | None = field(_EQ, default=UNSET)
    neq: strawberry.ID | None = field(_NEQ, default=UNSET)
    in_: list[strawberry.ID] | None = field(_IN, name="in", default=UNSET)
    nin: list[strawberry.ID] | None = field(_NIN, default=UNSET)
    is_null: bool | None = field(_NULL, default=UNSET)


@strawberry.input(
    description="Conditions on a text, all of which must hold; letter case counts unless `mode` says not."
)
class StringFilter(Comparator):
    eq: str | None = field(_EQ, default=UNSET)
    neq: str | None = field(_NEQ, default=UNSET)
    in_: list[str] | None = field(_IN, name="in", default=UNSET)
    nin: list[str] | None = field(_NIN, default=UNSET)
    contains: str | None = field("Has the value somewhere in it.", default=UNSET)
    starts_with: str | None = field("Begins with the value.", default=UNSET)
    is_null: bool | None = field(_NULL, default=UNSET)
    mode: StringMatchMode | None = field(
        "How eq, neq, in, nin, contains and startsWith of this filter compare.", default=StringMatchMode.EXACT
    )


@strawberry.input(description="Conditions on a list of texts, all of which must hold; letter case does not count.")
class StringListFilter(Comparator):
    any: list[str] | None = field("Has at least one of these; an empty list matches nothing.", default=UNSET)
    all: list[str] | None = field("Has every one of these; an empty list matches everything.", default=UNSET)
    none: list[str] | None = field("Has not one of these; an empty list matches everything.", default=UNSET)
    is_empty: bool | None = field("Whether the list is empty.", default=UNSET)


@strawberry.input(description="Conditions on a whole number, all of which must hold.")
class IntFilter(Comparator):
    eq: int | None = field(_EQ, default=UNSET)
    neq: int | None = field(_NEQ, default=UNSET)
    gt: int | None = field(_GT, default=UNSET)
    gte: int | None = field(_GTE, default=UNSET)
    lt: int | None = field(_LT, default=UNSET)
    lte: int | None = field(_LTE, default=UNSET)
    is_null: bool | None = field(_NULL, default=UNSET)


@strawberry.input(description="Conditions on an exact number, all of which must hold.")
class DecimalFilter(Comparator):
    eq: Decimal | None = field(_EQ, default=UNSET)
    neq: Decimal | None = field(_NEQ, default=UNSET)
    gt: Decimal | None = field(_GT, default=UNSET)
    gte: Decimal | None = field(_GTE, default=UNSET)
    lt: Decimal | None = field(_LT, default=UNSET)
    lte: Decimal | None = field(_LTE, default=UNSET)
    is_null: bool | None = field(_NULL, default=UNSET)


@strawberry.input(description="Conditions on a day, all of which must hold.")
class DateFilter(Comparator):
    eq: date | None = field(_EQ, default=UNSET)
    neq: date | None = field(_NEQ, default=UNSET)
    gt: date | None = field(_GT, default=UNSET)
    gte: date | None = field(_GTE, default=UNSET)
    lt: date | None = field(_LT, default=UNSET)
    lte: date | None = field(_LTE, default=UNSET)
    is_null: bool | None = field(_NULL, default=UNSET)


@strawberry.input(description="Conditions on a moment, all of which must hold.")
class DateTimeFilter(Comparator):
    eq: datetime | None = field(_EQ, default=UNSET)
    neq: datetime | None = field(_NEQ, default=UNSET)
    gt: datetime | None = field(_GT, default=UNSET)
    gte: datetime | None = field(_GTE, default=UNSET)
    lt: datetime | None = field(_LT, default=UNSET)
    lte: datetime | None = field(_LTE, default=UNSET)
    is_null: bool | None = field(_NULL, default=UNSET)


TOO_MANY_CONDITIONS = (f"must not have more than {FILTER_CONDITIONS_MAX} conditions in all", "filter_conditions")
"""The words and the type of the problem that such a filter is."""


_STATED = "_stated"
_AT: Path = ("filter",)


def condition_of(filter: object) -> Condition:
    """The condition that a filter input states. Raises Problems for a null where a value is needed, or too much.

    The filter is counted before anything is made of it (decision 126). What it states is kept with it, since below
    rows it is asked for each of them.
    """
    if filter is None or filter is UNSET:
        return All()
    kept = vars(filter)
    if _STATED not in kept:
        try:
            _check(filter, _AT, 0)
            kept[_STATED] = All(tuple(_parts(filter, _AT)))
        except Problems as error:
            kept[_STATED] = error.problems
    stated: All | Sequence[Problem] = kept[_STATED]
    if isinstance(stated, All):
        return stated
    raise Problems(stated)


def _check(filter: object, at: Path, conditions: int) -> int:
    """Counts the conditions there are with those of this filter: each comparison, and each filter within another."""
    if len(at) > FILTER_DEPTH_MAX:
        raise Problems([Problem(at[:1], f"must not nest deeper than {FILTER_DEPTH_MAX} levels", "filter_depth")])
    for name, value in _members(filter):
        here = (*at, name)
        if isinstance(value, Comparator):
            conditions += len([n for n, inner in vars(value).items() if inner is not UNSET and n != MODE])
            _check_count(conditions, at)
            continue
        parts = value if isinstance(value, list) else [value]
        _bounded(parts, here)
        conditions += len(parts)
        _check_count(conditions, at)
        if name in getattr(filter, CONDITIONS, ()):
            continue
        for part in parts:
            conditions = _check(part, here, conditions)
    return conditions


def _check_count(conditions: int, at: Path) -> None:
    if conditions > FILTER_CONDITIONS_MAX:
        raise Problems([Problem(at[:1], *TOO_MANY_CONDITIONS)])


def _members(filter: object) -> list[tuple[str, Any]]:  # Any: comparators, filters and lists of them
    """Reads what the filter says, by the schema's names in the service's spelling, in the order of its fields.

    They are read off the instance: its class would be asked for all of its fields again for each filter of a request.
    """
    given = vars(filter).items()
    return [(n.rstrip("_"), v) for n, v in given if v is not UNSET and v is not None and n is not _STATED]


def _parts(filter: object, at: Path) -> list[Condition]:
    parts: list[Condition] = []
    for name, value in _members(filter):
        here = (*at, name)
        if isinstance(value, Comparator):
            parts += comparisons(name, value, here)
        elif name in ("and", "or"):
            inner = tuple([All(tuple(_parts(part, here))) for part in value])
            parts.append(All(inner) if name == "and" else Any_(inner))
        elif (stated := getattr(filter, CONDITIONS, {}).get(name)) is not None:
            parts.append(stated(value))
        elif name == "not":
            parts.append(Not(All(tuple(_parts(value, here)))))
        else:
            parts.append(Related(name, All(tuple(_parts(value, here)))))
    return parts


_OPS = {op.value: op for op in Op} | {"in_": Op.IN}
"""The comparisons by the names of the comparators' fields, of which Python has one for itself."""
_OF_MANY = frozenset({Op.IN, Op.NIN, Op.ANY, Op.ALL, Op.NONE})
MODE = "mode"
"""The field of a comparator that says how the others compare."""


def comparisons(column: str, comparator: Comparator, at: Path) -> list[Condition]:
    """Makes the conditions of a comparator. Raises Problems for a null where a value is needed, or too many values."""
    found: list[Condition] = []
    is_folded = getattr(comparator, MODE, None) is StringMatchMode.IGNORE_CASE
    for name, value in vars(comparator).items():
        if value is UNSET or name == MODE:
            continue
        op = _OPS[name]
        if value is None and op not in (Op.EQ, Op.NEQ):
            raise Problems([Problem((*at, op.value), "must not be null", "null")])
        if op in _OF_MANY:
            _bounded(value, (*at, op.value))
            value = tuple([_plain(item) for item in value])
        found.append(Compare(column, op, _plain(value), is_folded))
    return found


def _bounded(values: Sequence[object], at: Path) -> None:
    if len(values) > FILTER_LIST_MAX:
        raise Problems([Problem(at, f"must not have more than {FILTER_LIST_MAX} items", "too_long")])


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else value


def order_of(order: Any) -> Order | None:  # Any: its fields are derived (`record_order`)
    """The order that an order input names; None leaves the list at its own."""
    return None if order is None else Order(order.field.value, order.direction)


def camel(path: Path) -> list[str]:
    """A path into the arguments as the client writes it."""
    return [to_camel_case(str(part)) for part in path]
