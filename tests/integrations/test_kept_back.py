"""What a member does meanwhile: shows less, makes an event private, leaves one out, makes a contact."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlmodel import col

from contract.integrations import SyncVisibility
from jobs.sync import filling, narrowing
from jobs.sync import run as run_module
from jobs.sync.rules import rules_of
from jobs.sync.run import let_go
from storage.base import now
from storage.queries import integrations as integration_statements
from storage.queries import sync as sync_statements
from storage.tables import (
    Account,
    Activity,
    Contact,
    Event,
    Integration,
    SyncedMeeting,
    SyncItem,
    SyncOccurrence,
    SyncRun,
)
from tests.integrations.test_refresh import sync
from tests.support.consents import come_back, complete, connected
from tests.support.feeds import at, by_address, connection, event, hurry, meetings, replaced, upload, work
from tests.support.google import Fault, Google, meeting
from tests.support.statements import statements
from tests.support.tenants import Tenant
from tests.support.web import Asked, Reply, open_web
from tests.support.zoom import Zoom

pytestmark = pytest.mark.asyncio(loop_scope="session")

EDIT = "mutation($id: ID!, $i: MeetingUpdateInput!) { meetingUpdate(id: $id, input: $i) { userErrors { code } } }"
ONE = """query($id: ID!) { meeting(id: $id) { id subject body durationMinutes participants { email }
  sync { cancelledAt conferenceUrl } } }"""
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


@pytest.mark.parametrize("status", [429, 503])
async def test_a_member_does_not_cut_short_what_the_provider_asked_to_wait(
    one: Tenant, google: Google, status: int
) -> None:
    """Decisions 1014 and 1169."""
    account = google.account()
    mine = await connected(one, google, account)
    google.put(account, meeting("a", at(3), subject="Title"))
    google.faults.append(Fault(EVENTS, status, headers={"Retry-After": "120"}))
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


@pytest.mark.parametrize("way", ["reconnected", "disconnected", "of another member"])
@pytest.mark.parametrize("status", [429, 503])
async def test_a_consent_given_anew_does_not_cut_short_what_the_provider_asked_to_wait(
    one: Tenant, google: Google, status: int, way: str
) -> None:
    """Decisions 1172 and 1173."""
    account, rest = google.account(), one.gateway.rest
    google.put(account, meeting("a", at(3), subject="Title"))
    mine = await connected(one, google, account)
    google.faults.append(Fault(EVENTS, status, headers={"Retry-After": "120"}))
    await sync(one, mine)
    asked, problem = google.count(EVENTS), (await connection(one, mine))["problem"]
    role = "member"
    if way == "reconnected":
        begun = (await rest("POST", f"/integrations/{mine}/reconnect", one.headers(), {})).json()
        told = (await come_back(one, google.consent(begun["authorization_url"], account))).json()
        assert (await complete(one, told)).status_code == 200
        await work(one)
    elif way == "disconnected":
        assert (await rest("DELETE", f"/integrations/{mine}", one.headers())).status_code in (200, 202, 204)
        await work(one)
        mine = await connected(one, google, account)
    else:
        role = "admin"
        mine = await connected(one, google, account, role)
    shown = await connection(one, mine, role)
    assert (shown["status"], shown["problem"]["code"]) == ("active", problem["code"])
    assert shown["problem"]["retry_at"] == shown["next_sync_at"]
    assert _is_then(shown["next_sync_at"], problem["retry_at"])
    assert google.count(EVENTS) == asked
    await hurry(one)
    await work(one)
    assert (google.count(EVENTS) > asked, (await connection(one, mine, role))["problem"]) == (True, None)
    assert set(await meetings(one)) == {"Title"}


async def test_a_feed_that_is_connected_anew_waits_as_its_server_asked(one: Tenant) -> None:
    """Decision 1173."""
    path, other, asked = "/calendar.ics", "/other.ics", list[str]()

    def limited(_: Asked) -> Reply:
        asked.append("")
        return Reply(b"", 503, {"Retry-After": "120"})

    async with open_web({path: limited, other: limited}) as web:
        mine = await by_address(one, web.url + path)
        await work(one)
        due = (await connection(one, mine))["problem"]["retry_at"]
        assert (await one.gateway.rest("DELETE", f"/integrations/{mine}", one.headers())).is_success
        await work(one)
        again, another = await by_address(one, web.url + path), await by_address(one, web.url + other)
        await work(one)
        assert _is_then((await connection(one, again))["problem"]["retry_at"], due)
        assert len(asked) == 2  # the other one's address is another one, which nobody asked to wait
        assert (await connection(one, another))["problem"]["retry_at"] > due


async def test_two_members_who_disconnect_leave_the_longer_wait(one: Tenant, google: Google) -> None:
    """Decision 1173."""
    account = google.account()
    theirs = {role: await connected(one, google, account, role) for role in ("member", "admin")}
    for (role, mine), seconds in zip(theirs.items(), ("60", "600"), strict=True):
        google.faults.append(Fault(EVENTS, 429, headers={"Retry-After": seconds}))
        await one.gateway.rest("POST", f"/integrations/{mine}/sync", one.headers(role), {})
        await work(one)
    due = (await connection(one, theirs["admin"], "admin"))["problem"]["retry_at"]
    assert due > (await connection(one, theirs["member"]))["problem"]["retry_at"]
    for role, mine in theirs.items():
        assert (await one.gateway.rest("DELETE", f"/integrations/{mine}", one.headers(role))).is_success
        await work(one)
    mine = await connected(one, google, account)
    assert _is_then((await connection(one, mine))["problem"]["retry_at"], due)


def _is_then(moment: str, due: str) -> bool:
    """Says whether the wait ends as it was asked, and not before."""
    late = datetime.fromisoformat(moment) - datetime.fromisoformat(due)
    return timedelta() <= late < timedelta(seconds=1)


async def test_a_provider_in_trouble_that_asks_to_wait_no_time_is_asked_again_by_whoever_wishes(
    one: Tenant, google: Google
) -> None:
    """Decision 1169: nothing is to be waited for, so nothing keeps a member from it."""
    account = google.account()
    mine = await connected(one, google, account)
    google.faults += [Fault(EVENTS, 503, headers={"Retry-After": "0"}) for _ in range(2)]
    for _ in range(2):
        asked = google.count(EVENTS)
        await sync(one, mine)
        assert google.count(EVENTS) > asked
    assert (await connection(one, mine))["problem"]["code"] == "provider_unavailable"


async def _cancelled_but_kept(one: Tenant) -> tuple[str, str]:
    """Connect a calendar, and have an event go on whose meeting a member has worked; connection and meeting."""
    said = ("DESCRIPTION:Figures", "LOCATION:Room", "URL:https://meet.google.com/abc-defg-hij")
    known = "ATTENDEE;CN=Ann:mailto:ann@known.example"
    mine = await upload(one, event("a", *said, known, subject="Title"), event("b", subject="Other"))
    meeting = (await meetings(one))["Title"]
    await one.add(Contact(email="ann@known.example"))
    assert (await one.ask(EDIT, id=meeting["id"], i={"durationMinutes": 17}))["userErrors"] == []
    await replaced(one, mine, event("b", subject="Other"))
    kept = (await meetings(one))["Title"]
    assert (kept["id"], kept["sync"]["sources"]) == (meeting["id"], [])
    assert kept["sync"]["cancelledAt"] is not None
    assert {each["email"] for each in kept["participants"]} == {"bob@out.example", "ann@known.example"}
    return mine, meeting["id"]


@pytest.mark.parametrize("is_paused", [False, True])
@pytest.mark.parametrize(
    "by", ["owner", "owner, who left it to another", "policy", "policy, of who left it to another"]
)
async def test_less_is_shown_at_once_of_a_meeting_that_stays_cancelled(one: Tenant, by: str, is_paused: bool) -> None:
    """Decision 1165."""
    mine, identifier = await _cancelled_but_kept(one)
    rest, is_policy = one.gateway.rest, by.startswith("policy")
    if by.endswith("another"):
        other = {"ownerId": one.subject("admin")}
        assert (await one.ask(EDIT, id=identifier, i=other))["userErrors"] == []
    if is_paused:
        assert (await rest("POST", f"/integrations/{mine}/pause", one.headers())).status_code == 200
        await work(one)
    for visibility in ("subject_only", "nothing"):
        if is_policy:
            answer = await rest(
                "PATCH", "/integrations/policy", one.headers("admin"), {"widest_visibility": visibility}
            )
        else:
            body = {"settings": {"visibility": visibility}}
            answer = await rest("PATCH", f"/integrations/{mine}", one.headers(), body)
        assert answer.status_code == 200, answer.text
        await work(one)
        found = await one.ask(ONE, id=identifier)
        people = [each["email"] for each in found["participants"]]
        shown = visibility == "subject_only"
        assert (found["subject"], people) == (("Title", ["ann@known.example"]) if shown else (None, []))
        assert (found["body"], found["sync"]["conferenceUrl"], found["durationMinutes"]) == (None, None, 17)
        kept = await _kept(one)
        assert not any(word in kept for word in ("Figures", "Room", "bob@", "abc-defg-hij"))
        assert ("Title" in kept, "title" in kept, "ann@" in kept) == (shown, shown, shown)
        assert found["sync"]["cancelledAt"] is not None
    rows = await one.rows(Event.sequence, Event.type, Event.data)
    told = [type for _, type, data in sorted(rows, key=lambda row: row[0]) if identifier in str(data)]
    assert told[-2:] == ["meeting_updated" if is_policy else "meetings_synced"] * 2


async def test_what_goes_after_less_is_to_be_shown_stays_with_less(one: Tenant) -> None:
    """Decision 1165: a run that was under way as the policy changed has not narrowed anything yet."""
    mine = await upload(one, event("a", "DESCRIPTION:Figures", subject="Title"), event("b", subject="Other"))
    meeting = (await meetings(one))["Title"]
    assert (await one.ask(EDIT, id=meeting["id"], i={"durationMinutes": 17}))["userErrors"] == []
    database = one.gateway.world.database
    async with database.writing(one.id) as session:
        policy = await sync_statements.lock(session)
        policy = await session.update(policy, widest_visibility="nothing")
        integration = await session.find(Integration, id=mine)
        assert integration is not None
        connection, rules = await rules_of(session, integration, policy, now())
        [item] = [each.id for each in await session.find_all(select(SyncItem)) if each.uid == "a"]
        await let_go(session, connection, rules, [item], now())
    left = await one.ask(ONE, id=meeting["id"])
    assert (left["subject"], left["body"], left["participants"]) == (None, None, [])
    assert left["sync"]["cancelledAt"] is not None


async def test_who_allows_more_before_what_stays_is_narrowed_is_narrowed_again_later(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decision 1166, for meetings that stay cancelled."""
    mine, identifier = await _cancelled_but_kept(one)
    rest, usual = one.gateway.rest, narrowing.narrow_kept
    assert (await rest("POST", f"/integrations/{mine}/pause", one.headers())).status_code == 200
    await work(one)

    async def show(visibility: str) -> None:
        body = {"settings": {"visibility": visibility}}
        assert (await rest("PATCH", f"/integrations/{mine}", one.headers(), body)).status_code == 200

    async def widened(*given: Any) -> SyncVisibility:
        await show("everything")
        return await usual(*given)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(narrowing, "narrow_kept", widened)
        await show("nothing")
        await work(one)
    assert (await one.ask(ONE, id=identifier))["subject"] == "Title"
    await show("nothing")
    await work(one)
    found = await one.ask(ONE, id=identifier)
    assert (found["subject"], found["participants"]) == (None, [])


