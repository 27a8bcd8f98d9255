"""The scopes and their groups, written from the specification's part 5 and from nothing of ours."""

from __future__ import annotations

CRM_READS = [
    "api:read",
    "data:access",
    "contacts:read",
    "deals:read",
    "companies:read",
    "activities:read",
    "leads:read",
    "users:read",
    "organizations:read",
    "workflows:read",
]
CRM_MANAGE = [
    "api:manage",
    "deals:manage",
    "contacts:manage",
    "companies:manage",
    "activities:manage",
    "leads:manage",
    "users:manage",
    "organizations:manage",
    "workflows:manage",
]
OUTREACH = ["outreach:read", "outreach:manage", "outreach:provision"]
PATS = ["pats:read", "pats:create", "pats:delete"]
SCOPES = [*CRM_READS, *CRM_MANAGE, *OUTREACH, *PATS]

GROUPS = {
    # The endpoint table, which is narrower than the group row.
    "MEETINGS_READ": ["contacts:read", "deals:read", "companies:read", "activities:read", *CRM_MANAGE],
    "CRM_READ": [*CRM_READS, *CRM_MANAGE],
    "CRM_MANAGE": CRM_MANAGE,
    "ORG_ADMIN": ["organizations:manage"],
    "DATA_ACCESS": ["data:access"],
    "OUTREACH_READ": OUTREACH,
    "OUTREACH_MANAGE": ["outreach:manage", "outreach:provision"],
    "OUTREACH_PROVISION": ["outreach:provision"],
    "PATS_READ": ["pats:read"],
    "PATS_CREATE": ["pats:create"],
    "PATS_DELETE": ["pats:delete"],
}


def passes(group: str | None, scopes: set[str]) -> bool:
    """Whether a caller with these scopes may do what the group guards; without a group everybody may."""
    return group is None or not scopes.isdisjoint(GROUPS[group])
