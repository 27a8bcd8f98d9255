"""Statements on when processes are to look after what an organization has due: a moment for each, in tables of the
directory.

Each kind of work has a table; an organization that has nothing due has no row there.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import bindparam, func, select, union_all, update
from sqlmodel import UTCDateTime, col

from storage.expressions import AnySelect
from storage.new_rows import new_row
from storage.queries.records import insert_missing
from storage.statements import ORG_PARAM
from storage.tables import AnalyticsWatch, ChatWatch, ReminderWatch, ReportWatch
from storage.tenancy.sessions import TenantSession

Watch = type[AnalyticsWatch] | type[ChatWatch] | type[ReminderWatch] | type[ReportWatch]


async def watch(session: TenantSession, table: Watch, moment: datetime) -> None:
    """Have processes look at the organization at this moment, unless they will sooner.

    It comes behind the organization's lock, which an event takes too: that keeps the reckoning of those who look
    (`put_off`) before or behind this transaction.
    """
    if await is_watched(session, table, moment):
        return
    if not await insert_missing(session, new_row(table, org_id=session.org_id, next_at=moment)):
        own = col(table.org_id) == session.org_id, col(table.next_at) > moment
        await session.execute(update(table).where(*own).values(next_at=moment))


async def is_watched(session: TenantSession, table: Watch, moment: datetime) -> bool:
    """Says whether processes look at the organization at this moment, or sooner."""

    def build() -> AnySelect:
        due = col(table.next_at) <= bindparam("moment", type_=UTCDateTime())
        return select(col(table.org_id)).where(col(table.org_id) == ORG_PARAM, due)

    return bool(await session.fetch(("is watched", table), build, moment=moment))


async def organizations_to_look_at(session: TenantSession, table: Watch, moment: datetime) -> Sequence[str]:
    """The organizations that may have something due by then (a session of the directory)."""
    rows = await session.rows(select(col(table.org_id)).where(col(table.next_at) <= moment))
    return [row.org_id for row in rows]


async def earliest(session: TenantSession) -> datetime | None:
    """Say when processes are or were to look first, at whatever organization (a session of the directory)."""
    tables = (AnalyticsWatch, ChatWatch, ReminderWatch, ReportWatch)
    each = [select(func.min(col(table.next_at)).label("first")) for table in tables]
    found = [row.first for row in await session.rows(union_all(*each)) if row.first is not None]
    return min(found, default=None)


async def put_off(session: TenantSession, table: Watch, moment: datetime | None) -> None:
    """Note when to look next, or with None that there is nothing to look at; under the organization's lock."""
    watched = await session.find(table, col(table.org_id) == session.org_id, lock=True)
    if watched is None:
        return
    if moment is None:
        await session.delete(watched)
    else:
        await session.update(watched, next_at=moment)
