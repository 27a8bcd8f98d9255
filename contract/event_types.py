"""The types of the events in the change log: what happened to what (decision 67), and who sees it."""

from enum import StrEnum

from contract.scopes import ScopeGroup

_PAST = {
    "account": "created updated deleted",
    "account_health": "refreshed",
    "campaign": "created updated launched paused resumed archived deleted blocked completed",
    "competitor": "created deleted",
    "contact": "created updated deleted linked unlinked",
    "contact_link": "updated",
    "cx_report": "edited",
    "deal": "created updated deleted",
    "deal_competitors": "detected",
    "domain": "ordered updated",
    "enrollment": "removed",
    "enrollments": "created",
    "feedback": "submitted",
    "lead": "created updated disqualified reopened converted",
    "mailbox": "ordered updated",
    "meeting": "logged updated completed deleted",
    "organization_key": "created renamed revoked",
    "pipeline_stage": "created updated deleted",
    "pipeline_stages": "reordered",
    "research_run": "created cancelled completed",
    "webhook": "created deleted tested disabled",
}
EVENT_TYPES = frozenset(f"{noun}_{past}" for noun, pasts in _PAST.items() for past in pasts.split())
"""Every type that there is, and that a webhook may ask for."""

AREAS = {"crm": ScopeGroup.CRM_READ, "outreach": ScopeGroup.OUTREACH_READ, "admin": ScopeGroup.ORG_ADMIN}
"""Who sees the events of an area."""


def areas_seen(scopes: frozenset[str]) -> list[str]:
    """The areas that a caller with these scopes sees."""
    return [area for area, group in AREAS.items() if group.passes(scopes)]


class WebhookEnd(StrEnum):
    """Why a webhook was switched off: `reason` of `webhook_disabled`."""

    FAILING = "failing"
    MAKER_REMOVED = "maker_removed"
    MAKER_LOST_SCOPE = "maker_lost_scope"
    RESTORED = "restored"
