"""Names the states of a chat's runs, its events and messages, and declares their limits (docs/chat.md)."""

from enum import StrEnum
from typing import Final

from contract.errors import Conflict, GatewayError, TooManyRuns


class ChatRole(StrEnum):
    """Says who wrote a message."""

    USER = "user"
    ASSISTANT = "assistant"


class ChatRunStatus(StrEnum):
    """The state of a run. The last three are for good."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ChatEventType(StrEnum):
    """The type of an event of a run."""

    RUN_STARTED = "run_started"
    RUN_RESUMED = "run_resumed"
    TEXT_DELTA = "text_delta"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    APPROVAL_REQUIRED = "approval_required"
    APPROVAL_DECIDED = "approval_decided"
    CITATION = "citation"
    USAGE = "usage"
    WARNING = "warning"
    ERROR = "error"
    RUN_FINISHED = "run_finished"


class ChatApprovalStatus(StrEnum):
    """The state of a proposed write."""

    PENDING = "pending"
    APPROVED = "approved"
    EXECUTED = "executed"
    FAILED = "failed"
    REJECTED = "rejected"
    STALE = "stale"
    EXPIRED = "expired"


class ChatDecision(StrEnum):
    """Yes or no."""

    APPROVE = "approve"
    REJECT = "reject"


class ChatErrorCode(StrEnum):
    """Why a run ends without its answer."""

    MODEL_UNAVAILABLE = "model_unavailable"
    MODEL_TIMEOUT = "model_timeout"
    MODEL_INVALID_ANSWER = "model_invalid_answer"
    MODEL_MISCONFIGURED = "model_misconfigured"
    MODEL_BUDGET_SPENT = "model_budget_spent"
    RATE_LIMITED = "rate_limited"
    RUN_TIMEOUT = "run_timeout"
    STEP_LIMIT = "step_limit"
    APPROVAL_EXPIRED = "approval_expired"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    INTERRUPTED = "interrupted"
    INTERNAL = "internal"


ERROR_WORDS: Final = {
    ChatErrorCode.MODEL_UNAVAILABLE: "The model cannot be reached",
    ChatErrorCode.MODEL_TIMEOUT: "The model did not answer in time",
    ChatErrorCode.MODEL_INVALID_ANSWER: "The model's answer cannot be used",
    ChatErrorCode.MODEL_MISCONFIGURED: "The model does not accept what it is asked; its settings have to be looked at",
    ChatErrorCode.MODEL_BUDGET_SPENT: "The organization's tokens of this day are spent",
    ChatErrorCode.RATE_LIMITED: "The caller's budget is used up for now",
    ChatErrorCode.RUN_TIMEOUT: "The answer took too long",
    ChatErrorCode.STEP_LIMIT: "The answer took too many steps",
    ChatErrorCode.APPROVAL_EXPIRED: "Nobody decided in time on what was proposed",
    ChatErrorCode.UNAUTHENTICATED: "The credential of this run holds no more",
    ChatErrorCode.FORBIDDEN: "The caller may no longer read records",
    ChatErrorCode.INTERRUPTED: "The processes that worked on the answer ended",
    ChatErrorCode.INTERNAL: "Internal error",
}
RETRYABLE: Final = frozenset(
    {
        ChatErrorCode.MODEL_UNAVAILABLE,
        ChatErrorCode.MODEL_TIMEOUT,
        ChatErrorCode.RATE_LIMITED,
        ChatErrorCode.RUN_TIMEOUT,
        ChatErrorCode.APPROVAL_EXPIRED,
        ChatErrorCode.INTERRUPTED,
    }
)
"""Those after which sending the message again may help."""

CHAT_TEXT_MAX: Final = 8_000
"""Characters of a message."""
CHAT_TITLE_MAX: Final = 200
CHAT_TITLE_MADE: Final = 60
"""Characters of a title that is made of the first message."""
CHAT_TOKENS_PER_DAY: Final = 1_000_000
"""Tokens that an organization's chats may have of a model on a day of UTC; the setting's default."""
CHAT_RUN_SECONDS: Final = 120
"""Seconds of work on a run; waiting for a decision does not count. The setting's default."""
CHAT_RETENTION_DAYS: Final = 90
"""Days for which a thread is kept after its newest message; the setting's default."""
CHAT_STEPS_MAX, CHAT_TOOL_CALLS_MAX = 8, 16
"""Questions to the model, and calls of tools, of a run."""
CHAT_ATTEMPTS_MAX: Final = 3
"""How often a run is taken up."""
CHAT_ANSWER_BYTES: Final = 32 * 1024
CHAT_RESULTS_BYTES: Final = 64 * 1024
"""Bytes of an answer's text, and of what all tools of a run tell the model."""
CHAT_OUTPUT_TOKENS: Final = 4_096
"""Tokens of one step of the model."""
CHAT_HISTORY_MESSAGES, CHAT_HISTORY_BYTES = 24, 48 * 1024
"""Earlier messages that the model reads, the oldest left out first."""
CHAT_DELTA_SECONDS, CHAT_DELTA_SECONDS_MAX, CHAT_DELTA_CHARACTERS = 0.05, 1.0, 256
"""When text is stored: after so long, under load after longer; and how much one event has at most."""
CHAT_RUNS_PER_CALLER, CHAT_RUNS_PER_ORGANIZATION, CHAT_RUNS_PER_PROCESS = 3, 50, 500
"""Runs that have not ended."""
CHAT_RESULT_RECORDS: Final = 50
"""Records that the event of a tool's result names."""
CHAT_APPROVALS_OPEN: Final = 5
"""Writes of a run that wait for a decision at a time."""
CHAT_APPROVAL_SECONDS: Final = 900
"""Seconds for which a proposed write can be decided on; the setting's default."""
CHAT_APPROVAL_HOURS: Final = 23
"""Hours after the decision until which an approved write is tried: its key is known an hour longer."""
CHAT_EVENTS_HOURS: Final = 24
"""Hours for which events are kept after the end of their run."""


class RunUnfinished(Conflict):
    """The thread has a run that has not ended."""

    def __init__(self, run_id: str) -> None:
        super().__init__("The thread's run has not ended")
        self.run_id = run_id


class TooManyChatRuns(TooManyRuns):
    """A member, an organization or the process has as many unfinished runs as it may."""

    message = "Too many unfinished runs at once"
    retry_after = 2


class ModelBudgetSpent(GatewayError):
    """The organization has no tokens left for this day, which ends at midnight UTC."""

    status = 429
    code = "MODEL_BUDGET_SPENT"
    message = "The organization's tokens of this day are spent"

    def __init__(self, retry_after: int | None = None) -> None:
        super().__init__()
        self.retry_after = retry_after
