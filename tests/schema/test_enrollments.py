from __future__ import annotations

import asyncio
from typing import Any

import pytest

from storage.tables import Campaign, Contact, Enrollment, Job
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOWHERE = "00000000-0000-7000-8000-000000000000"
ERRORS = "userErrors { code message field }"
ENROLL = (
    "mutation($id: ID!, $contacts: [EnrollmentInput!]!) { enrollmentsCreate(campaignId: $id, contacts: $contacts) {"
    f" created {{ id email status enrolledAt contact {{ id }} }} skipped {{ email reason }} {ERRORS} }} }}"
)
REMOVE = f"mutation($id: ID!) {{ enrollmentRemove(id: $id) {{ deletedId {ERRORS} }} }}"
LIST = (
    "query($id: ID!, $first: Int, $after: String) { campaign(id: $id) { enrollments(first: $first, after: $after)"
    " { nodes { id email status } totalCount pageInfo { hasNextPage endCursor } } } }"
)
ALREADY = "the address is enrolled already"


async def campaign(one: Tenant, status: str = "draft", **values: Any) -> Campaign:
    made = Campaign(name="C", provider="local", status=status, **values)
    await one.add(made)
    return made


def people(*names: str) -> list[dict[str, Any]]:
    return [{"email": f"{name}@example.com"} for name in names]


async def test_recipients_are_enrolled_in_order(one: Tenant) -> None:
    made, contact = await campaign(one), Contact(first_name="A")
    await one.add(contact)
    variables = {"first_name": "Ada", "n": 1.5, "vip": True, "none": None}
    found = await one.ask(
        ENROLL,
        one.headers("admin"),
        id=made.id.upper(),
        contacts=[{"email": "Ada@Example.com", "contactId": contact.id, "variables": variables}, *people("b", "c")],
    )
    assert found["userErrors"] == found["skipped"] == []
    assert [(e["email"], e["status"], e["contact"]) for e in found["created"]] == [
        ("Ada@Example.com", "PENDING", {"id": contact.id}),
        ("b@example.com", "PENDING", None),
        ("c@example.com", "PENDING", None),
    ]
    listed = (await one.ask(LIST, id=made.id))["enrollments"]
    assert [e["id"] for e in listed["nodes"]] == [e["id"] for e in found["created"]]
    assert sorted(await one.rows(Enrollment.email_key, Enrollment.variables)) == [
        ("ada@example.com", variables),
        ("b@example.com", {}),
        ("c@example.com", {}),
    ]
    assert await one.rows(Job.id) == []
    [event] = (await one.ask("{ events { nodes { type data } } }", one.headers("admin")))["nodes"]
    assert event["type"] == "enrollments_created"
    assert event["data"] == {"campaign_id": made.id, "enrollment_ids": [e["id"] for e in found["created"]]}


async def test_who_is_in_it_already_is_skipped_with_the_reason(one: Tenant) -> None:
    made, contact = await campaign(one), Contact(first_name="A")
    await one.add(contact)
    await one.ask(ENROLL, id=made.id, contacts=[{"email": "a@example.com", "contactId": contact.id}])
    found = await one.ask(
        ENROLL,
        id=made.id,
        contacts=[
            {"email": "A@EXAMPLE.COM"},
            {"email": "other@example.com", "contactId": contact.id},
            {"email": "new@example.com"},
            {"email": "NEW@example.com"},
        ],
    )
    assert [e["email"] for e in found["created"]] == ["new@example.com"]
    assert found["skipped"] == [
        {"email": "A@EXAMPLE.COM", "reason": ALREADY},
        {"email": "other@example.com", "reason": "the contact is enrolled already"},
        {"email": "NEW@example.com", "reason": "is named twice"},
    ]
    again = await one.ask(ENROLL, id=made.id, contacts=people("a", "new"))
    assert (again["created"], [s["reason"] for s in again["skipped"]]) == ([], [ALREADY, ALREADY])
    assert len(await one.rows(Enrollment.id)) == 2


async def test_the_same_address_in_two_campaigns(one: Tenant) -> None:
    for made in (await campaign(one), await campaign(one)):
        found = await one.ask(ENROLL, id=made.id, contacts=people("a"))
        assert len(found["created"]) == 1


async def test_requests_that_race_enroll_once(one: Tenant) -> None:
    made, contact = await campaign(one, "active", steps=[{"delay_days": 0, "subject": "S", "body": "B"}]), Contact()
    await one.add(contact)
    names = [f"p{n}" for n in range(5)]

    async def enroll(number: int) -> Any:
        order = names[number:] + names[:number]
        same_contact = {"email": f"c{number}@example.com", "contactId": contact.id}
        return await one.ask(ENROLL, id=made.id, contacts=[*people(*order), same_contact])

    found = await asyncio.gather(*(enroll(number) for number in range(5)))
    assert sum(len(f["created"]) for f in found) == 6
    assert sum(len(f["skipped"]) for f in found) == 24
    assert all(f["userErrors"] == [] for f in found)
    assert len(await one.rows(Enrollment.id)) == 6


