"""Says what was decided of a run's approvals, for whom the run acts since, and what its end makes of the others."""

from collections.abc import Collection, Sequence
from datetime import datetime

from contract.chat import ChatApprovalStatus, ChatEventType
from storage.queries import chat_approvals as statements
from storage.queries.chat_runs import Said
from storage.statements import AnyValue
from storage.tables import ChatApproval, ChatRun
from storage.tenancy.sessions import TenantSession

_DECIDABLE = {
    ChatApprovalStatus.PENDING: ChatApprovalStatus.EXPIRED,
    ChatApprovalStatus.APPROVED: ChatApprovalStatus.APPROVED,
    ChatApprovalStatus.REJECTED: ChatApprovalStatus.REJECTED,
    ChatApprovalStatus.STALE: ChatApprovalStatus.STALE,
}


class Changed(Exception):
    """Somebody decided, or asked for the run's end, meanwhile."""


def decided(approval: ChatApproval, status: ChatApprovalStatus) -> Said:
    """The event of a decision."""
    data = {"approval_id": approval.id, "call_id": approval.call_id, "status": status.value}
    return ChatEventType.APPROVAL_DECIDED, data


def untold(approvals: Sequence[ChatApproval], told: Collection[str]) -> list[Said]:
    """The decisions that a run which ends has not told: those that were made, and that the others expire."""
    found = []
    for approval in approvals:
        status = ChatApprovalStatus(approval.status)
        if approval.call_id not in told and status in _DECIDABLE:
            found.append(decided(approval, _DECIDABLE[status]))
    return found


async def close_all(run: ChatRun, approvals: Sequence[ChatApproval], session: TenantSession) -> None:
    """Have what is pending expire, and what was approved and is not made any more fail. Raises Changed."""
    for before, after in (
        (ChatApprovalStatus.PENDING, ChatApprovalStatus.EXPIRED),
        (ChatApprovalStatus.APPROVED, ChatApprovalStatus.FAILED),
    ):  # two
        ids = [one.id for one in approvals if one.status == before.value]
        if ids and not await statements.become(session, run, ids, before, after):
            raise Changed


def origin(approval: ChatApproval) -> dict[str, AnyValue]:
    """Whom the run acts for from the decision on: the credential that decided."""
    given = dict(approval.decided_by or {})
    ends = given.get("session_ends_at")
    return given | {"session_ends_at": None if ends is None else datetime.fromisoformat(ends)} if given else {}
