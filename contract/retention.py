"""How long records are kept that grow for ever (decisions 1005 to 1007)."""

from dataclasses import dataclass
from typing import Final

from contract.chat import CHAT_RETENTION_DAYS
from contract.limits import RUN_RETENTION_DAYS

EVENTS_DAYS_MIN: Final = 30
STAGE_CHANGES_DAYS_MIN: Final = 400
"""The health of an account looks back a year, and a funnel rarely further."""
HEALTH_DAYS_MIN: Final = 30
OUTREACH_DAYS_MIN: Final = 200
"""The health of an account looks half a year back."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The days for which each kind of record is kept; 0 keeps it for good."""

    questions: int = RUN_RETENTION_DAYS
    chats: int = CHAT_RETENTION_DAYS
    events: int = 0
    stage_changes: int = 0
    health: int = 0
    outreach: int = 0
