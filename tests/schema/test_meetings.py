from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from storage.tables import Account, Activity, Contact, Deal
from tests.support.gateway import Gateway
from tests.support.lists import Listing
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = datetime(2026, 1, 1, tzinfo=UTC)
NOWHERE = "00000000-0000-7000-8000-000000000000"
FIELDS = """id type subject body dueAt completedAt durationMinutes metadata accountId dealId contactId ownerId source
direction createdAt state account { name } deal { name } contact { lastName }"""
LOG = f"""mutation($input: MeetingLogInput!) {{ meetingLog(input: $input) {{
  meeting {{ {FIELDS} }} userErrors {{ code message field }} }} }}"""
UPDATE = f"""mutation($id: ID!, $input: MeetingUpdateInput!) {{ meetingUpdate(id: $id, input: $input) {{
  meeting {{ {FIELDS} }} userErrors {{ code message field }} }} }}"""
COMPLETE = f"""mutation($id: ID!, $at: DateTime) {{ meetingComplete(id: $id, at: $at) {{
  meeting {{ {FIELDS} }} userErrors {{ code message field }} }} }}"""
DELETE = "mutation($id: ID!) { meetingDelete(id: $id) { deletedId userErrors { code message field } } }"
GET = f"query($id: ID!) {{ meeting(id: $id) {{ {FIELDS} }} }}"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shelf(gateway: Gateway) -> Listing:
    """Meetings with equal times, without a time and of several sources; nobody changes them."""
    tenant, other = await new_tenant(gateway), await new_tenant(gateway)
    acme, bolt = Account(name="Acme", domain="acme.example"), Account(name="Bolt")
    await tenant.add(acme, bolt)
    deal, lone = Deal(name="Fleet", account_id=bolt.id), Deal(name="Lone")
    contact = Contact(last_name="Doe")
    await tenant.add(deal, lone, contact)

    def meeting(created: int, due: int | None, **values: Any) -> Activity:
        due_at = None if due is None else START + timedelta(hours=due)
        return Activity(created_at=START + timedelta(minutes=created), due_at=due_at, **values)

    rows = {
        "a": meeting(1, 5, subject="Kick-off", account_id=acme.id, deal_id=deal.id, owner_id="u1"),
        "b": meeting(1, 5, subject="kick-off", account_id=acme.id, source="zoom"),
        "c": meeting(2, 5, account_id=bolt.id, source="calendar", completed_at=START + timedelta(hours=6)),
        "d": meeting(3, None, subject="", deal_id=lone.id, source="import", owner_id="u2"),
        "e": meeting(4, None, subject="Review", contact_id=contact.id, completed_at=START),
        "f": meeting(4, 1, subject="Review", source="gmail"),
        "g": meeting(4, 9, subject="Re", source="slack"),
        "h": meeting(4, None, subject="Re", source="outlook"),
    }
    await tenant.add(*rows.values(), Activity(type="call", subject="no meeting", due_at=START))
    await other.add(Activity(subject="Kick-off", due_at=START))
    return Listing(tenant, "meetings", "Meeting", rows)


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
@pytest.mark.parametrize("field", ["DUE_AT", "CREATED_AT"])
async def test_every_order_walked_in_pages_of_every_size(shelf: Listing, field: str, direction: str) -> None:
    await shelf.check_order(field, direction)


async def test_the_orders_by_hand(shelf: Listing) -> None:
    def by_id(*labels: str) -> list[str]:
        return sorted(labels, key=lambda label: shelf.rows[label].id)

    descending = ["g", "c", *by_id("a", "b"), "f", *by_id("e", "h"), "d"]
    ascending = ["f", "c", *by_id("a", "b"), "g", *by_id("e", "h"), "d"]
    for arguments, labels in [
        ({}, descending),
        ({"orderBy": None}, descending),
        ({"orderBy": {}}, descending),
        ({"orderBy": {"direction": "ASC"}}, ascending),
        ({"orderBy": {"field": "CREATED_AT"}}, [*by_id("e", "f", "g", "h"), "d", "c", *by_id("a", "b")]),
    ]:
        assert (await shelf.page(**arguments)).labels == labels


ALL = "abcdefgh"


