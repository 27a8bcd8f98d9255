"""Pages of an ordered list: by keyset, whose cost does not grow with depth, or by offset, for legacy parity."""

import base64
import binascii
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

import orjson
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.types import Date, DateTime, Integer

from contract.criteria import EVERYTHING, Condition, Listing, Order, Page
from contract.errors import Problem, Problems
from storage.adapters.sqlalchemy import plain_type
from storage.base import Identifier, Money, as_uuid
from storage.prepared import ORGANIZATION
from storage.queries.bounding import bounded, bounded_together, within
from storage.queries.filtering import bind, is_storable_text, narrowed, one_of, these
from storage.queries.nouns import Key, Noun
from storage.sessions import TenantSession

_OFFSET_MAX = 2**62
"""Beyond any table, and within the integers of both databases."""


@dataclass(frozen=True, slots=True)
class Rows:
    """One page: its rows in the list's order, and whether the list goes on at either end."""

    rows: Sequence[Any]
    has_next: bool
    has_previous: bool


async def page(
    session: TenantSession,
    noun: Noun,
    listing: Listing,
    *,
    parent: Any = None,
    parent_id: str | None = None,
    is_bounded: bool = False,
) -> Rows:
    """One page of the noun's rows that meet the condition, of one parent's if one is named by its column.

    Raises Problems for a cursor that is none of this list, and ResponseTooLarge for rows that no answer could hold
    where they are bounded.
    """
    window, order = listing.page, listing.order or noun.default
    values: dict[str, Any] = {"parent_id": parent_id, "offset": min(window.offset or 0, _OFFSET_MAX)}
    condition = bind(noun, listing.condition, values)
    at = None if window.cursor is None else decode(window, noun, order)
    if at is not None:
        values |= {f"c{index}": value for index, value in enumerate(at)}
    found: list[Any] = []
    for phase in _phases(noun, order, at, reverse=window.backward):
        missing = window.size + 1 - len(found)
        if missing > 0:
            shape = _Shape(
                noun, condition, order, phase, window.backward, missing, parent, bool(window.offset), is_bounded
            )
            found += within(await session.fetch(shape.key, shape.build, **values))
    return _windowed(found, window)


@dataclass(frozen=True, slots=True)
class _Shape:
    """A page's statement without its values."""

    noun: Noun
    condition: Condition
    order: Order
    phase: str
    backward: bool
    limit: int
    parent: Any
    has_offset: bool
    is_bounded: bool

    @property
    def key(self) -> Hashable:
        order = (self.order.field, self.order.direction)
        flags = (self.phase, self.backward, self.limit, self.has_offset, self.is_bounded)
        return ("page", self.noun, self.condition, order, flags, _named(self.parent))

    def build(self) -> Select[Any]:
        noun = self.noun
        statement = narrowed(noun.select(ORGANIZATION), noun, self.condition)
        if self.parent is not None:
            statement = statement.where(self.parent == bindparam("parent_id", type_=Identifier))
        terms = noun.terms(self.order)
        statement = statement.where(_of_phase(noun, terms, self.phase, reverse=self.backward))
        statement = statement.order_by(*_order_by(noun, terms, reverse=self.backward))
        if self.has_offset:
            statement = statement.offset(bindparam("offset", type_=BigInteger))
        statement = statement.limit(literal_column(str(self.limit), Integer))
        if not self.is_bounded:
            return statement
        is_at_hand = self.condition == EVERYTHING and not self.has_offset
        return bounded(statement) if is_at_hand else bounded_together(statement)


def _windowed(found: Sequence[Any], window: Page) -> Rows:
    more = len(found) > window.size
    rows = found[: window.size]
    if window.backward:
        return Rows(rows[::-1], has_next=window.before is not None, has_previous=more)
    return Rows(rows, has_next=more, has_previous=window.after is not None or bool(window.offset))


async def count(session: TenantSession, noun: Noun, condition: Condition) -> int:
    """Counts the rows that meet the condition."""
    values: dict[str, Any] = {}
    shape = bind(noun, condition, values)

    def build() -> Select[Any]:
        return narrowed(noun.select(ORGANIZATION, func.count().label("total")), noun, shape)

    rows = await session.fetch(("count", noun.name, shape), build, **values)
    return int(rows[0].total)


