"""The commands for after a restore, on both databases: what was made before a moment ends, what came after stays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from contract.scopes import Role
from storage.base import now
from storage.queries import events
from storage.statements import parsed
from tests.gateway.test_made_credentials import KEYS, TOKENS, holds, minted
from tests.identity.test_directory import External, external, settings
from tests.support.gateway import Gateway, open_gateway
from tests.support.service import Outcome
from tests.support.world import bearer

__all__ = ["external", "settings"]
Command = Callable[..., Outcome]
ORG = {"X-Service-Org": "org_one"}


@pytest.fixture
async def gateway(database_url: str, tmp_path: Path) -> AsyncIterator[Gateway]:
    async with open_gateway(database_url, tmp_path / "data") as gateway:
        yield gateway


@pytest.fixture
def run(command: Command, database_url: str) -> Callable[..., Any]:
    """Runs a command beside the service, which goes on."""

    async def run(*arguments: str, code: int = 0) -> Outcome:
        outcome = await asyncio.to_thread(command, *arguments, CRM_DATABASE_URL=database_url)
        assert outcome.code == code, outcome.err
        assert "Traceback" not in outcome.err
        return outcome

    return run


def _at(moment: datetime) -> str:
    return moment.isoformat()


async def test_credentials_of_before_are_revoked_with_what_they_made(gateway: Gateway, run: Any) -> None:
    world = gateway.world
    session, member = world.session("admin@one", world.one), world.session("member@two", world.two)
    token, key = await minted(gateway, TOKENS, session), await minted(gateway, KEYS, session)
    other = await minted(gateway, KEYS, member)
    await asyncio.sleep(0.01)
    moment = _at(now())
    made_later = await minted(gateway, KEYS, bearer(token["pat_key"]) | ORG)
    later = await minted(gateway, KEYS, session)
    before = await world.dump()
    dry = await run("credentials", "revoke", "--before", moment, "--dry-run", "--json")
    assert json.loads(dry.out) == {"credentials": 3, "revoked": 0}
    for refused in (
        ["--before", "soon"],
        [],
        ["--before", moment, "--kind", "session"],
        ["--before", moment, "--kind", "user_token", "--org", "org_one"],
    ):
        await run("credentials", "revoke", *refused, code=2)
    await run("credentials", "revoke", "--before", moment, "--org", "nowhere", code=1)
    assert (await run("credentials", "revoke", "--before", _at(now() - timedelta(days=1)))).out == "0\n"
    assert await world.dump() == before

    async def held() -> list[bool]:
        headers = [bearer(c["pat_key"]) for c in (key, other, made_later, later)]
        return [await holds(gateway, bearer(token["pat_key"]) | ORG), *[await holds(gateway, h) for h in headers]]

    assert await held() == [True] * 5
    assert (await run("credentials", "revoke", "--before", moment, "--org", "org_two")).out == "1\n"
    assert await held() == [True, True, False, True, True]
    one = await run(
        "credentials", "revoke", "--before", moment, "--user", "admin@one", "--kind", "user_token", "--json"
    )
    assert json.loads(one.out) == {"credentials": 1, "revoked": 1}
    assert await held() == [False, True, False, False, True]
    assert (await run("credentials", "revoke", "--before", moment)).out == "1\n"
    assert await held() == [False, False, False, False, True]
    assert (await run("credentials", "revoke", "--before", moment)).out == "0\n"


async def test_memberships_of_before_hold_no_more_until_they_are_confirmed(gateway: Gateway, run: Any) -> None:
    world = gateway.world
    key = bearer(await world.credential("member@one", world.one))
    session, token = world.session("member@one", world.one), bearer(await world.credential("member@one", None)) | ORG
    await asyncio.sleep(0.01)
    moment = _at(now())
    await world.join("new@one", world.one, role=Role.MEMBER)
    dry = await run("member", "suspend", "--before", moment, "--org", "org_one", "--dry-run")
    assert (dry.out, await holds(gateway, session)) == ("3\n", True)
    suspended = await run("member", "suspend", "--before", moment, "--org", "org_one", "--json")
    assert json.loads(suspended.out) == {"memberships": 3, "suspended": 3}
    assert [await holds(gateway, headers) for headers in (key, session, token)] == [False] * 3
    assert await holds(gateway, world.session("new@one", world.one))
    assert await holds(gateway, world.session("member@two", world.two))
    listed = json.loads((await run("member", "list", "--org", "org_one", "--json")).out)
    assert [(m["user"], m["role"], m["state"]) for m in listed] == [
        ("admin@one", "admin", "suspended"),
        ("member@one", "member", "suspended"),
        ("new@one", "member", "member"),
        ("viewer@one", "viewer", "suspended"),
    ]
    await run("token", "--user", "member@one", code=1)
    await run("member", "resume", "--org", "org_one", "--user", "member@one")
    assert [await holds(gateway, headers) for headers in (key, session, token)] == [True] * 3
    await run("member", "resume", "--org", "org_one", "--user", "member@one", code=1)
    await run("member", "remove", "--org", "org_one", "--user", "viewer@one")
    await run("member", "resume", "--org", "org_one", "--user", "viewer@one", code=1)
    again = ("--user", "admin@one", "--name", "A", "--email", "a@a.example", "--role", "admin")
    await run("member", "add", "--org", "org_one", *again)
    assert await holds(gateway, world.session("admin@one", world.one))
    # Decision 1060: the log tells of it, so that no replica shows members as they were before.
    async with world.database.reading(world.one.id) as session:
        found = [(e.type, parsed(e.data)["member_id"]) for e in await events.after(session, 0)]
    told = [each for each in found if each[0].startswith("member_")]
    assert sorted(told[:3]) == [("member_deactivated", f"{name}@one") for name in ("admin", "member", "viewer")]
    assert told[3:] == [
        ("member_reactivated", "member@one"),
        ("member_removed", "viewer@one"),
        ("member_updated", "admin@one"),
    ]


async def test_an_external_member_is_confirmed_by_a_token_of_after(external: External, run: Any) -> None:
    before = external.session("ada", org_id="acme", scope="deals:read pats:create")
    token = await external.user_token(before) | {"X-Service-Org": "acme"}
    assert (await run("member", "suspend", "--before", _at(now()), "--org", "acme")).out == "1\n"
    assert [await external.status(headers) for headers in (before, token)] == [401, 401]
    after = external.session("ada", 3620, org_id="acme", scope="deals:read pats:create")
    assert [await external.status(headers) for headers in (after, token)] == [200, 200]


async def test_webhooks_of_before_are_off_with_a_notice(gateway: Gateway, run: Any) -> None:
    world = gateway.world
    make = 'mutation { webhookCreate(input: {url: "https://1.1.1.1/h"}) { webhook { id } userErrors { message } } }'
    look = "{ webhooks { id active } events(first: 50) { nodes { type data } } }"
    sessions = {name: world.session(f"admin@{name}", getattr(world, name)) for name in ("one", "two")}

    async def create(name: str) -> str:
        made = (await gateway.graphql(make, sessions[name])).json()["data"]["webhookCreate"]
        identifier: str = made["webhook"]["id"]
        return identifier

    old = [await create("one"), await create("two")]
    await asyncio.sleep(0.01)
    moment = _at(now())
    new = await create("one")
    assert (await run("webhooks", "disable", "--before", moment, "--dry-run")).out == "2\n"
    assert (await run("webhooks", "disable", "--before", moment, "--org", "org_two", "--json")).out.split() == (
        ["{", '"webhooks":', "1,", '"disabled":', "1", "}"]
    )
    assert (await run("webhooks", "disable", "--before", moment)).out == "1\n"
    assert (await run("webhooks", "disable", "--before", moment)).out == "0\n"
    for name, expected in {"one": {old[0]: False, new: True}, "two": {old[1]: False}}.items():
        shown = (await gateway.graphql(look, sessions[name])).json()["data"]
        assert {w["id"]: w["active"] for w in shown["webhooks"]} == expected
        notices = [n["data"] for n in shown["events"]["nodes"] if n["type"] == "webhook_disabled"]
        assert [(n["reason"], expected[n["webhook_id"]]) for n in notices] == [("restored", False)]


@pytest.mark.parametrize("audience", [{}, {"CRM_OIDC_AUDIENCE": ""}, {"CRM_OIDC_AUDIENCE": "  "}])
@pytest.mark.parametrize(
    "arguments", [["serve", "--port", "0"], ["serve", "--port", "0", "--workers", "2"], ["worker"]]
)
def test_an_external_issuer_needs_an_audience(
    command: Command, tmp_path: Path, arguments: list[str], audience: dict[str, str]
) -> None:
    outcome = command(*arguments, CRM_OIDC_ISSUER="https://identity.example/", **audience)
    assert (outcome.code, outcome.out) == (78, "")
    assert outcome.err.startswith("CRM_OIDC_AUDIENCE: must be set beside CRM_OIDC_ISSUER")
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "data").exists()


async def test_tokens_have_the_leeway_that_the_guide_tells(external: External) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    assert "until 30 seconds after its `exp`, and from 30 seconds before its `nbf` and `iat`" in guide
    present = external.began + 3600
    for claims, status in (
        ({"exp": present - 10}, 200),
        ({"exp": present - 32}, 401),
        ({"nbf": present + 25}, 200),
        ({"nbf": present + 60}, 401),
        ({"iat": present + 25}, 200),
        ({"iat": present + 60}, 401),
    ):
        session = external.session("ada", org_id="acme", scope="deals:read", **claims)
        assert await external.status(session) == status, claims


@pytest.mark.parametrize("name", ["", " acme", "acme ", "ac\nme", "a" * 256, "\u3000acme", "ac\x7fme"])
def test_an_organization_s_identifier_is_one_that_a_header_can_say(command: Command, tmp_path: Path, name: str) -> None:
    outcome = command("org", "create", "Acme", "--id", name)
    assert (outcome.code, outcome.out) == (2, "")
    assert not (tmp_path / "data").exists()