@pytest.mark.parametrize(
    ("contact", "field", "message"),
    [
        ({"email": "x"}, "email", "must look like an e-mail address"),
        ({"email": ""}, "email", "must look like an e-mail address"),
        ({"email": "a@b@example.com"}, "email", "must look like an e-mail address"),
        ({"email": "a" * 250 + "@example.com"}, "email", "must have at most 254 characters"),
        ({"contactId": NOWHERE}, "contactId", "does not exist in this organization"),
        ({"contactId": "x"}, "contactId", "does not exist in this organization"),
        ({"variables": []}, "variables", "must be an object"),
        ({"variables": "x"}, "variables", "must be an object"),
        ({"variables": {"a": [1]}}, "variables", "a must be a text, a number, a boolean or null"),
        ({"variables": {"a b": 1}}, "variables", "names must be letters, digits and _, and begin with no digit"),
        ({"variables": {"a": "x\0"}}, "variables", "must not contain the NUL character"),
        ({"variables": {"a": "x" * 10_001}}, "variables", "a must have at most 10000 characters"),
        ({"variables": {f"v{n}": n for n in range(101)}}, "variables", "must not have more than 100 names"),
    ],
)
async def test_who_cannot_be_enrolled(one: Tenant, contact: Any, field: str, message: str) -> None:
    made = await campaign(one)
    found = await one.ask(ENROLL, id=made.id, contacts=[*people("good"), {"email": "x@example.com"} | contact])
    assert (found["created"], found["skipped"]) == ([], [])
    assert found["userErrors"] == [{"code": "VALIDATION", "message": message, "field": ["contacts", "1", field]}]
    assert await one.rows(Enrollment.id) == []


async def test_at_most_five_hundred_at_a_time(one: Tenant) -> None:
    made = await campaign(one)
    found = await one.ask(ENROLL, id=made.id, contacts=people(*map(str, range(501))))
    [problem] = found["userErrors"]
    assert (problem["code"], problem["field"]) == ("VALIDATION", ["contacts"])
    assert len((await one.ask(ENROLL, id=made.id, contacts=people(*map(str, range(500)))))["created"]) == 500
    listed = (await one.ask(LIST, id=made.id, first=2))["enrollments"]
    assert (listed["totalCount"], listed["pageInfo"]["hasNextPage"]) == (500, True)
    after = listed["pageInfo"]["endCursor"]
    assert [e["email"] for e in (await one.ask(LIST, id=made.id, first=2, after=after))["enrollments"]["nodes"]] == [
        "2@example.com",
        "3@example.com",
    ]


async def test_nobody_is_nobody(one: Tenant) -> None:
    made = await campaign(one)
    assert await one.ask(ENROLL, id=made.id, contacts=[]) == {"created": [], "skipped": [], "userErrors": []}
    assert (await one.ask("{ events { nodes { id } } }", one.headers("admin")))["nodes"] == []


@pytest.mark.parametrize("status", ["draft", "active", "paused", "blocked", "completed", "archived"])
async def test_in_which_states_recipients_are_enrolled(one: Tenant, status: str) -> None:
    made = await campaign(one, status)
    found = await one.ask(ENROLL, id=made.id, contacts=people("a"))
    if status in ("completed", "archived"):
        [problem] = found["userErrors"]
        assert (problem["code"], problem["field"]) == ("INVALID_STATE", ["campaignId"])
        assert await one.rows(Enrollment.id) == []
        return
    assert len(found["created"]) == 1
    assert await one.rows(Job.kind) == ([("campaign_tell",)] if status == "active" else [])


async def test_a_campaign_that_is_not_there(one: Tenant, two: Tenant) -> None:
    foreign = await campaign(two)
    for identifier in (NOWHERE, foreign.id, "x"):
        found = await one.ask(ENROLL, id=identifier, contacts=people("a"))
        assert found["userErrors"] == [{"code": "NOT_FOUND", "message": "Not found", "field": ["campaignId"]}]
    assert await two.rows(Enrollment.id) == []


async def test_removing_a_recipient(one: Tenant, two: Tenant) -> None:
    made = await campaign(one)
    created = (await one.ask(ENROLL, id=made.id, contacts=people("a", "b")))["created"]
    assert await one.ask(REMOVE, id=created[0]["id"]) == {"deletedId": created[0]["id"], "userErrors": []}
    assert await one.rows(Enrollment.email) == [("b@example.com",)]
    for tenant, identifier in ((one, created[0]["id"]), (two, created[1]["id"]), (one, "x")):
        found = await tenant.ask(REMOVE, id=identifier)
        assert found == {
            "deletedId": None,
            "userErrors": [{"code": "NOT_FOUND", "message": "Not found", "field": ["id"]}],
        }
    again = await one.ask(ENROLL, id=made.id, contacts=people("a"))
    assert len(again["created"]) == 1
    types = [e["type"] for e in (await one.ask("{ events { nodes { type } } }", one.headers("admin")))["nodes"]]
    assert types == ["enrollments_created", "enrollment_removed", "enrollments_created"]


async def test_a_contact_that_goes_leaves_its_enrollments(one: Tenant) -> None:
    made, contacts = await campaign(one), [Contact(first_name="A"), Contact(first_name="B")]
    await one.add(*contacts)
    for number, contact in enumerate(contacts):
        await one.ask(ENROLL, id=made.id, contacts=[{"email": f"{number}@example.com", "contactId": contact.id}])
    delete = f"mutation($id: ID!) {{ contactDelete(id: $id) {{ deletedId {ERRORS} }} }}"
    for contact in contacts:
        assert (await one.ask(delete, id=contact.id))["userErrors"] == []
    assert await one.rows(Enrollment.contact_id) == [(None,), (None,)]
