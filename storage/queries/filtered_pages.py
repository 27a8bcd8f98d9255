"""Pages of filtered lists on SQLite: the next rows of the list are looked at first (decision 1180).

SQLite goes by one index, and takes a condition to leave few rows. So it would find all open deals by an index of their
status, read each with all that it links to, and sort them for the twenty newest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Table,
    bindparam,
    case,
    func,
    not_,
    or_,
    select,
    union_all,
)

from contract.criteria import All, Compare, Condition, Op
from storage.expressions import AnyColumn, AnySelect
from storage.queries.along_tags import Columns, columns_of
from storage.queries.dialects import in_index_order, literal_number, unsought
from storage.queries.filtering import narrowed, with_condition
from storage.queries.listable import Listable, Terms
from storage.queries.page_order import bound, of_phase, order_by, seen
from storage.rows import Row
from storage.statements import ORG_PARAM

NEXT: Final = 50
"""The rows that are looked at in the list's order for each of a page, before others are sought by another index."""


@dataclass(frozen=True, slots=True)
class FilteredPage:
    """A page of the rows behind a cursor that meet a condition.

    What many rows meet is met by some of the next rows in the list's order, which its own index leads to. What few
    rows meet is found by the condition's index: of these as many are read as are missing.
    """

    listable: Listable[Row]
    condition: Condition
    terms: Terms
    phase: str
    backward: bool
    limit: int
    has_offset: bool

    @property
    def is_wanted(self) -> bool:
        """Whether an index may lead SQLite to far more rows than a page has, while another has the list's order."""
        indexes, key = _indexes(self.listable.entity.__table__), self.terms[0][0]
        if self.listable.joins or key.nullable or key.name not in indexes.of_all:
            return False
        equal = {part.field for part in _compared(self.condition) if part.op is Op.EQ} - {key.name}
        is_few = any(name in indexes.of_few or (name, key.name) in indexes.in_order for name in equal)
        return not (is_few or equal.isdisjoint(indexes.of_all))

    def statement(self) -> AnySelect:
        """The page's rows in the list's order."""
        own, offset = self.listable.column("id"), bindparam("offset", type_=BigInteger())
        number: AnyColumn = literal_number(self.limit) + offset if self.has_offset else literal_number(self.limit)
        seam = self._seam()
        plain, hidden = columns_of(self.listable), self._in_no_index_order
        near, meets = with_condition(self._behind(plain), self.listable, self.condition)
        # Only the list's index is left to SQLite, and the limit is no reason to sort (decision 1144).
        near = self._ordered(near.where(*self._before(seam), unsought(meets)), plain)
        met = near.limit(in_index_order(number)).cte("met")
        others = narrowed(self._behind(hidden), self.listable, self.condition).where(self._from(seam))
        missing = number - select(func.count()).select_from(met).scalar_subquery()
        # Where the next rows are all there are, no other is looked at.
        missing = case((_of(seam.c.value).is_(None), literal_number(0)), else_=missing)
        rest = self._ordered(others, hidden).limit(missing).subquery()
        found = union_all(select(met.c.id), select(rest.c.id)).subquery()
        rows = self._ordered(self.listable.select(ORG_PARAM).where(own.in_(select(found.c.id))), hidden)
        return rows.limit(literal_number(self.limit)).offset(offset if self.has_offset else None)

    def _seam(self) -> CTE:
        """Finds where the next rows end: the `value` of the first that is none of them, if there is one; the `last`.

        They are the next of the table, whatever of it the list has: only so its index is enough.
        """
        column, is_descending = self._first
        behind = select(column).where(self.listable.entity.org_id == ORG_PARAM, self._phase(columns_of(self.listable)))
        behind = behind.limit(literal_number(1))
        forward, back = (column.desc(), column.asc()) if is_descending else (column.asc(), column.desc())
        beyond = behind.order_by(forward).offset(literal_number(NEXT * self.limit))
        last = behind.order_by(back)
        return select(beyond.scalar_subquery().label("value"), last.scalar_subquery().label("last")).cte("seam")

    def _before(self, seam: CTE) -> Sequence[ColumnElement[bool]]:
        """Says that a row is one of the next: a bound for the index, and that none has the seam's own value."""
        column, is_descending = self._first
        value, end = _of(seam.c.value), _of(func.coalesce(seam.c.value, seam.c.last))
        return bound(column, not is_descending, end), or_(not_(bound(column, is_descending, value)), value.is_(None))

    def _from(self, seam: CTE) -> ColumnElement[bool]:
        """Says that a row is none of the next, which is no bound for an index: the condition's is to be taken."""
        column, is_descending = self._first
        return bound(unsought(column), is_descending, _of(seam.c.value))

    @property
    def _first(self) -> tuple[AnyColumn, bool]:
        """The column that the list is ordered by first, and whether the page goes down it."""
        key, is_descending = self.terms[0]
        return self.listable.column(key.name), is_descending is not self.backward

    def _behind(self, columns: Columns) -> AnySelect:
        """The identifiers of what lies behind the cursor by these columns, whether it meets the condition or not."""
        return self.listable.select(ORG_PARAM, self.listable.column("id")).where(self._phase(columns))

    def _phase(self, columns: Columns) -> ColumnElement[bool]:
        return of_phase(columns, self.terms, self.phase, seen, reverse=self.backward)

    def _ordered(self, statement: AnySelect, columns: Columns) -> AnySelect:
        return statement.order_by(*order_by(columns, self.terms, reverse=self.backward))

    def _in_no_index_order(self, name: str) -> list[AnyColumn]:
        """The column for an order that no index is taken for."""
        return [unsought(self.listable.column(name))]


def _of(column: AnyColumn) -> AnyColumn:
    """The value of the only row that the column's source has."""
    return select(column).scalar_subquery()


def _compared(condition: Condition) -> Iterator[Compare]:
    """Yields the comparisons that each row has to meet."""
    match condition:
        case Compare():
            yield condition
        case All(parts):
            for part in parts:
                yield from _compared(part)


class _Indexes(NamedTuple):
    """Says what the indexes of a table lead to, by the column that they have behind the organization."""

    of_all: frozenset[str]
    """The columns of indexes that have each row of the table."""
    of_few: frozenset[str]
    """The columns of indexes that have nothing more, which were made to find what has a value."""
    in_order: frozenset[tuple[str, str]]
    """The columns of which a value leads to rows in the order of another."""


def _indexes(table: Table) -> _Indexes:
    of_all, of_few, in_order = set(), {"id"}, set()
    for index in table.indexes:
        names = [column.name for column in index.columns]
        if names[:1] != ["org_id"] or len(names) < 2:
            continue
        if len(names) == 2:
            of_few.add(names[1])
        if index.dialect_options["sqlite"]["where"] is None:
            of_all.add(names[1])
            in_order |= {(names[1], name) for name in names[2:3]}
    return _Indexes(frozenset(of_all), frozenset(of_few), frozenset(in_order))
