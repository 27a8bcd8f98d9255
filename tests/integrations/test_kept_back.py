"""What a member does meanwhile: shows less, makes an event private, leaves one out, makes a contact."""

from __future__ import annotations

import pytest

from storage.tables import Account, Activity, Contact, Event, SyncedMeeting, SyncItem, SyncOccurrence
from tests.integrations.test_refresh import sync
from tests.support.consents import connected
from tests.support.feeds import at, connection, event, hurry, meetings, replaced, upload, work
from tests.support.google import Fault, Google, meeting
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

EDIT = "mutation($id: ID!, $i: MeetingUpdateInput!) { meetingUpdate(id: $id, input: $i) { userErrors { code } } }"
EVENTS, PRIVATE = "/events", "CLASS:PRIVATE"


async def _kept(tenant: Tenant) -> str:
    """All that is kept of events and their meetings."""
    columns = (SyncItem.body, SyncOccurrence.subject, SyncedMeeting.participants, SyncedMeeting.conference_url)
    columns += (Activity.subject, Activity.body, Activity.details, Activity.folded_subject)
    found = [await tenant.rows(column) for column in columns]
    return " ".join(str(value) for rows in found for (value,) in rows)


@pytest.mark.parametrize("by", ["owner", "policy"])
async def test_less_is_shown_at_once_of_a_connection_that_is_paused(one: Tenant, by: str) -> None:
    """Decision 1130."""
    mine = await upload(one, event("a", "DESCRIPTION:Figures", "LOCATION:Room", subject="Title"))
    rest = one.gateway.rest
    assert (await rest("POST", f"/integrations/{mine}/pause", one.headers())).status_code == 200
    await work(one)
    if by == "owner":
        body = {"settings": {"visibility": "nothing"}}
        assert (await rest("PATCH", f"/integrations/{mine}", one.headers(), body)).status_code == 200
    else:
        narrower = {"widest_visibility": "nothing"}
        assert (await rest("PATCH", "/integrations/policy", one.headers("admin"), narrower)).status_code == 200
    await work(one)
    [nothing] = (await meetings(one)).values()
    assert (nothing["subject"], nothing["body"], nothing["participants"]) == (None, None, [])
    kept = await _kept(one)
    assert not any(word in kept for word in ("Title", "title", "Figures", "Room", "bob@"))
    assert (await connection(one, mine))["status"] == "paused"


async def test_what_turns_private_leaves_no_word_of_it_even_where_a_member_worked_on_it(one: Tenant) -> None:
    said = ("LOCATION:Room", "DESCRIPTION:Figures", "URL:https://meet.google.com/abc-defg-hij")
    mine = await upload(one, event("a", *said, subject="Title"))
    meeting = (await meetings(one))["Title"]
    assert (await one.ask(EDIT, id=meeting["id"], i={"body": "My notes"}))["userErrors"] == []
    await replaced(one, mine, event("a", *said, PRIVATE, subject="Title"))
    [left] = (await meetings(one)).values()
    assert (left["id"], left["subject"], left["body"]) == (meeting["id"], None, "My notes")
    assert (left["participants"], left["sync"]["cancelledAt"] is None) == ([], False)
    kept = await _kept(one)
    assert not any(word in kept for word in ("Title", "title", "Figures", "Room", "bob@", "abc-defg-hij"))


async def test_a_private_event_that_was_taken_and_is_left_out_again_leaves_no_word_of_it(one: Tenant) -> None:
    weekly = event("s", "RRULE:FREQ=WEEKLY;COUNT=2", PRIVATE, subject="Therapy")
    mine = await upload(one, event("a", PRIVATE, subject="Dentist"), weekly)
    rows = (await one.gateway.rest("GET", f"/integrations/{mine}/items", one.headers())).json()
    single, later, first = sorted(rows, key=lambda each: (each["is_recurring"], each["starts_at"]))
    del later
    for item in (single, first):
        path = f"/integrations/{mine}/items/{item['id']}"
        assert (await one.gateway.rest("POST", f"{path}/take", one.headers())).status_code == 200
    await work(one)
    assert set(await meetings(one)) == {"Dentist", "Therapy"}
    for item in (single, first):
        path = f"/integrations/{mine}/items/{item['id']}"
        assert (await one.gateway.rest("POST", f"{path}/ignore", one.headers())).json()["subject"] is None
    assert await meetings(one) == {}
    for _ in range(2):
        kept = await _kept(one)
        assert not any(word in kept for word in ("Dentist", "dentist", "Therapy", "therapy", "bob@"))
        await replaced(one, mine, event("a", PRIVATE, subject="Dentist"), weekly)


