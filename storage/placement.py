"""Says where each table would lie in a database that is distributed by organization.

Nothing is distributed today. What holds here keeps the way open, and `tests/storage/test_distributable.py` compares it
with the rules of engines that distribute a table by a column of its key.
"""

from enum import StrEnum
from typing import Final

from sqlmodel import SQLModel

from storage.adapters.sqlmodel import mappers
from storage.base import Tenant


class Placement(StrEnum):
    """Says where the rows of a table lie."""

    DISTRIBUTED = "distributed"
    """With everything else of their organization."""
    REFERENCE = "reference"
    """Everywhere."""
    LOCAL = "local"
    """On one server, beside those that are looked into for all organizations at once."""


_SHARED: Final = {
    "organizations": Placement.REFERENCE,
    **dict.fromkeys(("members", "memberships", "credentials"), Placement.LOCAL),
    **dict.fromkeys(("passwords", "login_sessions", "login_grants", "login_tickets"), Placement.LOCAL),
    "integration_accounts": Placement.LOCAL,
    **dict.fromkeys(("feedback", "idempotency_keys", "media"), Placement.LOCAL),
    **dict.fromkeys(("job_queue", "job_workers", "file_leftovers"), Placement.LOCAL),
    **dict.fromkeys(("analytics_watches", "chat_watches", "reminder_watches"), Placement.LOCAL),
    **dict.fromkeys(("report_watches", "webhook_watches"), Placement.LOCAL),
}
"""The tables that are no organization's own: each is placed here when it is made."""


def placements() -> dict[str, Placement]:
    """The place of every table by its name. Raises KeyError for one that nobody has placed."""
    own = {str(mapper.class_.__tablename__) for mapper in mappers() if issubclass(mapper.class_, Tenant)}
    return {name: Placement.DISTRIBUTED if name in own else _SHARED[name] for name in SQLModel.metadata.tables}
