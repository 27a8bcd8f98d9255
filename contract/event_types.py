"""The areas of the change log, who sees them, and why a webhook ends; the types are in `storage/event_types.py`."""

from enum import StrEnum

from contract.scopes import ScopeGroup

AREAS = {"crm": ScopeGroup.CRM_READ, "outreach": ScopeGroup.OUTREACH_READ, "admin": ScopeGroup.ORG_ADMIN}
"""The scope group that sees the events of each area."""


def areas_seen(scopes: frozenset[str]) -> list[str]:
    """The areas that a caller with these scopes sees."""
    return [area for area, group in AREAS.items() if group.passes(scopes)]


class WebhookEnd(StrEnum):
    """The reason for which a webhook was switched off: `reason` of `webhook_disabled`."""

    FAILING = "failing"
    MAKER_REMOVED = "maker_removed"
    MAKER_LOST_SCOPE = "maker_lost_scope"
    RESTORED = "restored"
