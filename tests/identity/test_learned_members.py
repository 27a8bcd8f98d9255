"""Members that an external identity provider's tokens teach: listed, named as owners, removed; never managed."""

from __future__ import annotations

from typing import Any

from tests.identity.test_directory import External, external, settings

__all__ = ["external", "settings"]

ADMIN = "organizations:manage contacts:read"
MEMBERS = "query($s: [MemberState!]) { members(filter: {states: $s}) { nodes { id name email role state scopes } } }"
REMOVE = "mutation($id: ID!) { memberRemove(id: $id) { member { state } userErrors { code field } } }"
LOG = "{ events(first: 50) { nodes { type actor data } } }"


async def data(external: External, headers: Any, document: str, **variables: Any) -> Any:
    body = (await external.gateway.graphql(document, headers, **variables)).json()
    assert "errors" not in body, body
    [value] = body["data"].values()
    return value


async def test_tokens_teach_who_there_is(external: External) -> None:
    boss = external.session("boss", org_id="acme", scope=ADMIN, name="Bo Boss", email="bo@example.com")
    ada = external.session("ada", 1, org_id="acme", scope="contacts:read", name="Ada")
    for headers in (boss, ada):
        assert await external.status(headers) == 200
    await external.viewer(external.session("ada", 2, org_id="beta", scope="contacts:read", name="Ada of Beta"))
    nodes = (await data(external, boss, MEMBERS, s=["ACTIVE"]))["nodes"]
    shown = {"role": None, "state": "ACTIVE"}
    assert nodes == [
        shown | {"id": "ada", "name": "Ada", "email": None, "scopes": ["contacts:read"]},
        shown | {"id": "boss", "name": "Bo Boss", "email": "bo@example.com", "scopes": sorted(ADMIN.split())},
    ]
    await external.viewer(external.session("ada", 3, org_id="acme", scope="contacts:read", name="Ada Park"))
    assert (await data(external, boss, MEMBERS, s=["ACTIVE"]))["nodes"][0]["name"] == "Ada Park"
    await external.viewer(external.session("ada", 2, org_id="acme", scope="contacts:read", name="Ada the Old"))
    assert (await data(external, boss, MEMBERS, s=["ACTIVE"]))["nodes"][0]["name"] == "Ada Park"


async def test_what_a_token_changes_of_a_member_is_told(external: External) -> None:
    """Decision 1060: a replica that has the log has what such a token said; that there is somebody is no change."""
    boss = external.session("boss", org_id="acme", scope=ADMIN, name="Bo")
    ada = {"org_id": "acme", "scope": "contacts:read"}
    for headers in (boss, external.session("ada", 1, **ada, name="Ada"), external.session("ada", 2, **ada, name="Ada")):
        assert await external.status(headers) == 200
    assert (await data(external, boss, LOG))["nodes"] == []
    for second, name in ((3, "Ada Park"), (4, "Ada Park")):
        assert await external.status(external.session("ada", second, **ada, name=name)) == 200
    # A token that lists the organizations, and no longer this one.
    await external.viewer(external.session("ada", 5, org_id=["beta"], scope="contacts:read"))
    told = (await data(external, boss, LOG))["nodes"]
    assert told == [
        {"type": "member_updated", "actor": "ada", "data": {"member_id": "ada", "changed": ["name"]}},
        {"type": "member_removed", "actor": "ada", "data": {"member_id": "ada"}},
    ]


async def test_members_are_the_provider_s_business(external: External) -> None:
    boss = external.session("boss", org_id="acme", scope=ADMIN)
    await external.viewer(external.session("ada", org_id="acme", scope="contacts:read"))
    body = {"name": "N", "email": "n@example.com"}
    for method, path, sent in (
        ("POST", "/members", body),
        ("PATCH", "/members/ada", {"name": "N"}),
        ("POST", "/members/ada/deactivate", None),
        ("POST", "/members/ada/reactivate", None),
    ):
        answer = await external.gateway.rest(method, path, boss, sent)
        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state"), path
    assert [m["name"] for m in (await data(external, boss, MEMBERS))["nodes"]] == [None, None]


async def test_a_removed_member_s_token_is_refused_however_long_it_runs(external: External) -> None:
    gateway = external.gateway
    boss = external.session("boss", org_id="acme", scope=ADMIN)
    await external.viewer(boss)
    session = external.session("ada", org_id="acme", scope="contacts:read deals:read", name="Ada")
    other = external.session("ada", 5, org_id="beta", scope="contacts:read pats:create")
    user_token = await external.user_token(other)
    here = user_token | {"X-Service-Org": "acme"}
    assert await external.status(session) == 200
    assert await external.status(here) == 200
    organization = (await data(external, boss, "{ viewer { organization { id } } }"))["organization"]["id"]
    assert organization == "acme"
    removed = await data(external, boss, REMOVE, id="ada")
    assert removed == {"member": {"state": "LEFT"}, "userErrors": []}
    later = external.session("ada", 60, org_id="acme", scope="contacts:read")  # issued before the removal as well
    for _ in range(2):
        assert [await external.status(headers) for headers in (session, later)] == [401, 401]
        assert await external.status(here) == 403
        assert await external.status(other) == 200
    assert [m["id"] for m in (await data(external, boss, MEMBERS, s=["LEFT"]))["nodes"]] == ["ada"]
    again = await gateway.rest("DELETE", "/members/ada", boss)
    assert again.status_code == 404
    last = await data(external, boss, REMOVE, id="boss")
    assert last == {"member": None, "userErrors": [{"code": "INVALID_STATE", "field": ["id"]}]}
    # What the provider says after that is news.
    fresh = external.session("ada", 3605, org_id="acme", scope="contacts:read")
    assert await external.status(fresh) == 200
    assert [m["id"] for m in (await data(external, boss, MEMBERS, s=["LEFT"]))["nodes"]] == []


async def test_an_owner_who_only_called_once_has_a_name(external: External) -> None:
    ada = external.session("ada", org_id="acme", scope="deals:manage", name="Ada")
    made = await external.gateway.rest("POST", "/deals", ada, {"name": "D"})
    assert made.status_code == 201
    nodes = (await data(external, ada, "{ deals { nodes { owner { name } } } }"))["nodes"]
    assert nodes == [{"owner": {"name": "Ada"}}]
