"""Leads: captures, lists, changes and states (specification 4.2; decisions 37, 38)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from storage.tables import Account, Contact, Deal, Event, Lead
from tests.support.gateway import Gateway
from tests.support.lists import Listing
from tests.support.statements import statements
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = datetime(2026, 1, 1, tzinfo=UTC)
NOWHERE = "00000000-0000-7000-8000-000000000000"
FIELDS = (
    "id status cardId name title company companyDomain email phone linkedin notes tags source capturePayload ownerId"
    " disqualifiedReason convertedAt account { id } contact { id } deal { id } createdAt updatedAt version"
)
ERRORS = "userErrors { code message field }"
CONFIRM = f"""mutation($input: CardCaptureInput!) {{ cardCaptureConfirm(input: $input) {{
  lead {{ {FIELDS} }} {ERRORS} }} }}"""
UPDATE = f"""mutation($id: ID!, $input: LeadUpdateInput!) {{ leadUpdate(id: $id, input: $input) {{
  lead {{ {FIELDS} }} {ERRORS} }} }}"""
DISQUALIFY = f"""mutation($id: ID!, $reason: String!) {{ leadDisqualify(id: $id, reason: $reason) {{
  lead {{ {FIELDS} }} {ERRORS} }} }}"""
REOPEN = f"mutation($id: ID!) {{ leadReopen(id: $id) {{ lead {{ {FIELDS} }} {ERRORS} }} }}"
GET = f"query($id: ID!) {{ lead(id: $id) {{ {FIELDS} }} }}"
NOT_FOUND = [{"code": "NOT_FOUND", "message": "Not found", "field": ["id"]}]
FULL = {
    "cardId": "card 1",
    "name": "Ada Park",
    "title": "CTO",
    "company": "Acme",
    "companyDomain": "acme.example",
    "email": "ada@acme.example",
    "phone": "+49 (0)30 / 1 ext. 2",
    "linkedin": "in/ada",
    "notes": "n",
    "tags": ["a", "b"],
    "source": "SCAN_BADGE",
    "capturePayload": {"a": [1, 2.5, None, {"b": "é"}]},
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shelf(gateway: Gateway) -> Listing:
    """Leads with equal names and times; nobody changes them. The tag of a is the tag of b: it was written first."""
    tenant, other = await new_tenant(gateway), await new_tenant(gateway)

    def lead(created: int, updated: int, name: str, **values: Any) -> Lead:
        times = {"created_at": START + timedelta(minutes=created), "updated_at": START + timedelta(minutes=updated)}
        return Lead(name=name, **times, **values)

    rows = {
        "a": lead(1, 5, "Doe", email="jo@example.com", company="Acme", tags=["x", "a b"], status="working"),
        "b": lead(1, 5, "Doe", company="acme", source="manual", tags=["X"]),
        "c": lead(2, 4, "Éa", owner_id="o", source="scan_badge", status="converted"),
        "d": lead(2, 4, "doe", tags=['"x"', "%"], status="disqualified"),
        "e": lead(3, 9, "Zoe", tags=["x"], card_id="c", capture_payload={"tags": ["y"]}),
    }
    await tenant.add(*rows.values())
    foreign = Lead(name="Doe", tags=["x"])
    await other.add(foreign)
    world = gateway.world
    await world.tag(tenant.organization, *rows.values())
    await world.tag(other.organization, foreign)
    return Listing(tenant, "leads", "Lead", rows)


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
@pytest.mark.parametrize("field", ["NAME", "CREATED_AT", "UPDATED_AT"])
async def test_every_order_walked_in_pages_of_every_size(shelf: Listing, field: str, direction: str) -> None:
    await shelf.check_order(field, direction)


@pytest.mark.parametrize(
    ("filter", "labels"),
    [
        ({}, "abcde"),
        ({"name": {"eq": "Doe"}}, "ab"),
        ({"email": {"isNull": True}}, "bcde"),
        ({"company": {"startsWith": "A"}}, "a"),
        ({"status": {"eq": "NEW"}}, "be"),
        ({"status": {"neq": "NEW"}}, "acd"),
        ({"status": {"in": ["WORKING", "CONVERTED"]}}, "ac"),
        ({"status": {"nin": ["WORKING", "CONVERTED"]}}, "bde"),
        ({"source": {"eq": "SCAN_CARD"}}, "ade"),
        ({"source": {"in": ["MANUAL", "SCAN_BADGE"]}}, "bc"),
        ({"ownerId": {"eq": "o"}}, "c"),
        ({"createdAt": {"gt": "2026-01-01T00:01:00Z"}}, "cde"),
        ({"tags": {"contains": "x"}}, "abe"),
        ({"tags": {"contains": "X"}}, ""),
        ({"tags": {"contains": "a b"}}, "a"),
        ({"tags": {"contains": "a"}}, ""),
        ({"tags": {"contains": '"x"'}}, "d"),
        ({"tags": {"contains": "%"}}, "d"),
        ({"tags": {"contains": ""}}, ""),
        ({"tags": {"contains": "\x00"}}, ""),
        ({"tags": {}}, "abcde"),
        ({"not": {"tags": {"contains": "x"}}}, "cd"),
        ({"or": [{"tags": {"contains": "%"}}, {"tags": {"contains": "x"}, "status": {"eq": "NEW"}}]}, "bde"),
        ({"and": [{"tags": {"contains": "x"}}, {"tags": {"contains": "a b"}}]}, "a"),
    ],
)
async def test_filters(shelf: Listing, filter: Any, labels: str) -> None:
    assert await shelf.matching(filter) == labels


async def test_a_null_tag_is_refused(shelf: Listing) -> None:
    error = await shelf.error(filter={"tags": {"contains": None}})
    assert error["extensions"]["problems"] == [
        {"field": ["filter", "tags", "contains"], "message": "must not be null", "type": "null"}
    ]


async def test_the_payload_is_read_only_where_it_is_selected(shelf: Listing) -> None:
    tenant = shelf.tenant
    for document, is_read in (
        ("{ leads { nodes { id name tags account { name } } } }", False),
        ("{ leads { edges { cursor node { name } } totalCount } }", False),
        ("{ leads { nodes { ... { ...F } } } } fragment F on Lead { capturePayload }", True),
        ("{ leads { edges { node { capturePayload } } } }", True),
    ):
        with statements(tenant.gateway.world.database) as sent:
            await tenant.ask(document)
        assert sent
        assert any("capture_payload" in text for text in sent) == is_read, document
    for field, is_read in (("id", False), ("... on Lead { name }", False), ("... on Lead { capturePayload }", True)):
        for node in ("node(id: $id)", "nodes(ids: [$id])"):
            with statements(tenant.gateway.world.database) as sent:
                await tenant.ask(f"query($id: ID!) {{ {node} {{ {field} }} }}", id=shelf.rows["e"].id)
            assert any("capture_payload" in text for text in sent) == is_read, (node, field)
    with statements(tenant.gateway.world.database) as sent:
        await tenant.ask("query($id: ID!) { lead(id: $id) { name } }", id=shelf.rows["e"].id)
    assert not any("capture_payload" in text for text in sent)


async def test_confirming_and_reading(one: Tenant, two: Tenant) -> None:
    before = datetime.now(UTC)
    made = await one.ask(CONFIRM, input=FULL)
    assert made["userErrors"] == []
    lead = made["lead"]
    assert await one.ask(GET, id=lead["id"]) == lead
    assert await two.ask(GET, id=lead["id"]) is None
    node = "query($id: ID!) { node(id: $id) { id __typename ... on Lead { name capturePayload } } }"
    assert await one.ask(node, id=lead["id"]) == {
        "id": lead["id"],
        "__typename": "Lead",
        "name": "Ada Park",
        "capturePayload": FULL["capturePayload"],
    }
    assert await two.ask(node, id=lead["id"]) is None
    for identifier in (NOWHERE, "no uuid", ""):
        assert await one.ask(GET, id=identifier) is None
    assert before <= datetime.fromisoformat(lead.pop("createdAt")) <= datetime.now(UTC)
    nothing = dict.fromkeys(("disqualifiedReason", "convertedAt", "account", "contact", "deal"))
    del lead["updatedAt"], lead["id"]
    assert lead == {**FULL, **nothing, "status": "NEW", "ownerId": one.subject(), "version": 1}
    [(type_, data)] = await one.rows(Event.type, Event.data)
    assert type_ == "lead_created"
    assert (data["name"], data["card_id"], data["source"]) == ("Ada Park", "card 1", "scan_badge")
    bare = (await one.ask(CONFIRM, input={"name": "  B\n"}))["lead"]
    assert (bare["name"], bare["source"], bare["tags"], bare["capturePayload"]) == ("B", "MANUAL", [], None)


async def test_the_same_card_is_the_same_lead(one: Tenant, two: Tenant) -> None:
    first = (await one.ask(CONFIRM, input=FULL))["lead"]
    assert (await one.ask(CONFIRM, input=FULL))["lead"] == first
    assert await one.rows(Event.type) == [("lead_created",)]
    changes = {"cardId": "card 1", "name": "Ada B. Park", "title": None, "tags": None, "source": "SCAN_BADGE"}
    again = (await one.ask(CONFIRM, input=changes))["lead"]
    assert again == {**first, "name": "Ada B. Park", "title": None, "tags": [], "version": 2} | {
        "updatedAt": again["updatedAt"]
    }
    assert again["updatedAt"] > first["updatedAt"]
    assert await one.rows(Event.type, Event.data) == [
        ("lead_created", (await one.rows(Event.data))[0][0]),
        ("lead_updated", {"lead_id": first["id"], "changed": ["name", "tags", "title"]}),
    ]
    payload = (await one.ask(CONFIRM, input={**changes, "capturePayload": {"x": 1}}))["lead"]
    assert (payload["capturePayload"], payload["version"]) == ({"x": 1}, 3)
    others = [(await one.ask(CONFIRM, input={**FULL, "cardId": card}))["lead"] for card in ("card 1 ", None, None)]
    theirs = (await two.ask(CONFIRM, input=FULL))["lead"]
    assert len({lead["id"] for lead in (first, *others, theirs)}) == 5


async def test_a_raced_card_makes_one_lead(one: Tenant) -> None:
    answers = await asyncio.gather(
        *(one.ask(CONFIRM, input={"cardId": "raced", "name": f"N{number}"}) for number in range(8))
    )
    [(identifier, version)] = await one.rows(Lead.id, Lead.version)
    assert {answer["lead"]["id"] for answer in answers} == {identifier}
    assert sorted(answer["lead"]["version"] for answer in answers) == list(range(1, 9))
    types = [type_ for (type_,) in await one.rows(Event.type)]
    assert sorted(types) == ["lead_created", *["lead_updated"] * 7]
    assert version == 8


async def test_a_card_of_a_lead_that_is_done_updates_it_all_the_same(one: Tenant) -> None:
    account = Account(name="A")
    await one.add(account)
    await one.add(Lead(name="N", card_id="c", status="converted", account_id=account.id))
    await one.add(Lead(name="N", card_id="d", status="disqualified", disqualified_reason="r"))
    for card, status in (("c", "CONVERTED"), ("d", "DISQUALIFIED")):
        lead = (await one.ask(CONFIRM, input={"name": "M", "cardId": card}))["lead"]
        assert (lead["name"], lead["status"]) == ("M", status)


DEEP: dict[str, Any] = {}
for _ in range(100):
    DEEP = {"x": DEEP}


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ({"name": " \n "}, {"name": "must not be empty"}),
        ({"name": "n" * 201}, {"name": "must have at most 200 characters"}),
        ({"name": "a\x00"}, {"name": "must not contain the NUL character"}),
        ({"email": "nobody"}, {"email": "must look like an e-mail address"}),
        ({"phone": "1" * 101}, {"phone": "must have at most 100 characters"}),
        ({"linkedin": "l" * 10_001}, {"linkedin": "must have at most 10000 characters"}),
        ({"tags": ["t" * 101]}, {"tags.0": "must have at most 100 characters"}),
    ],
)
async def test_refused_captures_and_updates(one: Tenant, fields: dict[str, Any], problems: dict[str, str]) -> None:
    errors = [
        {"code": "VALIDATION", "message": m, "field": ["input", *name.split(".")]} for name, m in problems.items()
    ]
    assert await one.ask(CONFIRM, input={"name": "N", **fields}) == {"lead": None, "userErrors": errors}
    assert await one.rows(Lead.id) == []
    lead = Lead(name="kept")
    await one.add(lead)
    assert await one.ask(UPDATE, id=lead.id, input=fields) == {"lead": None, "userErrors": errors}
    assert await one.rows(Lead.name, Lead.version) == [("kept", 1)]
    assert await one.rows(Event.type) == []


async def test_blank_fields_of_a_capture_were_not_given(one: Tenant) -> None:
    """Decision 206; a change is taken by its word."""
    optional = ("title", "company", "companyDomain", "email", "phone", "linkedin", "notes", "capturePayload")
    blanks = {**dict.fromkeys(optional, " "), "tags": [""], "cardId": "card 1"}
    made = (await one.ask(CONFIRM, input={**blanks, "name": "N"}))["lead"]
    assert ({made[name] for name in optional}, made["tags"], made["source"]) == ({None}, [], "MANUAL")
    full = (await one.ask(CONFIRM, input=FULL))["lead"]
    same = (await one.ask(CONFIRM, input={**blanks, "name": FULL["name"]}))["lead"]
    assert same == full
    some = (await one.ask(CONFIRM, input={"name": "N", "phone": "call me", "tags": ["a", " ", " a"]}))["lead"]
    assert (some["phone"], some["tags"]) == ("call me", ["a"])
    for fields, name in (({"email": ""}, "email"), ({"tags": ["a", " "]}, "tags")):
        refused = await one.ask(UPDATE, id=made["id"], input=fields)
        assert [error["field"][:2] for error in refused["userErrors"]] == [["input", name]]


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ([1], "must be an object"),
        ("x", "must be an object"),
        ({"x": "y" * (256 * 1024)}, "must have at most 262144 bytes as JSON text"),
        ({"x": "é" * (128 * 1024)}, "must have at most 262144 bytes as JSON text"),
        (DEEP, "must not nest deeper than 100 levels"),
        ({"x": "\x00"}, "must not contain the NUL character"),
        ({"\x00": 1}, "must not contain the NUL character"),
    ],
)
async def test_refused_payloads(one: Tenant, payload: Any, problem: str) -> None:
    answer = await one.ask(CONFIRM, input={"name": "N", "capturePayload": payload})
    errors = [{"code": "VALIDATION", "message": problem, "field": ["input", "capturePayload"]}]
    assert answer == {"lead": None, "userErrors": errors}
    assert await one.rows(Lead.id) == []


async def test_a_payload_of_the_greatest_size(one: Tenant) -> None:
    payload = {"x": "y" * (256 * 1024 - len('{"x":""}'))}
    made = (await one.ask(CONFIRM, input={"name": "N", "capturePayload": payload}))["lead"]
    assert (await one.ask(GET, id=made["id"]))["capturePayload"] == payload


async def test_a_payload_in_the_document_s_text(one: Tenant) -> None:
    literal = """mutation { cardCaptureConfirm(input: {name: "N", capturePayload: {a: 1, b: [true, "x", null, 1.5]}}) {
      lead { capturePayload } userErrors { message } } }"""
    assert (await one.ask(literal))["lead"] == {"capturePayload": {"a": 1, "b": [True, "x", None, 1.5]}}
    endless = literal.replace("1.5", "1e999")
    assert (await one.ask(endless))["userErrors"] == [{"message": "must have finite numbers only"}]


async def test_refused_cards(one: Tenant) -> None:
    for card, problem in (("", "not be empty"), ("c" * 501, "have at most 500 characters")):
        answer = await one.ask(CONFIRM, input={"name": "N", "cardId": card})
        message = f"must {problem}"
        assert answer["userErrors"] == [{"code": "VALIDATION", "message": message, "field": ["input", "cardId"]}]


async def test_updating(one: Tenant) -> None:
    lead = (await one.ask(CONFIRM, input=FULL))["lead"]
    fields = {**FULL, "name": "B", "tags": ["z", " z "], "ownerId": one.subject("viewer"), "status": "QUALIFIED"}
    del fields["cardId"], fields["source"], fields["capturePayload"]
    changed = (await one.ask(UPDATE, id=lead["id"], input=fields))["lead"]
    assert changed == {**lead, **fields, "tags": ["z"], "version": 2, "updatedAt": changed["updatedAt"]}
    assert (await one.ask(UPDATE, id=lead["id"], input=fields))["lead"] == changed
    assert [t for (t,) in await one.rows(Event.type)] == ["lead_created", "lead_updated"]
    nullable = ("title", "company", "companyDomain", "email", "phone", "linkedin", "notes", "ownerId")
    cleared = (await one.ask(UPDATE, id=lead["id"], input={**dict.fromkeys(nullable), "tags": None}))["lead"]
    assert ({cleared[name] for name in nullable}, cleared["tags"], cleared["version"]) == ({None}, [], 3)
    for name in ("name", "status"):
        refused = await one.ask(UPDATE, id=lead["id"], input={name: None})
        errors = [{"code": "VALIDATION", "message": "must not be null", "field": ["input", name]}]
        assert refused == {"lead": None, "userErrors": errors}
    stale = await one.ask(UPDATE, id=lead["id"], input={"name": "C", "expectedVersion": 2})
    [error] = stale["userErrors"]
    assert (error["code"], error["field"]) == ("PRECONDITION_FAILED", ["input", "expectedVersion"])
    assert await one.rows(Lead.name, Lead.version) == [("B", 3)]


async def test_moving_through_the_states(one: Tenant) -> None:
    lead = Lead(name="N")
    await one.add(lead)

    async def refused(document: str, message: str, field: list[str], **variables: Any) -> None:
        before = await one.rows(Lead.status, Lead.version)
        errors = [{"code": "INVALID_STATE", "message": message, "field": field}]
        assert await one.ask(document, id=lead.id, **variables) == {"lead": None, "userErrors": errors}
        assert await one.rows(Lead.status, Lead.version) == before

    async def to(status: str) -> Any:
        return (await one.ask(UPDATE, id=lead.id, input={"status": status}))["lead"]["status"]

    status = ["input", "status"]
    assert await to("NEW") == "NEW"
    await refused(REOPEN, "A lead cannot go from NEW to WORKING by leadReopen: that is done by leadUpdate", ["id"])
    for step in ("WORKING", "QUALIFIED", "WORKING"):
        assert await to(step) == step
    await refused(UPDATE, "A lead cannot go from WORKING to NEW", status, input={"status": "NEW", "name": "M"})
    for target, by in (("CONVERTED", "leadConvert"), ("DISQUALIFIED", "leadDisqualify")):
        message = f"A lead cannot go from WORKING to {target} by leadUpdate: that is done by {by}"
        await refused(UPDATE, message, status, input={"status": target})
    given_up = await one.ask(DISQUALIFY, id=lead.id, reason=" No budget ")
    assert given_up["userErrors"] == []
    assert (given_up["lead"]["status"], given_up["lead"]["disqualifiedReason"]) == ("DISQUALIFIED", "No budget")
    assert await one.ask(DISQUALIFY, id=lead.id, reason="No budget") == given_up
    await refused(DISQUALIFY, "A lead cannot go from DISQUALIFIED to DISQUALIFIED", ["id"], reason="Other")
    message = "A lead cannot go from DISQUALIFIED to WORKING by leadUpdate: that is done by leadReopen"
    await refused(UPDATE, message, status, input={"status": "WORKING"})
    reopened = (await one.ask(REOPEN, id=lead.id))["lead"]
    assert (reopened["status"], reopened["disqualifiedReason"], reopened["version"]) == ("WORKING", None, 6)
    assert [t for (t,) in await one.rows(Event.type)] == [
        *["lead_updated"] * 3,
        "lead_disqualified",
        "lead_reopened",
    ]


async def test_a_reason_is_needed(one: Tenant) -> None:
    lead = Lead(name="N")
    await one.add(lead)
    for reason in ("", "  "):
        errors = [
            {"code": "VALIDATION", "message": "must not be empty", "field": ["reason"]},
        ]
        assert await one.ask(DISQUALIFY, id=lead.id, reason=reason) == {"lead": None, "userErrors": errors}
    assert await one.rows(Lead.status) == [("new",)]


async def test_changing_what_is_not_there(one: Tenant, two: Tenant) -> None:
    other = Lead(name="other", status="disqualified")
    await two.add(other)
    for identifier in (other.id, NOWHERE, "no uuid", ""):
        gone = {"lead": None, "userErrors": NOT_FOUND}
        assert await one.ask(UPDATE, id=identifier, input={"title": "x"}) == gone
        assert await one.ask(DISQUALIFY, id=identifier, reason="r") == gone
        assert await one.ask(REOPEN, id=identifier) == gone
    assert await two.rows(Lead.status, Lead.title) == [("disqualified", None)]


async def test_what_a_lead_became_may_be_deleted(one: Tenant) -> None:
    account, contact, deal = Account(name="A"), Contact(last_name="C"), Deal(name="D")
    await one.add(account, contact, deal)
    lead = Lead(name="N", status="converted", account_id=account.id, contact_id=contact.id, deal_id=deal.id)
    await one.add(lead)
    for noun, record in (("account", account), ("contact", contact), ("deal", deal)):
        document = f"mutation($id: ID!) {{ {noun}Delete(id: $id) {{ deletedId }} }}"
        assert await one.ask(document, id=record.id) == {"deletedId": record.id}
    left = await one.ask(GET, id=lead.id)
    assert (left["account"], left["contact"], left["deal"], left["version"]) == (None, None, None, 4)