@pytest.mark.parametrize(
    ("filter", "labels"),
    [
        ({}, ALL),
        ({"subject": {"eq": "Review"}}, "ef"),
        ({"subject": {"eq": None}}, "c"),
        ({"subject": {"neq": "Review"}}, "abcdgh"),
        ({"subject": {"neq": None}}, "abdefgh"),
        ({"subject": {"in": ["Re", ""]}}, "dgh"),
        ({"subject": {"nin": ["Re", ""]}}, "abcef"),
        ({"subject": {"contains": "ick"}}, "ab"),
        ({"subject": {"contains": "\x00"}}, ""),
        ({"subject": {"startsWith": "Re"}}, "efgh"),
        ({"subject": {"isNull": True}}, "c"),
        ({"not": {"subject": {"startsWith": "Re"}}}, "abcd"),
        ({"dueAt": {"eq": "2026-01-01T05:00:00Z"}}, "abc"),
        ({"dueAt": {"neq": "2026-01-01T05:00:00Z"}}, "defgh"),
        ({"dueAt": {"gt": "2026-01-01T05:00:00Z"}}, "g"),
        ({"dueAt": {"gte": "2026-01-01T06:00:00+01:00"}}, "abcg"),
        ({"dueAt": {"lt": "2026-01-01T05:00:00Z"}}, "f"),
        ({"dueAt": {"lte": "2026-01-01T05:00:00Z"}}, "abcf"),
        ({"dueAt": {"gte": "2026-01-01T01:00:00Z", "lt": "2026-01-01T09:00:00Z"}}, "abcf"),
        ({"dueAt": {"isNull": True}}, "deh"),
        ({"not": {"dueAt": {"gt": "2026-01-01T05:00:00Z"}}}, "abcdefh"),
        ({"completedAt": {"isNull": False}}, "ce"),
        ({"completedAt": {"lte": "2026-01-01T00:00:00Z"}}, "e"),
        ({"createdAt": {"gt": "2026-01-01T00:03:00Z"}}, "efgh"),
        ({"ownerId": {"eq": "u1"}}, "a"),
        ({"ownerId": {"nin": ["u1"]}}, "bcdefgh"),
        ({"source": {"eq": "MANUAL"}}, "ae"),
        ({"source": {"neq": "MANUAL"}}, "bcdfgh"),
        ({"source": {"in": ["ZOOM", "SLACK"]}}, "bg"),
        ({"source": {"nin": ["MANUAL", "ZOOM", "CALENDAR", "IMPORT"]}}, "fgh"),
        ({"source": {"in": []}}, ""),
        ({"source": {"nin": []}}, ALL),
        ({"source": {"eq": None}}, ""),
        ({"source": {"neq": None}}, ALL),
        ({"accountId": {"isNull": True}}, "defgh"),
        ({"accountId": {"eq": "no uuid"}}, ""),
        ({"dealId": {"isNull": False}}, "ad"),
        ({"contactId": {"neq": NOWHERE}}, ALL),
        ({"account": {}}, "abc"),
        ({"account": {"name": {"eq": "Acme"}}}, "ab"),
        ({"not": {"account": {"name": {"eq": "Acme"}}}}, "cdefgh"),
        ({"account": {"domain": {"isNull": True}}}, "c"),
        ({"deal": {}}, "ad"),
        ({"deal": {"name": {"startsWith": "L"}}}, "d"),
        ({"deal": {"account": {"name": {"eq": "Bolt"}}}}, "a"),
        ({"deal": {"not": {"account": {"name": {"eq": "Bolt"}}}}}, "d"),
        ({"deal": {"accountId": {"isNull": True}}}, "d"),
        ({"account": {"name": {"eq": "Acme"}}, "deal": {"account": {"name": {"eq": "Bolt"}}}}, "a"),
        ({"or": [{"account": {"name": {"eq": "Bolt"}}}, {"deal": {"name": {"eq": "Lone"}}}]}, "cd"),
        ({"and": [{"source": {"eq": "MANUAL"}}, {"not": {"dueAt": {"isNull": True}}}]}, "a"),
    ],
)
async def test_filters(shelf: Listing, filter: Any, labels: str) -> None:
    assert await shelf.matching(filter) == labels


