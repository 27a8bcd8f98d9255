from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.gateway import Gateway
from tests.support.tenants import Tenant
from tests.support.world import bearer

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOWHERE = "00000000-0000-7000-8000-000000000000"
KEY = "id name keyId hint createdAt lastUsedAt expiresAt ownerUserId ownerName"
TOKEN = "id name keyId hint createdAt lastUsedAt expiresAt"
ERRORS = "userErrors { code message field }"
KINDS = {"organizationKey": KEY, "userToken": TOKEN}
NOT_FOUND = [{"code": "NOT_FOUND", "message": "Not found", "field": ["id"]}]


def create(kind: str) -> str:
    return (
        f"mutation($input: CredentialCreateInput!) {{ {kind}Create(input: $input) "
        f"{{ {kind} {{ {KINDS[kind]} }} patKey {ERRORS} }} }}"
    )


def rename(kind: str) -> str:
    return (
        f"mutation($id: ID!, $name: String!) {{ {kind}Rename(id: $id, name: $name) "
        f"{{ {kind} {{ {KINDS[kind]} }} {ERRORS} }} }}"
    )


def revoke(kind: str) -> str:
    return f"mutation($id: ID!) {{ {kind}Revoke(id: $id) {{ deletedId {ERRORS} }} }}"


def listing(kind: str) -> str:
    return f"{{ {kind}s {{ {KINDS[kind]} }} }}"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_credential_from_its_making_to_its_end(one: Tenant, gateway: Gateway, kind: str) -> None:
    before = datetime.now(UTC)
    expires = (before + timedelta(days=1)).replace(microsecond=0)
    made = await one.ask(create(kind), input={"name": f" {'n' * 120} ", "expiresAt": expires.isoformat()})
    credential, text = made[kind], made["patKey"]
    assert made["userErrors"] == []
    prefix, _, rest = text.partition("_")
    key_id, _, secret = rest.partition(".")
    assert prefix == ("ak" if kind == "organizationKey" else "pat")
    assert before <= datetime.fromisoformat(credential["createdAt"]) <= datetime.now(UTC)
    assert credential == {
        "id": credential["id"],
        "name": "n" * 120,
        "keyId": key_id,
        "hint": secret[-4:],
        "createdAt": credential["createdAt"],
        "lastUsedAt": None,
        "expiresAt": expires.isoformat().replace("+00:00", "Z"),
        **({"ownerUserId": None, "ownerName": None} if kind == "organizationKey" else {}),
    }
    assert await one.ask(listing(kind)) == [credential]
    headers = bearer(text) | ({} if kind == "organizationKey" else {"X-Service-Org": one.organization.external_id})
    assert await one.ask("{ deals { totalCount } }", headers) == {"totalCount": 0}
    await gateway.world.services.identity.close()
    [used] = await one.ask(listing(kind))
    assert before <= datetime.fromisoformat(used["lastUsedAt"]) <= datetime.now(UTC)
    renamed = await one.ask(rename(kind), id=credential["id"].upper(), name="m")
    assert renamed == {kind: used | {"name": "m"}, "userErrors": []}
    assert await one.ask(revoke(kind), id=credential["id"]) == {"deletedId": credential["id"], "userErrors": []}
    assert await one.ask(listing(kind)) == []
    assert (await one.post("{ viewer { subject } }", headers)).status_code == 401
    assert await one.ask(revoke(kind), id=credential["id"]) == {"deletedId": None, "userErrors": NOT_FOUND}
    assert await one.ask(rename(kind), id=credential["id"], name="x") == {kind: None, "userErrors": NOT_FOUND}


