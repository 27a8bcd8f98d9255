"""Tenants from the command line, beside a service that goes on, on both databases."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from contract.scopes import Role
from contract.vocabulary import CredentialKind
from gateway.commands.directory import members
from gateway.commands.jobs import jobs as job_commands
from gateway.commands.keys import keys
from gateway.commands.organizations import organizations
from gateway.commands.webhooks import webhooks
from storage.base import now
from storage.new_rows import new_row
from storage.queries import jobs
from storage.tables import Account, Job, Webhook
from tests.gateway.test_made_credentials import KEYS, TOKENS, holds, minted
from tests.identity.test_directory import External, external, settings
from tests.support.gateway import Gateway, open_gateway
from tests.support.service import Outcome
from tests.support.world import bearer

__all__ = ["external", "settings"]
Command = Callable[..., Outcome]


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
        assert code == 0 or outcome.out == ""
        return outcome

    return run


@pytest.mark.parametrize("group", [organizations, members, keys, job_commands, webhooks])
def test_scripts_get_data_from_every_command(group: Any) -> None:
    commands = {command.name: signature(command.callback).parameters for command in group.registered_commands}
    assert commands
    assert [name for name, parameters in commands.items() if "as_json" not in parameters] == []


async def test_fifty_organizations_with_five_members_each_from_one_file(run: Any, tmp_path: Path) -> None:
    roles = ["admin", "member", "member", "viewer", "viewer"]
    made = [
        {
            "id": f"org-{number:02}",
            "name": f"Organization {number}",
            "members": [
                {"user": f"u{number}-{i}", "email": f"u{i}@org{number}.example", "name": f"U {i}", "role": role}
                for i, role in enumerate(roles)
            ],
        }
        for number in range(50)
    ]
    file = tmp_path / "organizations.jsonl"
    file.write_text("\n".join(map(json.dumps, made)))
    began = time.monotonic()
    outcome = await run("org", "create", "--file", str(file), "--json")
    assert time.monotonic() - began < 30  # a third of that is asked for, of a machine that does nothing else
    assert {(entry["created"], entry["members"]) for entry in json.loads(outcome.out)} == {(True, 5)}
    listed = json.loads((await run("org", "list", "--json")).out)
    assert [(o["id"], o["name"], o["members"], o["state"]) for o in listed] == [
        (f"org-{number:02}", f"Organization {number}", 5, "open") for number in range(50)
    ]
    members = json.loads((await run("member", "list", "--json")).out)
    assert len(members) == 250
    assert {tuple(m["scopes"]) for m in members if m["role"] == "viewer"} == {tuple(sorted(Role.VIEWER.scopes))}

    file.write_text(json.dumps([made[0] | {"name": "Another"}, {"id": "late", "name": "Late"}]))
    again = await run("org", "create", "--file", str(file), "--json")
    assert [entry["created"] for entry in json.loads(again.out)] == [False, True]
    assert again.err == "1 of 2 are new.\n"
    assert (await run("org", "list")).out.splitlines()[:2] == [
        "late\topen\t0\tLate",
        "org-00\topen\t5\tOrganization 0",
    ]
    assert json.loads((await run("member", "list", "--json")).out) == members


async def test_a_file_with_a_mistake_changes_nothing(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    person = {"user": "u", "email": "e", "name": "n", "role": "viewer"}
    file.write_text(
        "\n".join(
            map(
                json.dumps,
                [
                    {"name": "Fine", "members": [person]},
                    {"name": ""},
                    {"name": "a", "members": [person | {"role": "king"}, person | {"role": None}]},
                    {"name": "a", "id": " a"},
                    {"name": "\x00"},
                ],
            )
        )
    )
    outcome = await run("org", "create", "--file", str(file), code=2)
    words = " ".join(outcome.err.replace("│", " ").split())
    for said in ("2: name", "3: members.0.role", "3: members.1: needs a role or scopes", "4: id: must have", "5: name"):
        assert said in words, said
    assert json.loads((await run("org", "list", "--json")).out) == []
    file.write_text("{")
    await run("org", "create", "--file", str(file), code=2)
    await run("org", "create", "--file", str(tmp_path / "none"), code=2)
    await run("org", "create", "Name", "--file", str(file), code=2)
    await run("org", "create", code=2)


@pytest.mark.long_on("postgresql")  # which is not asked: the words are refused before
@pytest.mark.parametrize("name", ["", "  ", "a\tb", "a\nb", "a\x1b[31m", "a\u2028b", "\u200b", "a\udcff"])
async def test_a_name_is_one_line_that_shows_something(run: Any, tmp_path: Path, name: str) -> None:
    """Decision 1004: lists have a line for each, and who deletes an organization has to type its name."""
    await run("org", "create", " One ", "--id", "one")
    ada = {"org": "one", "user": "ada", "email": "ada@example.com", "name": "Ada", "role": "admin"}
    options = {"--org": "one", "--user": "ada", "--email": "ada@example.com", "--name": "Ada", "--role": "admin"}
    await run("org", "rename", "one", name, code=2)
    await run("org", "create", name, code=2)
    for option in ("--user", "--email", "--name"):
        changed = options | {option: name}
        await run("member", "add", *(each for pair in changed.items() for each in pair), code=2)
        (tmp_path / "file").write_text(json.dumps(ada | {option[2:]: name}))
        await run("member", "add", "--file", str(tmp_path / "file"), code=2)
    assert (await run("org", "list")).out == "one\topen\t0\tOne\n"


async def test_an_argument_that_is_no_text_is_refused_by_every_command(run: Any) -> None:
    for words in (["org", "suspend"], ["token", "--user"], ["member", "list", "--org"], ["key", "list", "--user"]):
        outcome = await run(*words, "a\udcffb", code=2)
        assert outcome.err == "The arguments are no UTF-8: look at the terminal's encoding.\n"


async def test_what_a_file_has_in_vain_is_told(run: Any, tmp_path: Path) -> None:
    """Decision 1004: else fifty organizations would have no members, for want of a letter."""
    file = tmp_path / "organizations.jsonl"
    person = {"user": "u", "email": "e", "name": "n", "role": "viewer", "scope": [], "org": "as it is listed"}
    made = [{"id": "a", "name": "A", "memebers": []}, {"id": "b", "name": "B", "state": "open", "members": [person]}]
    file.write_text(json.dumps(made))
    outcome = await run("org", "create", "--file", str(file))
    assert f"{file} has what is not known here, and is not read: members.scope, memebers.\n" in outcome.err
    assert [line.split("\t")[2] for line in (await run("org", "list")).out.splitlines()] == ["0", "1"]


async def test_members_from_a_file_as_they_are_listed(run: Any, tmp_path: Path) -> None:
    for org in ("one", "two"):
        await run("org", "create", org, "--id", org)
    file = tmp_path / "members.jsonl"
    given = [
        {"org": org, "user": "ada", "email": "ada@example.com", "name": "Ada", **rights}
        for org, rights in (("one", {"role": "admin"}), ("two", {"scopes": ["deals:read"]}))
    ]
    file.write_text("\n".join(map(json.dumps, given)))
    assert (await run("member", "add", "--file", str(file))).err == "ada is a member of one.\nada is a member of two.\n"
    listed = (await run("member", "list", "--json")).out
    assert [(m["org"], m["role"], len(m["scopes"])) for m in json.loads(listed)] == [
        ("one", "admin", len(Role.ADMIN.scopes)),
        ("two", None, 1),
    ]
    file.write_text(listed)
    await run("member", "add", "--file", str(file))
    assert (await run("member", "list", "--json")).out == listed
    file.write_text(json.dumps([*given, given[0] | {"org": "none"}]))
    outcome = await run("member", "add", "--file", str(file), code=1)
    assert outcome.err == "There is no organization none.\n"
    removed = await run("member", "remove", "--org", "one", "--user", "ada", "--json")
    assert json.loads(removed.out) == {"org": "one", "user": "ada"}
    file.write_text((await run("member", "list", "--json")).out)
    await run("member", "add", "--file", str(file), code=2)
    await run("member", "add", "--file", str(file), "--org", "one", code=2)


async def test_a_suspended_organization_lets_nobody_in_and_loses_nothing(gateway: Gateway, run: Any) -> None:
    world, org = gateway.world, gateway.world.one.external_id
    session, elsewhere = world.session("admin@one", world.one), world.session("member@two", world.two)
    token, key = await minted(gateway, TOKENS, session), await minted(gateway, KEYS, session)
    exchanged = await gateway.rest("POST", "/pat/exchange", bearer(key["pat_key"]))
    callers = [
        session,
        bearer(key["pat_key"]),
        bearer(token["pat_key"]) | {"X-Service-Org": org},
        bearer(exchanged.json()["access_token"]),
    ]
    assert [await holds(gateway, caller) for caller in callers] == [True] * 4
    before = await world.dump()
    outcome = await run("org", "suspend", org)
    assert outcome.err == f"{org} is suspended: every process refuses its credentials from the next call on.\n"
    assert [await holds(gateway, caller) for caller in callers] == [False] * 4
    assert await holds(gateway, elsewhere)
    states = {o["id"]: o["state"] for o in json.loads((await run("org", "list", "--json")).out)}
    assert states == {org: "suspended", world.two.external_id: "open"}
    assert (await run("org", "suspend", org, code=1)).err == f"{org} is suspended already.\n"
    assert (await run("org", "resume", org)).err == f"{org} goes on.\n"
    assert [await holds(gateway, caller) for caller in callers] == [True] * 4
    assert await world.dump() == before
    assert (await run("org", "resume", org, code=1)).err == f"{org} is not suspended.\n"
    assert (await run("org", "suspend", "none", code=1)).err == "There is no organization none.\n"


async def test_sessions_of_an_identity_provider_are_refused_too(external: External, run: Any) -> None:
    begun = [external.session("ada", issued, org_id="acme", scope="deals:read") for issued in (0, 5)]
    assert await external.status(begun[0]) == 200
    assert json.loads((await run("org", "suspend", "acme", "--json")).out) == {"id": "acme", "state": "suspended"}
    assert [await external.status(session) for session in begun] == [401, 401]
    assert json.loads((await run("org", "resume", "acme", "--json")).out) == {"id": "acme", "state": "open"}
    assert [await external.status(session) for session in begun] == [200, 200]


async def test_an_organization_is_renamed(gateway: Gateway, run: Any) -> None:
    world, org = gateway.world, gateway.world.one.external_id
    renamed = await run("org", "rename", org, "Another & Söhne", "--json")
    assert json.loads(renamed.out) == {"id": org, "name": "Another & Söhne"}
    answer = await gateway.graphql("{ viewer { organization { name } } }", world.session("admin@one", world.one))
    assert answer.json()["data"]["viewer"]["organization"]["name"] == "Another & Söhne"
    assert (await run("org", "rename", "none", "x", code=1)).err == "There is no organization none.\n"


async def test_keys_are_listed_without_secrets_and_revoked_one_by_one(gateway: Gateway, run: Any) -> None:
    world, org = gateway.world, gateway.world.one.external_id
    session = world.session("admin@one", world.one)
    token, key = await minted(gateway, TOKENS, session), await minted(gateway, KEYS, session)
    later = await minted(gateway, KEYS, bearer(token["pat_key"]) | {"X-Service-Org": org})
    listed = await run("key", "list", "--json")
    data = json.loads(listed.out)
    assert [(k["kind"], k["org"], k["user"]) for k in data] == [
        (CredentialKind.ORGANIZATION_KEY, org, "admin@one"),
        (CredentialKind.ORGANIZATION_KEY, org, "admin@one"),
        (CredentialKind.USER_TOKEN, None, "admin@one"),
    ]
    for made in (token, key, later):
        assert made["pat_key"].partition(".")[2] not in listed.out
    assert len(json.loads((await run("key", "list", "--org", org, "--json")).out)) == 2
    assert (await run("key", "list", "--user", "nobody")).out == ""
    outcome = await run("key", "revoke", data[1]["id"], "none", code=1)
    assert outcome.err == "There is no live key or token none.\n"
    assert await holds(gateway, bearer(key["pat_key"]))
    revoked = await run("key", "revoke", data[2]["id"], "--json")
    assert json.loads(revoked.out) == {"revoked": [data[2]["id"]]}
    assert [await holds(gateway, bearer(made["pat_key"])) for made in (token, later, key)] == [False, False, True]


async def test_jobs_are_listed_and_tried_again(gateway: Gateway, run: Any) -> None:
    world, org = gateway.world, gateway.world.one.external_id
    ended = {"attempts": 3, "error": "no luck", "started_at": now(), "finished_at": now()}
    made = {
        "failed": new_row(Job, org_id=world.one.id, kind="k", status="failed", arguments={"canary": 1}, **ended),
        "done": new_row(Job, org_id=world.one.id, kind="k", status="succeeded", arguments={}, finished_at=now()),
        "again": new_row(Job, org_id=world.one.id, kind="k", key="x", status="failed", arguments={}, **ended),
        "other": new_row(Job, org_id=world.one.id, kind="k", key="x", status="running", arguments={}),
    }
    async with world.database.writing(world.one.id) as session:
        await session.insert(*made.values())
    listed = await run("job", "list", "--org", org, "--status", "failed", "--json")
    assert "canary" not in listed.out
    assert {(j["id"], j["error"], j["attempts"]) for j in json.loads(listed.out)} == {
        (made[name].id, "no luck", 3) for name in ("failed", "again")
    }
    assert len((await run("job", "list", "--most", "1")).out.splitlines()) == 1
    for name, why in (("done", "has not failed"), ("other", "runs"), ("again", "failed, and another one")):
        outcome = await run("job", "retry", "--org", org, made["failed"].id, made[name].id, code=1)
        assert outcome.err.startswith(f"{made[name].id} {why}")
    async with world.database.reading(world.one.id) as session:
        assert (await jobs.find(session, made["failed"].id) or made["failed"]).status == "failed"
    await run("job", "retry", "--org", world.two.external_id, made["failed"].id, code=1)
    tried = await run("job", "retry", "--org", org, made["failed"].id, "--json")
    assert json.loads(tried.out) == {"org": org, "due": [made["failed"].id]}
    async with world.database.reading(world.one.id) as session:
        found = await jobs.find(session, made["failed"].id)
    assert found is not None
    assert (found.status, found.attempts, found.error, found.finished_at) == ("queued", 0, None, None)
    async with world.database.directory() as session:
        assert await jobs.any_due(session)


async def test_webhooks_are_listed(gateway: Gateway, run: Any) -> None:
    world, org = gateway.world, gateway.world.one.external_id
    values = {"cursor": 0, "types": ["deal_created"], "failing_since": now(), "failures": 2}
    async with world.database.writing(world.one.id) as session:
        await session.insert(new_row(Webhook, org_id=world.one.id, url="https://hooks.example/x", **values))
    [webhook] = json.loads((await run("webhook", "list", "--json")).out)
    shown = {name: webhook[name] for name in ("org", "url", "types", "state", "failures")}
    assert shown == {
        "org": org,
        "url": "https://hooks.example/x",
        "types": ["deal_created"],
        "state": "active",
        "failures": 2,
    }
    assert (await run("webhook", "list", "--org", world.two.external_id)).out == ""


async def test_records_are_handed_over(gateway: Gateway, run: Any) -> None:
    world, org = gateway.world, gateway.world.one.external_id
    account = new_row(Account, org_id=world.one.id, name="A", owner_id="gone")
    await world.add(world.one, account)
    whom = ["--org", org, "--from", "gone", "--to", "admin@one"]
    counted = await run("member", "transfer", *whom, "--dry-run", "--json")
    assert json.loads(counted.out) == {"records": 1, "job": None}
    outcome = await run("member", "transfer", *whom, "--json")
    job = json.loads(outcome.out)["job"]
    [listed] = json.loads((await run("job", "list", "--org", org, "--json")).out)
    assert (listed["id"], listed["kind"], listed["status"]) == (job, "ownership_transfer", "queued")
    outcome = await run("member", "transfer", "--org", org, "--from", "a", "--to", "nobody", code=1)
    assert outcome.err == f"nobody is no other active member of {org}.\n"
