"""The paths of organization keys and user tokens (specification 2.4, 4.10 and part 5)."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from contract.scopes import Role
from tests.support.world import World, bearer

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"
PATHS = {"/organization-pats": "ak", "/user-pats": "pat"}


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def _names(client: httpx.AsyncClient, path: str, headers: dict[str, str]) -> list[tuple[Any, ...]]:
    response = await client.get(path, headers=headers)
    assert response.status_code == 200
    return [(c["name"], c["owner_user_id"], c["owner_name"]) for c in response.json()]


async def test_the_text_is_shown_once(world: World, client: httpx.AsyncClient, path: str) -> None:
    member = world.session("member@one", world.one)
    response = await client.post(path, json={"name": "ci", "scopes": ["all"]}, headers=member)
    assert response.status_code == 201
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-ignored-fields"] == "scopes"
    created = response.json()
    match = re.fullmatch(rf"{PATHS[path]}_([0-9a-f]{{16}})\.([A-Za-z0-9_-]{{43}})", created["pat_key"])
    assert match is not None
    assert created == {
        "id": created["id"],
        "name": "ci",
        "key_id": match[1],
        "hint": match[2][-4:],
        "created_at": created["created_at"],
        "last_used_at": None,
        "expires_at": None,
        "owner_user_id": None,
        "owner_name": None,
        "pat_key": created["pat_key"],
    }
    listed = await client.get(path, headers=member)
    assert listed.json() == [{name: value for name, value in created.items() if name != "pat_key"}]
    assert match[2] not in listed.text


async def test_a_new_credential_works_until_it_is_revoked(world: World, client: httpx.AsyncClient, path: str) -> None:
    member = world.session("member@one", world.one)
    created = (await client.post(path, json={"name": "ci", "expires_at": "2999-01-01"}, headers=member)).json()
    assert created["expires_at"] == "2999-01-01T00:00:00Z"
    chosen = {"X-Service-Org": "org_one"} if path == "/user-pats" else {}
    headers = bearer(created["pat_key"]) | chosen
    assert (await client.get("/deals", headers=headers)).status_code == 200
    assert (await client.delete(f"{path}/{created['id']}", headers=headers)).status_code == 204
    assert (await client.get("/deals", headers=headers)).status_code == 401
    assert (await client.delete(f"{path}/{created['id']}", headers=member)).status_code == 404
    assert (await client.get(path, headers=member)).json() == []


async def test_rename(world: World, client: httpx.AsyncClient, path: str) -> None:
    member = world.session("member@one", world.one)
    created = (await client.post(path, json={"name": " ci\n"}, headers=member)).json()
    body = {"name": f" {'é' * 120}\t", "expires_at": "x"}
    assert created["name"] == "ci"
    renamed = await client.patch(f"{path}/{created['id'].upper()}", json=body, headers=member)
    assert renamed.status_code == 200
    assert renamed.headers["x-ignored-fields"] == "expires_at"
    del created["pat_key"]
    assert renamed.json() == created | {"name": "é" * 120}


async def test_what_is_refused(world: World, client: httpx.AsyncClient, path: str) -> None:
    member = world.session("member@one", world.one)
    created = (await client.post(path, json={"name": "ci"}, headers=member)).json()
    before = await world.dump()
    names: list[tuple[Any, str]] = [
        ({}, "missing"),
        ({"name": ""}, "string_too_short"),
        ({"name": " \u00a0\t"}, "string_too_short"),  # decision 154
        ({"name": "n" * 121}, "string_too_long"),
        ({"name": None}, "string_type"),
        ({"name": 5}, "string_type"),
        ({"name": "a\x00"}, "value_error"),
    ]
    for body, kind in names:
        for method, target in (("POST", path), ("PATCH", f"{path}/{created['id']}")):
            response = await client.request(method, target, json=body, headers=member)
            assert response.status_code == 422
            [problem] = response.json()["detail"]
            assert (problem["loc"], problem["type"]) == (["body", "name"], kind)
    for moment in ("2020-01-01", "soon", 5, True, ""):
        response = await client.post(path, json={"name": "n", "expires_at": moment}, headers=member)
        assert [problem["loc"] for problem in response.json()["detail"]] == [["body", "expires_at"]]
    assert await world.dump() == before


async def test_tokens_are_their_owner_s_alone(world: World, client: httpx.AsyncClient) -> None:
    await world.credential("member@one", None, name="member's")
    await world.credential("admin@one", None, name="admin's")
    admin, member = world.session("admin@one", world.one), world.session("member@one", world.one)
    [token] = (await client.get("/user-pats", headers=member)).json()
    assert await _names(client, "/user-pats", admin) == [("admin's", None, None)]
    before = await world.dump()
    assert (await client.patch(f"/user-pats/{token['id']}", json={"name": "x"}, headers=admin)).status_code == 404
    assert (await client.delete(f"/user-pats/{token['id']}", headers=admin)).status_code == 404
    # Each list has credentials of its own kind only.
    assert (await client.delete(f"/organization-pats/{token['id']}", headers=member)).status_code == 404
    assert await world.dump() == before


async def test_tokens_need_no_organization(world: World, client: httpx.AsyncClient) -> None:
    headers = bearer(await world.credential("member@one", None, name="first"))
    created = await client.post("/user-pats", json={"name": "second"}, headers=headers)
    assert created.status_code == 201
    assert await _names(client, "/user-pats", headers) == [("second", None, None), ("first", None, None)]
    assert (await client.get("/organization-pats", headers=headers)).status_code == 400


async def test_an_administrator_sees_and_revokes_every_key_of_the_organization(
    world: World, client: httpx.AsyncClient
) -> None:
    await world.join("member@one", world.two, role=Role.MEMBER)
    await world.credential("member@one", world.one, name="member's")
    await world.credential("admin@one", world.one, name="admin's")
    elsewhere = await world.credential("member@one", world.two, name="elsewhere")
    admin, member = world.session("admin@one", world.one), world.session("member@one", world.one)
    assert await _names(client, "/organization-pats", member) == [("member's", None, None)]
    assert await _names(client, "/organization-pats", admin) == [
        ("admin's", None, None),
        ("member's", "member@one", "Name of member@one"),
    ]
    admins, members = (await client.get("/organization-pats", headers=admin)).json()
    before = await world.dump()
    rename = await client.patch(f"/organization-pats/{members['id']}", json={"name": "x"}, headers=admin)
    assert rename.status_code == 404
    assert (await client.delete(f"/organization-pats/{admins['id']}", headers=member)).status_code == 404
    other_admin = world.session("admin@two", world.two)
    assert (await client.delete(f"/organization-pats/{members['id']}", headers=other_admin)).status_code == 404
    assert (await client.delete(f"/organization-pats/{UNKNOWN}", headers=admin)).status_code == 404
    assert await world.dump() == before
    assert (await client.delete(f"/organization-pats/{members['id']}", headers=admin)).status_code == 204
    assert await _names(client, "/organization-pats", admin) == [("admin's", None, None)]
    assert (await client.get("/deals", headers=bearer(elsewhere))).status_code == 200


async def test_each_scope_for_its_own_work(world: World, client: httpx.AsyncClient, path: str) -> None:
    """The pats scopes have no substitute (specification part 5)."""
    expected = {
        "pats:read": [200, 403, 403, 403],
        "pats:create": [403, 201, 404, 403],
        "pats:delete": [403, 403, 403, 404],
    }
    for scope, statuses in expected.items():
        subject = await world.join(f"{scope} only", world.one, scopes=[scope])
        headers = world.session(subject, world.one)
        responses = [
            await client.get(path, headers=headers),
            await client.post(path, json={"name": "n"}, headers=headers),
            await client.patch(f"{path}/{UNKNOWN}", json={"name": "n"}, headers=headers),
            await client.delete(f"{path}/{UNKNOWN}", headers=headers),
        ]
        assert [response.status_code for response in responses] == statuses
