"""The operator's settings of chats."""

from dataclasses import dataclass
from datetime import timedelta

from contract.chat import CHAT_APPROVAL_SECONDS, CHAT_RETENTION_DAYS, CHAT_RUN_SECONDS, CHAT_TOKENS_PER_DAY


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Says whether there are chats, the time of a run, how long threads are kept, and a process may be silent."""

    is_on: bool = True
    run_seconds: float = CHAT_RUN_SECONDS
    approval_seconds: float = CHAT_APPROVAL_SECONDS
    """The time for which a proposed write can be decided on."""
    retention_days: int = CHAT_RETENTION_DAYS
    """0 keeps them."""
    tokens_per_day: int = CHAT_TOKENS_PER_DAY
    """Of an organization; 0 for as many as there are."""
    lease: timedelta = timedelta(seconds=30)
