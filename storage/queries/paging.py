"""Pages of an ordered list: by keyset, whose cost does not grow with depth, or by offset, for legacy parity."""

import base64
import binascii
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Generic, TypeVar

import orjson
from sqlalchemy import BigInteger, bindparam, func
from sqlalchemy.types import Date, DateTime, Integer

from contract.criteria import Condition, ListQuery, Order, PageWindow
from contract.errors import Problem, Problems
from storage.adapters.sqlalchemy import plain_type
from storage.base import Identifier, Money, as_uuid
from storage.expressions import AnyColumn, AnySelect, AnyType, Values
from storage.queries.along_tags import AlongTags, Columns
from storage.queries.dialects import in_index_order, literal_number, unseen
from storage.queries.filtered_pages import FilteredPage
from storage.queries.filtering import (
    ALWAYS,
    bind,
    id_matches,
    is_storable_text,
    narrowed,
    unseen_along,
)
from storage.queries.listable import Key, Listable, Terms
from storage.queries.page_order import Place, of_phase, order_by, phases_of, seen
from storage.queries.row_size_limit import check_size_limit, with_size_limit, with_size_limit_window
from storage.queries.shared_rows import has_shared_rows, with_shared_rows, without_shared_rows
from storage.queries.stored_order import as_stored
from storage.rows import Row
from storage.statements import ORG_PARAM
from storage.tenancy.sessions import TenantSession

RowT = TypeVar("RowT", bound=Row, covariant=True)

CREATED = "created_at"
"""The order of lists by when their records were made."""
_OFFSET_MAX = 2**62
"""Beyond any table, and within the integers of both databases."""


@dataclass(frozen=True, slots=True)
class PageRows(Generic[RowT]):
    """One page: its rows in the list's order, and whether the list goes on at either end."""

    rows: Sequence[RowT]
    has_next: bool
    has_previous: bool


async def page(
    session: TenantSession,
    listable: Listable[RowT],
    listing: ListQuery,
    *,
    parent: AnyColumn = None,
    parent_id: str | None = None,
    is_bounded: bool = False,
) -> PageRows[RowT]:
    """One page of the listable's rows that meet the condition, of one parent's if one is named by its column.

    Raises Problems for a cursor that is none of this list, and ResponseTooLarge for rows that no answer could hold
    where they are bounded.
    """
    window, order = listing.page, listing.order or listable.default
    values: Values = {"parent_id": parent_id, "offset": min(window.offset or 0, _OFFSET_MAX)}
    bound = bind(listable, listing.condition, values)
    # Which plan is good depends on the values of a condition; without one the order's index is, whatever comes.
    in_order = unseen_along(bound, listable.orders[order.field][0].name)
    condition = bound if in_order is None else in_order
    has_shared = has_shared_rows(listable, session.dialect, window.size)
    is_fenced = session.dialect == "postgresql"
    flags = (parent, bool(window.offset), is_bounded, in_order is not None, has_shared, is_fenced)
    at = None if window.cursor is None else decode(window, listable, order)
    if at is not None:
        values |= {f"c{index}": value for index, value in enumerate(at)}
    found: list[RowT] = []
    for phase in phases_of(listable, order, at, reverse=window.backward):
        missing = window.size + 1 - len(found)
        if missing > 0:
            shape = _PageStatement(listable, condition, order, phase, window.backward, missing, *flags)
            found += check_size_limit(await session.fetch(shape.key, shape.build, **values))
    return windowed(found, window)


@dataclass(slots=True, eq=False)
class _PageStatement:
    """A page's statement without its values. Not frozen: to make one would take three times as long, for each page."""

    listable: Listable[Row]
    condition: Condition
    order: Order
    phase: str
    backward: bool
    limit: int
    parent: AnyColumn
    has_offset: bool
    is_bounded: bool
    is_in_order: bool
    """Whether the order's index is the way to the page: there is no condition, or one on the order's own column."""
    has_shared: bool
    is_fenced: bool
    """Whether the links of each tag are read by a select of their own: on PostgreSQL (decision 820)."""

    @property
    def key(self) -> Hashable:
        order = (self.order.field, self.order.direction)
        flags = (self.phase, self.backward, self.limit, self.has_offset, self.is_bounded, self.has_shared)
        return ("page", self.listable, self.condition, order, flags, named(self.parent))

    def build(self) -> AnySelect:
        if self.has_shared:
            return with_shared_rows(self._page(without_shared_rows(self.listable)), self.listable)
        return self._page(self.listable)

    def _page(self, listable: Listable[Row]) -> AnySelect:
        terms = listable.terms(self.order)
        within = partial(self._within, terms=terms, place=unseen) if self.is_fenced else None
        # In other orders whatever has the tags is read and sorted, and the joins would be dearer than a list of it.
        along = AlongTags(listable, self.condition if self.order.field == CREATED else ALWAYS, within)
        if not (along or self.is_in_order or self.is_fenced or self.parent is not None):
            found = FilteredPage(
                listable, self.condition, terms, self.phase, self.backward, self.limit, self.has_offset
            )
            if found.is_wanted:
                statement = found.statement()
                return with_size_limit_window(statement) if self.is_bounded else statement
        statement = listable.select(ORG_PARAM)
        statement = along.narrowed(statement) if along else narrowed(statement, listable, self.condition)
        place: Place = unseen if self.is_in_order or along else seen
        if self.parent is not None:
            statement = statement.where(self.parent == place(bindparam("parent_id", type_=Identifier())))
        if along.is_fenced:
            statement = statement.order_by(*order_by(along.columns, terms, reverse=self.backward))
        else:
            statement = self._within(statement, along.columns, terms=terms, place=place)
        # A first page skips none: for the number of the organization's rows alone the planner would plan it each time.
        if self.has_offset or (self.is_in_order and self.phase == "all" and self.parent is None):
            statement = statement.offset(place(bindparam("offset", type_=BigInteger())))
        number = literal_number(self.limit)
        statement = statement.limit(in_index_order(number) if self.is_in_order else number)
        if not self.is_bounded:
            return statement
        is_at_hand = self.is_in_order and not self.has_offset
        return with_size_limit(statement) if is_at_hand else with_size_limit_window(statement)

    def _within(self, statement: AnySelect, columns: Columns, *, terms: Terms, place: Place) -> AnySelect:
        """What lies behind the cursor of a select of these columns, in the list's order."""
        statement = statement.where(of_phase(columns, terms, self.phase, place, reverse=self.backward))
        return statement.order_by(*order_by(columns, terms, reverse=self.backward))