@pytest.mark.parametrize("kind", KINDS)
async def test_names_and_times_that_are_refused(one: Tenant, kind: str) -> None:
    names = {
        "": "must not be empty",
        " \u2003": "must not be empty",
        "n" * 121: "must have at most 120 characters",
        "a\x00": "must not contain the NUL character",
    }
    for name, message in names.items():
        error = {"code": "VALIDATION", "message": message}
        refused = {kind: None, "patKey": None, "userErrors": [error | {"field": ["input", "name"]}]}
        assert await one.ask(create(kind), input={"name": name}) == refused
        refused = {kind: None, "userErrors": [error | {"field": ["name"]}]}
        assert await one.ask(rename(kind), id=NOWHERE, name=name) == refused
    assert await one.ask(create(kind), input={"name": "n", "expiresAt": "2026-01-01T00:00:00Z"}) == {
        kind: None,
        "patKey": None,
        "userErrors": [{"code": "VALIDATION", "message": "must lie in the future", "field": ["input", "expiresAt"]}],
    }
    assert (await one.ask(create(kind), input={"name": "n", "expiresAt": None}))[kind]["expiresAt"] is None
    assert len(await one.ask(listing(kind))) == 1


async def test_keys_of_others_are_shown_to_administrators_alone(one: Tenant, two: Tenant) -> None:
    kind = "organizationKey"
    mine = (await one.ask(create(kind), input={"name": "mine"}))[kind]
    theirs = (await one.ask(create(kind), one.headers("admin"), input={"name": "theirs"}))[kind]
    await two.ask(create(kind), two.headers("admin"), input={"name": "elsewhere"})
    assert await one.ask(listing(kind)) == [mine]
    owner = {"ownerUserId": one.subject(), "ownerName": "The member"}
    assert await one.ask(listing(kind), one.headers("admin")) == [theirs, mine | owner]
    for query, variables in ((rename(kind), {"name": "x"}), (revoke(kind), {})):
        refused = await one.ask(query, id=theirs["id"], **variables)
        assert refused["userErrors"] == NOT_FOUND
        refused = await one.ask(query, two.headers("admin"), id=theirs["id"], **variables)
        assert refused["userErrors"] == NOT_FOUND
    refused = await one.ask(rename(kind), one.headers("admin"), id=mine["id"], name="x")
    assert refused == {kind: None, "userErrors": NOT_FOUND}
    revoked = await one.ask(revoke(kind), one.headers("admin"), id=mine["id"])
    assert revoked == {"deletedId": mine["id"], "userErrors": []}
    assert await one.ask(listing(kind)) == []
    assert await one.ask(listing(kind), one.headers("admin")) == [theirs]


async def test_tokens_are_their_owners_alone(one: Tenant, two: Tenant) -> None:
    kind = "userToken"
    await one.gateway.world.join(one.subject("admin"), two.organization, role=None, scopes=["pats:read"])
    token = (await one.ask(create(kind), one.headers("admin"), input={"name": "theirs"}))[kind]
    assert await one.ask(listing(kind)) == []
    for query, variables in ((rename(kind), {"name": "x"}), (revoke(kind), {})):
        assert (await one.ask(query, id=token["id"], **variables))["userErrors"] == NOT_FOUND
    elsewhere = one.gateway.world.session(one.subject("admin"), two.organization)
    assert await one.ask(listing(kind), elsewhere) == [token]


@pytest.mark.parametrize("kind", KINDS)
async def test_kinds_do_not_mix(one: Tenant, kind: str) -> None:
    other = next(k for k in KINDS if k != kind)
    made = (await one.ask(create(kind), input={"name": "n"}))[kind]
    for identifier in (made["id"], NOWHERE, "no uuid", ""):
        assert await one.ask(revoke(other), id=identifier) == {"deletedId": None, "userErrors": NOT_FOUND}
        refused: Any = await one.ask(rename(other), id=identifier, name="x")
        assert refused == {other: None, "userErrors": NOT_FOUND}
    assert await one.ask(listing(kind)) == [made]


async def test_the_newest_comes_first(one: Tenant) -> None:
    for kind in KINDS:
        made = [(await one.ask(create(kind), input={"name": str(i)}))[kind] for i in range(3)]
        assert await one.ask(listing(kind)) == made[::-1]
