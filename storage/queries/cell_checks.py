"""Compares roll-ups with what the records come to, and puts right what differs (decision 262)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import func, literal_column, or_, select, union_all
from sqlmodel import col

from contract.catalog import DateGrain
from storage.base import new_id
from storage.expressions import AnyColumn, AnySelect, Values
from storage.queries.cells import DEALS, MEETINGS, Rollup
from storage.queries.numbers import NONE, ONE
from storage.queries.periods import beginning, local_day, zone_of
from storage.queries.rolled_up import IS_A_MEETING, OF_A_DEAL, OF_A_MEETING
from storage.statements import ORG_PARAM
from storage.tables import Activity, Deal
from storage.tenancy.sessions import TenantSession

_UTC = zone_of("UTC")
_DEALS: Mapping[str, AnyColumn] = {
    **{name: getattr(Deal, name) for name in ("stage_id", "status", "currency", "owner_id")},
    "close_month": beginning(col(Deal.close_date), DateGrain.MONTH),
    "deals": ONE,
    **OF_A_DEAL,
}
_MEETINGS: Mapping[str, AnyColumn] = {
    "owner_id": col(Activity.owner_id),
    "source": col(Activity.source),
    "due_day": beginning(local_day(col(Activity.due_at), _UTC.size), DateGrain.DAY),
    "is_completed": col(Activity.completed_at).is_not(None),
    "meetings": ONE,
    **OF_A_MEETING,
}
_RECORDS: Mapping[str, tuple[tuple[AnyColumn, ...], Mapping[str, AnyColumn]]] = {
    DEALS.name: ((col(Deal.org_id) == ORG_PARAM,), _DEALS),
    MEETINGS.name: ((col(Activity.org_id) == ORG_PARAM, IS_A_MEETING), _MEETINGS),
}
"""The records of each roll-up by their conditions, and what of them its columns are."""


async def differences(session: TenantSession, rollup: Rollup) -> Sequence[Any]:  # Any: rows of the roll-up's columns
    """The cells of which something else is kept than the records come to, each with what is missing in it.

    One statement, so that it is of one moment.
    """
    values: Values = {}
    _UTC.bind(values)
    return await session.fetch(("differences", rollup.name), partial(_differing, rollup), **values)


async def put_right(session: TenantSession, rollup: Rollup) -> int:
    """Append what is missing; in how many cells that was."""
    missing = await differences(session, rollup)
    for row in missing:  # of a roll-up that is right there is none
        await session.insert(rollup.deltas(id=new_id(), **row._asdict()))
    return len(missing)


def _differing(rollup: Rollup) -> AnySelect:
    own, columns = _RECORDS[rollup.name]
    names = (*rollup.keys, *rollup.sums)
    counted = select(*(_filled(rollup, name, columns[name]).label(name) for name in names)).where(*own)
    kept = rollup.rows().subquery("kept")
    taken = [-kept.c[name] if name in rollup.sums else kept.c[name] for name in names]
    both = union_all(counted, select(*(column.label(name) for name, column in zip(names, taken, strict=True))))
    rows = both.subquery("both")
    sums = [func.sum(rows.c[name]) for name in rollup.sums]
    return (
        select(*(rows.c[name] for name in rollup.keys), *(s.label(n) for n, s in zip(rollup.sums, sums, strict=True)))
        .group_by(*(rows.c[name] for name in rollup.keys))
        .having(or_(*(total != literal_column("0") for total in sums)))
    )


def _filled(rollup: Rollup, name: str, column: AnyColumn) -> AnyColumn:
    """The column as it is added up: nothing is zero."""
    return func.coalesce(column, NONE) if name in rollup.sums else column
