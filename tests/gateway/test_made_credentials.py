"""What credentials may do about credentials, by both surfaces: none makes more than it is, and none outlives it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from contract.errors import NotInPerson
from contract.scopes import Role
from contract.vocabulary import CredentialKind
from storage.base import now
from tests.support.gateway import Gateway, open_gateway
from tests.support.world import Headers, World, bearer

KEYS, TOKENS = "/organization-pats", "/user-pats"
ORG = {"X-Service-Org": "org_one"}
USER_TOKEN_FIELDS = {
    "userTokens": "{ userTokens { id } }",
    "userTokenCreate": 'mutation { userTokenCreate(input: {name: "N"}) { patKey userErrors { message } } }',
    "userTokenRename": 'mutation { userTokenRename(id: "%s", name: "M") { userErrors { message } } }',
    "userTokenRevoke": 'mutation { userTokenRevoke(id: "%s") { userErrors { message } } }',
}


@pytest.fixture
def settings() -> dict[str, Any]:
    """Settings; a test may bring others."""
    return {}


@pytest.fixture
async def gateway(database_url: str, tmp_path: Path, settings: dict[str, Any]) -> AsyncIterator[Gateway]:
    async with open_gateway(database_url, tmp_path / "data", **settings) as gateway:
        yield gateway


async def made(gateway: Gateway, path: str, headers: Headers, **body: Any) -> httpx.Response:
    return await gateway.rest("POST", path, headers, {"name": "N", **body})


async def minted(gateway: Gateway, path: str, headers: Headers, **body: Any) -> dict[str, Any]:
    response = await made(gateway, path, headers, **body)
    assert response.status_code == 201, response.text
    record: dict[str, Any] = response.json()
    return record


async def holds(gateway: Gateway, headers: Headers) -> bool:
    status = (await gateway.rest("GET", "/deals", headers)).status_code
    assert status in (200, 401)
    return status == 200


async def exchanged(gateway: Gateway, text: str, headers: Headers | None = None) -> Headers:
    answer = await gateway.http.post("/pat/exchange", headers=bearer(text) | (headers or {}))
    assert answer.status_code == 200
    return bearer(answer.json()["access_token"])


async def test_a_key_or_an_exchanged_token_touches_no_user_token(gateway: Gateway) -> None:
    world = gateway.world
    session = world.session("admin@one", world.one)
    own = await minted(gateway, TOKENS, session)
    key = await world.credential("admin@one", world.one)
    token = own["pat_key"]
    before = await world.dump()
    callers = {
        "key": bearer(key),
        "exchanged key": await exchanged(gateway, key),
        "exchanged token": await exchanged(gateway, token),
        "exchanged token of an organization": await exchanged(gateway, token, ORG),
    }
    for name, headers in callers.items():
        for method, path, body in (
            ("GET", TOKENS, None),
            ("POST", TOKENS, {"name": "N"}),
            ("POST", TOKENS, {"name": ""}),
            ("PATCH", f"{TOKENS}/{own['id']}", {"name": "M"}),
            ("DELETE", f"{TOKENS}/{own['id']}", None),
            ("DELETE", f"{TOKENS}/nothing", None),
        ):
            refused = await gateway.rest(method, path, headers, body)
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), (name, method, path)
            assert refused.json()["detail"] == NotInPerson.message
        for field, document in USER_TOKEN_FIELDS.items():
            answer = (await gateway.graphql(document.replace("%s", own["id"]), headers)).json()
            [error] = answer["errors"]
            assert (error["extensions"]["code"], error["path"]) == ("FORBIDDEN", [field]), name
        answer = (await gateway.graphql(f'{{ node(id: "{own["id"]}") {{ id }} }}', headers)).json()
        assert answer["data"] == {"node": None}
    assert await world.dump() == before
    assert own["id"] in [t["id"] for t in (await gateway.rest("GET", TOKENS, bearer(token))).json()]
    assert (await gateway.rest("DELETE", f"{TOKENS}/{own['id']}", bearer(token))).status_code == 204


@pytest.mark.parametrize("path", [KEYS, TOKENS])
async def test_what_a_credential_makes_ends_with_it(gateway: Gateway, path: str) -> None:
    """However long the line is, and whoever revokes its beginning."""
    world = gateway.world
    session = world.session("admin@one", world.one)
    first = await minted(gateway, path, session)
    beside = await minted(gateway, path, session)
    line = [first]
    chosen = ORG if path == TOKENS else {}
    for _ in range(4):
        line.append(await minted(gateway, path, bearer(line[-1]["pat_key"]) | chosen))
    keys = [await minted(gateway, KEYS, bearer(c["pat_key"]) | chosen) for c in line]
    by_exchange = await minted(gateway, KEYS, await exchanged(gateway, line[2]["pat_key"], chosen))
    held = [bearer(c["pat_key"]) | chosen for c in line] + [bearer(c["pat_key"]) for c in (*keys, by_exchange)]
    acting = [await exchanged(gateway, c["pat_key"], chosen) for c in line]
    assert [await holds(gateway, headers) for headers in (*held, *acting)] == [True] * len([*held, *acting])

    async def still() -> list[bool]:
        return [await holds(gateway, headers) for headers in held]

    assert (await gateway.rest("DELETE", f"{path}/{line[3]['id']}", session)).status_code == 204
    assert await still() == [*[True] * 3, False, False, *[True] * 3, False, False, True]
    assert (await gateway.rest("DELETE", f"{path}/{first['id']}", session)).status_code == 204
    assert await still() == [False] * len(held)
    assert [await holds(gateway, headers) for headers in acting] == [False] * len(acting)
    assert [c["id"] for c in (await gateway.rest("GET", path, session)).json()] == [beside["id"]]
    assert await holds(gateway, bearer(beside["pat_key"]) | chosen)


async def test_what_is_being_made_while_its_maker_is_revoked_never_holds(gateway: Gateway) -> None:
    world = gateway.world
    session = world.session("admin@one", world.one)
    for _ in range(5):
        maker = await minted(gateway, TOKENS, session)
        makers = [maker, *[await minted(gateway, TOKENS, bearer(maker["pat_key"])) for _ in range(2)]]
        requests = [made(gateway, KEYS, bearer(m["pat_key"]) | ORG) for m in makers]
        answers = await asyncio.gather(*requests, gateway.rest("DELETE", f"{TOKENS}/{maker['id']}", session))
        texts = [answer.json()["pat_key"] for answer in answers[:-1] if answer.status_code == 201]
        assert [await holds(gateway, bearer(text)) for text in texts] == [False] * len(texts)


async def test_what_a_credential_makes_expires_no_later(gateway: Gateway) -> None:
    world = gateway.world
    session = world.session("admin@one", world.one)
    end = (now() + timedelta(hours=1)).replace(microsecond=0)
    maker = await minted(gateway, TOKENS, session, expires_at=end.isoformat())
    key = await minted(gateway, KEYS, session, expires_at=end.isoformat())
    ways = {
        "token": (bearer(maker["pat_key"]) | ORG, (KEYS, TOKENS)),
        "exchanged token": (await exchanged(gateway, maker["pat_key"], ORG), (KEYS,)),
        "key": (bearer(key["pat_key"]), (KEYS,)),
        "exchanged key": (await exchanged(gateway, key["pat_key"]), (KEYS,)),
    }
    for name, (headers, paths) in ways.items():
        for path in paths:
            record = await minted(gateway, path, headers)
            assert datetime.fromisoformat(record["expires_at"]) == end, name
            further = await minted(gateway, KEYS, bearer(record["pat_key"]) | (ORG if path == TOKENS else {}))
            assert datetime.fromisoformat(further["expires_at"]) == end
            sooner = (end - timedelta(minutes=1)).isoformat()
            record = await minted(gateway, path, headers, expires_at=sooner)
            assert datetime.fromisoformat(record["expires_at"]) == datetime.fromisoformat(sooner)
            for later in (end + timedelta(seconds=1), end + timedelta(days=9000)):
                refused = await made(gateway, path, headers, expires_at=later.isoformat())
                [problem] = refused.json()["detail"]
                assert (refused.status_code, problem["loc"]) == (422, ["body", "expires_at"])
    document = (
        'mutation($at: DateTime) { organizationKeyCreate(input: {name: "N", expiresAt: $at}) '
        "{ organizationKey { expiresAt } userErrors { code field message } } }"
    )
    answer = await gateway.graphql(document, bearer(key["pat_key"]), at=(end + timedelta(days=1)).isoformat())
    payload = answer.json()["data"]["organizationKeyCreate"]
    assert payload["organizationKey"] is None
    assert [(e["code"], e["field"]) for e in payload["userErrors"]] == [("VALIDATION", ["input", "expiresAt"])]


async def test_sessions_make_what_outlives_them(gateway: Gateway) -> None:
    world = gateway.world
    record = await minted(gateway, KEYS, world.session("admin@one", world.one))
    assert record["expires_at"] is None
    assert await holds(gateway, bearer(record["pat_key"]))


@pytest.mark.parametrize("settings", [{"credentials_max": 3}])
@pytest.mark.parametrize("path", [KEYS, TOKENS])
async def test_live_credentials_are_limited(gateway: Gateway, path: str) -> None:
    """Per member and organization: what has ended does not count, nor do others', nor those of the other kind."""
    world = gateway.world
    await world.join("admin@one", world.two, role=Role.ADMIN)
    session, other = world.session("admin@one", world.one), world.session("member@one", world.one)
    of = world.one if path == KEYS else None
    await world.credential("admin@one", of, expires_at=now() - timedelta(seconds=1))
    await world.credential("admin@one", of, revoked_at=now())
    answers = await asyncio.gather(*(made(gateway, path, session) for _ in range(12)))
    assert sorted(a.status_code for a in answers) == [201] * 3 + [422] * 9
    [problem] = next(a for a in answers if a.status_code == 422).json()["detail"]
    assert problem["loc"] == ["body"]
    assert "at most 3 live" in problem["msg"]
    mutation = "organizationKeyCreate" if path == KEYS else "userTokenCreate"
    document = f'mutation {{ {mutation}(input: {{name: "N"}}) {{ patKey userErrors {{ code message }} }} }}'
    payload = (await gateway.graphql(document, session)).json()["data"][mutation]
    assert payload["patKey"] is None
    assert [e["code"] for e in payload["userErrors"]] == ["VALIDATION"]
    beside = TOKENS if path == KEYS else KEYS
    assert (await made(gateway, beside, session)).status_code == 201
    assert (await made(gateway, path, other)).status_code == 201
    if path == KEYS:
        assert (await made(gateway, path, world.session("admin@one", world.two))).status_code == 201
    one = next(a for a in answers if a.status_code == 201).json()["id"]
    assert (await gateway.rest("DELETE", f"{path}/{one}", session)).status_code == 204
    assert sorted([(await made(gateway, path, session)).status_code for _ in range(2)]) == [201, 422]


