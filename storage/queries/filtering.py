"""Conditions as SQL, with the same answer on both databases.

Every condition is true or false, never unknown: a null is unequal to every value, and `not` is the complement
(decision 8). Text compares by code point, letter case included (decision 9).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from functools import cache
from typing import Any, ClassVar

import orjson
from sqlalchemy import Boolean, ColumnElement, Select, Text, and_, bindparam, false, func, not_, or_, true
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import aliased
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import JSON, TypeDecorator, TypeEngine

from contract.criteria import All, Any_, Compare, Condition, Not, Op, Related
from contract.limits import MONEY_BELOW, MONEY_DECIMALS
from storage.base import Identifier, Money, as_uuid
from storage.queries.dialects import Dialectal
from storage.queries.nouns import Noun


class TextList(TypeDecorator[list[str]]):
    """A list of texts as one parameter: an array on PostgreSQL, JSON on SQLite."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The array type where there is one."""
        return dialect.type_descriptor(ARRAY(Text()) if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: list[str] | None, dialect: Dialect) -> Any:
        """The list as the driver takes it."""
        return orjson.dumps(value).decode() if dialect.name == "sqlite" else value


class any_of(FunctionElement[bool]):
    """Whether a column's value is in a list that is one parameter, so that its length is no part of the text."""

    type = Boolean()
    inherit_cache = True
    name = "any_of"

    def self_group(self, against: Any = None) -> Any:
        """Stays as it is: compared with 1, as SQLite's truth values are, no index would find it."""
        return self


@compiles(any_of, "postgresql")
def _any(element: Any, compiler: Any, **kw: Any) -> str:
    column, values = element.clauses
    suffix = "::UUID[]" if isinstance(column.type, Identifier) else ""
    return f"({compiler.process(column, **kw)} = ANY ({compiler.process(values, **kw)}{suffix}))"


@compiles(any_of, "sqlite")
def _in(element: Any, compiler: Any, **kw: Any) -> str:
    column, values = (compiler.process(part, **kw) for part in element.clauses)
    return f"({column} IN (SELECT value FROM json_each({values})))"  # noqa: S608  # compiled parts


def one_of(column: Any, name: str) -> ColumnElement[bool]:
    """Whether the column's value is in the list that is bound by this name."""
    return any_of(column, bindparam(name, type_=TextList()))


def these(column: Any, alone: bool) -> ColumnElement[bool]:
    """Whether the column is the identifier bound as `id`, if it is asked for alone, or else one of those in `ids`.

    For a list PostgreSQL makes a new plan each time, since it does not know how long it is.
    """
    return column == bindparam("id", type_=Identifier) if alone else one_of(column, "ids")


class _position(Dialectal[int]):
    """Finds where the second text starts in the first, from 1; 0 where it does not."""

    inherit_cache = True
    name = "position_of"
    templates: ClassVar = {"postgresql": "strpos({}, {})", "sqlite": "instr({}, {})"}


class _has_item(Dialectal[bool]):
    """Whether a JSON list of texts has the text as one of its items."""

    type = Boolean()
    inherit_cache = True
    name = "has_item"
    templates: ClassVar = {
        "postgresql": "(CAST({0} AS JSONB) @> to_jsonb(CAST({1} AS TEXT)))",
        "sqlite": "({1} IN (SELECT value FROM json_each({0})))",
    }

    def self_group(self, against: Any = None) -> Any:
        """Stays as it is, like `any_of`."""
        return self


def contains(text: Any, value: Any) -> ColumnElement[bool]:
    """Whether the text has the value somewhere in it."""
    clause: ColumnElement[bool] = _position(text, value).op(">", return_type=Boolean())(0)
    return clause


@dataclass(frozen=True, slots=True)
class Slot:
    """A value of a condition, by the name of its bound parameter."""

    name: str
    kind: TypeEngine[Any] = field(compare=False)

    @property
    def parameter(self) -> Any:
        """The bound parameter."""
        return bindparam(self.name, type_=self.kind)


NEVER, ALWAYS = Any_(), All()


def bind(noun: Noun, condition: Condition, values: dict[str, Any]) -> Condition:
    """The condition's shape: each value that a row could hold moves into `values` and leaves its slot behind.

    What cannot hold for any row becomes NEVER, what must hold ALWAYS. Equal shapes have equal SQL.
    """
    match condition:
        case All(parts):
            return All(tuple(bind(noun, part, values) for part in parts))
        case Any_(parts):
            return Any_(tuple(bind(noun, part, values) for part in parts))
        case Not(part):
            return Not(bind(noun, part, values))
        case Related(link, inner):
            return Related(link, bind(noun.links[link][1], inner, values))
        case Compare(name, op, value):
            return _bind(name, _type_of(noun.entity, name), op, value, values)


@cache
def _type_of(entity: Any, name: str) -> Any:
    """The type of a column, which takes SQLAlchemy as long to find as all the rest of a condition."""
    return getattr(entity, name).type