async def pages_by_parent(
    session: TenantSession, noun: Noun, parent: Any, ids: Sequence[str], listing: Listing
) -> dict[str, Rows]:
    """The same page of each parent's children, counted from the start or behind a cursor, in one statement.

    Raises what `page` raises; bounded are the rows of all parents together.
    """
    if len(ids) == 1:
        return {ids[0]: await page(session, noun, listing, parent=parent, parent_id=ids[0], is_bounded=True)}
    values: dict[str, Any] = {"ids": list(ids)}
    shape = bind(noun, listing.condition, values)
    order, size = listing.order or noun.default, listing.page.size
    at = None if listing.page.cursor is None else decode(listing.page, noun, order)
    values |= {f"c{index}": value for index, value in enumerate(at or ())}
    phases = _phases(noun, order, at, reverse=False)

    def build() -> Select[Any]:
        children = noun.select(ORGANIZATION, beside=(parent.label("parent_id"), _rank(noun, parent, order)))
        behind = or_(*(_of_phase(noun, noun.terms(order), phase, reverse=False) for phase in phases))
        ranked = narrowed(children.where(one_of(parent, "ids"), behind), noun, shape).subquery()
        first = bounded_together(select(ranked).where(ranked.c.rank <= literal_column(str(size + 1))))
        return first.order_by(first.selected_columns.rank)

    key = ("children", noun, _named(parent), shape, (order.field, order.direction), phases, size)
    found: dict[str, list[Any]] = {i: [] for i in ids}
    for row in within(await session.fetch(key, build, **values)):
        found[row.parent_id].append(row)
    return {i: _windowed(rows, listing.page) for i, rows in found.items()}


async def counts_by_parent(
    session: TenantSession, noun: Noun, parent: Any, ids: Sequence[str], condition: Condition
) -> dict[str, int]:
    """Counts the children of each parent that meet the condition."""
    values: dict[str, Any] = {"ids": list(ids)}
    shape = bind(noun, condition, values)

    def build() -> Select[Any]:
        counted = noun.select(ORGANIZATION, parent.label("parent_id"), func.count().label("total"))
        return narrowed(counted.where(one_of(parent, "ids")), noun, shape).group_by(parent)

    rows = await session.fetch(("counts", noun.name, _named(parent), shape), build, **values)
    return dict.fromkeys(ids, 0) | {r.parent_id: r.total for r in rows}


async def by_ids(session: TenantSession, noun: Noun, ids: Sequence[str], *, is_bounded: bool = False) -> dict[str, Any]:
    """The rows with these identifiers, which are canonical, by identifier; those that are missing are left out.

    Raises ResponseTooLarge for rows that no answer could hold where they are bounded.
    """
    alone = len(ids) == 1
    is_bounded = is_bounded and not alone
    build, key = partial(_by_ids, noun, alone, is_bounded), ("ids", noun, alone, is_bounded)
    rows = within(await session.fetch(key, build, ids=list(ids), id=ids[0] if ids else None))
    return {row.id: row for row in rows}


def _by_ids(noun: Noun, alone: bool, is_bounded: bool) -> Select[Any]:
    statement = noun.select(ORGANIZATION).where(these(noun.entity.id, alone))
    return bounded(statement) if is_bounded else statement


def _named(parent: Any) -> str | None:
    """The parent's column as a part of a key."""
    return None if parent is None else str(parent)


def _rank(noun: Noun, parent: Any, order: Order | None) -> Any:
    return func.row_number().over(partition_by=parent, order_by=_order_by(noun, noun.terms(order))).label("rank")


def _order_by(noun: Noun, terms: Sequence[tuple[Key, bool]], *, reverse: bool = False) -> list[Any]:
    """The order's terms; nulls come last, and so first when the list is read backwards (specification 4.1)."""
    clauses = []
    for key, descending in terms:
        column = noun.column(key.name)
        clause = column.desc() if descending is not reverse else column.asc()
        if key.nullable:
            clause = clause.nulls_first() if reverse else clause.nulls_last()
        clauses.append(clause)
    return clauses


