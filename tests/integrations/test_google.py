"""A Google calendar becomes meetings: all of it, what changed, series and days, and nothing lost to a bad day."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from jobs.long_places import LongPlaces
from storage.base import now
from storage.tables import Event, Integration, SyncItem, SyncOccurrence
from tests.integrations.test_refresh import sync
from tests.support.consents import connected
from tests.support.feeds import TODAY, at, connection, hurry, items, meetings, work
from tests.support.google import Account, Fault, Google, meeting, occurrence
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")
EVENTS = "/events"


async def runs(tenant: Tenant, identifier: str) -> Any:
    return (await tenant.gateway.rest("GET", f"/integrations/{identifier}/runs", tenant.headers())).json()


async def test_an_event_is_a_meeting_with_all_that_it_says(one: Tenant, google: Google) -> None:
    account = google.account()
    guests = (
        {"email": account.email, "self": True, "responseStatus": "accepted", "organizer": True},
        {"email": "bob@out.example", "displayName": "Bob Out", "responseStatus": "tentative"},
        {"email": "room@resource.calendar.google.com", "resource": True, "responseStatus": "accepted"},
    )
    video = {"entryPointType": "video", "uri": "https://meet.google.com/x"}
    more: dict[str, Any] = {
        "description": "<p>Bring <b>figures</b></p>",
        "location": "Room 4",
        "htmlLink": "https://calendar.google.com/e",
        "conferenceData": {"entryPoints": [{"entryPointType": "phone", "uri": "tel:1"}, video]},
        "organizer": {"email": account.email, "self": True},
    }
    google.put(account, meeting("a", at(3), *guests, subject="Review", **more))
    mine = await connected(one, google, account)
    found = (await meetings(one))["Review"]
    assert (found["source"], found["body"], found["durationMinutes"]) == ("CALENDAR", "Bring figures", 60)
    assert (found["dueAt"], found["metadata"]["location"]) == (f"{at(3):%Y-%m-%dT%H:%M:%S}Z", "Room 4")
    assert [(p["email"], p["response"], p["isOrganizer"]) for p in found["participants"]] == [
        (account.email, "ACCEPTED", True),
        ("bob@out.example", "TENTATIVE", False),
    ]
    told = found["sync"]
    assert (told["uid"], told["timeZone"]) == ("a@google.com", "Europe/Berlin")
    assert (told["conferenceUrl"], told["sources"][0]["url"]) == ("https://meet.google.com/x", more["htmlLink"])
    assert (await connection(one, mine))["counts"]["meetings"] == 1


async def test_pages_then_what_changed_alone(one: Tenant, google: Google) -> None:
    account = google.account()
    google.page = 4
    google.put(account, *(meeting(f"m{n}", at(1 + n), subject=f"M {n}") for n in range(10)))
    mine = await connected(one, google, account)
    assert len(await meetings(one)) == 10
    [first] = await runs(one, mine)
    assert (first["mode"], first["status"], first["calls"], first["created"]) == ("full", "succeeded", 3, 10)
    google.put(account, meeting("m0", at(20), subject="Moved"), meeting("new", at(2), subject="New"))
    google.cancel(account, "m1", "never-seen")
    await sync(one, mine)
    found = await meetings(one)
    assert (set(found) & {"M 0", "M 1", "Moved", "New"}, len(found)) == ({"Moved", "New"}, 10)
    second = (await runs(one, mine))[0]
    counts = tuple(second[name] for name in ("mode", "calls", "created", "updated", "removed"))
    assert counts == ("incremental", 1, 1, 1, 1)
    before = await one.rows(SyncItem.id, SyncItem.seen_at, SyncItem.hash)
    await sync(one, mine)
    assert (await runs(one, mine))[0]["calls"] == 1
    assert await one.rows(SyncItem.id, SyncItem.seen_at, SyncItem.hash) == before


async def test_a_cursor_that_is_forgotten_loses_and_doubles_nothing(one: Tenant, google: Google) -> None:
    account = google.account()
    google.put(account, *(meeting(f"m{n}", at(1 + n), subject=f"M {n}") for n in range(5)))
    mine = await connected(one, google, account)
    before = {subject: each["id"] for subject, each in (await meetings(one)).items()}
    google.cancel(account, "m4")
    google.put(account, meeting("m5", at(9), subject="M 5"))
    google.forgets_before = google.number + 1
    assert await sync(one, mine) != []
    google.forgets_before = 0
    found = {subject: each["id"] for subject, each in (await meetings(one)).items()}
    assert set(found) == {"M 0", "M 1", "M 2", "M 3", "M 5"}
    assert all(found[subject] == before[subject] for subject in found if subject != "M 5")
    shown = await connection(one, mine)
    assert (shown["status"], shown["problem"], (await runs(one, mine))[0]["status"]) == ("active", None, "succeeded")


async def test_reading_everything_waits_for_a_place_and_what_is_short_does_not(one: Tenant, google: Google) -> None:
    """Whether somebody asked for it or the provider has forgotten the cursor (decision 1030)."""
    account, places = google.account(), LongPlaces()
    google.put(account, *(meeting(f"m{n}", at(1 + n), subject=f"M {n}") for n in range(5)))
    mine = await connected(one, google, account)
    for holder in "ab":
        places.take(one.id, holder)

    async def asked(**body: bool) -> tuple[list[str], Any]:
        headers = one.headers()
        assert (await one.gateway.rest("POST", f"/integrations/{mine}/sync", headers, body)).status_code == 202
        return await work(one, long=places), (await runs(one, mine))[0]

    ended, run = await asked(full=True)
    assert (ended, run["status"], run["started_at"]) == (["released"], "queued", None)
    places.give_back("a")
    assert await work(one, long=places) == ["succeeded"]
    places.take(one.id, "a")
    ended, run = await asked()
    assert (ended, run["status"], run["mode"], run["calls"]) == (["succeeded"], "succeeded", "incremental", 1)
    google.put(account, meeting("m5", at(9), subject="M 5"))
    google.forgets_before = google.number + 1
    ended, run = await asked()
    assert (ended, run["status"], run["calls"]) == (["released"], "running", 1)
    places.give_back("b")
    await work(one, long=places)
    [run] = [each for each in await runs(one, mine) if each["id"] == run["id"]]
    assert (run["status"], run["calls"], run["created"], run["removed"]) == ("succeeded", 2, 1, 0)


async def test_occurrences_move_and_go_by_themselves(one: Tenant, google: Google) -> None:
    account = google.account()
    firsts = [at(1 + 7 * n) for n in range(4)]
    google.put(account, *(occurrence("series", first, subject="Weekly") for first in firsts))
    mine = await connected(one, google, account)

    async def starts() -> dict[str, str]:
        page = await one.ask("{ meetings(first: 50) { nodes { dueAt sync { recurrenceId uid } } } }")
        assert {node["sync"]["uid"] for node in page["nodes"]} <= {"series@google.com"}
        return {node["sync"]["recurrenceId"]: node["dueAt"] for node in page["nodes"]}

    def text(moment: datetime) -> str:
        return f"{moment:%Y-%m-%dT%H:%M:%S}Z"

    assert await starts() == {text(first): text(first) for first in firsts}
    google.put(account, occurrence("series", firsts[1], firsts[1] + timedelta(hours=3), subject="Weekly"))
    google.cancel(account, f"series_{firsts[2]:%Y%m%dT%H%M%SZ}")
    await sync(one, mine)
    assert await starts() == {
        text(firsts[0]): text(firsts[0]),
        text(firsts[1]): text(firsts[1] + timedelta(hours=3)),
        text(firsts[3]): text(firsts[3]),
    }
    assert all(each["is_recurring"] for each in (await items(one, mine)).values())
    google.cancel(account, *(f"series_{first:%Y%m%dT%H%M%SZ}" for first in firsts))
    await sync(one, mine)
    assert await starts() == {}


async def test_days_begin_at_midnight_of_the_calendars_zone(one: Tenant, google: Google) -> None:
    account = google.account()
    day = TODAY.date() + timedelta(days=5)
    told = meeting("d", at(5), subject="Fair")
    told |= {"start": {"date": f"{day}"}, "end": {"date": f"{day + timedelta(days=2)}"}}
    google.put(account, told)
    await connected(one, google, account)
    found = (await meetings(one))["Fair"]
    offset = datetime.fromisoformat(found["dueAt"]).astimezone(UTC)
    assert (found["durationMinutes"], found["sync"]["allDay"]) == (2_880, True)
    assert offset.hour in (22, 23)


async def test_what_is_no_meeting_is_in_the_ledger_with_its_reason(one: Tenant, google: Google) -> None:
    account = google.account()
    own = {"email": account.email, "self": True, "responseStatus": "declined"}
    google.put(
        account,
        meeting("p", at(1), subject="CanaryOfADentist", visibility="private", location="CanaryOfAPlace"),
        meeting("c", at(1), subject="CanaryOfADoctor", visibility="confidential"),
        meeting("d", at(2), own, "bob@out.example", subject="Declined"),
        meeting("f", at(3), subject="Focus", eventType="focusTime"),
        meeting("o", at(4), own | {"responseStatus": "accepted"}, subject="Alone"),
        meeting("t", at(5)),
    )
    mine = await connected(one, google, account)
    listed = await one.gateway.rest("GET", f"/integrations/{mine}/items", one.headers())
    reasons = sorted((each["subject"] or "", each["reason"] or "") for each in listed.json())
    assert reasons == [
        ("", "private"),
        ("", "private"),
        ("Alone", "no_external_attendee"),
        ("Declined", "declined"),
        ("Focus", "not_a_meeting"),
        ("Talk", ""),
    ]
    for column in (SyncItem.body, SyncItem.external_id, SyncOccurrence.subject, Event.data):
        assert "CanaryOfA" not in str(await one.rows(column))


async def test_retry_after_is_obeyed_in_both_forms_and_opens_no_breaker(one: Tenant, google: Google) -> None:
    account = google.account()
    mine = await connected(one, google, account)
    limited = json.dumps({"error": {"code": 403, "errors": [{"reason": "userRateLimitExceeded"}]}}).encode()
    date = format_datetime(now().astimezone(UTC) + timedelta(minutes=20), usegmt=True)
    asked = [
        (Fault(EVENTS, 429, headers={"Retry-After": "120"}), 120),
        (Fault(EVENTS, 429, headers={"Retry-After": date}), 1_200),
        (Fault(EVENTS, 403, limited), 2),
        *((Fault(EVENTS, 429), None) for _ in range(6)),
    ]
    for fault, seconds in asked:
        google.faults.append(fault)
        await hurry(one)
        await sync(one, mine)
        shown = await connection(one, mine)
        assert (shown["status"], shown["problem"]["code"]) == ("active", "rate_limited")
        wait = datetime.fromisoformat(shown["problem"]["retry_at"]) - datetime.now(UTC)
        assert seconds is None or seconds - 10 <= wait.total_seconds() <= seconds * 4 + 10, (fault, wait)
    google.put(account, meeting("a", at(3), subject="After"))
    await hurry(one)
    await sync(one, mine)
    assert (set(await meetings(one)), (await connection(one, mine))["problem"]) == ({"After"}, None)


async def test_nothing_is_removed_because_of_a_bad_day(one: Tenant, google: Google) -> None:
    account = google.account()
    google.put(account, *(meeting(f"m{n}", at(1 + n), subject=f"M {n}") for n in range(6)))
    mine = await connected(one, google, account)
    google.page = 2
    cut = b'{"items": [{"id": "m0", "status'
    comes_again = json.dumps({"items": [], "nextPageToken": "CPpage-2"}).encode()
    bad: list[tuple[list[Fault], str]] = [
        ([Fault(EVENTS, 503)], "provider_unavailable"),
        ([Fault(EVENTS, 200, cut)] * 3, "provider_answer"),
        ([Fault(EVENTS, 200, b"[]")] * 3, "provider_answer"),
        ([Fault(EVENTS, 200, comes_again)] * 2, "provider_answer"),
        ([Fault(EVENTS, 200, b'{"items": []}')], "provider_answer"),
        ([Fault(EVENTS, 404)], "provider_answer"),
    ]
    for faults, code in bad:
        google.faults += faults
        await sync(one, mine, full=True)
        assert google.faults == []
        assert (await connection(one, mine))["problem"]["code"] == code, faults
        assert len(await meetings(one)) == 6
        await sync(one, mine)  # its success keeps the breaker shut
    google.faults.append(Fault(EVENTS, 200, cut))
    await sync(one, mine, full=True)
    assert ((await connection(one, mine))["problem"], len(await meetings(one))) == (None, 6)


async def test_a_full_pass_that_misses_most_is_confirmed_first(one: Tenant, google: Google) -> None:
    account = google.account()
    google.put(account, *(meeting(f"m{n}", at(1 + n % 50), subject=f"M {n}") for n in range(30)))
    mine = await connected(one, google, account)
    kept = dict(google.calendars[account.sub])
    google.calendars[account.sub] = {}
    await sync(one, mine, full=True)
    assert len(await meetings(one)) == 30
    google.calendars[account.sub] = kept
    await sync(one, mine, full=True)
    assert len(await meetings(one)) == 30


async def test_a_permission_that_is_withdrawn_needs_the_member(one: Tenant, google: Google) -> None:
    account = google.account()
    mine = await connected(one, google, account)
    missing = {"error": {"code": 403, "status": "PERMISSION_DENIED", "errors": [{"reason": "insufficientPermissions"}]}}
    google.faults.append(Fault(EVENTS, 403, json.dumps(missing).encode()))
    await sync(one, mine)
    shown = await connection(one, mine)
    assert (shown["status"], shown["problem"]["code"]) == ("action_required", "scopes_missing")


async def test_other_calendars_wait_to_be_followed(one: Tenant, google: Google) -> None:
    account = google.account()
    shared = "canary-of-a-colleague@crm.example"
    google.secrets.add(shared)
    google.listed[account.sub] += [
        {"id": shared, "summary": shared, "accessRole": "reader"},
        {"id": "team@group.calendar.google.com", "summary": "Team", "accessRole": "owner"},
        {"id": "busy@group.calendar.google.com", "summary": "Busy", "accessRole": "freeBusyReader"},
    ]
    mine = await connected(one, google, account)
    streams = (await connection(one, mine))["streams"]
    followed = {each["name"]: each["enabled"] for each in streams}
    assert followed == {"Calendar": True, "Another calendar": False, "Team": False}
    team = next(each["id"] for each in streams if each["name"] == "Team")
    change = {"streams": [{"id": team, "enabled": True}]}
    assert (await one.gateway.rest("PATCH", f"/integrations/{mine}", one.headers(), change)).status_code == 200
    await work(one)
    assert google.count("calendars/team@group.calendar.google.com/events") >= 1


async def test_disconnecting_forgets_and_revokes(one: Tenant, google: Google) -> None:
    account: Account = google.account()
    google.put(account, meeting("a", at(3), subject="Kept"))
    mine = await connected(one, google, account)
    [token] = [token for token, grant in google.refresh.items() if grant.account == account]
    google.faults += [Fault("/revoke", 503), Fault("/revoke", 503)]
    assert (await one.gateway.rest("DELETE", f"/integrations/{mine}", one.headers())).status_code == 204
    assert await one.rows(Integration.sealed) == [(None,)]
    await work(one)
    assert (token in google.refresh, await one.rows(Integration.id)) == (False, [])
    assert set(await meetings(one)) == {"Kept"}
    again = await connected(one, google, account)
    assert (again != mine, set(await meetings(one))) == (True, {"Kept"})