def _bind(name: str, kind: Any, op: Op, value: Any, values: dict[str, Any]) -> Condition:
    if op is Op.IS_NULL or value is None:
        return Compare(name, Op.IS_NULL, bool(value) or op is Op.EQ)
    if op in (Op.IN, Op.NIN):
        kept = [stored for item in value if (stored := _stored(kind, item)) is not None]
        if not kept:
            return NEVER if op is Op.IN else ALWAYS
        return Compare(name, op, _slot(TextList(), kept, values))
    if isinstance(kind, Money):
        return _bind_money(name, kind, op, value, values)
    stored = _stored(kind, value)
    if stored is None:
        return _nothing(op)
    return Compare(name, op, _slot(Text() if isinstance(kind, JSON) else kind, stored, values))


def _slot(kind: Any, value: Any, values: dict[str, Any]) -> Slot:
    name = f"v{len(values)}"
    values[name] = value
    return Slot(name, kind)


def _nothing(op: Op) -> Condition:
    """Says what a comparison with a value that no row can hold comes to."""
    return ALWAYS if op is Op.NEQ else NEVER


def _stored(kind: Any, value: Any) -> Any:
    """The value as a row could hold it, identifiers in canonical form; None where no row can."""
    if isinstance(kind, Identifier):
        return as_uuid(value)
    return None if isinstance(value, str) and not is_storable_text(value) else value


def _bind_money(name: str, kind: Any, op: Op, value: Decimal, values: dict[str, Any]) -> Condition:
    """Compare with any number, also one that the column could not hold, without rounding it."""
    if not 0 <= value < MONEY_BELOW:
        holds = op in (Op.LT, Op.LTE) if value > 0 else op in (Op.GT, Op.GTE)
        return Compare(name, Op.IS_NULL, False) if holds else _nothing(op)
    floor = value.quantize(Decimal(1).scaleb(-MONEY_DECIMALS), rounding=ROUND_FLOOR)
    if floor != value:
        if op in (Op.EQ, Op.NEQ):
            return _nothing(op)
        op = Op.GT if op in (Op.GT, Op.GTE) else Op.LTE
    return Compare(name, op, _slot(kind, floor, values))


def narrowed(statement: Select[Any], noun: Noun, condition: Condition) -> Select[Any]:
    """A select of the noun's rows, of those alone for which a shape holds that `bind` made.

    Each link that the condition goes by is joined once, however many conditions are on the linked rows: a link leads
    to one row or none, so rows stay as many as they are. A sub-query for each condition would be asked for each row.
    """
    links = _Links(noun)
    clause = _where(condition, links)
    for other, joined in links.joins():
        statement = statement.outerjoin(other, joined)
    return statement.where(clause)


class _Links:
    """The rows that a condition speaks of: the noun's, and those that its links lead to, by the way there."""

    def __init__(self, noun: Noun, entity: Any = None, joined: Any = None) -> None:
        self.entity = noun.entity if entity is None else entity
        self._noun = noun
        self._joined = joined
        self._inner: dict[str, _Links] = {}

    def through(self, link: str) -> "_Links":
        """Finds the links behind a link."""
        found = self._inner.get(link)
        if found is None:
            column, target = self._noun.links[link]
            other, here = aliased(target.entity), self.entity
            joined = and_(other.org_id == here.org_id, other.id == getattr(here, column))
            found = self._inner[link] = _Links(target, other, joined)
        return found

    def joins(self) -> Iterator[tuple[Any, Any]]:
        """Lists what is to be joined, in order, each with its condition."""
        for inner in self._inner.values():
            yield inner.entity, inner._joined
            yield from inner.joins()


def _where(condition: Condition, links: _Links) -> ColumnElement[bool]:
    match condition:
        case All(parts):
            return and_(true(), *(_where(part, links) for part in parts))
        case Any_(parts):
            return or_(false(), *(_where(part, links) for part in parts))
        case Not(part):
            return not_(func.coalesce(_where(part, links), false()))
        case Related(link, inner):
            behind = links.through(link)
            return and_(behind.entity.id.is_not(None), _where(inner, behind))
        case Compare(name, op, value):
            return _compare(getattr(links.entity, name), op, value)


def _compare(column: Any, op: Op, value: Any) -> ColumnElement[bool]:
    missing: ColumnElement[bool] = column.is_(None)
    if op is Op.IS_NULL:
        return missing if value else not_(missing)
    if op is Op.IN:
        return any_of(column, value.parameter)
    if op is Op.NIN:
        return or_(missing, not_(any_of(column, value.parameter)))
    if isinstance(column.type, JSON):
        return _has_item(column, value.parameter)
    return _COMPARATORS[op](column, value.parameter)


def is_storable_text(value: str) -> bool:
    """Whether both databases can hold the text: no NUL, no lone surrogate."""
    if "\x00" in value:
        return False
    return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)


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
    Op.CONTAINS: contains,
    Op.STARTS_WITH: lambda column, value: func.substr(column, 1, func.length(value)) == value,
}