def _phases(noun: Noun, order: Order, at: Sequence[Any] | None, *, reverse: bool) -> Sequence[str]:
    """The ranges of the order's index that lie behind the cursor, to be read one after the other.

    `all` without a cursor. The first term may be null, and nulls are a range of their own at the end: `beyond` is what
    follows among the values, `values` all of them, `nulls` all nulls, `beyond_null` those that follow a null.
    """
    if at is None:
        return ("all",)
    if not noun.orders[order.field][0].nullable:
        return ("beyond",)
    if at[0] is None:
        return ("beyond_null", "values") if reverse else ("beyond_null",)
    return ("beyond",) if reverse else ("beyond", "nulls")


def _of_phase(noun: Noun, terms: Sequence[tuple[Key, bool]], phase: str, *, reverse: bool) -> ColumnElement[bool]:
    directions = [
        (noun.column(key.name), descending is not reverse, bindparam(f"c{index}", type_=noun.column(key.name).type))
        for index, (key, descending) in enumerate(terms)
    ]
    first = directions[0][0]
    match phase:
        case "beyond":
            return _beyond(directions)
        case "values":
            return and_(first.is_not(None))
        case "nulls":
            return and_(first.is_(None))
        case "beyond_null":
            return and_(first.is_(None), _beyond(directions[1:]))
    return true()


def _beyond(directions: Sequence[tuple[Any, bool, Any]]) -> ColumnElement[bool]:
    """Lexicographically behind the cursor; the bound on the first column is what an index can start from."""
    column, descending, value = directions[0]
    strictly: ColumnElement[bool] = column < value if descending else column > value
    if len(directions) == 1:
        return strictly
    bound: ColumnElement[bool] = column <= value if descending else column >= value
    return and_(bound, or_(strictly, _beyond(directions[1:])))


def cursor(noun: Noun, order: Order | None, row: Any) -> str:
    """The opaque cursor of a row in this order."""
    order = order or noun.default
    values = [getattr(row, key.name) for key in noun.orders[order.field]]
    document = orjson.dumps([order.field, order.direction[0], *values], default=str, option=orjson.OPT_UTC_Z)
    return base64.urlsafe_b64encode(document).rstrip(b"=").decode()


def decode(window: Page, noun: Noun, order: Order | None) -> list[Any]:
    """The order's values at the cursor. Raises Problems where it is none of this list in this order."""
    order = order or noun.default
    argument = "before" if window.backward else "after"
    text = window.cursor or ""
    try:
        document = orjson.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
        field, direction, *values = document
        keys = noun.orders[order.field]
        if (field, direction) != (order.field, order.direction[0]) or len(values) != len(keys):
            raise ValueError(text)
        return [_parsed(noun.column(key.name).type, key, value) for key, value in zip(keys, values, strict=True)]
    except (ValueError, TypeError, KeyError, InvalidOperation, OverflowError, binascii.Error):
        raise Problems([Problem((argument,), "is not a cursor of this list in this order", "cursor")]) from None


def _parsed(kind: Any, key: Key, value: Any) -> Any:
    if value is None and key.nullable:
        return None
    if isinstance(kind, Integer):
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _OFFSET_MAX:
            return value
        raise ValueError(value)
    if not isinstance(value, str) or not is_storable_text(value):
        raise ValueError(value)
    return _parser(kind)(value)


def _parser(kind: Any) -> Callable[[str], Any]:
    if isinstance(kind, Identifier):
        return _identifier
    if isinstance(kind, Money):
        return _money
    if isinstance(kind, Date):
        return date.fromisoformat
    if isinstance(plain_type(kind), DateTime):
        return _moment
    return str


def _identifier(text: str) -> str:
    canonical = as_uuid(text)
    if canonical is None:
        raise ValueError(text)
    return canonical


def _money(text: str) -> Decimal:
    value = Decimal(text)
    if not 0 <= value < 10**15:
        raise ValueError(text)
    return value


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(text)
    return moment.astimezone(UTC)
