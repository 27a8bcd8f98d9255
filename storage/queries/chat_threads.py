"""Statements on the threads of a chat and their messages. Those that serve a caller name the subject."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, select
from sqlmodel import col

from storage.tables import ChatMessage, ChatRun, ChatThread
from storage.tenancy.sessions import TenantSession

PRUNED = 500
"""Threads, or events, that are forgotten at a time."""


async def threads_of(session: TenantSession, subject: str, ids: Sequence[str]) -> Sequence[ChatThread]:
    """Those of these threads that are the subject's."""
    own = col(ChatThread.org_id) == session.org_id, col(ChatThread.subject) == subject
    return await session.find_all(select(ChatThread).where(*own, col(ChatThread.id).in_(ids)))


async def messages_of(session: TenantSession, subject: str, ids: Sequence[str]) -> Sequence[ChatMessage]:
    """Those of these messages that are in the subject's threads."""
    own = col(ChatMessage.org_id) == session.org_id, col(ChatMessage.subject) == subject
    return await session.find_all(select(ChatMessage).where(*own, col(ChatMessage.id).in_(ids)))


async def next_position(session: TenantSession, thread_id: str) -> int:
    """The place of the next message of a thread; under the lock of whoever writes in it."""
    own = col(ChatMessage.org_id) == session.org_id, col(ChatMessage.thread_id) == thread_id
    return (await session.scalar(select(func.max(col(ChatMessage.position))).where(*own)) or 0) + 1


async def messages_before(
    session: TenantSession, subject: str, thread_id: str, message_id: str, most: int
) -> Sequence[ChatMessage]:
    """The newest messages of a thread up to one of them, that one among them, the newest first."""
    own = (
        col(ChatMessage.org_id) == session.org_id,
        col(ChatMessage.subject) == subject,
        col(ChatMessage.thread_id) == thread_id,
    )
    last = (
        select(col(ChatMessage.position))
        .where(col(ChatMessage.org_id) == session.org_id, col(ChatMessage.id) == message_id)
        .scalar_subquery()
    )
    wanted = select(ChatMessage).where(*own, col(ChatMessage.position) <= last)
    return await session.find_all(wanted.order_by(col(ChatMessage.position).desc()).limit(most))


async def forget(session: TenantSession, subject: str, thread_id: str) -> bool:
    """Delete a thread of the subject with all that hangs on it; False where there is none."""
    own = (
        col(ChatThread.org_id) == session.org_id,
        col(ChatThread.id) == thread_id,
        col(ChatThread.subject) == subject,
    )
    return bool(await session.execute(delete(ChatThread).where(*own)))


async def old(session: TenantSession, before: datetime) -> Sequence[str]:
    """A batch of the threads whose newest message was written before then, and that nobody works on."""
    unfinished = (
        select(col(ChatRun.id))
        .where(
            col(ChatRun.org_id) == session.org_id,
            col(ChatRun.thread_id) == col(ChatThread.id),
            col(ChatRun.finished_at).is_(None),
        )
        .exists()
    )
    own = col(ChatThread.org_id) == session.org_id, col(ChatThread.updated_at) < before
    wanted = select(col(ChatThread.id)).where(*own, ~unfinished).order_by(col(ChatThread.updated_at)).limit(PRUNED)
    return [row.id for row in await session.rows(wanted)]


async def forget_old(session: TenantSession, ids: Sequence[str], before: datetime) -> None:
    """Delete threads with all that hangs on them, but for those in which somebody wrote meanwhile."""
    own = col(ChatThread.org_id) == session.org_id, col(ChatThread.id).in_(ids)
    await session.execute(delete(ChatThread).where(*own, col(ChatThread.updated_at) < before))