async def test_filters_on_identifiers(shelf: Listing) -> None:
    a, d, e = (shelf.rows[label] for label in "ade")
    for filter, labels in [
        ({"id": {"in": [a.id, d.id.upper(), "x"]}}, "ad"),
        ({"id": {"nin": [a.id]}}, "bcdefgh"),
        ({"accountId": {"eq": a.account_id}}, "ab"),
        ({"accountId": {"neq": a.account_id}}, "cdefgh"),
        ({"dealId": {"in": [d.deal_id]}}, "d"),
        ({"contactId": {"eq": e.contact_id}}, "e"),
        ({"deal": {"id": {"eq": a.deal_id}}}, "a"),
    ]:
        assert await shelf.matching(filter) == labels


async def test_one_meeting_by_its_id(one: Tenant, two: Tenant) -> None:
    account, deal, contact = Account(name="A"), Deal(name="D"), Contact(last_name="C")
    call = Activity(type="call")
    await one.add(account, deal, contact, call)
    metadata = {
        "started_at": "2026-01-01T00:00:00Z",
        "attendees": [{"name": "N", "email": None}],
        "z": {"a": [1, 2.5, None]},
    }
    meeting = Activity(
        subject="S",
        body="B",
        due_at=START,
        completed_at=START + timedelta(microseconds=1),
        duration_minutes=30,
        details=metadata,
        account_id=account.id,
        deal_id=deal.id,
        contact_id=contact.id,
        owner_id="o",
        source="outlook",
        direction="inbound",
        created_at=START,
    )
    await one.add(meeting)
    found = await one.ask(GET, id=meeting.id)
    assert list(found["metadata"]) == list(metadata)
    assert found == {
        "id": meeting.id,
        "type": "meeting",
        "subject": "S",
        "body": "B",
        "dueAt": "2026-01-01T00:00:00Z",
        "completedAt": "2026-01-01T00:00:00.000001Z",
        "durationMinutes": 30,
        "metadata": metadata,
        "accountId": account.id,
        "dealId": deal.id,
        "contactId": contact.id,
        "ownerId": "o",
        "source": "OUTLOOK",
        "direction": "inbound",
        "createdAt": "2026-01-01T00:00:00Z",
        "state": "COMPLETED",
        "account": {"name": "A"},
        "deal": {"name": "D"},
        "contact": {"lastName": "C"},
    }
    for identifier in (call.id, account.id, NOWHERE, "no uuid", ""):
        assert await one.ask(GET, id=identifier) is None
    assert await two.ask(GET, id=meeting.id) is None


async def test_the_state_follows_from_the_times(one: Tenant) -> None:
    hour, now = timedelta(hours=1), datetime.now(UTC)
    await one.add(
        Activity(subject="1"),
        Activity(subject="2", due_at=now + hour),
        Activity(subject="3", due_at=now - hour),
        Activity(subject="4", due_at=now + hour, completed_at=now),
        Activity(subject="5", completed_at=now + hour),
    )
    found = await one.ask("{ meetings { nodes { subject state } } }")
    assert sorted((m["subject"], m["state"]) for m in found["nodes"]) == [
        ("1", "UNSCHEDULED"),
        ("2", "SCHEDULED"),
        ("3", "OVERDUE"),
        ("4", "COMPLETED"),
        ("5", "COMPLETED"),
    ]


