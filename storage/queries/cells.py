"""Statements on roll-ups: cells and deltas as one table, deltas folded into cells, and both compared with the records.

Decision 262 says why there are two tables of each.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sqlalchemy import Text, cast, delete, func, literal_column, select, union_all
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import aliased

from storage.expressions import AnyColumn, AnyEntity, AnySelect
from storage.statements import ORG_PARAM, AnyStatement
from storage.tables import DealCell, DealCellDelta, MeetingCell, MeetingCellDelta
from storage.tenancy.sessions import TenantSession


@dataclass(frozen=True, slots=True)
class Rollup:
    """A roll-up: its two tables, the columns that make a cell, and its sums, the first of which counts the records."""

    name: str
    cells: AnyEntity
    deltas: AnyEntity
    keys: tuple[str, ...]
    sums: tuple[str, ...]

    @property
    def is_empty(self) -> AnyColumn:
        """Says whether a cell has no record any more: all that it had was taken away again."""
        return self.cells.__table__.c[self.sums[0]] == literal_column("0")

    def whole(self) -> AnyEntity:
        """Cells and deltas as if they were one table, for the statement's organization."""
        return aliased(self.cells, self.rows().subquery(self.name), adapt_on_names=True)

    def rows(self) -> Any:  # Any: a select, or several, to the type checker neither is the other
        """The rows of both."""
        return union_all(*(self._of(table) for table in (self.cells, self.deltas)))

    def _of(self, table: AnyEntity) -> AnySelect:
        names = ("org_id", *self.keys, *self.sums)
        return select(*(getattr(table, name) for name in names)).where(table.org_id == ORG_PARAM)

    def named(self, columns: Any) -> AnyColumn:  # Any: columns by their names
        """The text that names a cell: each key behind a sign, or nothing where it is null."""
        parts = [func.coalesce(_SIGN + cast(columns[name], Text), _NOTHING) for name in self.keys]
        text: AnyColumn = parts[0]
        for part in parts[1:]:
            text = text + _BETWEEN + part
        return text


_SIGN, _BETWEEN, _NOTHING = (literal_column(f"'{text}'", Text) for text in ("=", "|", ""))
DEALS: Final = Rollup(
    "rolled_up_deals",
    DealCell,
    DealCellDelta,
    ("stage_id", "status", "currency", "close_month", "owner_id"),
    ("deals", "valued", "high", "low", "timed", "seconds", "micros"),
)
MEETINGS: Final = Rollup(
    "rolled_up_meetings",
    MeetingCell,
    MeetingCellDelta,
    ("source", "due_day", "is_completed", "owner_id"),
    ("meetings", "minutes", "timed"),
)
ROLLUPS: Final = (DEALS, MEETINGS)


async def has_deltas(session: TenantSession, rollup: Rollup) -> bool:
    """Says whether there is anything to fold."""
    return bool(await session.fetch(("has deltas", rollup.name), partial(_any_of, rollup.deltas)))


async def has_empty(session: TenantSession, rollup: Rollup) -> bool:
    """Says whether a cell has no record any more."""
    return bool(await session.fetch(("has empty", rollup.name), partial(_any_of, rollup.cells, rollup.is_empty)))


def _any_of(table: AnyEntity, *conditions: AnyColumn) -> AnySelect:
    one: AnySelect = select(literal_column("1").label("one")).select_from(table)
    return one.where(table.org_id == ORG_PARAM, *conditions).limit(literal_column("1"))


async def fold(session: TenantSession, rollup: Rollup) -> None:
    """Add the deltas to their cells, and forget them.

    Two who do so at once do not do it twice, and change cells in one order, so that neither waits for the other in
    turn: on PostgreSQL a delta belongs to whoever deletes it, on SQLite there is one writer.
    """
    if session.dialect == "postgresql":
        await session.change(("fold", rollup.name), partial(_folded, rollup))
    else:
        await session.change(("fold", rollup.name), partial(_added, rollup, rollup.deltas.__table__))
        await session.change(("forget deltas", rollup.name), partial(_gone, rollup))


def _gone(rollup: Rollup) -> AnyStatement:
    table = rollup.deltas.__table__
    return delete(table).where(table.c.org_id == ORG_PARAM)


def _folded(rollup: Rollup) -> AnyStatement:
    names = rollup.deltas.__table__.c
    taken = _gone(rollup).returning(*(names[name] for name in ("org_id", *rollup.keys, *rollup.sums))).cte("taken")
    return _added(rollup, taken)


def _added(rollup: Rollup, deltas: Any) -> AnyStatement:  # Any: a table, or what a statement gave back
    """The insert of what deltas come to, added where there is such a cell."""
    table, keys = rollup.cells.__table__, [deltas.c[name] for name in rollup.keys]
    sums = [func.sum(deltas.c[name]).label(name) for name in rollup.sums]
    cell = rollup.named(deltas.c).label("cell")
    new = select(ORG_PARAM, cell, *keys, *sums).where(deltas.c.org_id == ORG_PARAM).group_by(*keys).order_by(cell)
    proposed = postgresql.insert(table).from_select(["org_id", "cell", *rollup.keys, *rollup.sums], new)
    grown = {name: table.c[name] + proposed.excluded[name] for name in rollup.sums}
    return proposed.on_conflict_do_update(index_elements=["org_id", "cell"], set_=grown)


async def forget_empty(session: TenantSession, rollup: Rollup) -> None:
    """Forget the cells that have no record any more."""
    table = rollup.cells.__table__

    def build() -> AnyStatement:
        return delete(table).where(table.c.org_id == ORG_PARAM, rollup.is_empty)

    await session.change(("forget empty", rollup.name), build)
