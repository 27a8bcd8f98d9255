"""Pages of filtered lists on SQLite: the next rows of the list are looked at first (decision 1180).

SQLite goes by one index, and takes a condition to leave few rows. So it would find all open deals by an index of their
status, read each with all that it links to, and sort them for the twenty newest.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    Table,
    bindparam,
    func,
    literal_column,
    not_,
    select,
    union_all,
)

from contract.criteria import All, Compare, Condition, Op
from storage.expressions import AnyColumn, AnySelect
from storage.queries.along_tags import Columns, columns_of
from storage.queries.dialects import in_index_order, unsought
from storage.queries.filtering import narrowed, with_condition
from storage.queries.listable import Listable, Terms
from storage.queries.page_order import of_phase, order_by, seen
from storage.rows import Row
from storage.statements import ORG_PARAM

NEXT: Final = 1_000
"""The rows that are looked at in the list's order before others are sought by the condition's index."""


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
        indexes, first = _indexes(self.listable.entity.__table__), self.terms[0][0]
        if first.nullable or first.name not in indexes.of_all:
            return False
        equal = {part.field for part in _compared(self.condition) if part.op is Op.EQ}
        leads_there = not equal.isdisjoint(indexes.of_few) or any(
            (name, first.name) in indexes.in_order for name in equal
        )
        return not (leads_there or equal.isdisjoint(indexes.of_all))

    def statement(self) -> AnySelect:
        """The page's rows in the list's order."""
        own, offset = self.listable.column("id"), bindparam("offset", type_=BigInteger())
        number: AnyColumn = _number(self.limit) + offset if self.has_offset else _number(self.limit)
        near, meets = with_condition(self._behind(own), self.listable, self.condition)
        near = self._ordered(near.where(self._is_near(), unsought(meets)), columns_of(self.listable))
        first = near.limit(in_index_order(number)).cte("first")
        others = narrowed(self._behind(own), self.listable, self.condition).where(not_(self._is_near()))
        missing = number - select(func.count()).select_from(first).scalar_subquery()
        rest = self._ordered(others, self._unsought).limit(missing).subquery()
        found = union_all(select(first.c.id), select(rest.c.id)).subquery()
        rows = self._ordered(self.listable.select(ORG_PARAM).where(own.in_(select(found.c.id))), self._unsought)
        return rows.limit(_number(self.limit)).offset(offset if self.has_offset else None)

    def _is_near(self) -> ColumnElement[bool]:
        """Says whether a row is one of the next, or was made in the same moment as the last of them."""
        key, is_descending = self.terms[0]
        column, is_descending = self.listable.column(key.name), is_descending is not self.backward
        behind, one = self._behind(column), _number(1)
        forward, back = (column.desc(), column.asc()) if is_descending else (column.asc(), column.desc())
        last_of_next = behind.order_by(forward).limit(one).offset(_number(NEXT - 1)).scalar_subquery()
        last_of_all = behind.order_by(back).limit(one).scalar_subquery()
        end = func.coalesce(last_of_next, last_of_all)
        is_near: ColumnElement[bool] = column >= end if is_descending else column <= end
        return is_near

    def _behind(self, *columns: AnyColumn) -> AnySelect:
        """These columns of what lies behind the cursor, whether it meets the condition or not."""
        phase = of_phase(columns_of(self.listable), self.terms, self.phase, seen, reverse=self.backward)
        return self.listable.select(ORG_PARAM, *columns).where(phase)

    def _ordered(self, statement: AnySelect, columns: Columns) -> AnySelect:
        return statement.order_by(*order_by(columns, self.terms, reverse=self.backward))

    def _unsought(self, name: str) -> list[AnyColumn]:
        """The column for an order that no index is taken for."""
        return [unsought(self.listable.column(name))]


def _number(value: int) -> AnyColumn:
    return literal_column(str(value), Integer)


def _compared(condition: Condition) -> Iterator[Compare]:
    """Yields the comparisons that each row has to meet."""
    match condition:
        case Compare():
            yield condition
        case All(parts):
            for part in parts:
                yield from _compared(part)


class _Indexes(NamedTuple):
    """What the indexes of a table lead to, by the column that they have behind the organization."""

    of_all: frozenset[str]
    """The columns of indexes that have each row."""
    of_few: frozenset[str]
    """The columns of which a value leads to few rows: an index was made for nothing else."""
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
