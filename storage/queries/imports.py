"""Statements on imports: those that are not done, and the ledger of refused rows."""

from collections.abc import Sequence

from sqlalchemy import func, or_, select
from sqlmodel import col

from contract.bulk_vocabulary import ImportStatus
from storage.expressions import AnyColumn
from storage.tables import DataImport, ImportRefusal
from storage.tenancy.sessions import TenantSession

OF_IMPORT: AnyColumn = col(ImportRefusal.import_id)
"""The column by which the refusals of imports are found."""
_UNFINISHED = or_(
    col(DataImport.status) == ImportStatus.QUEUED.value, col(DataImport.status) == ImportStatus.RUNNING.value
)


async def number_unfinished(session: TenantSession) -> int:
    """Says how many imports wait or run."""
    own = col(DataImport.org_id) == session.org_id
    counted: int = await session.scalar(select(func.count()).select_from(DataImport).where(own, _UNFINISHED))
    return counted


async def is_first(session: TenantSession, import_id: str) -> bool:
    """Says whether no import that was asked for earlier waits or runs."""
    earlier = col(DataImport.org_id) == session.org_id, _UNFINISHED, col(DataImport.id) < import_id
    return await session.row(select(col(DataImport.id)).where(*earlier).limit(1)) is None


async def refusals(session: TenantSession, import_id: str, after: int, size: int) -> Sequence[ImportRefusal]:
    """So many refused rows behind this line, in the order of the file."""
    own = select(ImportRefusal).where(col(ImportRefusal.org_id) == session.org_id, import_id == OF_IMPORT)
    behind = own.where(col(ImportRefusal.line) > after)
    return await session.find_all(behind.order_by(col(ImportRefusal.line)).limit(size))
