"""Statements on the writes that runs of chats proposed. Those that serve a caller name the subject."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import select, update
from sqlmodel import col

from contract.chat import ChatApprovalStatus
from storage.statements import AnyValue
from storage.tables import ChatApproval, ChatRun
from storage.tenancy.sessions import TenantSession


async def approvals_of(session: TenantSession, subject: str, ids: Sequence[str]) -> Sequence[ChatApproval]:
    """Those of these approvals that are the subject's."""
    own = col(ChatApproval.org_id) == session.org_id, col(ChatApproval.subject) == subject
    return await session.find_all(select(ChatApproval).where(*own, col(ChatApproval.id).in_(ids)))


async def of_runs(session: TenantSession, subject: str, run_ids: Sequence[str]) -> Mapping[str, Sequence[ChatApproval]]:
    """Find the proposals of each of these runs of the subject, in the order of its calls."""
    own = col(ChatApproval.org_id) == session.org_id, col(ChatApproval.subject) == subject
    wanted = select(ChatApproval).where(*own, col(ChatApproval.run_id).in_(run_ids))
    found: dict[str, list[ChatApproval]] = {}
    for approval in await session.find_all(wanted.order_by(col(ChatApproval.created_at), col(ChatApproval.id))):
        found.setdefault(approval.run_id, []).append(approval)
    return found


async def of_run(session: TenantSession, run: ChatRun) -> Sequence[ChatApproval]:
    """Find the proposals of a run, in the order of its calls."""
    return (await of_runs(session, run.subject, [run.id])).get(run.id, [])


async def decide(
    session: TenantSession, approval: ChatApproval, moment: datetime, values: Mapping[str, AnyValue]
) -> bool:
    """Decide on what is pending and has not expired. False where somebody did before, or where it is too late."""
    is_open = (
        col(ChatApproval.status) == ChatApprovalStatus.PENDING.value,
        col(ChatApproval.expires_at) > moment,
    )
    own = (
        col(ChatApproval.org_id) == session.org_id,
        col(ChatApproval.id) == approval.id,
        col(ChatApproval.subject) == approval.subject,
    )
    return bool(await session.execute(update(ChatApproval).where(*own, *is_open).values(decided_at=moment, **values)))


async def become(
    session: TenantSession,
    run: ChatRun,
    ids: Collection[str],
    before: ChatApprovalStatus,
    after: ChatApprovalStatus,
    **values: AnyValue,
) -> bool:
    """Take approvals of a run from one state to another; False where not all of them were in the first one."""
    own = (
        col(ChatApproval.org_id) == session.org_id,
        col(ChatApproval.run_id) == run.id,
        col(ChatApproval.id).in_(ids),
        col(ChatApproval.status) == before.value,
    )
    return await session.execute(update(ChatApproval).where(*own).values(status=after.value, **values)) == len(ids)