async def test_who_allows_more_while_less_is_being_kept_is_narrowed_again_later(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decision 1166."""
    mine = await upload(one, *(event(f"e{n}", "DESCRIPTION:Figures", subject=f"Title {n}") for n in range(4)))
    rest = one.gateway.rest
    assert (await rest("POST", f"/integrations/{mine}/pause", one.headers())).status_code == 200
    await work(one)
    monkeypatch.setattr(sync_statements, "SMALL_BATCH", 2)
    usual, batches = narrowing.narrow, 0

    async def show(visibility: str) -> None:
        body = {"settings": {"visibility": visibility}}
        assert (await rest("PATCH", f"/integrations/{mine}", one.headers(), body)).status_code == 200

    async def widened(session: Any, connection: Any, *more: Any) -> Any:
        nonlocal batches
        batches += 1
        if batches > 1:  # its owner shows everything again after the first batch
            connection = replace(connection, visibility=SyncVisibility.EVERYTHING)
        return await usual(session, connection, *more)

    async def rules(*asked: Any) -> Any:
        connection, found = await rules_of(*asked)
        return (replace(connection, visibility=SyncVisibility.EVERYTHING) if batches else connection), found

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(narrowing, "narrow", widened)
        meanwhile.setattr(narrowing, "rules_of", rules)
        await show("nothing")
        await work(one)
    assert batches > 1
    assert "Title" in await _kept(one)
    assert await one.rows(Integration.shown) == [("everything",)]
    await show("everything")
    await work(one)
    await show("nothing")
    await work(one)
    assert "Title" not in await _kept(one)


async def test_narrowing_takes_as_many_statements_for_many_as_for_few_and_locks_once_for_a_batch(
    one: Tenant, two: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    for tenant, number in ((one, 8), (two, 80)):
        mine = await upload(tenant, *(event(f"e{n}", subject=f"Title {n}") for n in range(number)))
        rest = tenant.gateway.rest
        assert (await rest("POST", f"/integrations/{mine}/pause", tenant.headers())).status_code == 200
        await work(tenant)
        for visibility, batch in (("subject_only", 100), ("nothing", 8)):
            monkeypatch.setattr(sync_statements, "SMALL_BATCH", batch)
            body = {"settings": {"visibility": visibility}}
            assert (await rest("PATCH", f"/integrations/{mine}", tenant.headers(), body)).status_code == 200
            with statements(tenant.gateway.world.database) as sent:
                await work(tenant)
            locks = sum("INSERT INTO integration_policies" in text for text in sent)
            sizes.append((len(sent), locks))
        assert "Title" not in await _kept(tenant)
    few, few_by_8, many, many_by_8 = sizes
    assert few == many
    assert many_by_8[1] - few_by_8[1] == 9  # ten batches in place of one
    assert many_by_8[0] - few_by_8[0] < 9 * few_by_8[0]


async def test_meetings_are_filled_in_pages_though_those_that_are_filled_leave_them(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decision 1132: behind the last one that was looked at, not so many further on."""
    mine = await upload(one, *(event(f"e{n}", subject=f"T {n}", guest=f"g{n}@out.example") for n in range(7)))
    people = [Contact(email=f"g{n}@out.example") for n in range(7)]
    await one.add(*people)
    monkeypatch.setattr(sync_statements, "BATCH", 2)
    usual, unlinked = filling.fill, False

    async def fill(session: Any, *more: Any) -> Any:
        """A member takes a link away that the first batch made, which holds, and one of those to come."""
        nonlocal unlinked
        found = await usual(session, *more)
        if not unlinked:
            unlinked = True
            await session.execute(
                update(Activity).where(col(Activity.subject) == "T 6").values(contact_id=people[0].id)
            )
        return found

    monkeypatch.setattr(filling, "fill", fill)
    await sync(one, mine)
    found = await meetings(one)
    linked = {name: each["contactId"] for name, each in found.items()}
    assert unlinked
    wanted = {f"T {n}": people[n].id for n in range(7)}
    assert linked in (wanted, {**wanted, "T 6": people[0].id})


async def test_who_became_a_contact_during_a_long_run_is_linked_by_the_next_one(one: Tenant) -> None:
    """Decision 1167: it may have passed the meeting by then, and ended much later."""
    mine = await upload(one, event("a", subject="Unknown"))
    hour = timedelta(hours=1)
    bob = Contact(email="bob@out.example", updated_at=now() - hour)
    await one.add(bob)
    async with one.gateway.world.database.writing(one.id) as session:
        [run] = await session.find_all(select(SyncRun).where(col(SyncRun.org_id) == one.id))
        await session.update(run, started_at=now() - 2 * hour)
    await sync(one, mine)
    assert (await meetings(one))["Unknown"]["contactId"] == bob.id


async def test_meetings_are_matched_once_with_whoever_is_new(one: Tenant) -> None:
    """Decision 1174: runs without a change look through no meetings, however lately somebody became a contact."""

    async def looks() -> bool:
        """Have the connection read; whether all of its meetings were looked through."""
        with statements(one.gateway.world.database) as sent:
            await sync(one, mine)
        return any("sync_occurrences" in text and "activities" in text for text in map(str, sent))

    await one.add(Contact(email="known@out.example"))
    guests = ("known@out.example", "late@out.example", "later@out.example")
    mine = await upload(one, *(event(f"e{n}", subject=guest, guest=guest) for n, guest in enumerate(guests)))
    assert not await looks()  # who was a contact as the first run began was matched by it
    for guest in guests[1:]:
        await one.add(contact := Contact(email=guest))
        assert [await looks() for _ in range(3)] == [True, False, False]
        assert (await meetings(one))[guest]["contactId"] == contact.id


@pytest.mark.parametrize("by", ["a change", "a commit that came late"])
async def test_a_contact_that_changes_is_matched_again(one: Tenant, by: str) -> None:
    """Decisions 1167 and 1174."""
    mine = await upload(one, event("a", subject="Title"))
    bob = Contact(email="other@out.example")
    await one.add(bob)
    await sync(one, mine)
    assert (await meetings(one))["Title"]["contactId"] is None
    if by == "a change":
        async with one.gateway.world.database.writing(one.id) as session:
            found = await session.find(Contact, id=bob.id)
            assert found is not None
            await session.update(found, email="bob@out.example", updated_at=now())
    else:
        bob = Contact(email="bob@out.example", updated_at=now() - timedelta(minutes=8))
        await one.add(bob)
    await sync(one, mine)
    assert (await meetings(one))["Title"]["contactId"] == bob.id


async def test_who_became_a_contact_while_the_first_run_went_on_is_matched_by_the_next(
    one: Tenant, google: Google
) -> None:
    """Decision 1174: what a run that was cut off had kept is not taken for matched."""
    account = google.account()
    google.put(account, *(meeting(f"e{n}", at(1 + n % 9), subject=f"Title {n}") for n in range(4)))
    google.page = 2
    google.faults.append(Fault(EVENTS, 503, skips=1))
    mine = await connected(one, google, account)
    assert len(await meetings(one)) == 2
    bob = Contact(email="bob@out.example")
    await one.add(bob)
    await work(one, anyway=True)
    await sync(one, mine)
    assert {each["contactId"] for each in (await meetings(one)).values()} == {bob.id}


async def test_who_became_a_contact_while_a_first_run_waited_is_matched_at_its_end(one: Tenant, google: Google) -> None:
    """Decision 1174: longer ago than contacts count as new."""
    account = google.account()
    google.put(account, *(meeting(f"e{n}", at(1 + n % 9), subject=f"Title {n}") for n in range(4)))
    google.page = 2
    google.faults.append(Fault(EVENTS, 429, skips=1, headers={"Retry-After": "3600"}))
    mine = await connected(one, google, account)
    assert len(await meetings(one)) == 2
    bob = Contact(email="bob@out.example", updated_at=now() - timedelta(minutes=30))
    await one.add(bob)
    await hurry(one)
    await work(one)
    await sync(one, mine)
    assert [each["contactId"] for each in (await meetings(one)).values()] == [bob.id] * 4


async def test_what_a_first_run_of_recordings_had_kept_is_not_taken_for_matched(one: Tenant, zoom: Zoom) -> None:
    """Decision 1174: its streams have no generations."""
    account = zoom.account()
    zoom.page = 2
    for days in (1, 2, 40, 80):
        zoom.record(account, 87_565_330_005 + days, at(-days), ("Bob Out", "bob@out.example"), topic=f"Title {days}")
    zoom.faults.append(Fault("/recordings", 503, skips=2))
    mine = await connected(one, zoom, account)
    assert 0 < len(await meetings(one)) < 4
    bob = Contact(email="bob@out.example")
    await one.add(bob)
    await work(one, anyway=True)
    await sync(one, mine)
    assert [each["contactId"] for each in (await meetings(one)).values()] == [bob.id] * 4


async def test_a_connection_that_stops_after_the_last_page_is_not_due_again(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decision 1168: pausing, or a member who leaves, in the moment before the run's end."""
    mine = await upload(one, event("a"))
    usual = run_module.fill_all

    async def stopped(*asked: Any, **more: Any) -> bool:
        async with one.gateway.world.database.writing(one.id) as session:
            await integration_statements.end_of_owner(session, one.subject("member"))
        return await usual(*asked, **more)

    monkeypatch.setattr(run_module, "fill_all", stopped)
    await sync(one, mine)
    [(status, due, problem)] = await one.rows(Integration.status, Integration.next_sync_at, Integration.problem_code)
    assert (status, due, problem) == ("paused", None, "forbidden")


async def test_who_left_while_not_allowed_to_write_finds_the_connection_stopped_for_good(one: Tenant) -> None:
    """Decision 1168: nothing is there to read it with, so it does not go on by itself when its member is back."""
    mine = await upload(one, event("a"))
    async with one.gateway.world.database.writing(one.id) as session:
        found = await session.find(Integration, id=mine)
        assert found is not None
        await session.update(found, status="paused", is_suspended=True)
        await integration_statements.end_of_owner(session, one.subject("member"))
    await work(one, anyway=True)
    assert await one.rows(Integration.status, Integration.problem_code) == [("paused", "forbidden")]
    answer = await one.gateway.rest("POST", f"/integrations/{mine}/resume", one.headers())
    assert (answer.status_code, "connect the account again" in answer.text) == (409, True)
