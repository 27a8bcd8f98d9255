"""Conditions as SQL, with the same answer on both databases.

Every condition is true or false, never unknown: a null is unequal to every value, and `not` is the complement
(decision 8). Text compares by code point, letter case included (decision 9).
"""

from collections.abc import Callable
from decimal import ROUND_FLOOR, Decimal
from typing import Any

from sqlalchemy import Boolean, ColumnElement, and_, exists, false, func, not_, or_, true
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import aliased
from sqlalchemy.sql.functions import FunctionElement

from contract.criteria import All, Any_, Compare, Condition, Not, Op, Related
from contract.limits import MONEY_BELOW, MONEY_DECIMALS
from storage.base import Identifier, Money, as_uuid
from storage.queries.nouns import Noun


class _position(FunctionElement[int]):
    """Where the second text starts in the first, from 1; 0 where it does not."""

    inherit_cache = True
    name = "position_of"


@compiles(_position, "postgresql")
def _strpos(element: Any, compiler: Any, **kw: Any) -> str:
    return f"strpos({compiler.process(element.clauses, **kw)})"


@compiles(_position, "sqlite")
def _instr(element: Any, compiler: Any, **kw: Any) -> str:
    return f"instr({compiler.process(element.clauses, **kw)})"


def where(noun: Noun, condition: Condition, entity: Any = None) -> ColumnElement[bool]:
    """The condition over the noun's entity, or over an alias of it."""
    entity = noun.entity if entity is None else entity
    match condition:
        case All(parts):
            return and_(true(), *(where(noun, part, entity) for part in parts))
        case Any_(parts):
            return or_(false(), *(where(noun, part, entity) for part in parts))
        case Not(part):
            return not_(func.coalesce(where(noun, part, entity), false()))
        case Related(link, inner):
            column, target = noun.links[link]
            other = aliased(target.entity)
            return exists().where(
                other.org_id == entity.org_id, other.id == getattr(entity, column), where(target, inner, other)
            )
        case Compare(field, op, value):
            return _compare(getattr(entity, field), op, value)


def _compare(column: Any, op: Op, value: Any) -> ColumnElement[bool]:
    missing: ColumnElement[bool] = column.is_(None)
    if op is Op.IS_NULL or value is None:
        return missing if value or op is Op.EQ else not_(missing)
    if op in (Op.IN, Op.NIN):
        kept = _storable(column, value)
        inside: ColumnElement[bool] = column.in_(kept) if kept else false()
        return inside if op is Op.IN else or_(missing, not_(inside))
    if isinstance(column.type, Money):
        return _compare_money(column, op, value)
    stored = _storable(column, [value])
    if not stored:
        return _nothing(op)
    return _COMPARATORS[op](column, stored[0])


def _nothing(op: Op) -> ColumnElement[bool]:
    """What a comparison with a value that no row can hold comes to."""
    return true() if op is Op.NEQ else false()


def _storable(column: Any, values: list[Any]) -> list[Any]:
    """The values that a row could hold: identifiers in canonical form, text that both databases can store."""
    if isinstance(column.type, Identifier):
        return [canonical for v in values if (canonical := as_uuid(v)) is not None]
    if isinstance(column.type, Money):
        return [v for v in values if 0 <= v < MONEY_BELOW and v == _floor(v)]
    return [v for v in values if not (isinstance(v, str) and not is_storable_text(v))]


def is_storable_text(value: str) -> bool:
    """Whether both databases can hold the text: no NUL, no lone surrogate."""
    if "\x00" in value:
        return False
    return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)


def _floor(value: Decimal) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-MONEY_DECIMALS), rounding=ROUND_FLOOR) if value < MONEY_BELOW else value


def _compare_money(column: Any, op: Op, value: Decimal) -> ColumnElement[bool]:
    """Compare with any number, also one that the column could not hold, without rounding it."""
    if not value.is_finite() or value >= MONEY_BELOW or value < 0:
        above = op in (Op.LT, Op.LTE) if value > 0 else op in (Op.GT, Op.GTE)
        return column.is_not(None) if above else _nothing(op)
    floor = _floor(value)
    if floor == value:
        return _COMPARATORS[op](column, value)
    if op in (Op.GT, Op.GTE):
        return _COMPARATORS[Op.GT](column, floor)
    if op in (Op.LT, Op.LTE):
        return _COMPARATORS[Op.LTE](column, floor)
    return _nothing(op)


def _differs(column: Any, value: Any) -> ColumnElement[bool]:
    clause: ColumnElement[bool] = column.is_distinct_from(value)
    return clause


_COMPARATORS: dict[Op, Callable[[Any, Any], ColumnElement[bool]]] = {
    Op.EQ: lambda column, value: column == value,
    Op.NEQ: _differs,
    Op.GT: lambda column, value: column > value,
    Op.GTE: lambda column, value: column >= value,
    Op.LT: lambda column, value: column < value,
    Op.LTE: lambda column, value: column <= value,
    Op.CONTAINS: lambda column, value: _position(column, value).op(">", return_type=Boolean())(0),
    Op.STARTS_WITH: lambda column, value: func.substr(column, 1, len(value)) == value,
}
