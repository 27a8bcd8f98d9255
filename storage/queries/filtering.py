"""Conditions as SQL, with the same answer on both databases.

Every condition is true or false, never unknown: a null is unequal to every value, and `not` is the complement
(decision 8). Text compares by code point, letter case included (decision 9), unless it is asked to compare folded: then
what the value folds to is compared with the folded copy of the column (decision 237).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Decimal
from functools import cache
from typing import Any, ClassVar

from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Integer,
    Text,
    and_,
    bindparam,
    false,
    func,
    not_,
    or_,
    true,
)
from sqlalchemy.orm import aliased
from sqlalchemy.types import JSON

from contract.criteria import All, Any_, AttachedTo, Compare, Condition, HasTag, Not, Op, Related, TagMatch, UsedOn
from contract.domains import kept_domain
from contract.limits import MONEY_BELOW, MONEY_DECIMALS, TAGS_MAX
from contract.normal_form import folded
from contract.vocabulary import TaggedKind
from storage.base import DomainText, Identifier, Money, PlainText, as_uuid, folded_copies
from storage.expressions import AnyColumn, AnyEntity, AnySelect, AnyType, Values
from storage.queries.dialects import AnyParameter, Dialectal, unseen
from storage.queries.list_conditions import (
    TextList,
    any_of,
    attached_to,
    has_all,
    has_any,
    has_item,
    is_empty_list,
    tagged,
    tagged_with_each,
    tagged_with_few,
    used_on,
)
from storage.queries.listable import Listable
from storage.rows import Row


def in_list(column: AnyColumn, name: str) -> ColumnElement[bool]:
    """Says whether the column's value is in the list that is bound by this name."""
    return any_of(column, unseen(bindparam(name, type_=TextList())))


def id_matches(column: AnyColumn, alone: bool) -> ColumnElement[bool]:
    """Says whether the column is the identifier bound as `id`, if it is asked for alone, or else one of those in `ids`.

    PostgreSQL reads a list in the longer way, since it does not know how long it is.
    """
    return column == bindparam("id", type_=column.type) if alone else in_list(column, "ids")


class _position(Dialectal[int]):
    """Finds where the second text starts in the first, from 1; 0 where it does not."""

    inherit_cache = True
    name = "position_of"
    templates: ClassVar = {"postgresql": "strpos({}, {})", "sqlite": "instr({}, {})"}


def contains(text: AnyColumn, value: AnyColumn) -> ColumnElement[bool]:
    """Says whether the text has the value somewhere in it."""
    clause: ColumnElement[bool] = _position(text, value).op(">", return_type=Boolean())(0)
    return clause


@dataclass(frozen=True, slots=True)
class Slot:
    """A value of a condition, by the name of its bound parameter."""

    name: str
    kind: AnyType = field(compare=False)
    is_seen: bool = True

    @property
    def parameter(self) -> AnyParameter:
        """The bound parameter, which the planner sees or not."""
        parameter: BindParameter[object] = bindparam(self.name, type_=self.kind)
        return parameter if self.is_seen else unseen(parameter)


NEVER, ALWAYS = Any_(), All()


def unseen_along(shape: Condition, name: str) -> Condition | None:
    """Hides the values of a shape that does nothing but bound this column; None for any other shape (decision 197).

    It is for the column that a list is ordered by, whose index is the way to the page, whatever the bounds are.
    """
    match shape:
        case Compare(column, Op.LT | Op.LTE | Op.GT | Op.GTE, Slot() as slot) if column == name:
            return Compare(column, shape.op, Slot(slot.name, slot.kind, is_seen=False), shape.is_folded)
        case All(parts):
            hidden = [unseen_along(part, name) for part in parts]
            return None if None in hidden else All(tuple(part for part in hidden if part is not None))
        case _:
            return None


def bind(listable: Listable[Row], condition: Condition, values: Values) -> Condition:
    """The condition's shape: each value that a row could hold moves into `values` and leaves its slot behind.

    What cannot hold for any row becomes NEVER, what must hold ALWAYS. Equal shapes have equal SQL.
    """
    match condition:
        case All(parts):
            return All(tuple(bind(listable, part, values) for part in parts))
        case Any_(parts):
            return Any_(tuple(bind(listable, part, values) for part in parts))
        case Not(part):
            return Not(bind(listable, part, values))
        case Related(link, inner):
            return Related(link, bind(listable.links[link][1], inner, values))
        case HasTag():
            return condition  # a shape already
        case UsedOn(kinds):
            return UsedOn(_slot(TextList(), list(kinds), values))
        case AttachedTo(record_id):
            canonical = as_uuid(record_id)
            return NEVER if canonical is None else AttachedTo(_slot(Identifier(), canonical, values))
        case Compare(name, op, value, is_folded):
            if name == "tags" and listable.tagged is not None and not _is_of_lead(listable, op):
                return _bind_tags(op, value, listable.tagged, values)
            if (stated := listable.computed.get(name)) is not None:
                return bind(listable, stated(op, value), values)
            kind = _type_of(listable.entity, name)
            if op in _OF_LISTS or (is_folded and op is not Op.IS_NULL and value is not None):
                return _bind_folded(folded_copies(listable.entity)[name], kind, op, value, values)
            return _bind(name, kind, op, value, values)