async def test_logging_by_hand(one: Tenant) -> None:
    account, deal, contact = Account(name="A"), Deal(name="D"), Contact(last_name="C")
    await one.add(account, deal, contact)
    before = datetime.now(UTC)
    metadata = {
        "transcript": "said",
        "recordingUrl": "https://example.com/r",
        "attendees": [{"name": "N", "email": "n@example.com"}, {"name": "M"}, {}],
        "location": "here",
        "provider": "phone",
    }
    made = await one.ask(
        LOG,
        input={
            "subject": "S",
            "body": "B",
            "dueAt": "2026-05-01T09:30:00+02:00",
            "completedAt": "2026-05-01T10:00:00.5Z",
            "durationMinutes": 0,
            "metadata": metadata,
            "accountId": account.id,
            "dealId": deal.id,
            "contactId": contact.id,
        },
    )
    assert made["userErrors"] == []
    meeting = made["meeting"]
    assert await one.ask(GET, id=meeting["id"]) == meeting
    assert before <= datetime.fromisoformat(meeting.pop("createdAt")) <= datetime.now(UTC)
    del meeting["id"]
    assert meeting == {
        "type": "meeting",
        "subject": "S",
        "body": "B",
        "dueAt": "2026-05-01T07:30:00Z",
        "completedAt": "2026-05-01T10:00:00.500000Z",
        "durationMinutes": 0,
        "metadata": {
            "transcript": "said",
            "recording_url": "https://example.com/r",
            "attendees": [{"name": "N", "email": "n@example.com"}, {"name": "M"}, {}],
            "location": "here",
            "provider": "phone",
        },
        "accountId": account.id,
        "dealId": deal.id,
        "contactId": contact.id,
        "ownerId": one.subject(),
        "source": "MANUAL",
        "direction": None,
        "state": "COMPLETED",
        "account": {"name": "A"},
        "deal": {"name": "D"},
        "contact": {"lastName": "C"},
    }
    bare = (await one.ask(LOG, input={"subject": "x", "metadata": {}}))["meeting"]
    assert (bare["metadata"], bare["state"], bare["dueAt"], bare["account"]) == (None, "UNSCHEDULED", None, None)
    nulls = dict.fromkeys(metadata)
    assert (await one.ask(LOG, input={"subject": "x", "metadata": nulls}))["meeting"]["metadata"] is None


@pytest.mark.parametrize(
    ("input", "field"),
    [
        ({"source": "ZOOM"}, "source"),
        ({"ownerId": "o"}, "ownerId"),
        ({"direction": "inbound"}, "direction"),
        ({"metadata": {"startedAt": "2026-01-01T00:00:00Z"}}, "startedAt"),
        ({"metadata": {"started_at": "2026-01-01T00:00:00Z"}}, "started_at"),
        ({"metadata": {"other": 1}}, "other"),
    ],
)
async def test_what_manual_logging_cannot_say(one: Tenant, input: dict[str, Any], field: str) -> None:
    error = await one.error(LOG, input={"subject": "x", **input})
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert field in error["message"]
    assert await one.rows(Activity.id) == []


MISSING = "does not exist in this organization"
SHORT, LONG = "must not be empty", "must have at most {} characters"
REFUSED: list[tuple[dict[str, Any], dict[tuple[str, ...], str]]] = [
    ({"subject": ""}, {("subject",): SHORT}),
    ({"subject": "s" * 10_001}, {("subject",): LONG.format(10_000)}),
    ({"body": "b" * 500_001}, {("body",): LONG.format(500_000)}),
    ({"body": "\x00"}, {("body",): "must not contain the NUL character"}),
    ({"durationMinutes": -1}, {("durationMinutes",): "must be at least 0"}),
    ({"metadata": {"location": "\x00"}}, {("metadata", "location"): "must not contain the NUL character"}),
    *(
        ({"metadata": {"recordingUrl": url}}, {("metadata", "recordingUrl"): "must be an http:// or https:// address"})
        for url in (
            "javascript:alert(1)",
            "ftp://e.example/r",
            "e.example/r",
            "https://",
            "https://a b/",
            "http://[::1",
            "",
        )
    ),  # decision 215
    ({"metadata": {"recordingUrl": "u" * 10_001}}, {("metadata", "recordingUrl"): LONG.format(10_000)}),
    (
        {"metadata": {"attendees": [{}, {"email": "\x00"}]}},
        {("metadata", "attendees", "1", "email"): "must not contain the NUL character"},
    ),
    (
        {"metadata": {"attendees": [{}] * 501}},
        {("metadata", "attendees"): "must have at most 500 items"},
    ),
    ({"accountId": NOWHERE}, {("accountId",): MISSING}),
    (
        {"accountId": "x", "dealId": "x", "contactId": "x"},
        {(n,): MISSING for n in ("accountId", "dealId", "contactId")},
    ),
    (
        {"subject": "", "durationMinutes": -5},
        {("subject",): SHORT, ("durationMinutes",): "must be at least 0"},
    ),
]


