"""Statements on runs of reports."""

from datetime import datetime

from sqlalchemy import delete, select
from sqlmodel import col

from storage.tables import ReportRun
from storage.tenancy.sessions import TenantSession

BATCH = 500


async def are_old(session: TenantSession, before: datetime) -> bool:
    """Says whether there are runs that were asked for before then."""
    own = col(ReportRun.org_id) == session.org_id, col(ReportRun.created_at) < before
    return bool(await session.rows(select(col(ReportRun.id)).where(*own).limit(1)))


async def forget(session: TenantSession, before: datetime) -> None:
    """Delete a batch of the runs that were asked for before then."""
    own = col(ReportRun.org_id) == session.org_id, col(ReportRun.created_at) < before
    old = select(col(ReportRun.id)).where(*own).order_by(col(ReportRun.created_at)).limit(BATCH)
    await session.execute(delete(ReportRun).where(own[0], col(ReportRun.id).in_(old)))
