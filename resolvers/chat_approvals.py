"""Decisions on writes that runs of chats proposed: by the thread's owner, of what was shown (decisions 500 to 506)."""

import hmac
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, StrictStr

from contract.chat import ChatApprovalStatus, ChatDecision, ChatRunStatus
from contract.criteria import All, Compare, ListQuery, Op, PageWindow
from contract.errors import Conflict, InvalidState, NotFound, Path, PreconditionFailed
from contract.scopes import ScopeGroup
from identity.resume import origin_of
from resolvers.chat_previews import check_unchanged
from resolvers.chat_runs import check_on
from resolvers.chat_waking import begin, wake
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input
from resolvers.shared.lists import PageResult, page_of
from storage.base import JsonDict, as_uuid, now
from storage.queries import chat_approvals as statements
from storage.queries import listables
from storage.queries.records import lock_organization
from storage.rows import ChatApprovalRow
from storage.tables import ChatApproval, ChatRun
from storage.tenancy.sessions import TenantSession

Approval = ChatApproval | ChatApprovalRow
"""An approval as it was read, alone or in a list."""
_DECIDED = {ChatDecision.APPROVE: ChatApprovalStatus.APPROVED, ChatDecision.REJECT: ChatApprovalStatus.REJECTED}
_SAME = {
    ChatDecision.APPROVE: frozenset(
        {ChatApprovalStatus.APPROVED, ChatApprovalStatus.EXECUTED, ChatApprovalStatus.FAILED}
    ),
    ChatDecision.REJECT: frozenset({ChatApprovalStatus.REJECTED}),
}
"""The statuses of an approval on which it was decided so."""


_HASH = re.compile(r"[0-9a-fA-F]{64}")


def _hash(text: str) -> str:
    """The hash, which is taken as it came: with a blank around it, it is none."""
    if not _HASH.fullmatch(text):
        raise ValueError("must be 64 hexadecimal digits")
    return text


class ChatApprovalDecision(Input):
    """A decision: yes or no, to exactly what was shown."""

    model_config = ConfigDict(extra="forbid")
    decision: ChatDecision = Field(description="Yes or no.")
    arguments_sha256: Annotated[StrictStr, AfterValidator(_hash)] = Field(
        description="The hash that came with what was shown: 64 hex digits.",
        json_schema_extra={"pattern": f"^{_HASH.pattern}$"},
    )


@requires(ScopeGroup.CRM_READ)
async def list_approvals(
    ctx: Context, page: PageWindow, status: ChatApprovalStatus | None = None
) -> PageResult[ChatApprovalRow]:
    """The caller's approvals, the newest first."""
    check_on(ctx)
    own = Compare("subject", Op.EQ, ctx.caller.subject)
    wanted = own if status is None else All((own, Compare("status", Op.EQ, status.value)))
    return await page_of(ctx, listables.CHAT_APPROVALS, ListQuery(wanted, None, page))


@requires(ScopeGroup.CRM_READ)
async def get_approval(ctx: Context, approval_id: str) -> ChatApproval | None:
    """One of the caller's approvals; None where it is missing, another member's or another organization's."""
    check_on(ctx)
    canonical = as_uuid(approval_id)
    found = [] if canonical is None else await approvals_of(ctx, [canonical])
    return found[0] if found else None


async def approvals_of(ctx: Context, ids: Sequence[str]) -> Sequence[ChatApproval]:
    """Those of these approvals that are the caller's."""
    async with ctx.reading() as session:
        return await statements.approvals_of(session, ctx.caller.subject, ids)


async def approvals_below(ctx: Context, run_id: str) -> Sequence[ChatApproval]:
    """List the approvals of what a run of the caller proposed."""

    async def load(ids: list[str]) -> list[Sequence[ChatApproval]]:
        async with ctx.reading() as session:
            found = await statements.of_runs(session, ctx.caller.subject, ids)
        return [found.get(i, []) for i in ids]

    return await ctx.loader("chat_approvals", load).load(run_id)


