"""Statements on uploads in parts: who sends, what has come for good, and what nobody goes on with."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import and_, delete, func, or_, select, update
from sqlmodel import col

from contract.limits import UPLOAD_HOURS
from storage.base import now
from storage.expressions import AnyColumn
from storage.queries import files
from storage.tables import FilePiece, FileUpload
from storage.tenancy.sessions import TenantSession

_AT_ONCE = 100
TOLD = timedelta(days=7)
"""The time for which an upload that has expired, or has become a file, is still told of."""


async def open_ones(session: TenantSession) -> int:
    """Says how many uploads are under way."""
    own = col(FileUpload.org_id) == session.org_id, col(FileUpload.state) == "open"
    counted: int = await session.scalar(select(func.count()).select_from(FileUpload).where(*own))
    return counted


async def hold(session: TenantSession, upload: FileUpload, holder: str, until: datetime) -> FileUpload:
    """Let this request, and no other one, send parts of the upload, which is locked."""
    return await session.update(upload, holder=holder, held_until=until)


async def go_on_holding(session: TenantSession, upload_id: str, holder: str, until: datetime) -> bool:
    """Hold the upload for longer; False where another request has taken it over."""
    return bool(await session.execute(_held(session, upload_id, holder).values(held_until=until)))


async def let_go(session: TenantSession, upload_id: str, holder: str) -> None:
    """Let others send parts of the upload."""
    await session.execute(_held(session, upload_id, holder).values(holder=None, held_until=None))


async def advance(
    session: TenantSession, upload_id: str, holder: str, pieces: Sequence[FilePiece], before: FilePiece | None
) -> bool:
    """Have pieces count that lie in the store behind what has come; False where another request has the upload by now.

    Where the first of them begins as the last one `before` does, it is that one, which has grown.
    """
    first, last = pieces[0], pieces[-1]
    grown = before if before is not None and before.start == first.start else None
    came = first.start if grown is None else grown.start + grown.bytes
    behind = _held(session, upload_id, holder).where(col(FileUpload.received) == came)
    ends = now() + timedelta(hours=UPLOAD_HOURS)
    if not await session.execute(behind.values(received=last.start + last.bytes, expires_at=ends)):
        return False
    if grown is not None:
        await session.update(grown, bytes=first.bytes)
        pieces = pieces[1:]
    if not pieces:
        return True
    await session.insert(*pieces)
    return await files.take_on(session, [piece.storage_name for piece in pieces])


def _held(session: TenantSession, upload_id: str, holder: str) -> AnyColumn:
    own = col(FileUpload.org_id) == session.org_id, col(FileUpload.id) == upload_id
    return update(FileUpload).where(*own, col(FileUpload.holder) == holder, col(FileUpload.state) == "open")


async def pieces_of(session: TenantSession, upload_ids: Sequence[str]) -> Sequence[FilePiece]:
    """The pieces of uploads, in their order."""
    own = col(FilePiece.org_id) == session.org_id, col(FilePiece.upload_id).in_(upload_ids)
    return await session.find_all(
        select(FilePiece).where(*own).order_by(col(FilePiece.upload_id), col(FilePiece.start))
    )


async def drop_pieces(session: TenantSession, upload_ids: Sequence[str]) -> None:
    """Forget the pieces of uploads, and have their bytes removed."""
    pieces = await pieces_of(session, upload_ids)
    own = col(FilePiece.org_id) == session.org_id, col(FilePiece.upload_id).in_(upload_ids)
    await session.execute(delete(FilePiece).where(*own))
    await files.note_leftovers(session, [piece.storage_name for piece in pieces], now())


async def expire(session: TenantSession) -> int:
    """End a batch of the uploads that nobody has gone on with, give their place back, and forget those told for long.

    How many were ended.
    """
    moment = now()
    idle = or_(col(FileUpload.held_until).is_(None), col(FileUpload.held_until) <= moment)
    late = and_(col(FileUpload.org_id) == session.org_id, col(FileUpload.expires_at) <= moment, idle)
    wanted = select(FileUpload).where(late, col(FileUpload.state) == "open").limit(_AT_ONCE).with_for_update()
    ended = await session.find_all(wanted)
    if ended:
        usage = await files.lock_usage(session)
        await session.update(usage, reserved=usage.reserved - sum(upload.bytes for upload in ended))
        ids = [upload.id for upload in ended]
        own = col(FileUpload.org_id) == session.org_id, col(FileUpload.id).in_(ids)
        await session.execute(update(FileUpload).where(*own).values(state="expired", holder=None, held_until=None))
        await drop_pieces(session, ids)
    long_ago = col(FileUpload.org_id) == session.org_id, col(FileUpload.expires_at) <= moment - TOLD
    await session.execute(delete(FileUpload).where(*long_ago, col(FileUpload.state) != "open"))
    return len(ended)


async def are_late(session: TenantSession) -> bool:
    """Says whether there is an upload to be ended or forgotten."""
    late = select(col(FileUpload.id)).where(
        col(FileUpload.org_id) == session.org_id,
        or_(
            and_(col(FileUpload.state) == "open", col(FileUpload.expires_at) <= now()),
            col(FileUpload.expires_at) <= now() - TOLD,
        ),
    )
    return await session.row(late.limit(1)) is not None