@pytest.mark.parametrize(("fields", "problems"), REFUSED)
async def test_refused_logging_and_updates(one: Tenant, fields: Any, problems: dict[tuple[str, ...], str]) -> None:
    errors = [
        {"code": "VALIDATION", "message": message, "field": ["input", *path]} for path, message in problems.items()
    ]
    assert await one.ask(LOG, input={"subject": "s", **fields}) == {"meeting": None, "userErrors": errors}
    assert await one.rows(Activity.id) == []
    meeting = Activity(subject="kept")
    await one.add(meeting)
    assert await one.ask(UPDATE, id=meeting.id, input=fields) == {"meeting": None, "userErrors": errors}
    assert await one.rows(Activity.subject, Activity.details) == [("kept", None)]


async def test_references_of_another_organization_are_missing(one: Tenant, two: Tenant) -> None:
    account, deal, contact = Account(name="A"), Deal(name="D"), Contact(last_name="C")
    await two.add(account, deal, contact)
    fields = {"accountId": account.id, "dealId": deal.id, "contactId": contact.id}
    errors = [{"code": "VALIDATION", "message": MISSING, "field": ["input", name]} for name in fields]
    assert await one.ask(LOG, input={"subject": "s", **fields}) == {"meeting": None, "userErrors": errors}


async def test_an_update_changes_what_is_given_and_clears_what_is_null(one: Tenant) -> None:
    account, deal, contact = Account(name="A"), Deal(name="D"), Contact(last_name="C")
    meeting = Activity(subject="before", owner_id="o", source="zoom", direction="inbound", created_at=START)
    await one.add(account, deal, contact, meeting)
    full = {
        "subject": "after",
        "body": "b",
        "dueAt": "2026-05-01T00:00:00Z",
        "completedAt": "2026-05-02T00:00:00Z",
        "durationMinutes": 45,
        "accountId": account.id,
        "dealId": deal.id,
        "contactId": contact.id,
    }
    kept = {"ownerId": "o", "source": "ZOOM", "direction": "inbound", "createdAt": "2026-01-01T00:00:00Z"}
    changed = (await one.ask(UPDATE, id=meeting.id, input=full))["meeting"]
    assert {name: changed[name] for name in {**full, **kept}} == {**full, **kept}
    assert (changed["account"], changed["deal"], changed["state"]) == ({"name": "A"}, {"name": "D"}, "COMPLETED")
    assert (await one.ask(UPDATE, id=meeting.id, input={}))["meeting"] == changed
    nulls = dict.fromkeys(set(full) - {"subject"})
    cleared = (await one.ask(UPDATE, id=meeting.id, input=nulls))["meeting"]
    assert {name: cleared[name] for name in {**full, **kept}} == {**full, **nulls, **kept}
    assert cleared["state"] == "UNSCHEDULED"
    refused = await one.ask(UPDATE, id=meeting.id, input={"subject": None})
    error = {"code": "VALIDATION", "message": "must not be null", "field": ["input", "subject"]}
    assert refused == {"meeting": None, "userErrors": [error]}


async def test_metadata_of_a_synchronised_meeting(one: Tenant) -> None:
    synced = {"started_at": "2026-01-01T09:00:00Z", "ended_at": "2026-01-01T10:00:00Z", "location": "old", "own": [1]}
    meeting = Activity(subject="s", source="calendar", details=synced)
    await one.add(meeting)

    async def metadata(value: Any) -> Any:
        return (await one.ask(UPDATE, id=meeting.id, input={"metadata": value}))["meeting"]["metadata"]

    assert await metadata({}) == synced
    assert await metadata({"provider": "zoom"}) == synced | {"provider": "zoom"}
    changed = synced | {"provider": "zoom", "location": "new", "attendees": [{"name": "N"}]}
    assert await metadata({"location": "new", "attendees": [{"name": "N"}]}) == changed
    assert await metadata({"location": None, "transcript": None}) == {
        key: value for key, value in changed.items() if key != "location"
    }
    assert await metadata({"attendees": []}) == {
        **{key: value for key, value in synced.items() if key != "location"},
        "provider": "zoom",
        "attendees": [],
    }
    assert await metadata(None) == {key: value for key, value in synced.items() if key != "location"}


