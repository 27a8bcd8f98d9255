from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from storage.tables import Campaign, CampaignMailbox, Contact, Enrollment, Job, Mailbox, OutreachDomain
from tests.support.campaign_table import CELLS, TABLE
from tests.support.gateway import Gateway
from tests.support.lists import Listing
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = datetime(2026, 1, 1, tzinfo=UTC)
NOWHERE = "00000000-0000-7000-8000-000000000000"
ERRORS = "userErrors { code message field }"
FIELDS = (
    "id name status statusReason steps { delayDays subject body } dailyLimit timezone stopOnReply provider"
    " providerCampaignId providerSync providerSyncedAt mailboxes { email } createdAt updatedAt version"
)
CREATE = (
    f"mutation($input: CampaignCreateInput!) {{ campaignCreate(input: $input) {{ campaign {{ {FIELDS} }} {ERRORS} }} }}"
)
UPDATE = (
    "mutation($id: ID!, $input: CampaignUpdateInput!) { campaignUpdate(id: $id, input: $input)"
    f" {{ campaign {{ {FIELDS} }} {ERRORS} }} }}"
)
DELETE = (
    f"mutation($id: ID!) {{ campaignDelete(id: $id) {{ deletedId deletedEnrollmentCount providerOutcome {ERRORS} }} }}"
)
GET = f"query($id: ID!) {{ campaign(id: $id) {{ {FIELDS} }} }}"
NOT_FOUND = [{"code": "NOT_FOUND", "message": "Not found", "field": ["id"]}]
STEPS = [{"delayDays": 0, "subject": "S", "body": "B"}, {"delayDays": 3, "subject": "T", "body": "C"}]


def act(action: str) -> str:
    name = f"campaign{action.capitalize()}"
    record = "campaign { status statusReason providerSync version }"
    return f"mutation($id: ID!) {{ {name}(id: $id) {{ {record} {ERRORS} }} }}"


async def mailbox(one: Tenant, local: str = "a", status: str = "active") -> Mailbox:
    domain = OutreachDomain(name=f"{local}.example", status="active")
    made = Mailbox(domain_id=domain.id, email=f"{local}@{local}.example", status=status)
    await one.add(domain, made)
    return made


async def campaign(one: Tenant, status: str = "draft", *, ready: bool = True, **values: Any) -> Campaign:
    """A campaign in this state, with all that it needs to run."""
    steps = [{"delay_days": 0, "subject": "S", "body": "B"}] if ready else []
    made = Campaign(**({"name": "C", "provider": "local", "status": status, "steps": steps} | values))
    await one.add(made)
    if ready:
        sender = await mailbox(one, f"m{made.id[-6:]}")
        await one.add(
            CampaignMailbox(campaign_id=made.id, mailbox_id=sender.id),
            Enrollment(campaign_id=made.id, email="x@example.com", email_key="x@example.com"),
        )
    return made


async def refused(one: Tenant, document: str, **variables: Any) -> list[dict[str, Any]]:
    """The problems of a mutation that changed nothing."""
    before = await one.rows(Campaign.id, Campaign.status, Campaign.name, Campaign.version, Campaign.revision)
    found = await one.ask(document, **variables)
    assert found["campaign"] is None
    assert await one.rows(Campaign.id, Campaign.status, Campaign.name, Campaign.version, Campaign.revision) == before
    problems: list[dict[str, Any]] = found["userErrors"]
    return problems


