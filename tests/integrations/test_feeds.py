"""A member connects a calendar, and its meetings are there: what they are about, who takes part, what was left out."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from contract.integrations import INTEGRATIONS_OF_A_MEMBER_MAX
from storage.tables import Account, Contact, Deal, DealContact, Event, SyncedMeeting, SyncItem, SyncOccurrence
from tests.support.event_streams import hung_up
from tests.support.feeds import at, connection, event, feed, items, meetings, replaced, upload, work
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def known(tenant: Tenant) -> tuple[Account, Contact, Deal]:
    account = Account(name="Out", domain="out.example")
    contact = Contact(first_name="Bob", email="Bob@Out.example", account_id=account.id)
    deal = Deal(name="Pilot", account_id=account.id)
    await tenant.add(account, contact, deal)
    return account, contact, deal


async def test_meetings_come_with_their_people_and_records(one: Tenant) -> None:
    account, contact, deal = await known(one)
    more = ("DESCRIPTION:<p>Bring <b>figures</b></p>", "LOCATION:Room 4", "ORGANIZER:mailto:member@example.com")
    join = "X-GOOGLE-CONFERENCE:https://meet.google.com/abc"
    integration_id = await upload(
        one, event("a", *more, join, subject="Review"), event("b", start=at(-2), subject="Held")
    )
    found = await meetings(one)
    review, held = found["Review"], found["Held"]
    assert review["source"] == "CALENDAR"
    assert (review["accountId"], review["contactId"], review["dealId"]) == (account.id, contact.id, deal.id)
    assert (review["body"], review["durationMinutes"], review["state"]) == ("Bring figures", 60, "SCHEDULED")
    assert review["ownerId"] == one.subject()
    assert review["metadata"]["location"] == "Room 4"
    assert [(p["email"], p["isInternal"], p["isOrganizer"]) for p in review["participants"]] == [
        ("member@example.com", True, True),
        ("bob@out.example", False, False),
    ]
    assert review["participants"][1]["contact"] == {"id": contact.id}
    assert (review["sync"]["uid"], review["sync"]["conferenceUrl"]) == ("a", "https://meet.google.com/abc")
    assert [source["integrationId"] for source in review["sync"]["sources"]] == [integration_id]
    assert (held["state"], held["completedAt"]) == ("COMPLETED", f"{at(-2, 10):%Y-%m-%dT%H:%M:%S}Z")
    listed = (await one.gateway.rest("GET", "/activities/meetings", one.headers())).json()
    assert {row["subject"]: row["metadata"]["started_at"] for row in listed}["Held"] == f"{at(-2):%Y-%m-%dT%H:%M:%SZ}"
    shown = await connection(one, integration_id)
    assert (shown["status"], shown["problem"], shown["counts"]["meetings"]) == ("active", None, 2)
    types = [type for (type,) in await one.rows(Event.type)]
    assert types.count("meetings_synced") == 1
    assert {"integration_connected", "integration_synced"} <= set(types)


async def test_who_watches_a_connection_is_told_of_its_changes_and_of_no_others(one: Tenant) -> None:
    watched, other = await upload(one, event("a")), await upload(one, event("b"))
    query = "subscription($id: ID!) { integrationUpdated(id: $id) { name status } }"
    request = one.gateway.http.build_request(
        "POST",
        "/graphql",
        json={"query": query, "variables": {"id": watched}},
        headers=one.headers() | {"Accept": "text/event-stream"},
    )
    stream = asyncio.create_task(hung_up(one.gateway.app, request, 2))
    await asyncio.sleep(0.5)
    for identifier, name in ((other, "Not this"), (watched, "This")):
        changed = (
            "mutation($id: ID!, $n: String) { integrationUpdate(id: $id, input: {name: $n}) { userErrors { code } } }"
        )
        assert await one.ask(changed, id=identifier, n=name) == {"userErrors": []}
    told = [json.loads(line[6:]) for line in (await stream).splitlines() if line.startswith("data: {")]
    assert [each["data"]["integrationUpdated"]["name"] for each in told][1:] == ["This"]


async def test_the_ledger_says_of_each_why(one: Tenant) -> None:
    declined = event("d", "ATTENDEE;PARTSTAT=DECLINED:mailto:member@example.com", subject="Declined")
    integration_id = await upload(
        one,
        event("t", subject="Taken"),
        declined,
        event("s", subject="Alone", guest=""),
        event("i", subject="Inside", guest="admin@example.com"),
        event("o", subject="Far", start=at(400)),
        event("old", subject="Old", start=at(-100)),
        event("p", "CLASS:PRIVATE", subject="Secret word"),
        event("n", "RRULE:FREQ=HOURLY", subject="Often"),
        event("c", "STATUS:CANCELLED", subject="Off"),
        "BEGIN:VEVENT\r\nUID:u\r\nSUMMARY:Broken\r\nEND:VEVENT",
    )
    found = await items(one, integration_id)
    assert {subject: each["reason"] for subject, each in found.items()} == {
        "Taken": None,
        "Declined": "declined",
        "Alone": "no_external_attendee",
        "Inside": "internal_domain",
        "Far": "outside_window",
        "Old": "outside_window",
        None: "private",
        "Often": "too_many",
        "Broken": "unreadable",
    }
    assert all(each["explanation"] for each in found.values() if each["outcome"] == "skipped")
    assert list(await meetings(one)) == ["Taken"]
    counts = (await connection(one, integration_id))["counts"]
    assert (counts["meetings"], counts["skipped"]) == (1, 8)
    assert counts["skipped_by"][0] == {"reason": "outside_window", "count": 2}
    assert set(await items(one, integration_id, outcome="skipped", subject="DECL")) == {"Declined"}
    for column in (SyncItem.body, SyncItem.hash, SyncOccurrence.subject, SyncOccurrence.explanation, Event.data):
        assert all("Secret word" not in str(value) for (value,) in await one.rows(column))
    private = next(each for each in found.values() if each["reason"] == "private")
    assert private["starts_at"] == f"{at(3):%Y-%m-%dT%H:%M:%SZ}"


async def test_what_a_member_decides_holds_for_every_later_run(one: Tenant) -> None:
    alone, taken = event("s", subject="Alone", guest=""), event("t", subject="Taken")
    private = event("p", "CLASS:PRIVATE", subject="Dentist")
    integration_id = await upload(one, alone, taken, private)
    found = await items(one, integration_id)

    async def decide(item: str | None, what: str) -> int:
        path = f"/integrations/{integration_id}/items/{found[item]['id']}/{what}"
        return (await one.gateway.rest("POST", path, one.headers())).status_code

    assert [await decide("Alone", "take"), await decide("Taken", "ignore"), await decide(None, "take")] == [200] * 3
    assert set(await meetings(one)) == {"Alone", None}
    await work(one)
    assert set(await meetings(one)) == {"Alone", "Dentist"}
    await replaced(one, integration_id, alone.replace("Alone", "Alone again"), taken.replace("Taken", "Again"), private)
    assert set(await meetings(one)) == {"Alone again", "Dentist"}
    decisions = {subject: each["decision"] for subject, each in (await items(one, integration_id)).items()}
    assert decisions == {"Alone again": "take", "Again": "ignore", "Dentist": "take"}


async def test_fields_that_a_member_changed_are_the_members_until_released(one: Tenant) -> None:
    integration_id = await upload(one, event("a", subject="Before"))
    meeting = (await meetings(one))["Before"]
    change = "mutation($id: ID!, $i: MeetingUpdateInput!) { meetingUpdate(id: $id, input: $i) { userErrors { code } } }"
    await one.ask(change, id=meeting["id"], i={"subject": "Mine", "metadata": {"location": "Here"}})
    await replaced(one, integration_id, event("a", "LOCATION:There", subject="After", start=at(4)))
    mine = (await meetings(one))["Mine"]
    assert mine["sync"]["overriddenFields"] == ["LOCATION", "SUBJECT"]
    assert (mine["dueAt"], mine["metadata"]["location"]) == (f"{at(4):%Y-%m-%dT%H:%M:%S}Z", "Here")
    path = f"/activities/meetings/{meeting['id']}/sync/release"
    assert (await one.gateway.rest("POST", path, one.headers(), {"fields": ["subject"]})).status_code == 200
    await work(one)
    after = (await meetings(one))["After"]
    assert (after["metadata"]["location"], after["sync"]["overriddenFields"]) == ("Here", ["LOCATION"])
    await replaced(one, integration_id)
    kept = (await meetings(one))["After"]
    assert kept["sync"]["cancelledAt"] is not None


async def test_a_meeting_that_was_deleted_here_does_not_come_back(one: Tenant) -> None:
    integration_id = await upload(one, event("a", subject="Gone"))
    meeting = (await meetings(one))["Gone"]
    assert (await one.ask("mutation($id: ID!) { meetingDelete(id: $id) { deletedId } }", id=meeting["id"]))["deletedId"]
    await replaced(one, integration_id, event("a", subject="Gone", start=at(5)))
    assert await meetings(one) == {}
    found = (await items(one, integration_id))["Gone"]
    assert (found["reason"], found["meeting_id"]) == ("removed_here", None)
    path = f"/integrations/{integration_id}/items/{found['id']}/take"
    assert (await one.gateway.rest("POST", path, one.headers())).status_code == 200
    assert list(await meetings(one)) == ["Gone"]


async def test_one_meeting_of_two_calendars(one: Tenant) -> None:
    first = await upload(one, event("a", subject="Joint"), event("b", subject="Mine alone"))
    second = await upload(one, event("a", "ATTENDEE:mailto:eve@else.example", subject="Joint"), role="admin")
    joint = (await meetings(one))["Joint"]
    assert {p["email"] for p in joint["participants"]} == {"bob@out.example", "eve@else.example"}
    assert [source["integrationId"] for source in joint["sync"]["sources"]] == [first, second]
    duplicate = (await items(one, second, role="admin"))["Joint"]
    assert (duplicate["reason"], duplicate["meeting_id"]) == ("duplicate", joint["id"])
    take = f"/integrations/{second}/items/{duplicate['id']}/take"
    assert (await one.gateway.rest("POST", take, one.headers("admin"))).status_code == 409
    gone = await one.gateway.http.delete(f"/integrations/{first}?delete_synced=true", headers=one.headers())
    assert gone.status_code == 202
    await work(one)
    left = await meetings(one)
    assert list(left) == ["Joint"]
    assert left["Joint"]["id"] == joint["id"]
    assert (left["Joint"]["ownerId"], [p["email"] for p in left["Joint"]["participants"]]) == (
        one.subject("admin"),
        ["bob@out.example", "eve@else.example"],
    )
    assert (await items(one, second, role="admin"))["Joint"]["outcome"] == "taken"
    again = await one.gateway.http.delete(f"/integrations/{first}", headers=one.headers())
    assert again.status_code == 404


async def test_what_came_stays_after_a_disconnection_and_is_found_again(one: Tenant) -> None:
    first = await upload(one, event("a", subject="Stays"))
    meeting = (await meetings(one))["Stays"]
    assert (await one.gateway.rest("DELETE", f"/integrations/{first}", one.headers())).status_code == 204
    await work(one)
    stayed = (await meetings(one))["Stays"]
    assert (stayed["id"], stayed["sync"]["sources"]) == (meeting["id"], [])
    second = await upload(one, event("a", subject="Stays"))
    assert [(m["id"], m["sync"]["sources"][0]["integrationId"]) for m in (await meetings(one)).values()] == [
        (meeting["id"], second)
    ]


async def test_what_is_not_shown_is_not_stored(one: Tenant) -> None:
    _, contact, _ = await known(one)
    shown = event("a", "DESCRIPTION:Figures", "ATTENDEE:mailto:eve@else.example", "LOCATION:Room", subject="Title")
    integration_id = await upload(one, shown, settings={"visibility": "subject_only"})
    meeting = (await meetings(one))["Title"]
    assert (meeting["body"], [p["contact"] for p in meeting["participants"]]) == (None, [{"id": contact.id}])
    assert "location" not in meeting["metadata"]
    body = {"settings": {"visibility": "nothing"}}
    assert (await one.gateway.rest("PATCH", f"/integrations/{integration_id}", one.headers(), body)).status_code == 200
    await work(one)
    [nothing] = (await meetings(one)).values()
    assert (nothing["subject"], nothing["participants"], nothing["contactId"]) == (None, [], contact.id)
    for column in (SyncItem.body, SyncOccurrence.subject, SyncedMeeting.participants):
        kept = [str(value) for (value,) in await one.rows(column)]
        assert not any(word in text for text in kept for word in ("Title", "Figures", "eve@", "Room"))
    await one.gateway.rest(
        "PATCH", f"/integrations/{integration_id}", one.headers(), {"settings": {"visibility": "everything"}}
    )
    await work(one)
    assert (await meetings(one))["Title"]["body"] == "Figures"


async def test_contacts_are_made_only_where_that_is_switched_on(one: Tenant) -> None:
    account, *_ = await known(one)
    people = ("ATTENDEE;CN=Eve Stone:mailto:eve@out.example", "ATTENDEE:mailto:noreply@out.example")
    integration_id = await upload(one, event("a", *people, "ATTENDEE:mailto:max@gmail.com"))
    assert len(await one.rows(Contact.email)) == 1
    body = {"settings": {"auto_create_contacts": True}}
    await one.gateway.rest("PATCH", f"/integrations/{integration_id}", one.headers(), body)
    await work(one)
    made = {
        row[0]: row[1:]
        for row in await one.rows(Contact.email, Contact.first_name, Contact.last_name, Contact.account_id)
    }
    assert made == {
        "Bob@Out.example": ("Bob", None, account.id),
        "eve@out.example": ("Eve", "Stone", account.id),
        "max@gmail.com": (None, None, None),
    }


async def test_several_deals_are_candidates_unless_one_has_a_contact_of_the_meeting(one: Tenant) -> None:
    account, contact, deal = await known(one)
    other = Deal(name="Other", account_id=account.id)
    await one.add(other)
    integration_id = await upload(one, event("a"))
    meeting = (await meetings(one))["Talk"]
    assert (meeting["dealId"], {d["id"] for d in meeting["sync"]["dealCandidates"]}) == (None, {deal.id, other.id})
    await one.add(DealContact(deal_id=other.id, contact_id=contact.id))
    await replaced(one, integration_id, event("a", start=at(4)))
    meeting = (await meetings(one))["Talk"]
    assert (meeting["dealId"], meeting["sync"]["dealCandidates"]) == (other.id, [])


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"name": "N"}, ["body"]),
        ({"name": "N", "url": "https://example.com/a", "content": "x"}, ["body"]),
        ({"name": "", "content": feed()}, ["body", "name"]),
        ({"name": "N", "content": "no calendar"}, ["body", "content"]),
        ({"name": "N", "content": "BEGIN:VCALENDAR\r\nBEGIN:VEVENT"}, ["body", "content"]),
        ({"name": "N", "url": "ftp://example.com/a"}, ["body", "url"]),
        ({"name": "N", "url": "https://user:word@example.com/a"}, ["body", "url"]),
        ({"name": "N", "url": "webcal://127.0.0.1/a"}, ["body", "url"]),
        ({"name": "N", "url": "http://[::ffff:10.0.0.1]/a"}, ["body", "url"]),
        ({"name": "N", "content": feed(), "settings": {"visibility": "all"}}, ["body", "settings", "visibility"]),
    ],
)
async def test_a_feed_that_cannot_be_connected_is_told_at_its_field(
    one: Tenant, body: dict[str, object], loc: list[str]
) -> None:
    response = await one.gateway.rest("POST", "/integrations/feeds", one.headers(), body)
    assert (response.status_code, response.json()["detail"][0]["loc"]) == (422, loc), response.text
    assert (await one.gateway.rest("GET", "/integrations", one.headers())).json() == []


async def test_an_eleventh_connection_is_too_many(one: Tenant) -> None:
    for number in range(INTEGRATIONS_OF_A_MEMBER_MAX + 1):
        body = {"name": f"N {number}", "content": feed()}
        response = await one.gateway.rest("POST", "/integrations/feeds", one.headers(), body)
        assert response.status_code == (201 if number < INTEGRATIONS_OF_A_MEMBER_MAX else 409)
    assert response.json()["code"] == "invalid_state"


async def test_a_wider_visibility_than_the_policys_and_a_provider_it_does_not_allow_are_refused(one: Tenant) -> None:
    async def policy(**body: object) -> int:
        return (await one.gateway.rest("PATCH", "/integrations/policy", one.headers("admin"), body)).status_code

    assert await policy(widest_visibility="subject_only") == 200
    made = await upload(one, event("a"))
    assert (await connection(one, made))["settings"]["visibility"] == "subject_only"
    wider = {"settings": {"visibility": "everything"}}
    refused = await one.gateway.rest("PATCH", f"/integrations/{made}", one.headers(), wider)
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "settings", "visibility"])
    assert await policy(allowed_providers=["google"]) == 200
    again = await one.gateway.rest("POST", "/integrations/feeds", one.headers(), {"name": "N", "content": feed()})
    assert again.status_code == 409
    providers = (await one.gateway.rest("GET", "/integrations/providers", one.headers())).json()
    assert [(p["provider"], p["available"]) for p in providers] == [
        *(("google", True), ("microsoft", False), ("zoom", False), ("slack", False), ("ical", False))
    ]
    assert await policy(internal_domains=["no domain"]) == 422
    stale = one.headers("admin") | {"If-Match": '"1"'}
    late = await one.gateway.rest("PATCH", "/integrations/policy", stale, {"internal_domains": None})
    assert late.status_code == 412


async def test_a_series_through_a_change_of_the_clocks(one: Tenant) -> None:
    start = at(0, 0) - timedelta(days=40)
    lines = [
        *("BEGIN:VEVENT", "UID:series", "SUMMARY:Weekly", f"DTSTART;TZID=Europe/Berlin:{start:%Y%m%d}T090000"),
        *(f"DTEND;TZID=Europe/Berlin:{start:%Y%m%d}T100000", "RRULE:FREQ=WEEKLY;COUNT=50"),
        *(f"EXDATE;TZID=Europe/Berlin:{start + timedelta(days=7):%Y%m%d}T090000", "ATTENDEE:mailto:bob@out.example"),
        "END:VEVENT",
    ]
    moved = [
        *("BEGIN:VEVENT", "UID:series", "SUMMARY:Moved", "ATTENDEE:mailto:bob@out.example"),
        f"RECURRENCE-ID;TZID=Europe/Berlin:{start + timedelta(days=14):%Y%m%d}T090000",
        f"DTSTART;TZID=Europe/Berlin:{start + timedelta(days=15):%Y%m%d}T110000",
        f"DTEND;TZID=Europe/Berlin:{start + timedelta(days=15):%Y%m%d}T113000",
        "END:VEVENT",
    ]
    integration_id = await upload(one, "\r\n".join(lines), "\r\n".join(moved))
    rows = await one.rows(SyncOccurrence.starts_at, SyncOccurrence.subject)
    assert len(rows) == 49  # one is left out
    assert [subject for _, subject in rows].count("Moved") == 1
    clocks = {moment.astimezone(ZoneInfo("Europe/Berlin")).hour for moment, subject in rows if subject == "Weekly"}
    assert clocks == {9}
    assert len({moment.hour for moment, subject in rows if subject == "Weekly"}) == 2
    await replaced(one, integration_id, "\r\n".join(lines).replace("COUNT=50", "COUNT=3"))
    assert len(await one.rows(SyncOccurrence.id)) == 2


async def test_identifiers_may_be_longer_than_an_index_takes(one: Tenant) -> None:
    start = "".join(chr(0x4E00 + 7_919 * place % 20_000) for place in range(1_200))
    integration_id = await upload(one, event(f"{start}a", subject="One"), event(f"{start}b", subject="Other"))
    assert set(await meetings(one)) == {"One", "Other"}
    await replaced(one, integration_id, event(f"{start}a", subject="One"), event(f"{start}b", subject="Moved"))
    assert set(await meetings(one)) == {"One", "Moved"}


@pytest.mark.parametrize(
    "first",
    [
        event("over", "RRULE:FREQ=DAILY;COUNT=2", start=at(-200), subject="Over"),
        event("broken", "RRULE:FREQ=DAILY;INTERVAL=0", subject="Broken"),
    ],
)
async def test_a_feed_may_begin_with_an_event_that_has_no_occurrence(one: Tenant, first: str) -> None:
    integration_id = await upload(one, first, event("t", subject="Taken"))
    assert set(await meetings(one)) == {"Taken"}
    assert (await connection(one, integration_id))["problem"] is None