@cache
def _type_of(entity: AnyEntity, name: str) -> AnyType:
    """The type of a column, which takes SQLAlchemy as long to find as all the rest of a condition."""
    kind: AnyType = getattr(entity, name).type
    return kind


def _bind(name: str, kind: AnyType, op: Op, value: Any, values: Values) -> Condition:  # Any: of the type
    if op is Op.IS_NULL or value is None:
        return Compare(name, Op.IS_NULL, bool(value) or op is Op.EQ)
    if op in (Op.IN, Op.NIN):
        kept = [stored for item in value if (stored := _stored(kind, item, op)) is not None]
        if not kept:
            return NEVER if op is Op.IN else ALWAYS
        return Compare(name, op, _slot(TextList(), kept, values))
    if isinstance(kind, Money):
        return _bind_money(name, kind, op, value, values)
    stored = _stored(kind, value, op)
    if stored is None:
        return _nothing(op)
    return Compare(name, op, _slot(Text() if isinstance(kind, JSON) else kind, stored, values))


_OF_LISTS = frozenset({Op.ANY, Op.ALL, Op.NONE, Op.IS_EMPTY})


def _bind_folded(name: str, kind: AnyType, op: Op, value: Any, values: Values) -> Condition:  # Any: of the type
    """Compare the folded copy of this name with what the value folds to (decision 237)."""
    if op is Op.IS_EMPTY:
        return Compare(name, op, bool(value))
    items = value if op in _OF_LISTS or op in (Op.IN, Op.NIN) else [value]
    known = [_stored(kind, item, op) for item in items]
    kept = list(dict.fromkeys(folded(text) for text in known if isinstance(text, str)))
    if not kept or (op is Op.ALL and None in known):
        holds = op in (Op.NEQ, Op.NIN, Op.NONE) or (op is Op.ALL and not known)
        return ALWAYS if holds else NEVER
    if op in _OF_LISTS or op in (Op.IN, Op.NIN):
        return Compare(name, op, _slot(TextList(), kept, values))
    return Compare(name, op, _slot(PlainText, kept[0], values))


_APART = 5
"""The number of tags by which records are found that have each of them: of more, few records are left to look at."""


def _is_of_lead(listable: Listable[Row], op: Op) -> bool:
    """Says whether a comparison is with the very names of a lead's tags, which stand with the lead (decision 243)."""
    return listable.tagged is TaggedKind.LEAD and op is Op.CONTAINS


def _bind_tags(op: Op, value: Any, kind: TaggedKind, values: Values) -> Condition:  # Any: a name, several, or a flag
    """Compare the tags of a record by what their names fold to; `contains` by the very name (decision 242).

    Of several that a record has to have, the first are conditions of their own, by which records are found; that it has
    as many of all as there are is one more, however many they are.
    """
    if op is Op.IS_EMPTY:
        return HasTag(kind, None) if not value else Not(HasTag(kind, None))
    if op is Op.CONTAINS:
        known = is_storable_text(value)
        return HasTag(kind, _slot(PlainText, value, values), TagMatch.EXACT) if known else NEVER
    names = list(dict.fromkeys(folded(name) for name in value if is_storable_text(name)))
    if op is Op.ALL:
        if len(names) < len({folded(name) for name in value}):
            return NEVER
        if len(names) > TAGS_MAX:
            return NEVER
        # Unseen, since each is a tag or none, and to plan so many joins takes longer than most of the lists.
        apart = tuple(replace(_slot(PlainText, name, values), is_seen=False) for name in names[:_APART])
        if len(apart) == 1:
            return HasTag(kind, apart[0], TagMatch.ONE)
        parts = [HasTag(kind, apart, TagMatch.FEW)] if apart else []
        if len(names) > _APART:
            number = _slot(Integer(), len(names), values)
            parts.append(HasTag(kind, _slot(TextList(), names, values), TagMatch.EACH, number))
        return All(tuple(parts))
    if not names:
        return NEVER if op is Op.ANY else ALWAYS
    has_any_of = HasTag(kind, _slot(TextList(), names, values))
    return has_any_of if op is Op.ANY else Not(has_any_of)


def _slot(kind: AnyType, value: object, values: Values) -> Slot:
    name = f"v{len(values)}"
    values[name] = value
    return Slot(name, kind)


def _nothing(op: Op) -> Condition:
    """Says what a comparison with a value that no row can hold comes to."""
    return ALWAYS if op is Op.NEQ else NEVER