async def test_a_new_campaign_is_a_draft(one: Tenant) -> None:
    sender = await mailbox(one)
    made = await one.ask(
        CREATE,
        input={
            "name": "Spring",
            "steps": STEPS,
            "dailyLimit": 20,
            "timezone": "Europe/Paris",
            "stopOnReply": False,
            "mailboxIds": [sender.id.upper(), sender.id],
        },
    )
    assert made["userErrors"] == []
    found = made["campaign"]
    assert found == {
        "id": found["id"],
        "name": "Spring",
        "status": "DRAFT",
        "statusReason": None,
        "steps": STEPS,
        "dailyLimit": 20,
        "timezone": "Europe/Paris",
        "stopOnReply": False,
        "provider": "local",
        "providerCampaignId": None,
        "providerSync": "SYNCED",
        "providerSyncedAt": None,
        "mailboxes": [{"email": "a@a.example"}],
        "createdAt": found["createdAt"],
        "updatedAt": found["updatedAt"],
        "version": 1,
    }
    assert await one.ask(GET, id=found["id"]) == found
    assert await one.rows(Job.id) == []
    [event] = (await one.ask("{ events { nodes { type actor data } } }", one.headers("admin")))["nodes"]
    assert (event["type"], event["actor"]) == ("campaign_created", one.subject())
    assert event["data"] == {"campaign_id": found["id"], "name": "Spring", "status": "draft", "status_reason": None}


async def test_a_name_is_enough(one: Tenant) -> None:
    found = (await one.ask(CREATE, input={"name": "N"}))["campaign"]
    shown = {k: found[k] for k in ("steps", "dailyLimit", "timezone", "stopOnReply", "mailboxes")}
    assert shown == {"steps": [], "dailyLimit": 50, "timezone": "UTC", "stopOnReply": True, "mailboxes": []}


@pytest.mark.parametrize(
    ("input", "field", "message"),
    [
        ({"name": ""}, ["name"], "must not be empty"),
        ({"name": " \t"}, ["name"], "must not be blank"),
        ({"name": "a\nb"}, ["name"], "must be a single line"),
        ({"name": "a\0"}, ["name"], "must not contain the NUL character"),
        ({"name": "n" * 201}, ["name"], "must have at most 200 characters"),
        ({"dailyLimit": 0}, ["dailyLimit"], "must be at least 1"),
        ({"dailyLimit": 10_001}, ["dailyLimit"], "must be at most 10000"),
        ({"dailyLimit": None}, ["dailyLimit"], "must be a whole number"),
        ({"timezone": "Mars"}, ["timezone"], "must be a time zone of the IANA database, such as Europe/Paris"),
        ({"timezone": "../UTC"}, ["timezone"], "must be a time zone of the IANA database, such as Europe/Paris"),
        ({"timezone": ""}, ["timezone"], "must be a time zone of the IANA database, such as Europe/Paris"),
        (
            {"steps": [{"subject": "", "body": "B"}]},
            ["steps", "0", "subject"],
            "must not be empty",
        ),
        ({"steps": [*STEPS, {"subject": "S", "body": " "}]}, ["steps", "2", "body"], "must not be blank"),
        ({"steps": [{"subject": "a\nb", "body": "B"}]}, ["steps", "0", "subject"], "must be a single line"),
        (
            {"steps": [{"subject": "S", "body": "B", "delayDays": -1}]},
            ["steps", "0", "delayDays"],
            "must be at least 0",
        ),
        (
            {"steps": [{"subject": "S", "body": "B", "delayDays": 366}]},
            ["steps", "0", "delayDays"],
            "must be at most 365",
        ),
        ({"steps": [STEPS[0]] * 51}, ["steps"], "must have at most 50 items"),
        ({"mailboxIds": [NOWHERE]}, ["mailboxIds", "0"], "does not exist in this organization"),
        ({"mailboxIds": ["x"]}, ["mailboxIds", "0"], "does not exist in this organization"),
    ],
)
async def test_what_a_campaign_cannot_be(one: Tenant, input: Any, field: list[str], message: str) -> None:
    problems = await refused(one, CREATE, input={"name": "N"} | input)
    assert problems == [{"code": "VALIDATION", "message": message, "field": ["input", *field]}]
    made = await campaign(one)
    if "dailyLimit" not in input or input["dailyLimit"] is not None:
        assert await refused(one, UPDATE, id=made.id, input=input) == problems


async def test_a_mailbox_of_another_organization_does_not_exist(one: Tenant, two: Tenant) -> None:
    foreign = await mailbox(two)
    [problem] = await refused(one, CREATE, input={"name": "N", "mailboxIds": [foreign.id]})
    assert problem["message"] == "does not exist in this organization"