@requires(ScopeGroup.CRM_READ, writes=True)
async def decide(ctx: Context, approval_id: str, input: ChatApprovalDecision, *, field: Path = ("id",)) -> ChatApproval:
    """Approve or reject a write that a run of the caller proposed; the run goes on.

    Raises NotFound at `field`, Conflict for another hash, Forbidden where the caller lacks the tool's scopes,
    InvalidState where it was decided the other way or is too late, and PreconditionFailed where the record changed.
    """
    approval = await get_approval(ctx, approval_id)
    if approval is None:
        raise NotFound(field=field)
    if not hmac.compare_digest(approval.arguments_sha256, input.arguments_sha256.lower()):
        raise Conflict("This is not the hash of what was proposed", field=(*field[:-1], "arguments_sha256"))
    if input.decision is ChatDecision.APPROVE and approval.status == ChatApprovalStatus.PENDING.value:
        await ctx.tools.read(ctx, approval.tool, approval.arguments)  # which raises Forbidden
    work = None
    async with ctx.writing() as session:
        await lock_organization(session)
        run = await session.find(ChatRun, id=approval.run_id, subject=approval.subject, lock=True)
        found = await session.find(ChatApproval, id=approval.id, subject=approval.subject)
        if run is None or found is None:
            raise NotFound(field=field)
        if not _is_decided(found, input.decision):
            found = await _decided(ctx, session, run, found, input.decision)
            work = await wake(ctx, session, run) if run.status == ChatRunStatus.WAITING.value else None
    begin(ctx, work)
    if found.status == ChatApprovalStatus.STALE.value:
        await ctx.commit()
        raise PreconditionFailed()
    ctx.forget()
    return found


def _is_decided(approval: ChatApproval, decision: ChatDecision) -> bool:
    """Says whether it was decided so before, or went stale by that. Raises InvalidState if decided otherwise."""
    status = ChatApprovalStatus(approval.status)
    if status is ChatApprovalStatus.PENDING:
        return False
    went_stale = status is ChatApprovalStatus.STALE and decision is ChatDecision.APPROVE
    if went_stale or status in _SAME[decision]:
        return True
    raise InvalidState(_WHY[status])


_WHY = {
    **dict.fromkeys(_SAME[ChatDecision.APPROVE], "It was approved before"),
    ChatApprovalStatus.REJECTED: "It was rejected before",
    ChatApprovalStatus.STALE: "The record has changed since it was proposed",
    ChatApprovalStatus.EXPIRED: "It can no longer be decided on",
}


async def _decided(
    ctx: Context, session: TenantSession, run: ChatRun, approval: ChatApproval, decision: ChatDecision
) -> ChatApproval:
    """The approval as it is after the decision. Raises InvalidState where it is too late."""
    moment, status = now(), _DECIDED[decision]
    if run.finished_at is not None or run.cancel_requested_at is not None or approval.expires_at <= moment:
        raise InvalidState(_WHY[ChatApprovalStatus.EXPIRED])
    if decision is ChatDecision.APPROVE and not await _is_unchanged(session, approval):
        status = ChatApprovalStatus.STALE
    values = {"status": status.value, "decided_by": _decided_by(ctx)}
    if not await statements.decide(session, approval, moment, values):
        raise InvalidState(_WHY[ChatApprovalStatus.EXPIRED])
    return await session.find(ChatApproval, id=approval.id, subject=approval.subject) or approval


async def _is_unchanged(session: TenantSession, approval: ChatApproval) -> bool:
    """Says whether the record is as it was shown; the write looks once more, and locks it (decision 1200)."""
    if approval.record_kind is None or approval.record_id is None:
        return True
    try:
        await check_unchanged(session, approval.record_kind, approval.record_id, approval.record_version)
    except PreconditionFailed:
        return False
    return True


def _decided_by(ctx: Context) -> JsonDict:
    """Whom the run acts for from now on: the credential that decided."""
    origin = origin_of(ctx.caller)
    ends: datetime | None = origin.session_ends_at
    return {
        "credential_kind": origin.kind.value,
        "credential_id": origin.credential_id,
        "granted_scopes": sorted(origin.scopes),
        "session_ends_at": None if ends is None else ends.isoformat(),
    }
