"""Makes what a run proposes to write: a draft with its preview and its hash, and the event that shows it."""

from dataclasses import dataclass
from datetime import datetime

from contract.canonical_json import sha256_of
from contract.chat import ChatEventType
from contract.errors import NotFound, PreconditionFailed, Problems
from contract.tool_answers import ToolAnswer, ToolError
from providers.chat_models import Call
from resolvers.chat_calls import asked
from resolvers.chat_previews import preview_of
from resolvers.shared.context import Context
from storage.base import now
from storage.new_rows import new_row
from storage.queries.chat_runs import Said
from storage.tables import ChatApproval, ChatRun


@dataclass(frozen=True, slots=True)
class Proposed:
    """Says what became of a call that would write: a draft and what it cost, or why there is none."""

    draft: ChatApproval | None
    cost: int = 0
    refused: ToolAnswer | None = None
    scopes: list[str] | None = None
    """Those that the caller lacks, where that is why."""


async def proposed(ctx: Context, run: ChatRun, call: Call) -> Proposed:
    """Check what a call would write, and make nothing of it. Raises RunEnds."""
    arguments: dict[str, object] = dict(call.arguments or {})
    found, scopes = await asked("", lambda: ctx.tools.propose(ctx, call.tool, arguments))
    if isinstance(found, ToolAnswer):
        return Proposed(None, refused=found, scopes=scopes)
    try:
        preview = await preview_of(ctx, found)
    except (NotFound, PreconditionFailed, Problems) as error:
        return Proposed(None, refused=ToolAnswer(found.operation, None, "", {}, cost=found.cost, errors=_errors(error)))
    bound = {"arguments": found.arguments, "record_version": preview.version, "tool": call.tool}
    draft = new_row(
        ChatApproval,
        thread_id=run.thread_id,
        run_id=run.id,
        call_id=call.id,
        subject=run.subject,
        tool=call.tool,
        operation=found.operation,
        arguments=dict(found.arguments),
        arguments_sha256=sha256_of(bound),
        record_kind=None if preview.record is None else preview.kind,
        record_id=preview.record_id,
        record_version=preview.version,
        preview=preview.told,
        expires_at=now(),
    )
    return Proposed(draft, found.cost)


def until(draft: ChatApproval, moment: datetime) -> ChatApproval:
    """The draft as one that can be decided until a moment."""
    return draft._replace(expires_at=moment)  # type: ignore[attr-defined,no-any-return]  # a named tuple


def required(approval: ChatApproval) -> Said:
    """The event that shows it."""
    data = {
        "approval_id": approval.id,
        "call_id": approval.call_id,
        "tool": approval.tool,
        "operation": approval.operation,
        "arguments": approval.arguments,
        "arguments_sha256": approval.arguments_sha256,
        "record_version": approval.record_version,
        "preview": approval.preview,
        "expires_at": approval.expires_at.isoformat().replace("+00:00", "Z"),
    }
    return ChatEventType.APPROVAL_REQUIRED, data


def _errors(error: NotFound | PreconditionFailed | Problems) -> list[ToolError]:
    if isinstance(error, Problems):
        return [ToolError(error.code, problem.message, [*problem.path]) for problem in error.problems]
    return [ToolError(error.code, error.message, error.field)]