async def test_an_update(one: Tenant) -> None:
    made, sender = await campaign(one), await mailbox(one)
    changed = await one.ask(
        UPDATE, id=made.id, input={"name": "New", "steps": STEPS, "mailboxIds": [sender.id], "expectedVersion": 1}
    )
    found = changed["campaign"]
    assert (found["name"], found["steps"], found["mailboxes"], found["version"]) == (
        "New",
        STEPS,
        [{"email": "a@a.example"}],
        2,
    )
    assert await one.ask(GET, id=made.id) == found
    # A change that changes nothing keeps the version (decision 20).
    same = await one.ask(UPDATE, id=made.id, input={"name": "New", "steps": STEPS, "mailboxIds": [sender.id]})
    assert same["campaign"] == found
    emptied = (await one.ask(UPDATE, id=made.id, input={"steps": None, "mailboxIds": None}))["campaign"]
    assert (emptied["steps"], emptied["mailboxes"], emptied["version"]) == ([], [], 3)
    only_mailboxes = (await one.ask(UPDATE, id=made.id, input={"mailboxIds": [sender.id]}))["campaign"]
    assert only_mailboxes["version"] == 4
    stale = await refused(one, UPDATE, id=made.id, input={"name": "X", "expectedVersion": 3})
    assert [(p["code"], p["field"]) for p in stale] == [("PRECONDITION_FAILED", ["input", "expectedVersion"])]
    assert await one.rows(Job.id) == []  # a draft is not the provider's yet


@pytest.mark.parametrize("name", ["name", "dailyLimit", "timezone", "stopOnReply"])
async def test_what_cannot_be_cleared(one: Tenant, name: str) -> None:
    made = await campaign(one)
    assert await refused(one, UPDATE, id=made.id, input={name: None}) == [
        {"code": "VALIDATION", "message": "must not be null", "field": ["input", name]}
    ]


@pytest.mark.parametrize("status", CELLS)
async def test_in_which_states_a_campaign_changes(one: Tenant, status: str) -> None:
    made = await campaign(one, status)
    if status in ("completed", "archived"):
        [problem] = await refused(one, UPDATE, id=made.id, input={"name": "New"})
        assert problem["code"] == "INVALID_STATE"
        return
    found = (await one.ask(UPDATE, id=made.id, input={"name": "New"}))["campaign"]
    assert (found["name"], found["providerSync"]) == ("New", "PENDING" if status == "active" else "SYNCED")


async def test_an_active_campaign_stays_one_that_can_run(one: Tenant) -> None:
    made = await campaign(one, "active")
    idle = await mailbox(one, "idle", "paused")
    for input, lack in (({"steps": []}, "it has no steps"), ({"mailboxIds": [idle.id]}, "it has no active mailbox")):
        [problem] = await refused(one, UPDATE, id=made.id, input=input)
        assert problem["code"] == "INVALID_STATE"
        assert problem["message"] == f"The campaign cannot stay active: {lack}"


@pytest.mark.parametrize(("status", "action", "leads_to"), TABLE)
async def test_every_cell_of_the_table(one: Tenant, status: str, action: str, leads_to: str | None) -> None:
    made = await campaign(one, status)
    if leads_to is None:
        [problem] = await refused(one, act(action), id=made.id)
        assert (problem["code"], problem["field"]) == ("INVALID_STATE", ["id"])
        assert await one.rows(Job.id) == []
        return
    found = await one.ask(act(action), id=made.id)
    assert found["userErrors"] == []
    changes = leads_to != status
    tells = leads_to == "active" and changes
    assert found["campaign"] == {
        "status": leads_to.upper(),
        "statusReason": None,
        "providerSync": "PENDING" if tells else "SYNCED",
        "version": 2 if changes else 1,
    }
    assert await one.rows(Job.kind) == ([("campaign_tell",)] if tells else [])
    log = await one.ask("{ events { nodes { type data } } }", one.headers("admin"))
    past = {"launch": "launched", "pause": "paused", "resume": "resumed", "archive": "archived"}
    told = [(event["type"], event["data"]["status"]) for event in log["nodes"]]
    assert told == ([(f"campaign_{past[action]}", leads_to)] if changes else [])


