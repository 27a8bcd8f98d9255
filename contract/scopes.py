"""Scopes, the groups that guard operations, and the roles of the embedded directory (specification part 5)."""

from enum import Enum, StrEnum
from typing import Final


class Scope(StrEnum):
    """Every scope that a credential can carry."""

    API_READ = "api:read"
    DATA_ACCESS = "data:access"
    CONTACTS_READ = "contacts:read"
    DEALS_READ = "deals:read"
    COMPANIES_READ = "companies:read"
    ACTIVITIES_READ = "activities:read"
    LEADS_READ = "leads:read"
    USERS_READ = "users:read"
    ORGANIZATIONS_READ = "organizations:read"
    WORKFLOWS_READ = "workflows:read"
    API_MANAGE = "api:manage"
    DEALS_MANAGE = "deals:manage"
    CONTACTS_MANAGE = "contacts:manage"
    COMPANIES_MANAGE = "companies:manage"
    ACTIVITIES_MANAGE = "activities:manage"
    LEADS_MANAGE = "leads:manage"
    USERS_MANAGE = "users:manage"
    ORGANIZATIONS_MANAGE = "organizations:manage"
    WORKFLOWS_MANAGE = "workflows:manage"
    OUTREACH_READ = "outreach:read"
    OUTREACH_MANAGE = "outreach:manage"
    OUTREACH_PROVISION = "outreach:provision"
    PATS_READ = "pats:read"
    PATS_CREATE = "pats:create"
    PATS_DELETE = "pats:delete"


_S = Scope
_CRM_MANAGE = frozenset(
    {
        _S.API_MANAGE,
        _S.DEALS_MANAGE,
        _S.CONTACTS_MANAGE,
        _S.COMPANIES_MANAGE,
        _S.ACTIVITIES_MANAGE,
        _S.LEADS_MANAGE,
        _S.USERS_MANAGE,
        _S.ORGANIZATIONS_MANAGE,
        _S.WORKFLOWS_MANAGE,
    }
)
_CRM_READS = frozenset(
    {
        _S.API_READ,
        _S.DATA_ACCESS,
        _S.CONTACTS_READ,
        _S.DEALS_READ,
        _S.COMPANIES_READ,
        _S.ACTIVITIES_READ,
        _S.LEADS_READ,
        _S.USERS_READ,
        _S.ORGANIZATIONS_READ,
        _S.WORKFLOWS_READ,
    }
)
_ENDPOINT_READS = frozenset({_S.CONTACTS_READ, _S.DEALS_READ, _S.COMPANIES_READ, _S.ACTIVITIES_READ})


class ScopeGroup(Enum):
    """A rule over the caller's scopes: it passes when the caller holds at least one of the set (decision 1)."""

    MEETINGS_READ = _ENDPOINT_READS | _CRM_MANAGE
    CRM_READ = _CRM_READS | _CRM_MANAGE
    CRM_MANAGE = _CRM_MANAGE
    ORG_ADMIN = frozenset({_S.ORGANIZATIONS_MANAGE})
    DATA_ACCESS = frozenset({_S.DATA_ACCESS})
    OUTREACH_READ = frozenset({_S.OUTREACH_READ, _S.OUTREACH_MANAGE, _S.OUTREACH_PROVISION})
    OUTREACH_MANAGE = frozenset({_S.OUTREACH_MANAGE, _S.OUTREACH_PROVISION})
    OUTREACH_PROVISION = frozenset({_S.OUTREACH_PROVISION})
    PATS_READ = frozenset({_S.PATS_READ})
    PATS_CREATE = frozenset({_S.PATS_CREATE})
    PATS_DELETE = frozenset({_S.PATS_DELETE})

    def passes(self, scopes: frozenset[str]) -> bool:
        return not self._value_.isdisjoint(scopes)

    @property
    def text(self) -> str:
        """Says what the group is for, and its scopes, for descriptions."""
        return f"{_GROUP_TEXTS[self.name]} Any of: {', '.join(sorted(self.value))}."

    @property
    def needed(self) -> str | None:
        """The word in a row that needs this group beside that of its kind; None for the group of all who read."""
        return None if self is ScopeGroup.CRM_READ else self.name


_GROUP_TEXTS: Final = {
    "MEETINGS_READ": "Reading meetings and health.",
    "CRM_READ": "Reading records of the CRM.",
    "CRM_MANAGE": "Writing records of the CRM.",
    "ORG_ADMIN": "What the organization's administrators do.",
    "DATA_ACCESS": "Read-only analytics.",
    "OUTREACH_READ": "Reading campaigns and enrollments.",
    "OUTREACH_MANAGE": "Creating and editing campaigns and enrollments.",
    "OUTREACH_PROVISION": "Actions that cost money: domains and mailboxes.",
    "PATS_READ": "Reading keys and tokens.",
    "PATS_CREATE": "Making keys and tokens.",
    "PATS_DELETE": "Revoking keys and tokens.",
}
ROW_GROUPS = (ScopeGroup.MEETINGS_READ.name, ScopeGroup.OUTREACH_READ.name)
"""The groups that a row may need beside that of its kind, by name (decision 850)."""


class Role(StrEnum):
    """A role of the embedded directory."""

    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"

    @property
    def scopes(self) -> frozenset[Scope]:
        """The scopes that the role grants (decision 2)."""
        return ROLE_SCOPES[self]


_VIEWER = _CRM_READS | {_S.OUTREACH_READ}
_MEMBER = (
    _VIEWER
    | (_CRM_MANAGE - {_S.USERS_MANAGE, _S.ORGANIZATIONS_MANAGE})
    | {_S.OUTREACH_MANAGE, _S.PATS_READ, _S.PATS_CREATE, _S.PATS_DELETE}
)
ROLE_SCOPES: dict[Role, frozenset[Scope]] = {
    Role.VIEWER: _VIEWER,
    Role.MEMBER: _MEMBER,
    Role.ADMIN: frozenset(Scope),
}
