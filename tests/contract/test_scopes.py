"""The scopes, the groups and the roles against the specification's tables, copied here by hand (part 5)."""

from __future__ import annotations

from contract.scopes import ROLE_SCOPES, Role, Scope, ScopeGroup
from tests.support.rules import CRM_MANAGE, CRM_READS, GROUPS, SCOPES

VIEWER = [*CRM_READS, "outreach:read"]
MEMBER = [
    *VIEWER,
    "api:manage",
    "deals:manage",
    "contacts:manage",
    "companies:manage",
    "activities:manage",
    "leads:manage",
    "workflows:manage",
    "outreach:manage",
    "pats:read",
    "pats:create",
    "pats:delete",
]


def test_the_scopes() -> None:
    assert len(SCOPES) == len(set(SCOPES)) == 25
    assert sorted(Scope) == sorted(SCOPES)


def test_the_groups() -> None:
    assert {group.name: sorted(group.value) for group in ScopeGroup} == {
        name: sorted(scopes) for name, scopes in GROUPS.items()
    }


def test_one_scope_of_a_group_is_enough_and_no_other_scope_will_do() -> None:
    for group in ScopeGroup:
        assert {s for s in SCOPES if group.passes(frozenset({s}))} == set(GROUPS[group.name])
        assert group.passes(frozenset(SCOPES))
        assert not group.passes(frozenset())
        assert not group.passes(frozenset(SCOPES) - set(GROUPS[group.name]))
        assert not group.passes(frozenset({"deals", "deals:*", "*", "", "DEALS:MANAGE"}))


def test_a_manage_scope_satisfies_a_read_check_and_not_the_reverse() -> None:
    for scope in CRM_MANAGE:
        assert ScopeGroup.CRM_READ.passes(frozenset({scope}))
        assert ScopeGroup.MEETINGS_READ.passes(frozenset({scope}))
    for scope in CRM_READS:
        assert not ScopeGroup.CRM_MANAGE.passes(frozenset({scope}))


def test_the_roles() -> None:
    assert {role.value: sorted(scopes) for role, scopes in ROLE_SCOPES.items()} == {
        "viewer": sorted(VIEWER),
        "member": sorted(MEMBER),
        "admin": sorted(SCOPES),
    }
    assert {role: role.scopes for role in Role} == ROLE_SCOPES