def windowed(found: Sequence[RowT], window: PageWindow) -> PageRows[RowT]:
    """The page of a window, of rows that were read with one more than it has."""
    more = len(found) > window.size
    rows = found[: window.size]
    if window.backward:
        return PageRows(rows[::-1], has_next=window.before is not None, has_previous=more)
    return PageRows(rows, has_next=more, has_previous=window.after is not None or bool(window.offset))


async def count(session: TenantSession, listable: Listable[Row], condition: Condition) -> int:
    """Counts the rows that meet the condition."""
    values: Values = {}
    shape = bind(listable, condition, values)

    def build() -> AnySelect:
        statement = listable.select(ORG_PARAM, func.count().label("total"))
        return as_stored(narrowed(statement, listable, shape), listable.entity)

    rows = await session.fetch(("count", listable.name, shape), build, **values)
    return int(rows[0].total)


async def by_ids(
    session: TenantSession, listable: Listable[RowT], ids: Sequence[str], *, is_bounded: bool = False
) -> dict[str, RowT]:
    """The rows with these identifiers, which are canonical, by identifier; those that are missing are left out.

    Raises ResponseTooLarge for rows that no answer could hold where they are bounded.
    """
    alone = len(ids) == 1
    is_bounded = is_bounded and not alone
    build, key = partial(_by_ids, listable, alone, is_bounded), ("ids", listable, alone, is_bounded)
    rows = check_size_limit(await session.fetch(key, build, ids=list(ids), id=ids[0] if ids else None))
    return {row.id: row for row in rows}


def _by_ids(listable: Listable[Row], alone: bool, is_bounded: bool) -> AnySelect:
    statement = listable.select(ORG_PARAM).where(id_matches(listable.entity.id, alone))
    return with_size_limit(statement) if is_bounded else statement


def named(parent: AnyColumn) -> str | None:
    """The parent's column as a part of a key."""
    return None if parent is None else str(parent)


def cursor(listable: Listable[Row], order: Order | None, row: Row) -> str:
    """The opaque cursor of a row in this order."""
    order = order or listable.default
    values = [getattr(row, key.name) for key in listable.orders[order.field]]
    document = orjson.dumps([order.field, order.direction[0], *values], default=str, option=orjson.OPT_UTC_Z)
    return base64.urlsafe_b64encode(document).rstrip(b"=").decode()


def decode(window: PageWindow, listable: Listable[Row], order: Order | None) -> list[Any]:  # Any: of the keys' types
    """The order's values at the cursor. Raises Problems where it is none of this list in this order."""
    order = order or listable.default
    argument = "before" if window.backward else "after"
    text = window.cursor or ""
    try:
        document = orjson.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
        field, direction, *values = document
        keys = listable.orders[order.field]
        if (field, direction) != (order.field, order.direction[0]) or len(values) != len(keys):
            raise ValueError(text)
        return [_parsed(listable.column(key.name).type, key, value) for key, value in zip(keys, values, strict=True)]
    except (ValueError, TypeError, KeyError, InvalidOperation, OverflowError, binascii.Error):
        raise Problems([Problem((argument,), "is not a cursor of this list in this order", "cursor")]) from None


def _parsed(kind: AnyType, key: Key, value: object) -> object:
    if value is None and key.nullable:
        return None
    if isinstance(kind, Integer):
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _OFFSET_MAX:
            return value
        raise ValueError(value)
    if not isinstance(value, str) or not is_storable_text(value):
        raise ValueError(value)
    return _parser(kind)(value)


def _parser(kind: AnyType) -> Callable[[str], object]:
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