async def test_a_hundred_unless_told(gateway: Gateway) -> None:
    world = gateway.world
    for number in range(100):
        await world.credential("member@one", world.one, name=f"key {number}")
    session = world.session("member@one", world.one)
    assert (await made(gateway, KEYS, session)).status_code == 422
    key = bearer(await world.credential("member@one", world.one))
    assert (await made(gateway, KEYS, key)).status_code == 422, "whatever credential asks"
    assert (await made(gateway, KEYS, world.session("admin@one", world.one))).status_code == 201


BLANK = [
    " ", "\t", "\n \r", "\u00a0", "\u2003\u3000", "\u200b", "\u200d\u2060", "\ufeff", "\u00ad", "\u3164",
    "\u115f\u1160", "\ufffc", "\U0001d159", "\u2800", "\uffa0", "\u0301", "\ufe0f", "\u180e", "\u2028",
    "\u2066\u2069", "\U000e0020",
    " \u200b ",
]  # fmt: skip
CONTROL = ["a\nb", "a\x07", "\x1b[31mred", "a\x7f", "a\x85b", "pay\u202elap", "a\u2028b"]
FINE = [" a ", "é", "e\u0301", "日本語", "👩\u200d💻", "مرحبا", ".", "0", "a\u00a0b"]


@pytest.mark.parametrize("path", [KEYS, TOKENS])
async def test_a_name_can_be_seen(gateway: Gateway, path: str) -> None:
    world = gateway.world
    session = world.session("admin@one", world.one)
    record = await minted(gateway, path, session)
    before = await world.dump()
    noun = "organizationKey" if path == KEYS else "userToken"
    create = f"mutation($n: String!) {{ r: {noun}Create(input: {{name: $n}}) {{ userErrors {{ code field }} }} }}"
    rename = (
        f'mutation($n: String!) {{ r: {noun}Rename(id: "{record["id"]}", name: $n) {{ userErrors {{ code field }} }} }}'
    )
    for name in (*BLANK, *CONTROL):
        for method, target in (("POST", path), ("PATCH", f"{path}/{record['id']}")):
            refused = await gateway.rest(method, target, session, {"name": name})
            assert refused.status_code == 422, (method, name)
            assert [p["loc"] for p in refused.json()["detail"]] == [["body", "name"]]
        for document, field in ((create, ["input", "name"]), (rename, ["name"])):
            answer = (await gateway.graphql(document, session, n=name)).json()
            assert answer["data"]["r"]["userErrors"] == [{"code": "VALIDATION", "field": field}], name
    assert await world.dump() == before
    for name in FINE:
        assert (await minted(gateway, path, session, name=name))["name"] == name.strip()
        renamed = await gateway.rest("PATCH", f"{path}/{record['id']}", session, {"name": name})
        assert renamed.json()["name"] == name.strip()


async def test_a_removed_member_s_line_of_keys_ends_whole(gateway: Gateway) -> None:
    world: World = gateway.world
    headers = await world.headers("member@one", world.one, CredentialKind.USER_TOKEN)
    first = await minted(gateway, KEYS, headers)
    second = await minted(gateway, KEYS, bearer(first["pat_key"]))
    await world.leave("member@one", world.one)
    await world.join("member@one", world.one, role=Role.MEMBER)
    assert [await holds(gateway, bearer(c["pat_key"])) for c in (first, second)] == [False, False]
