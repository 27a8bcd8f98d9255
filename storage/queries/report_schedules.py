"""Statements on schedules of reports: which are due, and when the next one is."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select
from sqlmodel import col

from storage.tables import Report, ReportRun
from storage.tenancy.sessions import TenantSession


async def due(session: TenantSession, moment: datetime, size: int) -> Sequence[Report]:
    """So many of the reports whose schedules are due, the earliest first, locked against other workers."""
    own = col(Report.org_id) == session.org_id, col(Report.next_at) <= moment
    statement = select(Report).where(*own).order_by(col(Report.next_at), col(Report.id)).limit(size)
    return await session.find_all(statement.with_for_update())


async def was_run(session: TenantSession, report: Report) -> bool:
    """Says whether there is a run for the moment that is due."""
    return await session.find(ReportRun, report_id=report.id, occurrence=report.next_at) is not None


async def next_moment(session: TenantSession) -> datetime | None:
    """Says when the organization's next schedule is due; None where none is set."""
    own = col(Report.org_id) == session.org_id
    earliest: datetime | None = await session.scalar(select(func.min(col(Report.next_at))).where(own))
    return earliest
