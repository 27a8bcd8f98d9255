"""The columns of a connection that say what holds it up."""

from datetime import datetime

from providers.accounts.ports import AccountError
from storage.tables import Integration

NO_PROBLEM = {"problem_code": None, "problem_message": None, "problem_since": None, "retry_at": None}
"""The columns of a connection that nothing holds up."""


def problem(integration: Integration, error: AccountError, moment: datetime, due: datetime | None) -> dict[str, object]:
    """The columns of a connection that this holds up until it is due again, if it ever is."""
    same = integration.problem_code == error.code.value
    return {
        "problem_code": error.code.value,
        "problem_message": error.words,
        "problem_since": integration.problem_since if same else moment,
        "retry_at": due,
        "next_sync_at": due,
    }
