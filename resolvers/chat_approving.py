"""Proposes a run's writes, waits for their decisions, and makes those that were approved, each once (decision 500).

While a run waits nobody works on it. Whoever goes on with it finds here what was decided, makes the approved writes
under a key of their own, and tells what became of each in the transaction that says so.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from contract.chat import (
    CHAT_APPROVAL_HOURS,
    CHAT_APPROVALS_OPEN,
    ChatApprovalStatus,
    ChatErrorCode,
    ChatEventType,
    ChatRunStatus,
)
from contract.errors import PreconditionFailed
from contract.tool_answers import ToolAnswer, ToolError
from providers.chat_models import Call, Result
from resolvers.chat_calls import Calls, RunEnds, asked
from resolvers.chat_conversation import Progress
from resolvers.chat_decisions import Changed, close_all, decided, origin, untold
from resolvers.chat_log import Also, RunLog
from resolvers.chat_previews import check_unchanged
from resolvers.chat_proposals import proposed, required, until
from resolvers.chat_results import refusal
from resolvers.shared.context import Context, Key, Services
from resolvers.shared.idempotency import HEADER
from resolvers.shared.unbroken import unbroken
from storage.base import now
from storage.queries import chat_approvals as statements
from storage.queries import chat_runs
from storage.queries.records import lock_organization
from storage.queries.watches import watch
from storage.statements import AnyValue
from storage.tables import ChatApproval, ChatRun, ChatWatch
from storage.tenancy.sessions import TenantSession

_TRIED = timedelta(hours=CHAT_APPROVAL_HOURS)
_REFUSED = {
    ChatApprovalStatus.REJECTED: ToolError("REJECTED", "The member said no"),
    ChatApprovalStatus.STALE: ToolError("STALE", "The record has changed since it was shown"),
}
_FULL = ToolError("TOO_MANY_APPROVALS", f"At most {CHAT_APPROVALS_OPEN} writes may wait for the member at a time")
_LATE = ToolError("EXPIRED", "It was approved too long ago")
_OPEN = (ChatApprovalStatus.PENDING.value, ChatApprovalStatus.APPROVED.value)


class Approvals:
    """The approvals of one run, for the process that works on it."""

    def __init__(self, services: Services, log: RunLog, progress: Progress) -> None:
        self._database = services.database
        self._seconds = services.chat.approval_seconds
        self._log = log
        self._progress = progress
        self._drafts: list[ChatApproval] = []
        self._cost = 0
        self._any = log.run.last_sequence > 1
        """Whether there may be some."""
        self._waiting: Sequence[ChatApproval] = ()

    def waits(self, call: Call) -> bool:
        """Says whether a call is not to be made before the member has decided."""
        return any(call.id == approval.call_id for approval in (*self._waiting, *self._drafts))

    async def propose(self, ctx: Context, call: Call) -> tuple[ToolAnswer | None, list[str] | None]:
        """Note what a call would write; an answer, with the scopes that it lacks, where it cannot be proposed.

        Raises RunEnds.
        """
        if len(self._drafts) + len(self._waiting) >= CHAT_APPROVALS_OPEN:
            return ToolAnswer("", None, "", {}, errors=[_FULL]), None
        found = await proposed(ctx, self._log.run, call)
        if found.draft is None:
            return found.refused, found.scopes
        self._drafts.append(found.draft)
        self._cost += found.cost
        return None, None

    async def wait(self) -> bool:
        """Have the run wait for what is proposed; False where there is nothing to wait for, or no longer.

        Raises RunLost.
        """
        if not self._drafts and not self._waiting:
            return False
        expires = now() + timedelta(seconds=self._seconds)
        drafts = [until(draft, expires) for draft in self._drafts]
        first = min(approval.expires_at for approval in (*drafts, *self._waiting))
        values: dict[str, AnyValue] = {
            "status": ChatRunStatus.WAITING.value,
            "holder": None,
            "leased_until": first,
            "points": self._log.run.points + self._cost,
        }
        is_open = {approval.id for approval in self._waiting}

        async def also(session: TenantSession) -> None:
            stored = await session.find(ChatRun, id=self._log.run.id, subject=self._log.run.subject)
            known = await statements.of_run(session, self._log.run) if is_open else []
            is_decided = any(one.id in is_open and one.status != ChatApprovalStatus.PENDING.value for one in known)
            if stored is None or stored.cancel_requested_at is not None or is_decided:
                raise Changed
            await session.insert(*drafts)

        try:
            await self._log.tell(*map(required, drafts), values=values, also=also)
        except Changed:
            await self._log.refresh()
            return False
        async with self._database.writing(self._log.run.org_id) as session:  # else it is looked for after the lease
            await lock_organization(session)
            await watch(session, ChatWatch, first)
        return True

    async def settle(self, acting: Callable[[], Awaitable[Context]], calls: Calls) -> None:
        """Make what was approved, and tell what was decided. Raises RunEnds and RunLost."""
        if not self._any:
            self._any = bool(self._drafts)
            return
        known = await self._known()
        self._any = bool(known) or bool(self._drafts)
        unsettled = {call.id: call for call in self._progress.open}
        pending = [one for one in known if one.status == ChatApprovalStatus.PENDING.value]
        for approval in known:  # five at most are open
            call = unsettled.get(approval.call_id)
            if call is not None and approval not in pending:
                await self._settle(approval, call, acting, calls)
        self._waiting = pending
        is_late = any(approval.expires_at <= now() for approval in pending)
        if is_late and self._log.run.cancel_requested_at is None:
            raise RunEnds(ChatErrorCode.APPROVAL_EXPIRED)

    async def close(self) -> None:
        """Let nothing be decided any more, since the run ends. Raises RunLost."""
        if not self._any and not self._waiting:
            return
        while True:
            known = await self._known()
            events = untold(known, await self._log.patiently(self._told))
            open_ = [one for one in known if one.status in _OPEN]
            if not events and not open_:
                return
            try:
                await self._log.tell(*events, also=partial(close_all, self._log.run, open_))
            except Changed:
                continue
            return

    async def _known(self) -> Sequence[ChatApproval]:
        async def look() -> Sequence[ChatApproval]:
            async with self._database.reading(self._log.run.org_id) as session:
                return await statements.of_run(session, self._log.run)

        return await self._log.patiently(look)

    async def _settle(
        self, approval: ChatApproval, call: Call, acting: Callable[[], Awaitable[Context]], calls: Calls
    ) -> None:
        status = ChatApprovalStatus(approval.status)
        if (error := _REFUSED.get(status)) is not None:
            await self._refuse(approval, call, status, error)
            return
        if status is not ChatApprovalStatus.APPROVED:
            raise RunEnds(ChatErrorCode.APPROVAL_EXPIRED)
        if approval.call_id not in await self._log.patiently(self._told):
            await self._log.tell(decided(approval, status), values=origin(approval))
        ctx = await acting()
        ctx = replace(ctx, via={**ctx.via, "approval_id": approval.id})
        await unbroken(self._make(approval, call, ctx, calls))  # what is being written is told before the run ends

    async def _told(self) -> frozenset[str]:
        async with self._database.reading(self._log.run.org_id) as session:
            return await chat_runs.told_calls(session, self._log.run, ChatEventType.APPROVAL_DECIDED)

    async def _refuse(
        self,
        approval: ChatApproval,
        call: Call,
        status: ChatApprovalStatus,
        error: ToolError,
        also: Also | None = None,
    ) -> None:
        """Tell the decision, and the model that nothing was written: a call that is not made has no result."""
        result = Result(call.id, call.tool, refusal(approval.operation, error), ok=False)
        step = self._progress.gave(result, {})
        await self._log.tell(decided(approval, status), values=origin(approval), steps=[step], also=also)

    async def _make(self, approval: ChatApproval, call: Call, ctx: Context, calls: Calls) -> None:
        """Make the write, or find what it gave, and tell it. Raises RunEnds and RunLost."""
        stored = replace(call, arguments=approval.arguments)
        if approval.decided_at is not None and approval.decided_at + _TRIED <= now():
            answer, scopes = ToolAnswer(approval.operation, None, "", {}, errors=[_LATE]), None
        else:
            answer, scopes = await self._log.patiently(lambda: _written(approval, ctx))
        if answer.errors and answer.errors[0].code == PreconditionFailed.code:
            also = partial(_become, self._log.run, approval, ChatApprovalStatus.STALE, {})
            await self._refuse(approval, call, ChatApprovalStatus.STALE, _REFUSED[ChatApprovalStatus.STALE], also=also)
            return
        status = ChatApprovalStatus.FAILED if answer.errors else ChatApprovalStatus.EXECUTED
        made = {} if answer.errors else _made(answer)
        await calls.give(stored, answer, scopes=scopes, also=partial(_become, self._log.run, approval, status, made))


async def _written(approval: ChatApproval, ctx: Context) -> tuple[ToolAnswer, list[str] | None]:
    """Call the write, which is made once under the approval's own key, for its answer (decision 504)."""
    key = Key(f"chat:{approval.id}", ("header", HEADER))
    kind, record_id, version = approval.record_kind, approval.record_id, approval.record_version
    if kind is not None and record_id is not None:

        async def before(session: TenantSession) -> None:
            await check_unchanged(session, kind, record_id, version, lock=True)

        key.before = before
    return await asked(
        approval.operation, lambda: ctx.tools.call(ctx, approval.tool, approval.arguments, key=key), key=key
    )


async def _become(
    run: ChatRun,
    approval: ChatApproval,
    status: ChatApprovalStatus,
    values: dict[str, AnyValue],
    session: TenantSession,
) -> None:
    await statements.become(session, run, [approval.id], ChatApprovalStatus.APPROVED, status, **values)


def _made(answer: ToolAnswer) -> dict[str, AnyValue]:
    """Says which record was written: the first that the payload has."""
    for name, value in answer.data.items():
        if isinstance(value, dict) and isinstance(value.get("id"), str):
            return {"result_kind": name, "result_id": value["id"]}
    return {}