@pytest.mark.parametrize("status", CELLS)
async def test_a_campaign_in_any_state_is_deleted(one: Tenant, status: str) -> None:
    made, other = await campaign(one, status), await campaign(one, status)
    assert await one.ask(DELETE, id=made.id) == {
        "deletedId": made.id,
        "deletedEnrollmentCount": 1,
        "providerOutcome": "not_created",
        "userErrors": [],
    }
    assert await one.rows(Campaign.id) == [(other.id,)]
    assert await one.rows(Enrollment.campaign_id) == [(other.id,)]
    assert await one.ask(DELETE, id=made.id) == {
        "deletedId": None,
        "deletedEnrollmentCount": 0,
        "providerOutcome": None,
        "userErrors": NOT_FOUND,
    }
    log = await one.ask("{ events { nodes { type data } } }", one.headers("admin"))
    types = [event["type"] for event in log["nodes"]]
    assert types == (["campaign_paused"] if status == "active" else []) + ["campaign_deleted"]


async def test_the_provider_is_told_of_whatever_it_knows(one: Tenant) -> None:
    made = await campaign(one, "active", provider_campaign_id="local-x", provider_sync="synced")
    found = (await one.ask(act("pause"), id=made.id))["campaign"]
    assert (found["status"], found["providerSync"]) == ("PAUSED", "PENDING")
    assert (await one.ask(act("archive"), id=made.id))["campaign"]["providerSync"] == "PENDING"
    assert await one.rows(Job.kind) == [("campaign_tell",)] * 2
    deleted = await one.ask(DELETE, id=made.id)
    assert deleted["providerOutcome"] == "removed"


async def test_a_launch_says_all_that_is_lacking(one: Tenant) -> None:
    made = await campaign(one, ready=False)
    [problem] = await refused(one, act("launch"), id=made.id)
    assert problem["message"] == (
        "The campaign cannot launch: it has no steps, it has no active mailbox, it has no enrollments"
    )
    sender = await mailbox(one, "p", "pending")
    await one.ask(UPDATE, id=made.id, input={"steps": STEPS, "mailboxIds": [sender.id]})
    [problem] = await refused(one, act("launch"), id=made.id)
    assert problem["message"] == "The campaign cannot launch: it has no active mailbox, it has no enrollments"


async def test_a_launch_starts_the_clocks(one: Tenant) -> None:
    made = await campaign(one, steps=[{"delay_days": 2, "subject": "S", "body": "B"}])
    await one.ask(act("launch"), id=made.id)
    [(next_at,)] = await one.rows(Enrollment.next_at)
    assert timedelta(days=1.99) < next_at - datetime.now(UTC) < timedelta(days=2)


@pytest.mark.parametrize("document", [UPDATE, *map(act, ("launch", "pause", "resume", "archive"))])
async def test_a_campaign_that_is_not_there(one: Tenant, two: Tenant, document: str) -> None:
    foreign = await campaign(two)
    for identifier in (NOWHERE, foreign.id, "x"):
        variables = {"id": identifier} | ({"input": {"name": "N"}} if document == UPDATE else {})
        assert await refused(one, document, **variables) == NOT_FOUND
        assert await one.ask(GET, id=identifier) is None


async def test_who_may(one: Tenant) -> None:
    made = await campaign(one)
    reader = await one.scoped("outreach:read", name="reader")
    provisioner = await one.scoped("outreach:provision", name="provisioner")
    crm = await one.scoped("api:manage", "deals:manage", name="crm")
    assert (await one.ask(GET, reader, id=made.id))["id"] == made.id
    assert (await one.error(act("launch"), reader, id=made.id))["extensions"]["code"] == "FORBIDDEN"
    assert (await one.error(GET, crm, id=made.id))["extensions"]["code"] == "FORBIDDEN"
    assert (await one.ask(act("launch"), provisioner, id=made.id))["campaign"]["status"] == "ACTIVE"