def _stored(kind: AnyType, value: object, op: Op) -> object:
    """The value as a row could hold it, identifiers and domains in their one form; None where no row can.

    Of a domain a part may be looked for, which has no form but its letter case.
    """
    if isinstance(kind, Identifier):
        return as_uuid(value)
    if isinstance(kind, DomainText) and isinstance(value, str):
        value = value.lower() if op in (Op.CONTAINS, Op.STARTS_WITH) else kept_domain(value)
    return None if isinstance(value, str) and not is_storable_text(value) else value


def _bind_money(name: str, kind: AnyType, op: Op, value: Decimal, values: Values) -> Condition:
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


def narrowed(statement: AnySelect, listable: Listable[Row], condition: Condition) -> AnySelect:
    """A select of the listable's rows, of those alone for which a shape holds that `bind` made."""
    statement, clause = with_condition(statement, listable, condition)
    return statement.where(clause)


def with_condition(
    statement: AnySelect, listable: Listable[Row], condition: Condition
) -> tuple[AnySelect, ColumnElement[bool]]:
    """A select of the listable's rows, joined with the links that a condition goes by, and the condition of a row.

    Each link that the condition goes by is joined once, however many conditions are on the linked rows: a link leads
    to one row or none, so rows stay as many as they are. A sub-query for each condition would be asked for each row.
    """
    links = _Links(listable)
    clause = _where(condition, links)
    for other, joined in links.joins():
        statement = statement.outerjoin(other, joined)
    return statement, clause


class _Links:
    """The rows that a condition speaks of: the listable's, and those that its links lead to, by the way there."""

    def __init__(
        self, listable: Listable[Row], entity: AnyEntity = None, joined: ColumnElement[bool] | None = None
    ) -> None:
        self.entity = listable.entity if entity is None else entity
        self._listable = listable
        self._joined = joined
        self._inner: dict[str, _Links] = {}

    def through(self, link: str) -> "_Links":
        """Finds the links behind a link."""
        found = self._inner.get(link)
        if found is None:
            column, target = self._listable.links[link]
            other, here = aliased(target.entity), self.entity
            joined = and_(other.org_id == here.org_id, other.id == getattr(here, column))
            found = self._inner[link] = _Links(target, other, joined)
        return found

    def joins(self) -> Iterator[tuple[AnyEntity, ColumnElement[bool] | None]]:
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
        case Not(HasTag() as part):
            return not_(_where(part, links))  # which is never unknown
        case Not(part):
            return not_(func.coalesce(_where(part, links), false()))
        case Related(link, inner):
            behind = links.through(link)
            return and_(behind.entity.id.is_not(None), _where(inner, behind))
        case HasTag(kind, names, TagMatch.FEW):
            return tagged_with_few(links.entity, kind, [name.parameter for name in names])
        case HasTag(kind, names, match, number):
            of_names = None if names is None else names.parameter
            clause: ColumnElement[bool] = (
                tagged(links.entity, kind, of_names, match)
                if number is None
                else tagged_with_each(links.entity, kind, of_names, number.parameter)
            )
            return clause
        case UsedOn(kinds):
            return used_on(links.entity, kinds.parameter)
        case AttachedTo(record_id):
            return attached_to(links.entity, record_id.parameter)
        case Compare(name, op, value):
            return compared(getattr(links.entity, name), op, value)


def compared(column: AnyColumn, op: Op, value: Any) -> ColumnElement[bool]:  # Any: a slot, or whether it is null
    """The comparison of a column with what a shape holds."""
    missing: ColumnElement[bool] = column.is_(None)
    if op is Op.IS_NULL:
        return missing if value else not_(missing)
    if op is Op.IN:
        return any_of(column, value.parameter)
    if op is Op.NIN:
        return or_(missing, not_(any_of(column, value.parameter)))
    if op is Op.IS_EMPTY:
        clause = is_empty_list(column)
        return clause if value else not_(clause)
    if op is Op.ANY:
        return has_any(column, value.parameter)
    if op is Op.ALL:
        return has_all(column, value.parameter)
    if op is Op.NONE:
        return not_(has_any(column, value.parameter))
    if isinstance(column.type, JSON):
        return has_item(column, value.parameter)
    return _COMPARATORS[op](column, value.parameter)


def is_storable_text(value: str) -> bool:
    """Says whether both databases can hold the text: no NUL, no lone surrogate."""
    if "\x00" in value:
        return False
    return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)


def _differs(column: AnyColumn, value: BindParameter[object]) -> ColumnElement[bool]:
    clause: ColumnElement[bool] = column.is_distinct_from(value)
    return clause


_COMPARATORS: dict[Op, Callable[[AnyColumn, BindParameter[object]], ColumnElement[bool]]] = {
    Op.EQ: lambda column, value: column == value,
    Op.NEQ: _differs,
    Op.GT: lambda column, value: column > value,
    Op.GTE: lambda column, value: column >= value,
    Op.LT: lambda column, value: column < value,
    Op.LTE: lambda column, value: column <= value,
    Op.CONTAINS: contains,
    Op.STARTS_WITH: lambda column, value: func.substr(column, 1, func.length(value)) == value,
}