async def test_completing(one: Tenant) -> None:
    meeting = Activity(subject="s", due_at=START)
    await one.add(meeting)
    before = datetime.now(UTC)
    done = (await one.ask(COMPLETE, id=meeting.id))["meeting"]
    assert before <= datetime.fromisoformat(done["completedAt"]) <= datetime.now(UTC)
    assert done["state"] == "COMPLETED"
    assert (await one.ask(COMPLETE, id=meeting.id))["meeting"] == done
    assert (await one.ask(COMPLETE, id=meeting.id, at=None))["meeting"] == done
    moved = (await one.ask(COMPLETE, id=meeting.id, at="2026-02-01T01:00:00+01:00"))["meeting"]
    assert moved == done | {"completedAt": "2026-02-01T00:00:00Z"}
    assert (await one.ask(COMPLETE, id=meeting.id))["meeting"] == moved


async def test_deleting(one: Tenant) -> None:
    meeting, other = Activity(subject="s"), Activity(subject="o")
    await one.add(meeting, other)
    assert await one.ask(DELETE, id=meeting.id) == {"deletedId": meeting.id, "userErrors": []}
    assert await one.rows(Activity.subject) == [("o",)]
    assert await one.ask(DELETE, id=meeting.id) == {
        "deletedId": None,
        "userErrors": [{"code": "NOT_FOUND", "message": "Not found", "field": ["id"]}],
    }


async def test_changing_what_is_no_meeting_here(one: Tenant, two: Tenant) -> None:
    call, other = Activity(type="call", subject="call"), Activity(subject="other")
    await one.add(call)
    await two.add(other)
    problems = [{"code": "NOT_FOUND", "message": "Not found", "field": ["id"]}]
    for identifier in (call.id, other.id, NOWHERE, "no uuid", ""):
        assert await one.ask(UPDATE, id=identifier, input={"subject": "x"}) == {"meeting": None, "userErrors": problems}
        assert await one.ask(COMPLETE, id=identifier) == {"meeting": None, "userErrors": problems}
        assert await one.ask(DELETE, id=identifier) == {"deletedId": None, "userErrors": problems}
    assert await one.rows(Activity.subject, Activity.completed_at) == [("call", None)]
    assert await two.rows(Activity.subject, Activity.completed_at) == [("other", None)]


@pytest.mark.parametrize(
    "text",
    [
        "2026-05-01",
        "2026-05-01T00:00:00",
        "yesterday",
        "",
        5,
        "2026-13-01T00:00:00Z",
        "0001-01-01T00:00:00+23:00",
        "9999-12-31T23:59:59-23:00",
    ],
)
async def test_times_that_are_none(one: Tenant, text: Any) -> None:
    [error] = (await one.ask(LOG, input={"subject": "s", "dueAt": text}))["userErrors"]
    assert error["field"] == ["input", "dueAt"]
    assert "must be an ISO 8601 time with an offset" in error["message"]
    assert await one.rows(Activity.id) == []


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "0001-01-01T01:00:00+01:00"])
async def test_the_ends_of_time_are_refused(one: Tenant, text: str) -> None:
    """PostgreSQL's driver takes them for infinity (decision 120); what lies between them is kept as it is."""
    message = "must be later than 0001-01-01T00:00:00Z and earlier than 9999-12-31T23:59:59.999999Z"
    for name in ("dueAt", "completedAt"):
        answer = await one.ask(LOG, input={"subject": "s", name: text})
        problem = {"code": "VALIDATION", "message": message, "field": ["input", name]}
        assert answer == {"meeting": None, "userErrors": [problem]}
    meeting = (await one.ask(LOG, input={"subject": "s", "dueAt": "9999-12-31T23:59:59.999998Z"}))["meeting"]
    assert (meeting["dueAt"], meeting["state"]) == ("9999-12-31T23:59:59.999998Z", "SCHEDULED")
    answer = await one.ask(COMPLETE, id=meeting["id"], at=text)
    assert answer == {"meeting": None, "userErrors": [{"code": "VALIDATION", "message": message, "field": ["at"]}]}
    assert (await one.ask(GET, id=meeting["id"]))["completedAt"] is None