async def test_an_outreach_reader_sees_no_contact(one: Tenant) -> None:
    contact = Contact(first_name="Kept", email="kept@example.com")
    made = await campaign(one, ready=False)
    person = Enrollment(campaign_id=made.id, contact_id=contact.id, email="x@example.com", email_key="x")
    await one.add(contact, person)
    reader = await one.scoped("outreach:read", name="reader")
    query = "query($id: ID!) { campaign(id: $id) { enrollments { nodes { email contact { firstName } } } } }"
    body = await one.body(query, reader, id=made.id)
    assert body["data"] == {"campaign": {"enrollments": {"nodes": [{"email": "x@example.com", "contact": None}]}}}
    assert [error["extensions"]["code"] for error in body["errors"]] == ["FORBIDDEN"]
    assert "Kept" not in str(body)
    found = await one.ask(query, one.headers("admin"), id=made.id)
    assert found["enrollments"]["nodes"] == [{"email": "x@example.com", "contact": {"firstName": "Kept"}}]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shelf(gateway: Gateway) -> Listing:
    """Campaigns with equal names; nobody changes them."""
    tenant, other = await new_tenant(gateway), await new_tenant(gateway)

    def row(created: int, updated: int, name: str, status: str) -> Campaign:
        times = {"created_at": START + timedelta(minutes=created), "updated_at": START + timedelta(minutes=updated)}
        return Campaign(name=name, status=status, provider="local", **times)

    rows = {
        "a": row(1, 5, "N", "draft"),
        "b": row(1, 5, "N", "active"),
        "c": row(2, 4, "n", "paused"),
        "d": row(3, 9, "M", "paused"),
        "e": row(4, 1, "é", "archived"),
    }
    await tenant.add(*rows.values())
    await other.add(Campaign(name="N", provider="local"))
    return Listing(tenant, "campaigns", "Campaign", rows)


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
@pytest.mark.parametrize("field", ["NAME", "CREATED_AT", "UPDATED_AT"])
async def test_order_and_pages(shelf: Listing, field: str, direction: str) -> None:
    await shelf.check_order(field, direction)


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        (None, "abcde"),
        ({}, "abcde"),
        ({"name": {"eq": "N"}}, "ab"),
        ({"name": {"contains": "é"}}, "e"),
        ({"status": {"eq": "PAUSED"}}, "cd"),
        ({"status": {"neq": "PAUSED"}}, "abe"),
        ({"status": {"in": ["DRAFT", "ACTIVE"]}}, "ab"),
        ({"status": {"nin": ["DRAFT", "ACTIVE"]}}, "cde"),
        ({"createdAt": {"gt": "2026-01-01T00:02:00Z"}}, "de"),
        ({"id": {"in": [NOWHERE]}}, ""),
        ({"status": {"eq": "PAUSED"}, "name": {"eq": "M"}}, "d"),
    ],
)
async def test_filters(shelf: Listing, filter: Any, expected: str) -> None:
    assert await shelf.matching(filter) == expected


async def test_every_kind_is_a_node(one: Tenant) -> None:
    made = await campaign(one)
    [(person,)] = await one.rows(Enrollment.id)
    [(sender, domain)] = await one.rows(Mailbox.id, Mailbox.domain_id)
    query = "query($ids: [ID!]!) { nodes(ids: $ids) { id __typename ... on OutreachDomain { mailboxCount } } }"
    found = await one.ask(query, ids=[made.id, person, sender, domain])
    assert found == [
        {"id": made.id, "__typename": "Campaign"},
        {"id": person, "__typename": "Enrollment"},
        {"id": sender, "__typename": "Mailbox"},
        {"id": domain, "__typename": "OutreachDomain", "mailboxCount": 1},
    ]
    crm = await one.scoped("api:read", name="crm")
    assert await one.ask(query, crm, ids=[made.id, person, sender, domain]) == [None] * 4
