"""Members: managed by administrators, named as owners, suspended and removed with whatever they call with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from sqlalchemy import select
from sqlmodel import col

from contract.scopes import Role
from contract.vocabulary import CredentialKind
from gateway.runtime import Runtime
from identity import directory
from identity.administration import Newcomer, add_members
from storage.base import new_id, now
from storage.new_rows import new_row
from storage.queries import credentials as keys
from storage.queries import members, webhooks
from storage.queries.records import lock_organization
from storage.tables import Account, Activity, Contact, Credential, Deal, Event, Lead, Membership, Person
from tests.isolation.requests import ERRORS, Case, Rest, by_id, put, q
from tests.isolation.surfaces import Surfaces, plain, selection
from tests.support.gateway import Gateway, application_of
from tests.support.record_types import RecordType
from tests.support.statements import statements
from tests.support.tenants import Tenant
from tests.support.waiting import MEETS_SECONDS, meets_writer
from tests.support.world import Headers, bearer

pytestmark = pytest.mark.asyncio(loop_scope="session")

MEMBER = ["id", "name", "email", "role", "state", "joined_at", "left_at"]
VIEWER = ["subject", "name", "email", "credential_kind", "organization", "organizations", "scopes", "member"]
SHOWN = "id name email role state leftAt"
MEMBERS = f"query($f: MemberFilter) {{ members(filter: $f) {{ nodes {{ {SHOWN} }} totalCount }} }}"
ONE = f"query($id: ID!) {{ member(id: $id) {{ {SHOWN} scopes }} }}"
ADD = f"mutation($input: MemberAddInput!) {{ memberAdd(input: $input) {{ member {{ {SHOWN} }} {ERRORS} }} }}"
UPDATE = f"""mutation($id: ID!, $role: MemberRole, $name: String, $email: String) {{
  memberUpdate(id: $id, role: $role, name: $name, email: $email) {{ member {{ {SHOWN} }} {ERRORS} }} }}"""
REMOVE = f"""mutation($id: ID!, $to: ID) {{
  memberRemove(id: $id, transferTo: $to) {{ member {{ {SHOWN} }} job {{ id kind }} {ERRORS} }} }}"""
COUNTS = "accounts contacts deals openDeals leads activities openTasks"
TRANSFER = f"""mutation($input: OwnershipTransferInput!) {{
  ownershipTransfer(input: $input) {{ counts {{ {COUNTS} }} job {{ id }} {ERRORS} }} }}"""


def switch(verb: str) -> str:
    return f"mutation($id: ID!) {{ member{verb}(id: $id) {{ member {{ {SHOWN} }} {ERRORS} }} }}"


def problems(payload: Any) -> list[tuple[str, list[str]]]:
    return [(error["code"], error["field"]) for error in payload["userErrors"]]


async def admin(tenant: Tenant, document: str, **variables: Any) -> Any:
    return await tenant.ask(document, tenant.headers("admin"), **variables)


async def told(tenant: Tenant) -> list[tuple[str, Any]]:
    events = await tenant.rows(Event.sequence, Event.type, Event.area, Event.data)
    mine = [event for event in sorted(events) if event[1].startswith(("member_", "ownership_"))]
    assert {area for _, _, area, _ in mine} <= {"admin"}
    return [(kind, data) for _, kind, _, data in mine]


async def test_who_belongs_to_the_organization(one: Tenant, two: Tenant) -> None:
    subjects = [one.subject(role) for role in ("admin", "member", "viewer")]
    listed = await one.ask(MEMBERS)
    assert [(m["id"], m["name"], m["role"], m["state"]) for m in listed["nodes"]] == [
        (subject, f"The {role}", role.upper(), "ACTIVE")
        for subject, role in zip(subjects, ("admin", "member", "viewer"), strict=True)
    ]
    assert listed["totalCount"] == 3
    for filter, found in (
        ({"query": "THE AD"}, subjects[:1]),
        ({"query": "Member@EXAMPLE"}, subjects[1:2]),
        ({"roles": ["VIEWER", "ADMIN"]}, [subjects[0], subjects[2]]),
        ({"states": ["LEFT"]}, []),
        ({"states": []}, []),
        ({"states": None, "roles": None, "query": ""}, subjects),
        ({"query": "%"}, []),
    ):
        assert [m["id"] for m in (await one.ask(MEMBERS, f=filter))["nodes"]] == found
    member = await admin(one, ONE, id=subjects[1])
    assert (member["email"], member["scopes"]) == ("member@example.com", sorted(Role.MEMBER.scopes))
    for nobody in (two.subject("member"), "nobody", "", "a\0", "x" * 9_000):
        assert await admin(one, ONE, id=nobody) is None
    error = await one.error(ONE, id=subjects[1])
    assert error["extensions"]["code"] == "FORBIDDEN"
    page = "query($after: String) { members(first: 2, after: $after) { edges { cursor node { id } } } }"
    first = (await one.ask(page))["edges"]
    rest = (await one.ask(page, after=first[-1]["cursor"]))["edges"]
    assert [edge["node"]["id"] for edge in first + rest] == subjects


async def test_who_calls_is_a_member(one: Tenant) -> None:
    viewer = await one.ask("{ viewer { subject member { id name state } } }")
    assert viewer["member"] == {"id": one.subject(), "name": "The member", "state": "ACTIVE"}
    limited = await one.scoped("pats:read")
    assert (await one.ask("{ viewer { member { id } } }", limited))["member"] == {"id": one.subject("scoped")}
    response = await one.gateway.rest("GET", "/viewer", one.headers())
    assert list(response.json()) == VIEWER
    assert list(response.json()["member"]) == MEMBER
    token = bearer(await one.gateway.world.credential(one.subject(), None))
    anywhere = (await one.gateway.rest("GET", "/viewer", token)).json()
    assert (anywhere["organization"], anywhere["member"]) == (None, None)
    assert [each["id"] for each in anywhere["organizations"]] == [one.organization.external_id]


async def test_add_change_and_find_by_both_surfaces(one: Tenant) -> None:
    added = await admin(one, ADD, input={"id": "user_ada", "name": " Ada Park ", "email": "Ada@example.com"})
    ada = {
        "id": "user_ada",
        "name": "Ada Park",
        "email": "Ada@example.com",
        "role": "MEMBER",
        "state": "ACTIVE",
        "leftAt": None,
    }
    assert added == {"member": ada, "userErrors": []}
    headers = one.gateway.world.session("user_ada", one.organization)
    assert (await one.ask("{ viewer { member { name } } }", headers))["member"] == {"name": "Ada Park"}
    made = await one.gateway.rest(
        "POST", "/members", one.headers("admin"), {"name": "Bo", "email": "bo@example.com", "role": "viewer"}
    )
    assert made.status_code == 201
    assert made.headers["location"] == f"/members/{made.json()['id']}"
    assert made.json()["id"].startswith("user_")
    for input, problem in (
        ({"id": "user_ada", "name": "A", "email": "x@example.com"}, ("DUPLICATE", ["input", "id"])),
        ({"name": "A", "email": "ADA@EXAMPLE.COM"}, ("DUPLICATE", ["input", "email"])),
        ({"id": "a b", "name": "A", "email": "x@example.com"}, ("VALIDATION", ["input", "id"])),
        ({"id": "a\u202e", "name": "A", "email": "x@example.com"}, ("VALIDATION", ["input", "id"])),
        ({"id": "i" * 256, "name": "A", "email": "x@example.com"}, ("VALIDATION", ["input", "id"])),
        ({"name": " ", "email": "x@example.com"}, ("VALIDATION", ["input", "name"])),
        ({"name": "n" * 201, "email": "x@example.com"}, ("VALIDATION", ["input", "name"])),
        ({"name": "A", "email": "no"}, ("VALIDATION", ["input", "email"])),
    ):
        assert problems(await admin(one, ADD, input=input)) == [problem], input
    changed = await admin(one, UPDATE, id="user_ada", role="ADMIN", name="Ada P.")
    assert changed["member"] == ada | {"role": "ADMIN", "name": "Ada P."}
    assert problems(await admin(one, UPDATE, id="user_ada", email="BO@example.com")) == [("DUPLICATE", ["email"])]
    assert problems(await admin(one, UPDATE, id="user_ada", name="")) == [("VALIDATION", ["name"])]
    assert problems(await admin(one, UPDATE, id="user_ada", name=None)) == [("VALIDATION", ["name"])]
    assert problems(await admin(one, UPDATE, id="nobody", name="N")) == [("NOT_FOUND", ["id"])]
    patched = await one.gateway.rest("PATCH", "/members/user_ada", one.headers("admin"), {"role": "member"})
    assert (patched.status_code, patched.json()["role"], patched.json()["name"]) == (200, "member", "Ada P.")
    assert await told(one) == [
        ("member_added", {"member_id": "user_ada"}),
        ("member_added", {"member_id": made.json()["id"]}),
        ("member_updated", {"member_id": "user_ada", "changed": ["name", "role"]}),
        ("member_updated", {"member_id": "user_ada", "changed": ["role"]}),
    ]
    listed = await one.gateway.rest("GET", "/members?query=ADA", one.headers())
    assert [list(record) for record in listed.json()] == [MEMBER]
    assert (await one.gateway.rest("GET", "/members?state=gone", one.headers())).status_code == 422
    assert (await one.gateway.rest("GET", "/members/nobody", one.headers())).status_code == 404


async def test_a_subject_of_another_organization_keeps_its_name_there(one: Tenant, two: Tenant) -> None:
    subject = two.subject("viewer")
    taken = {"id": subject, "name": "Another", "email": "another@example.com"}
    assert (await admin(one, ADD, input=taken))["member"]["name"] == "Another"
    assert (await two.ask(ONE.replace("scopes", ""), id=subject))["name"] == "The viewer"
    shown = await two.ask("{ viewer { name } }", one.gateway.world.session(subject, two.organization))
    assert shown == {"name": "The viewer"}
    await admin(one, REMOVE, id=subject)
    assert (await two.ask(ONE.replace("scopes", ""), id=subject))["state"] == "ACTIVE"


async def credentials(tenant: Tenant, subject: str) -> dict[str, Headers]:
    """One of each kind, and what they are exchanged for."""
    world = tenant.gateway.world
    found = {kind.value: await world.headers(subject, tenant.organization, kind) for kind in CredentialKind}
    for kind in (CredentialKind.ORGANIZATION_KEY, CredentialKind.USER_TOKEN):
        exchanged = await tenant.gateway.rest("POST", "/pat/exchange", found[kind.value])
        found[f"exchanged {kind.value}"] = bearer(exchanged.json()["access_token"])
    return found


async def statuses(gateway: Gateway, all_of: dict[str, Headers]) -> set[int]:
    answers = [await gateway.rest("GET", "/deals?limit=1", headers) for headers in all_of.values()]
    answers += [await gateway.graphql("{ deals(first: 1) { nodes { id } } }", headers) for headers in all_of.values()]
    return {answer.status_code for answer in answers}


@pytest_asyncio.fixture(loop_scope="session")
async def other_process(gateway: Gateway) -> AsyncIterator[Gateway]:
    """Another process of the service, on the same database and with the same keys."""
    runtime = Runtime(gateway.runtime.settings)
    app = application_of(runtime)
    transport = httpx.ASGITransport(app=app)
    async with runtime.running(), httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
        yield Gateway(runtime, gateway.world, http, app)


async def test_suspension_reaches_every_credential_in_every_process_and_is_undone(
    one: Tenant, gateway: Gateway, other_process: Gateway
) -> None:
    subject = one.subject("member")
    all_of = await credentials(one, subject)
    both = (gateway, other_process)
    for process in both:
        assert await statuses(process, all_of) == {200}
    before = await one.rows(Person.id, Person.name, Person.role)
    for _ in range(2):
        answer = await one.gateway.rest("POST", f"/members/{subject}/deactivate", one.headers("admin"))
        assert (answer.status_code, answer.json()["state"]) == (200, "deactivated")
    for process in both:
        assert await statuses(process, all_of) == {401}
    assert (await admin(one, ONE, id=subject))["scopes"] == []
    for _ in range(2):
        done = await admin(one, switch("Reactivate"), id=subject)
        assert (done["member"]["state"], done["member"]["role"], done["userErrors"]) == ("ACTIVE", "MEMBER", [])
    for process in both:
        assert await statuses(process, all_of) == {200}
    assert sorted(await one.rows(Person.id, Person.name, Person.role)) == sorted(before)
    assert await told(one) == [
        ("member_deactivated", {"member_id": subject}),
        ("member_reactivated", {"member_id": subject}),
    ]


async def test_removal_ends_keys_for_good_and_takes_the_organization_from_tokens(
    one: Tenant, two: Tenant, gateway: Gateway, other_process: Gateway
) -> None:
    subject = one.subject("member")
    await gateway.world.join(subject, two.organization, role=Role.VIEWER)
    all_of = await credentials(one, subject)
    user_token = all_of["user_token"]
    there = user_token | {"X-Service-Org": two.organization.external_id}
    done = await admin(one, REMOVE, id=subject)
    assert (done["member"]["state"], done["member"]["name"], done["job"]) == ("LEFT", "The member", None)
    assert done["member"]["leftAt"] is not None
    for process in (gateway, other_process):
        answers = {kind: (await process.rest("GET", "/deals", headers)).status_code for kind, headers in all_of.items()}
        assert answers.pop("user_token") == 403
        assert answers.pop("exchanged user_token") == 403
        assert answers.pop("session") == 401
        assert set(answers.values()) == {401}
        assert (await process.rest("GET", "/deals", there)).status_code == 200
    again = await one.gateway.rest("DELETE", f"/members/{subject}", one.headers("admin"))
    assert again.status_code == 404
    assert subject not in [m["id"] for m in (await one.ask(MEMBERS, one.headers("admin")))["nodes"]]
    left = await one.ask(MEMBERS, one.headers("admin"), f={"states": ["LEFT"]})
    assert [m["id"] for m in left["nodes"]] == [subject]
    # Who comes back gets a new membership, and none of the keys of before.
    back = {"id": subject, "name": "Back", "email": "back@example.com", "role": "VIEWER"}
    assert (await admin(one, ADD, input=back))["member"]["state"] == "ACTIVE"
    assert (await gateway.rest("GET", "/deals", all_of["organization_key"])).status_code == 401
    assert [kind for kind, _ in await told(one)] == ["member_removed", "member_added"]


async def test_a_removal_names_who_gets_the_records(one: Tenant, two: Tenant) -> None:
    member, viewer = one.subject("member"), one.subject("viewer")
    for nobody in (member, two.subject("member"), "nobody", "", "%00"):
        refused = await one.gateway.rest("DELETE", f"/members/{member}?transfer_to={nobody}", one.headers("admin"))
        assert refused.status_code == 422
        assert [problem["loc"] for problem in refused.json()["detail"]] == [["query", "transfer_to"]]
        assert problems(await admin(one, REMOVE, id=member, to=nobody)) == [("VALIDATION", ["transferTo"])]
    missing = await one.gateway.rest("DELETE", f"/members/nobody?transfer_to={viewer}", one.headers("admin"))
    assert missing.status_code == 404
    assert await told(one) == []
    done = await one.gateway.rest("DELETE", f"/members/{member}?transfer_to={viewer}", one.headers("admin"))
    assert (done.status_code, list(done.json())) == (202, ["job_id", "status_url"])
    job = await one.gateway.rest("GET", done.json()["status_url"], one.headers("admin"))
    assert (job.status_code, job.json()["kind"]) == (200, "ownership_transfer")
    unknown = {"from": "nobody", "to": "nobody else"}
    assert problems(await admin(one, TRANSFER, input=unknown)) == [
        ("VALIDATION", ["input", "from"]),
        ("VALIDATION", ["input", "to"]),
    ]
    await one.add(Account(name="A", owner_id="an owner of old"))
    old = await admin(one, TRANSFER, input={"from": "an owner of old", "to": viewer, "dryRun": True})
    assert old["counts"]["accounts"] == 1
    for to in (viewer, two.subject("member"), "a\0"):
        answer = await admin(one, TRANSFER, input={"from": viewer, "to": to})
        assert problems(answer) == [("VALIDATION", ["input", "to"])]


async def test_under_one_key_a_member_is_added_once(one: Tenant) -> None:
    headers = one.headers("admin") | {"Idempotency-Key": "k-1"}
    body = {"name": "Ada", "email": "ada@example.com"}
    answers = await asyncio.gather(*(one.gateway.rest("POST", "/members", headers, body) for _ in range(3)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1
    assert [kind for kind, _ in await told(one)] == ["member_added"]
    for _ in range(2):
        gone = await one.gateway.rest("DELETE", f"/members/{answers[0].json()['id']}", headers)
        assert gone.status_code == 204
    assert [kind for kind, _ in await told(one)] == ["member_added", "member_removed"]


async def test_an_organization_is_full_some_time(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resolvers.members.MEMBERS_MAX", 4)
    await admin(one, switch("Deactivate"), id=one.subject("viewer"))
    for number, found in ((1, []), (2, [("VALIDATION", ["input"])])):
        input = {"name": "N", "email": f"{number}@example.com"}
        assert problems(await admin(one, ADD, input=input)) == found


async def test_there_is_always_an_active_administrator(one: Tenant) -> None:
    first, second = one.subject("admin"), "user_second"
    for document, variables in (
        (UPDATE, {"role": "MEMBER"}),
        (switch("Deactivate"), {}),
        (REMOVE, {}),
    ):
        assert problems(await admin(one, document, id=first, **variables)) == [("INVALID_STATE", ["id"])]
    for method, path in (("POST", f"/members/{first}/deactivate"), ("DELETE", f"/members/{first}")):
        answer = await one.gateway.rest(method, path, one.headers("admin"))
        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")
    await admin(one, ADD, input={"id": second, "name": "S", "email": "s@example.com", "role": "ADMIN"})
    headers = {first: one.headers("admin"), second: one.gateway.world.session(second, one.organization)}
    for _ in range(5):
        answers = await asyncio.gather(
            *(
                one.ask(UPDATE, headers[by], id=other, role="MEMBER")
                for by, other in ((first, second), (second, first))
            ),
            return_exceptions=True,
        )
        roles = dict(await one.rows(Person.id, Person.role))
        [left] = [subject for subject in headers if roles[subject] == "admin"]
        assert len(answers) == 2
        other = second if left == first else first
        restored = await one.ask(UPDATE, headers[left], id=other, role="ADMIN")
        assert restored["userErrors"] == []


async def test_two_who_demote_themselves_at_once_leave_one(one: Tenant) -> None:
    first, second = one.subject("admin"), "user_second"
    await admin(one, ADD, input={"id": second, "name": "S", "email": "s@example.com", "role": "ADMIN"})
    headers = {first: one.headers("admin"), second: one.gateway.world.session(second, one.organization)}
    ways = (UPDATE, {"role": "VIEWER"}), (switch("Deactivate"), {}), (UPDATE, {"role": "MEMBER"})
    for document, variables in ways:
        answers = await asyncio.gather(
            *(one.ask(document, own, id=subject, **variables) for subject, own in headers.items())
        )
        assert sorted(len(answer["userErrors"]) for answer in answers) == [0, 1]
        people = {s: (role, state) for s, role, state in await one.rows(Person.id, Person.role, Person.state)}
        [left] = [subject for subject in headers if people[subject] == ("admin", "active")]
        other = second if left == first else first
        await one.ask(switch("Reactivate"), headers[left], id=other)
        await one.ask(UPDATE, headers[left], id=other, role="ADMIN")


async def test_people_say_what_memberships_say(one: Tenant) -> None:
    """After each kind of write, by whichever way: the two tables are written in one transaction."""

    async def check() -> None:
        async with one.gateway.world.database.directory() as session:
            memberships = await session.find_all(select(Membership).where(col(Membership.org_id) == one.id))
        expected = {}
        for membership in memberships:
            ended = "deactivated" if membership.scopes else "left"
            state = "active" if membership.ended_at is None else ended
            expected[membership.subject] = (membership.role, state)
        found = {s: (role, state) for s, role, state in await one.rows(Person.id, Person.role, Person.state)}
        assert found == expected

    await admin(one, ADD, input={"id": "u", "name": "U", "email": "u@example.com"})
    await check()
    for document, variables in (
        (UPDATE, {"role": "VIEWER"}),
        (switch("Deactivate"), {}),
        (UPDATE, {"role": "ADMIN"}),
        (switch("Reactivate"), {}),
        (REMOVE, {}),
    ):
        assert (await admin(one, document, id="u", **variables))["userErrors"] == []
        await check()


LISTS = ("accounts", "contacts", "deals", "leads", "meetings")


def owned_rows(owner: str | None, number: int) -> list[Any]:
    return [
        row
        for n in range(number)
        for row in (
            Account(name=f"A{n}", owner_id=owner),
            Contact(last_name=f"C{n}", owner_id=owner),
            Deal(name=f"D{n}", owner_id=owner),
            Lead(name=f"L{n}", owner_id=owner),
            Activity(subject=f"M{n}", owner_id=owner),
        )
    ]


async def test_owners_have_names_also_those_who_left(one: Tenant, two: Tenant) -> None:
    member, stranger = one.subject("member"), two.subject("member")
    await one.add(*owned_rows(member, 1), *owned_rows(stranger, 1), *owned_rows(None, 1))
    await admin(one, REMOVE, id=member)
    for name in LISTS:
        document = f"{{ {name} {{ nodes {{ ownerId owner {{ id name state }} }} }} }}"
        nodes = (await admin(one, document))["nodes"]
        found = {node["ownerId"]: node["owner"] for node in nodes}
        assert found == {
            member: {"id": member, "name": "The member", "state": "LEFT"},
            stranger: None,  # an owner of another organization is nobody
            None: None,
        }
        assert len(nodes) == 3
    node = "query($id: ID!) { node(id: $id) { ... on Deal { owner { name } } } }"
    [(identifier,)] = [row[:1] for row in await one.rows(Deal.id, Deal.owner_id) if row[1] == member]
    assert await admin(one, node, id=identifier) == {"owner": {"name": "The member"}}


async def test_owners_cost_no_statement_more(one: Tenant) -> None:
    database = one.gateway.world.database
    await one.add(*owned_rows(one.subject("member"), 200))
    for name in LISTS:
        for size in (1, 10, 200):
            told: list[list[str]] = []
            for owner in ("", "owner { id name email state }"):
                document = f"{{ {name}(first: {size}) {{ nodes {{ id {owner} }} }} }}"
                await one.ask(document)
                with statements(database) as sent:
                    nodes = (await one.ask(document))["nodes"]
                assert len(nodes) == size
                told.append([text for text in sent if name in text or "activities" in text])
            plain_list, with_owner = told
            assert len(plain_list) == len(with_owner) == 1
            assert "people" not in plain_list[0]
            assert with_owner[0].count("people") >= 1


async def test_only_an_active_member_becomes_an_owner(one: Tenant, two: Tenant) -> None:
    await one.add(*owned_rows(one.subject("member"), 1))
    await admin(one, switch("Deactivate"), id=one.subject("viewer"))
    nouns = {"account": Account, "contact": Contact, "deal": Deal, "lead": Lead, "meeting": Activity}
    for noun, model in nouns.items():
        kind = noun.capitalize()
        document = f"""mutation($id: ID!, $input: {kind}UpdateInput!) {{
          {noun}Update(id: $id, input: $input) {{ {noun} {{ ownerId owner {{ name }} }} {ERRORS} }} }}"""
        [(identifier,)] = await one.rows(model.id)
        for nobody in (one.subject("viewer"), two.subject("member"), "nobody", ""):
            answer = await admin(one, document, id=identifier, input={"ownerId": nobody})
            assert problems(answer) == [("VALIDATION", ["input", "ownerId"])]
        answer = await admin(one, document, id=identifier, input={"ownerId": one.subject("admin")})
        assert answer[noun] == {"ownerId": one.subject("admin"), "owner": {"name": "The admin"}}
    [(identifier,)] = await one.rows(Deal.id)
    path = f"/deals/{identifier}"
    refused = await one.gateway.rest("PATCH", path, one.headers(), {"owner_id": "nobody"})
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "owner_id"])
    moved = await one.gateway.rest("PATCH", path, one.headers(), {"owner_id": one.subject("member")})
    assert (moved.status_code, moved.json()["owner_id"]) == (200, one.subject("member"))
    # Also where the record has that owner already, whatever else is changed with it (decision 223).
    await admin(one, switch("Deactivate"), id=one.subject("member"))
    for more in ({}, {"name": "changed"}):
        body = {"owner_id": one.subject("member"), **more}
        refused = await one.gateway.rest("PATCH", path, one.headers("admin"), body)
        assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "owner_id"])


async def test_counts_of_what_is_owned(one: Tenant) -> None:
    member = one.subject("member")
    await one.add(*owned_rows(member, 2), Deal(name="W", owner_id=member, status="won"))
    await one.add(Activity(type="task", subject="T", owner_id=member), Activity(type="call", owner_id=member))
    await one.add(Activity(type="task", subject="Done", owner_id=member, completed_at=now()))
    owned = {
        "accounts": 2,
        "contacts": 2,
        "deals": 3,
        "openDeals": 2,
        "leads": 2,
        "activities": 5,
        "openTasks": 1,
    }
    document = f"{{ members {{ nodes {{ id owned {{ {COUNTS} }} }} }} }}"
    with statements(one.gateway.world.database) as sent:
        nodes = (await one.ask(document))["nodes"]
    assert {node["id"]: node["owned"] for node in nodes} == {
        member: owned,
        one.subject("admin"): dict.fromkeys(owned, 0),
        one.subject("viewer"): dict.fromkeys(owned, 0),
    }
    assert len([text for text in sent if "owner_id" in text]) == 1
    dry = {"from": member, "to": one.subject("admin"), "dryRun": True}
    for more, counted in (
        ({}, owned),
        ({"openOnly": True}, dict.fromkeys(owned, 0) | {"deals": 2, "openDeals": 2, "activities": 1, "openTasks": 1}),
        ({"kinds": ["LEAD", "DEAL"]}, dict.fromkeys(owned, 0) | {"deals": 3, "openDeals": 2, "leads": 2}),
    ):
        answer = await admin(one, TRANSFER, input=dry | more)
        assert answer == {"counts": counted, "job": None, "userErrors": []}


async def _some_members(surfaces: Surfaces) -> None:
    left = "user_left"
    world = surfaces.gateway.world
    await world.join(left, world.one, role=Role.VIEWER)
    await world.leave(left, world.one)


async def _members(surfaces: Surfaces) -> None:
    await _some_members(surfaces)
    for path, filter in (("", "{}"), ("?state=left", "{states: [LEFT]}"), ("?query=ADMIN", '{query: "ADMIN"}')):
        listed = (await surfaces.rest("GET", f"/members{path}")).json()
        shown = await surfaces.graphql(f"{{ members(filter: {filter}) {{ nodes {{ {selection(MEMBER)} }} }} }}")
        assert [list(record) for record in listed] == [MEMBER] * len(listed)
        assert [_shown(record) for record in listed] == shown["nodes"] != []


def _shown(record: dict[str, Any]) -> dict[str, Any]:
    record = plain(record)
    return record | {name: record[name] and record[name].upper() for name in ("role", "state")}


async def _member(surfaces: Surfaces) -> None:
    await _some_members(surfaces)
    for subject in ("admin@one", "user_left"):
        by_path = (await surfaces.rest("GET", f"/members/{subject}")).json()
        shown = await surfaces.graphql(f"query($id: ID!) {{ member(id: $id) {{ {selection(MEMBER)} }} }}", id=subject)
        assert _shown(by_path) == shown


RECORD_KEYS = selection(MEMBER)


def _changes(mutation: str, method: str, path: str, arguments: str = "", **body: Any) -> Any:
    """Two members who differ in nothing else are changed alike by the two surfaces."""

    async def compare(surfaces: Surfaces) -> None:
        world = surfaces.gateway.world
        for subject in ("twin_a", "twin_b"):
            await world.join(subject, world.one, role=Role.MEMBER)
        answer = await surfaces.rest(method, path.format("twin_a"), body or None)
        shown = await surfaces.change(
            mutation, f"$id: ID! -> id: $id{arguments}", f"member {{ {RECORD_KEYS} }}", id="twin_b"
        )
        by_path = answer.json() if answer.content else (await surfaces.rest("GET", path.format("twin_a"))).json()
        own = {"id", "name", "email", "joinedAt", "leftAt"}
        assert {k: v for k, v in _shown(by_path).items() if k not in own} == {
            k: v for k, v in shown["member"].items() if k not in own
        }
        assert (by_path["left_at"] is None) == (shown["member"]["leftAt"] is None)

    return compare


async def _add(surfaces: Surfaces) -> None:
    body = {"id": "user_x", "name": "X", "email": "x@example.com", "role": "viewer"}
    by_path = (await surfaces.rest("POST", "/members", body)).json()
    shown = await surfaces.change(
        "memberAdd",
        "$i: MemberAddInput! -> input: $i",
        f"member {{ {RECORD_KEYS} }}",
        i=body | {"id": "user_y", "email": "y@example.com", "role": "VIEWER"},
    )
    alike = ("name", "role", "state", "leftAt")
    assert [_shown(by_path)[name] for name in alike] == [shown["member"][name] for name in alike]


async def _transfer(surfaces: Surfaces) -> None:
    body = {"from": "member@one", "to": "viewer@one", "kinds": ["deal"], "dry_run": True}
    input = {"from": "member@one", "to": "viewer@one", "kinds": ["DEAL"], "dryRun": True}
    for is_dry in (True, False):
        answer = await surfaces.rest("POST", "/ownership-transfers", body | {"dry_run": is_dry})
        shown = await surfaces.change(
            "ownershipTransfer",
            "$i: OwnershipTransferInput! -> input: $i",
            f"counts {{ {COUNTS} }} job {{ id }}",
            i=input | {"dryRun": is_dry},
        )
        said = answer.json()
        assert answer.status_code == (200 if is_dry else 202)
        assert plain(said["counts"]) == shown["counts"]
        assert list(said) == (["counts"] if is_dry else ["job_id", "status_url", "counts"])
        assert (shown["job"] is None) == is_dry
        assert "x-ignored-fields" not in answer.headers


async def _viewer(surfaces: Surfaces) -> None:
    said = (await surfaces.rest("GET", "/viewer")).json()
    assert list(said) == VIEWER
    member = _shown(said.pop("member"))
    shown = await surfaces.graphql(
        "{ viewer { subject name email credentialKind organization { id name } organizations { id name } scopes"
        f" member {{ {RECORD_KEYS} }} }} }}"
    )
    assert shown.pop("member") == member
    assert shown == plain(said) | {"credentialKind": said["credential_kind"].upper()}


def _row(ids: Any, mark: str) -> Person:
    email = f"{mark}@row.example"
    return Person(id=f"user_{ids['deal']}", name=mark, email=email, folded_name=mark, folded_email=email)


def _of_member(mutation: str, selection: str = "member { name }") -> Any:
    return by_id(mutation, "member", selection)


RECORD = RecordType(
    typename="Member",
    name="member",
    is_node=False,
    row=_row,
    cases={
        "members.list_members": Case(
            "CRM_READ", (Rest("GET", "/members"), q("{ members { nodes { name } totalCount } }"))
        ),
        "members.get_member": Case(
            "CRM_READ",
            (
                Rest("GET", "/members/<member>"),
                q("query($id: ID!) { member(id: $id) { name } }", id="<member>"),
            ),
        ),
        "members.scopes_of_member": Case(
            "ORG_ADMIN",
            (q("query($id: ID!) { member(id: $id) { scopes } }", id="<member>"),),
            below=("members.get_member",),
            direct=("<member>",),
        ),
        "members.owned_by_member": Case(
            "CRM_READ",
            (q("query($id: ID!) { member(id: $id) { owned { deals } } }", id="<member>"),),
            below=("members.get_member",),
            direct=("<owner>",),
        ),
        "members.get_own_member": Case(
            None,
            (q("{ viewer { member { id } } }"),),
            below=("viewer.get_viewer",),
            direct=(),
            organization=False,
        ),
        "members.add_member": Case(
            "ORG_ADMIN",
            (
                Rest("POST", "/members", {"name": "<name>", "email": "changed@example.com"}),
                put("memberAdd", "MemberAddInput", "member { name }", name="<name>", email="other@example.com"),
            ),
        ),
        "members.update_member": Case(
            "ORG_ADMIN",
            (
                Rest("PATCH", "/members/<member>", {"name": "<name>"}),
                q(
                    "mutation($id: ID!, $n: String) { memberUpdate(id: $id, name: $n)"
                    f" {{ member {{ name }} {ERRORS} }} }}",
                    id="<member>",
                    n="<name>",
                ),
            ),
        ),
        "members.deactivate_member": Case(
            "ORG_ADMIN", (Rest("POST", "/members/<member>/deactivate"), _of_member("memberDeactivate"))
        ),
        "members.reactivate_member": Case(
            "ORG_ADMIN", (Rest("POST", "/members/<member>/reactivate"), _of_member("memberReactivate"))
        ),
        "members.remove_member": Case(
            "ORG_ADMIN",
            (
                Rest("DELETE", "/members/<member>"),
                _of_member("memberRemove"),
                q(REMOVE, id="<member>", to="<owner>"),
            ),
        ),
        "ownership.transfer_ownership": Case(
            "ORG_ADMIN",
            (
                Rest("POST", "/ownership-transfers", {"from": "<owner>", "to": "<member>"}),
                put(
                    "ownershipTransfer",
                    "OwnershipTransferInput",
                    "counts { deals }",
                    **{"from": "<owner>", "to": "<member>"},
                ),
            ),
        ),
    },
    paths={
        ("GET", "/members"): ("CRM_READ", True, 200, "Query.members"),
        ("GET", "/members/{member_id}"): ("CRM_READ", True, 200, "Query.member"),
        ("POST", "/members"): ("ORG_ADMIN", True, 201, "Mutation.memberAdd"),
        ("PATCH", "/members/{member_id}"): ("ORG_ADMIN", True, 200, "Mutation.memberUpdate"),
        ("POST", "/members/{member_id}/deactivate"): ("ORG_ADMIN", True, 200, "Mutation.memberDeactivate"),
        ("POST", "/members/{member_id}/reactivate"): ("ORG_ADMIN", True, 200, "Mutation.memberReactivate"),
        ("DELETE", "/members/{member_id}"): ("ORG_ADMIN", True, 204, "Mutation.memberRemove"),
        ("POST", "/ownership-transfers"): ("ORG_ADMIN", True, 202, "Mutation.ownershipTransfer"),
        ("GET", "/viewer"): (None, False, 200, "Query.viewer"),
    },
    keys={
        ("/members", "GET"): MEMBER,
        ("/members/{member_id}", "GET"): MEMBER,
        ("/members", "POST"): MEMBER,
        ("/members/{member_id}", "PATCH"): MEMBER,
        ("/members/{member_id}/deactivate", "POST"): MEMBER,
        ("/members/{member_id}/reactivate", "POST"): MEMBER,
        ("/ownership-transfers", "POST"): ["job_id", "status_url", "counts"],
        ("/viewer", "GET"): VIEWER,
    },
    compared={
        "Query.members": _members,
        "Query.member": _member,
        "Query.viewer": _viewer,
        "Mutation.memberAdd": _add,
        "Mutation.memberUpdate": _changes("memberUpdate", "PATCH", "/members/{}", ", role: VIEWER", role="viewer"),
        "Mutation.memberDeactivate": _changes("memberDeactivate", "POST", "/members/{}/deactivate"),
        "Mutation.memberReactivate": _changes("memberReactivate", "POST", "/members/{}/reactivate"),
        "Mutation.memberRemove": _changes("memberRemove", "DELETE", "/members/{}"),
        "Mutation.ownershipTransfer": _transfer,
    },
)


_HOOK = 'mutation { webhookCreate(input: {url: "https://1.1.1.1/hook"}) { webhook { id } } }'


async def test_members_from_a_file_and_who_changes_a_webhook_of_one_do_not_wait_for_each_other(one: Tenant) -> None:
    """The first one's loss of a scope is told before the second one's webhook is locked (decision 1200)."""
    makers = [await one.scoped("organizations:manage", name=name) for name in ("a", "b")]
    [_, hook] = [(await one.ask(_HOOK, headers))["webhook"]["id"] for headers in makers]
    entries = [Newcomer(one.subject(n), n, f"{n}@a.example", None, ["contacts:read"]) for n in ("a", "b")]
    missing = await meets_writer(
        one,
        lambda s: webhooks.find(s, hook, lock=True),
        lock_organization,
        add_members(one.gateway.world.database, {one.organization.external_id: entries}),
    )
    assert missing == []
    told = [kind for (kind,) in await one.rows(col(Event.type))]
    assert [told.count("webhook_disabled"), told.count("member_updated")] == [2, 2]


async def test_who_suspends_many_locks_them_as_administrators_are_locked(one: Tenant) -> None:
    """By their names (decision 1200), whatever the order in which they came."""
    for name in ("z", "a"):
        await one.scoped(name=name)
    suspended = await meets_writer(
        one,
        lambda s: members.membership(s, one.subject("a"), lock=True),
        lambda s: members.membership(s, one.subject("z"), lock=True),
        _suspended(one),
    )
    assert {one.subject("a"), one.subject("z")} <= set(suspended)


async def test_a_removal_and_the_end_of_a_key_do_not_wait_for_each_other(one: Tenant) -> None:
    """A key is ended before those made with it, though their rows lie before its own (decision 1200)."""
    await one.scoped(name="leaves")
    parent, child = sorted((new_id(), new_id()))
    named = {"kind": CredentialKind.ORGANIZATION_KEY.value, "secret_hash": "x", "hint": "h", "name": "k"}
    for key, maker in ((child, parent), (parent, None)):
        whose = {"org_id": one.id, "owner_subject": one.subject("leaves"), "made_by": maker}
        await one.add(Credential(id=key, key_id=key, **named, **whose))
    answer = await meets_writer(
        one,
        lambda s: keys.change(s, parent, org_id=one.id, owner=None, revoked_at=now()),
        lambda s: keys.end_made(s, parent, org_id=one.id),
        one.gateway.rest("DELETE", f"/members/{one.subject('leaves')}", one.headers("admin")),
    )
    assert answer.is_success, answer.text


async def _suspended(one: Tenant) -> list[str]:
    async with one.gateway.world.database.writing(one.id) as session:
        return await members.suspend_before(session, now(), dry=False)


async def test_who_comes_back_while_many_are_suspended_is_none_of_them(one: Tenant) -> None:
    """Nobody is suspended whom the log and the rows of people do not name (decision 1200)."""
    database = one.gateway.world.database
    for name in ("a", "b"):
        await one.scoped("contacts:read", name=name)
    back = one.subject("b")
    async with database.writing(one.id) as session:
        found = await members.membership(session, back, lock=True)
        assert found is not None
        await members.suspend(session, found)
    async with database.writing(one.id) as session:
        await members.membership(session, one.subject("a"), lock=True)
        suspending = asyncio.create_task(_suspended(one))
        await asyncio.wait({suspending}, timeout=MEETS_SECONDS)
        resumed = asyncio.create_task(directory.resume_member(database, one.organization.external_id, back))
        await asyncio.wait({resumed}, timeout=MEETS_SECONDS)
    assert await resumed
    is_one = back in await suspending
    ended = dict(await one.rows(col(Membership.subject), col(Membership.ended_at)))
    states = dict(await one.rows(col(Person.id), col(Person.state)))
    assert (ended[back] is not None, states[back]) == (is_one, "deactivated" if is_one else "active")


async def test_a_removal_and_the_end_of_a_token_do_not_wait_for_each_other(one: Tenant) -> None:
    """Keys that a token made are locked by their identifiers, whichever was used last (decision 1200)."""
    database = one.gateway.world.database
    await one.scoped(name="leaves")
    subject, token = one.subject("leaves"), new_id()
    named = {"secret_hash": "x", "hint": "h", "name": "k", "owner_subject": subject}
    async with database.directory(writing=True) as session:
        kind = CredentialKind.USER_TOKEN.value
        await session.insert(new_row(Credential, id=token, key_id=token, kind=kind, org_id=None, **named))
    first, second = sorted((new_id(), new_id()))
    kind = CredentialKind.ORGANIZATION_KEY.value
    for key in (first, second):
        await one.add(Credential(id=key, key_id=key, kind=kind, org_id=one.id, made_by=token, **named))
    async with database.directory(writing=True) as session:
        await keys.touch(session, first, now())  # its row lies behind that of the second from now on

    async def revoked() -> None:
        async with database.directory(writing=True) as session:
            await keys.end_made(session, token, org_id=None)

    async with database.directory(writing=True) as session:
        await keys.renew(session, first, "y")
        removal = asyncio.create_task(one.gateway.rest("DELETE", f"/members/{subject}", one.headers("admin")))
        await asyncio.wait({removal}, timeout=MEETS_SECONDS)
        revocation = asyncio.create_task(revoked())
        await asyncio.wait({revocation}, timeout=MEETS_SECONDS)
    answer = await removal
    assert answer.is_success, answer.text
    await revocation
