"""Pages of an ordered list: by keyset, whose cost does not grow with depth, or by offset, for legacy parity."""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Row, Select, and_, func, or_, select
from sqlalchemy.types import Date, DateTime, Integer

from contract.criteria import Condition, Listing, Order, Page
from contract.errors import Problem, Problems
from storage.base import Identifier, Money, as_uuid
from storage.database import TenantSession
from storage.queries.filtering import is_storable_text, where
from storage.queries.nouns import Key, Noun

_OFFSET_MAX = 2**62
"""Beyond any table, and within the integers of both databases."""


@dataclass(frozen=True, slots=True)
class Rows:
    """One page: its rows in the list's order, and whether the list goes on at either end."""

    rows: Sequence[Row[Any]]
    has_next: bool
    has_previous: bool


async def page(session: TenantSession, noun: Noun, listing: Listing, *extra: ColumnElement[bool]) -> Rows:
    """One page of the noun's rows that meet the condition and the extra clauses. Raises Problems for a bad cursor."""
    statement = noun.select(session.org_id).where(where(noun, listing.condition), *extra)
    return await page_of(session, noun, statement, listing)


async def page_of(session: TenantSession, noun: Noun, statement: Select[Any], listing: Listing) -> Rows:
    """One page of a select over the noun."""
    window = listing.page
    terms = noun.terms(listing.order)
    size = window.size
    ordered = statement.order_by(*_order_by(noun, terms, reverse=window.backward)).limit(size + 1)
    if window.cursor is None:
        if window.offset:
            ordered = ordered.offset(min(window.offset, _OFFSET_MAX))
        found = list(await session.rows(ordered))
    else:
        values = decode(window, noun, listing.order)
        found = []
        for clause in _phases(noun, terms, values, reverse=window.backward):
            missing = size + 1 - len(found)
            if missing > 0:
                found += await session.rows(ordered.where(clause).limit(missing))
    return _windowed(found, window)


def _windowed(found: Sequence[Row[Any]], window: Page) -> Rows:
    more = len(found) > window.size
    rows = found[: window.size]
    if window.backward:
        return Rows(rows[::-1], has_next=window.before is not None, has_previous=more)
    return Rows(rows, has_next=more, has_previous=window.after is not None or bool(window.offset))


async def count(session: TenantSession, noun: Noun, condition: Condition, *extra: ColumnElement[bool]) -> int:
    """How many rows meet the condition."""
    statement = noun.select(session.org_id, func.count()).where(where(noun, condition), *extra)
    return int(await session.scalar(statement))


async def pages_by_parent(
    session: TenantSession, noun: Noun, parent: Any, ids: Sequence[str], listing: Listing
) -> dict[str, Rows]:
    """The same page of each parent's children, in one statement; with a cursor, or one parent, one statement each."""
    if len(ids) == 1 or listing.page.cursor is not None:
        return {i: await page(session, noun, listing, parent == i) for i in ids}
    ranked = (
        noun.select(session.org_id, *noun.columns, parent.label("parent_id"), _rank(noun, parent, listing.order))
        .where(parent.in_(padded(ids)), where(noun, listing.condition))
        .subquery()
    )
    inner = select(ranked).where(ranked.c.rank <= listing.page.size + 1).order_by(ranked.c.rank)
    found: dict[str, list[Row[Any]]] = {i: [] for i in ids}
    for row in await session.rows(inner):
        found[row.parent_id].append(row)
    return {i: _windowed(rows, listing.page) for i, rows in found.items()}


async def counts_by_parent(
    session: TenantSession, noun: Noun, parent: Any, ids: Sequence[str], condition: Condition
) -> dict[str, int]:
    """How many children of each parent meet the condition."""
    statement = (
        noun.select(session.org_id, parent.label("parent_id"), func.count().label("total"))
        .where(parent.in_(padded(ids)), where(noun, condition))
        .group_by(parent)
    )
    return dict.fromkeys(ids, 0) | {r.parent_id: r.total for r in await session.rows(statement)}


async def by_ids(session: TenantSession, noun: Noun, ids: Sequence[str]) -> dict[str, Row[Any]]:
    """The rows with these identifiers, by identifier; those that are missing are left out."""
    known = [canonical for i in ids if (canonical := as_uuid(i)) is not None]
    if not known:
        return {}
    return {r.id: r for r in await session.rows(noun.select(session.org_id).where(noun.entity.id.in_(padded(known))))}


def padded(ids: Sequence[str]) -> list[str]:
    """The same set at a length that is a power of two, so that few statement texts serve every size."""
    length = 1 << (len(ids) - 1).bit_length()
    return [*ids, *[ids[-1]] * (length - len(ids))]


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


def _phases(
    noun: Noun, terms: Sequence[tuple[Key, bool]], values: Sequence[Any], *, reverse: bool
) -> list[ColumnElement[bool]]:
    """What lies behind the cursor, as clauses to be read one after the other, each a range of the order's index."""
    directions = [(noun.column(key.name), descending is not reverse) for key, descending in terms]
    first, nullable = directions[0][0], terms[0][0].nullable
    if not nullable:
        return [_beyond(directions, values)]
    nulls: list[ColumnElement[bool]] = [first.is_(None)]
    rest = [first.is_not(None)]
    if values[0] is not None:
        ahead = [_beyond(directions, values)]
        return ahead if reverse else [*ahead, *nulls]
    ahead = [and_(first.is_(None), _beyond(directions[1:], values[1:]))]
    return [*ahead, *rest] if reverse else ahead


def _beyond(directions: Sequence[tuple[Any, bool]], values: Sequence[Any]) -> ColumnElement[bool]:
    """Lexicographically behind the values; the bound on the first column is what an index can start from."""
    (column, descending), value = directions[0], values[0]
    strictly = column < value if descending else column > value
    if len(directions) == 1:
        result: ColumnElement[bool] = strictly
        return result
    bound = column <= value if descending else column >= value
    return and_(bound, or_(strictly, _beyond(directions[1:], values[1:])))


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
    if isinstance(getattr(kind, "impl_instance", None), DateTime):  # the type of the tables wraps the plain one
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
