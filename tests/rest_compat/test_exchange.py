"""POST /pat/exchange (specification 5.7 to 5.10; RFC 8693)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from contract.scopes import Role, Scope
from tests.rest_compat.conftest import REQUEST_ID
from tests.support.world import World, bearer

PATH = "/pat/exchange"
GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"


def _form(token: str, **changes: str) -> dict[str, str]:
    return {"grant_type": GRANT, "subject_token": token, "subject_token_type": TOKEN_TYPE} | changes


async def _granted(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"] == "no-store"
    granted: dict[str, Any] = response.json()
    assert granted == {
        "access_token": granted["access_token"],
        "issued_token_type": TOKEN_TYPE,
        "token_type": "Bearer",
        "expires_in": 300,
        "scope": granted["scope"],
        "organization_id": granted["organization_id"],
    }
    return granted


@pytest.mark.parametrize("as_form", [False, True])
async def test_a_key(world: World, client: httpx.AsyncClient, as_form: bool) -> None:
    key = await world.credential("viewer@one", world.one)
    response = await (client.post(PATH, data=_form(key)) if as_form else client.post(PATH, headers=bearer(key)))
    granted = await _granted(response)
    assert granted["organization_id"] == "org_one"
    assert granted["scope"] == " ".join(sorted(Role.VIEWER.scopes))
    assert (await client.get("/deals", headers=bearer(granted["access_token"]))).status_code == 200
    again = await client.post(PATH, headers=bearer(granted["access_token"]))
    assert again.status_code == 401


@pytest.mark.parametrize("as_form", [False, True])
async def test_a_user_token(world: World, client: httpx.AsyncClient, as_form: bool) -> None:
    await world.join("viewer@one", world.two, scopes=[Scope.DEALS_READ, "unknown:scope"])
    token = await world.credential("viewer@one", None)

    async def exchange(**headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if as_form:
            return await client.post(PATH, data=_form(token), headers=named)
        return await client.post(PATH, headers=bearer(token) | named)

    nowhere = await _granted(await exchange())
    assert nowhere["organization_id"] is None
    there = await _granted(await exchange(X_Service_Org="org_two"))
    assert (there["organization_id"], there["scope"]) == ("org_two", "deals:read")
    assert (await client.get("/deals", headers=bearer(there["access_token"]))).status_code == 200
    assert (await client.get("/deals", headers=bearer(nowhere["access_token"]))).status_code == 400
    refused = await exchange(X_Service_Org="org_none")
    assert (refused.status_code, refused.json()["detail"]) == (403, "Organization mismatch")


async def test_a_key_with_an_organization_header(world: World, client: httpx.AsyncClient) -> None:
    key = await world.credential("viewer@one", world.one)
    for response in (
        await client.post(PATH, headers=bearer(key) | {"X-Service-Org": "org_one"}),
        await client.post(PATH, data=_form(key), headers={"X-Service-Org": "org_one"}),
    ):
        assert response.status_code == 400
        assert response.json()["detail"] == "X-Service-Org is not accepted with an organization key"


async def test_what_is_no_credential(world: World, client: httpx.AsyncClient) -> None:
    revoked = await world.credential("viewer@one", world.one, revoked_at=datetime(2026, 1, 1, tzinfo=UTC))
    expired = await world.credential("viewer@one", None, expires_at=datetime(2026, 1, 1, tzinfo=UTC))
    session = world.session("viewer@one", world.one)["Authorization"].removeprefix("Bearer ")
    bad = [revoked, expired, session, "ak_0123456789abcdef.x", "ak_", "", "\x00", "ak_é"]
    responses = [await client.post(PATH, data=_form(token)) for token in bad]
    responses += [await client.post(PATH, data=_form(token, grant_type="wrong")) for token in bad]
    responses += [await client.post(PATH, headers=bearer(token)) for token in (revoked, expired, session)]
    responses += [
        await client.post(PATH),
        await client.post(PATH, json=_form(revoked)),
        await client.post(PATH, data={}),
    ]
    for response in responses:
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"
        assert response.json() == {
            "detail": "Valid credential required",
            "code": "unauthenticated",
            "request_id": REQUEST_ID,
        }


async def test_the_form(world: World, client: httpx.AsyncClient) -> None:
    key = await world.credential("viewer@one", world.one)

    async def problems(form: dict[str, str], headers: dict[str, str] | None = None) -> list[tuple[Any, ...]]:
        response = await client.post(PATH, data=form, headers=headers)
        assert response.status_code == 422
        return [(*p["loc"], p["type"]) for p in response.json()["detail"]]

    assert await problems({"subject_token": key}) == [
        ("body", "grant_type", "missing"),
        ("body", "subject_token_type", "missing"),
    ]
    assert await problems(_form(key, grant_type="password")) == [("body", "grant_type", "literal_error")]
    assert await problems(_form(key, subject_token_type="x")) == [("body", "subject_token_type", "literal_error")]
    assert await problems(_form(key, requested_token_type="x")) == [("body", "requested_token_type", "literal_error")]
    without = {name: value for name, value in _form(key).items() if name != "subject_token"}
    assert await problems(without) == [("body", "subject_token", "missing")]
    assert await problems(without, bearer(key)) == [("body", "subject_token", "missing")]
    assert await problems({"x": "y"}) == [
        ("body", "grant_type", "missing"),
        ("body", "subject_token", "missing"),
        ("body", "subject_token_type", "missing"),
    ]
    await _granted(await client.post(PATH, data=_form(key, requested_token_type=TOKEN_TYPE, scope="x", other="")))


async def test_the_form_s_credential_wins(world: World, client: httpx.AsyncClient) -> None:
    one, two = await world.credential("viewer@one", world.one), await world.credential("viewer@two", world.two)
    granted = await _granted(await client.post(PATH, data=_form(one), headers=bearer(two)))
    assert granted["organization_id"] == "org_one"
    assert (await client.post(PATH, data=_form("ak_bad"), headers=bearer(two))).status_code == 401
    # A form type without a form, and bodies of other types, leave the bearer.
    for content, media_type in ((b"", "application/x-www-form-urlencoded"), (b"{}", "application/json")):
        headers = bearer(two) | {"Content-Type": media_type}
        granted = await _granted(await client.post(PATH, content=content, headers=headers))
        assert granted["organization_id"] == "org_two"


async def test_a_form_over_the_limit(client: httpx.AsyncClient) -> None:
    response = await client.post(PATH, data={"subject_token": "x" * 1024 * 1024})
    assert response.status_code == 413
