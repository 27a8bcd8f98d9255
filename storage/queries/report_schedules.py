"""Statements on schedules of reports: which are due, and when workers look next."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select, update
from sqlmodel import col

from storage.new_rows import new_row
from storage.queries.records import insert_missing
from storage.tables import Report, ReportRun, ReportWatch
from storage.tenancy.sessions import TenantSession


async def watch(session: TenantSession, moment: datetime) -> None:
    """Have workers look for a schedule that is due then; it comes after the transaction's events, as for reminders."""
    if not await insert_missing(session, new_row(ReportWatch, org_id=session.org_id, next_at=moment)):
        await session.execute(
            update(ReportWatch)
            .where(col(ReportWatch.org_id) == session.org_id, col(ReportWatch.next_at) > moment)
            .values(next_at=moment)
        )


async def organizations_due(session: TenantSession, moment: datetime) -> Sequence[str]:
    """The organizations that may have a schedule due by then (a session of the directory)."""
    rows = await session.rows(select(col(ReportWatch.org_id)).where(col(ReportWatch.next_at) <= moment))
    return [row.org_id for row in rows]


async def due(session: TenantSession, moment: datetime, size: int) -> Sequence[Report]:
    """So many of the reports whose schedules are due, the earliest first, locked against other workers."""
    own = col(Report.org_id) == session.org_id, col(Report.next_at) <= moment
    statement = select(Report).where(*own).order_by(col(Report.next_at), col(Report.id)).limit(size)
    return await session.find_all(statement.with_for_update())


async def was_run(session: TenantSession, report: Report) -> bool:
    """Whether there is a run for the moment that is due."""
    return await session.find(ReportRun, report_id=report.id, occurrence=report.next_at) is not None


async def put_off(session: TenantSession) -> None:
    """Note when the organization's next schedule is due; under the lock of its events."""
    own = col(Report.org_id) == session.org_id
    earliest: datetime | None = await session.scalar(select(func.min(col(Report.next_at))).where(own))
    watched = await session.find(ReportWatch, col(ReportWatch.org_id) == session.org_id, lock=True)
    if watched is None:
        return
    if earliest is None:
        await session.delete(watched)
    else:
        await session.update(watched, next_at=earliest)