async def test_what_was_left_out_stays_so_when_it_comes_back(one: Tenant) -> None:
    """Decision 1131."""
    weekly = event("s", "RRULE:FREQ=WEEKLY;COUNT=2", subject="Weekly")
    single, other = event("a", subject="Single"), event("b", subject="Other")
    mine = await upload(one, single, weekly, other)
    rows = (await one.gateway.rest("GET", f"/integrations/{mine}/items", one.headers())).json()
    second, first = (each for each in rows if each["subject"] == "Weekly")
    alone = next(each for each in rows if each["subject"] == "Single")
    for item in (first, alone):
        path = f"/integrations/{mine}/items/{item['id']}/ignore"
        assert (await one.gateway.rest("POST", path, one.headers())).status_code == 200
    cancelled = [each.replace("END:VEVENT", "STATUS:CANCELLED\r\nEND:VEVENT") for each in (single, weekly)]
    for away in ((other,), (*cancelled, other), (single, event("s", subject="Weekly", start=at(10)), other)):
        await replaced(one, mine, *away)
        assert "Single" not in await meetings(one)
        await replaced(one, mine, single, weekly, other)
        found = await meetings(one)
        assert set(found) == {"Weekly", "Other"}
        assert found["Weekly"]["dueAt"] == second["starts_at"]


async def test_who_becomes_a_contact_later_is_linked_by_the_next_run(one: Tenant) -> None:
    """Decision 1132."""
    mine = await upload(
        one, event("a", subject="Unknown"), event("b", subject="Mine"), event("c", subject="No contact")
    )
    found = await meetings(one)
    none, other = found["No contact"]["id"], Contact(email="other@out.example")
    await one.add(other)
    assert (await one.ask(EDIT, id=found["Mine"]["id"], i={"contactId": other.id}))["userErrors"] == []
    for contact in (other.id, None):
        assert (await one.ask(EDIT, id=none, i={"contactId": contact}))["userErrors"] == []
    account = Account(name="Out", domain="out.example")
    bob = Contact(email="bob@out.example", account_id=account.id)
    await one.add(account, bob)
    assert (await one.gateway.rest("POST", f"/integrations/{mine}/sync", one.headers())).status_code == 202
    await work(one)
    after = await meetings(one)
    assert (after["Unknown"]["contactId"], after["Unknown"]["accountId"]) == (bob.id, account.id)
    assert (after["Mine"]["contactId"], after["No contact"]["contactId"]) == (other.id, None)
    run, *_ = (await one.gateway.rest("GET", f"/integrations/{mine}/runs", one.headers())).json()
    assert (run["mode"], run["updated"]) == ("incremental", 2)  # of the other one the account was filled in
    told = [set(data["updated"]) for type, data in await one.rows(Event.type, Event.data) if type == "meetings_synced"]
    assert {after["Unknown"]["id"], none} in told


async def test_what_a_pass_that_was_cut_off_has_shown_is_kept_back_again(one: Tenant, google: Google) -> None:
    """Decision 1130."""
    account = google.account()
    google.put(account, *(meeting(f"m{n}", at(1 + n), subject=f"Title {n}") for n in range(2)))
    mine = await connected(one, google, account)
    path, rest, google.page = f"/integrations/{mine}", one.gateway.rest, 1

    async def show(visibility: str) -> str:
        body = {"settings": {"visibility": visibility}}
        assert (await rest("PATCH", path, one.headers(), body)).status_code == 200
        await work(one)
        return await _kept(one)

    assert "Title" not in await show("nothing")
    google.faults.append(Fault(EVENTS, 503, skips=1))
    assert "Title" in await show("everything")
    assert google.faults == []
    assert (await rest("POST", f"{path}/pause", one.headers())).status_code == 200
    assert "Title" not in await show("nothing")


async def test_less_is_shown_at_once_while_the_provider_asks_to_wait_and_is_not_asked(
    one: Tenant, google: Google
) -> None:
    """Decision 1130."""
    account = google.account()
    google.put(account, meeting("a", at(3), subject="Title"))
    mine = await connected(one, google, account)
    google.faults.append(Fault(EVENTS, 429, headers={"Retry-After": "120"}))
    await sync(one, mine)
    assert (await connection(one, mine))["problem"]["code"] == "rate_limited"
    asked = google.count(EVENTS)
    body = {"settings": {"visibility": "nothing"}}
    assert (await one.gateway.rest("PATCH", f"/integrations/{mine}", one.headers(), body)).status_code == 200
    await work(one)
    assert ("Title" in await _kept(one), google.count(EVENTS)) == (False, asked)


async def test_a_member_does_not_cut_short_what_the_provider_asked_to_wait(one: Tenant, google: Google) -> None:
    """Decision 1014."""
    account = google.account()
    mine = await connected(one, google, account)
    google.put(account, meeting("a", at(3), subject="Title"))
    google.faults.append(Fault(EVENTS, 429, headers={"Retry-After": "120"}))
    await sync(one, mine)
    asked, due = google.count(EVENTS), (await connection(one, mine))["problem"]["retry_at"]
    await sync(one, mine)
    await sync(one, mine, full=True)
    for verb, until in (("pause", None), ("resume", due)):
        answer = await one.gateway.rest("POST", f"/integrations/{mine}/{verb}", one.headers())
        assert (answer.status_code, answer.json()["problem"]["retry_at"]) == (200, until)
        await work(one)
    await sync(one, mine)
    assert google.count(EVENTS) == asked
    [run, *_] = (await one.gateway.rest("GET", f"/integrations/{mine}/runs", one.headers())).json()
    assert (run["status"], (await connection(one, mine))["next_sync_at"]) == ("queued", due)
    await hurry(one)
    await work(one)
    assert (set(await meetings(one)), google.count(EVENTS) > asked) == ({"Title"}, True)
