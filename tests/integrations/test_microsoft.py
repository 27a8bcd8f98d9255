"""An Outlook calendar becomes meetings: all of it, what changed, series by their masters, and no link followed away."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from jobs.sync import sources
from providers.accounts import microsoft as adapter
from providers.accounts.microsoft_events import zone_of
from storage.base import now
from storage.tables import Event, Integration, SyncItem, SyncOccurrence, SyncStream
from tests.integrations.test_google import runs
from tests.integrations.test_refresh import sync
from tests.support import google as gmail
from tests.support.consents import connected
from tests.support.feeds import TODAY, at, connection, hurry, items, meetings, work
from tests.support.google import Google
from tests.support.microsoft import Fault, Microsoft, meeting, outlook_uid, person, stamp, wrapped_uid
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")
DELTA = "/calendarView/delta"


async def starts(tenant: Tenant) -> dict[str, tuple[str, str | None]]:
    """The starts and titles of what recurs, by what it recurs as."""
    page = await tenant.ask("{ meetings(first: 200) { nodes { dueAt subject sync { recurrenceId } } } }")
    return {node["sync"]["recurrenceId"]: (node["dueAt"], node["subject"]) for node in page["nodes"]}


def text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}Z"


async def test_an_event_is_a_meeting_with_all_that_it_says(one: Tenant, microsoft: Microsoft) -> None:
    account = microsoft.account()
    guests = (
        person(account.email, "Ann", "organizer"),
        person("bob@out.example", "Bob Out", "tentativelyAccepted"),
        person("room4@crm.example", "Room 4", "accepted", "resource"),
    )
    more: dict[str, Any] = {
        "body": {"contentType": "html", "content": "<html><body><p>Bring <b>figures</b></p></body></html>"},
        "location": {"displayName": "Room 4"},
        "onlineMeeting": {"joinUrl": "https://teams.microsoft.com/l/meetup-join/x"},
        "organizer": {"emailAddress": {"name": "Ann", "address": account.email}},
    }
    microsoft.put(account, meeting("a", at(3), *guests, subject="Review", **more))
    mine = await connected(one, microsoft, account)
    found = (await meetings(one))["Review"]
    assert (found["source"], found["body"], found["durationMinutes"]) == ("CALENDAR", "Bring figures", 60)
    assert (found["dueAt"], found["metadata"]["location"]) == (text(at(3)), "Room 4")
    assert [(p["email"], p["response"], p["isOrganizer"]) for p in found["participants"]] == [
        (account.email, "ACCEPTED", True),
        ("bob@out.example", "TENTATIVE", False),
    ]
    told = found["sync"]
    assert (told["uid"], told["timeZone"]) == (outlook_uid("a").lower(), "Europe/Berlin")
    assert told["conferenceUrl"] == "https://teams.microsoft.com/l/meetup-join/x"
    assert told["sources"] == [
        {"integrationId": mine, "ownerId": one.subject("member"), "url": "https://outlook.office365.com/owa/?itemid=a"}
    ]
    shown = await connection(one, mine)
    assert (shown["provider"], shown["account_label"], shown["counts"]["meetings"]) == ("microsoft", account.email, 1)
    assert (await one.ask("query($id: ID!) { integration(id: $id) { provider accountLabel } }", id=mine)) == {
        "provider": "MICROSOFT",
        "accountLabel": account.email,
    }


async def test_pages_then_what_changed_alone(one: Tenant, microsoft: Microsoft) -> None:
    account = microsoft.account()
    microsoft.page = 4
    microsoft.put(account, *(meeting(f"m{n}", at(1 + n), subject=f"M {n}") for n in range(10)))
    mine = await connected(one, microsoft, account)
    assert len(await meetings(one)) == 10
    [first] = await runs(one, mine)
    assert (first["mode"], first["status"], first["calls"], first["created"]) == ("full", "succeeded", 3, 10)
    microsoft.put(account, meeting("m0", at(20), subject="Moved"), meeting("new", at(2), subject="New"))
    microsoft.put(account, meeting("far", at(-200), subject="Long ago"))  # which is told as one that was removed
    microsoft.put(account, meeting("m2", at(3), subject="Canceled: M 2", isCancelled=True))
    microsoft.remove(account, "m1")
    await sync(one, mine)
    found = await meetings(one)
    assert (set(found) & {"M 0", "M 1", "M 2", "Moved", "New"}, len(found)) == ({"Moved", "New"}, 9)
    second = (await runs(one, mine))[0]
    counts = tuple(second[name] for name in ("mode", "calls", "created", "updated", "removed"))
    assert counts == ("incremental", 2, 1, 1, 2)
    before = await one.rows(SyncItem.id, SyncItem.seen_at, SyncItem.hash)
    await sync(one, mine)
    third = (await runs(one, mine))[0]
    assert (third["calls"], third["processed"], third["mode"]) == (1, 0, "incremental")
    assert await one.rows(SyncItem.id, SyncItem.seen_at, SyncItem.hash) == before


@pytest.mark.parametrize(
    ("status", "code"), [(410, "SyncStateNotFound"), (410, "resyncRequired"), (400, "syncStateNotFound")]
)
async def test_a_cursor_that_is_forgotten_loses_and_doubles_nothing(
    one: Tenant, microsoft: Microsoft, status: int, code: str
) -> None:
    account = microsoft.account()
    microsoft.put(account, *(meeting(f"m{n}", at(1 + n), subject=f"M {n}") for n in range(5)))
    mine = await connected(one, microsoft, account)
    before = {subject: each["id"] for subject, each in (await meetings(one)).items()}
    microsoft.remove(account, "m4")
    microsoft.put(account, meeting("m5", at(9), subject="M 5"))
    microsoft.faults.append(Fault(DELTA, status, json.dumps({"error": {"code": code, "message": "…"}}).encode()))
    await sync(one, mine)
    found = {subject: each["id"] for subject, each in (await meetings(one)).items()}
    assert set(found) == {"M 0", "M 1", "M 2", "M 3", "M 5"}
    assert all(found[subject] == before[subject] for subject in found if subject != "M 5")
    shown = await connection(one, mine)
    assert (shown["status"], shown["problem"], (await runs(one, mine))[0]["status"]) == ("active", None, "succeeded")


@pytest.mark.parametrize("shows_masters", [True, False])
async def test_bare_occurrences_are_completed_from_their_series(
    one: Tenant, microsoft: Microsoft, shows_masters: bool
) -> None:
    account, asked = microsoft.account(), microsoft.count("/me/events/series")
    microsoft.shows_masters, microsoft.page = shows_masters, 2
    firsts = [at(-7 + 7 * n) for n in range(5)]
    microsoft.repeat(account, meeting("series", at(-70), subject="Weekly"), *firsts)
    mine = await connected(one, microsoft, account)
    assert await starts(one) == {text(first): (text(first), "Weekly") for first in firsts}
    ids = dict(await one.rows(SyncOccurrence.recurrence, SyncOccurrence.meeting_id))
    assert microsoft.count("/me/events/series") - asked == (0 if shows_masters else 1)

    moved = meeting("x", firsts[1] + timedelta(hours=3), subject="Weekly, later")
    microsoft.change(account, "series", firsts[1], moved | {"iCalUId": outlook_uid("series", firsts[1])})
    microsoft.drop(account, "series", firsts[2])
    await sync(one, mine)
    assert await starts(one) == {
        text(firsts[0]): (text(firsts[0]), "Weekly"),
        text(firsts[1]): (text(firsts[1] + timedelta(hours=3)), "Weekly, later"),
        text(firsts[3]): (text(firsts[3]), "Weekly"),
        text(firsts[4]): (text(firsts[4]), "Weekly"),
    }
    after = dict(await one.rows(SyncOccurrence.recurrence, SyncOccurrence.meeting_id))
    assert all(ids[name] == each for name, each in after.items())
    assert all(each["is_recurring"] for each in (await items(one, mine)).values())
    await sync(one, mine, full=True)
    assert len(await starts(one)) == 4

    master = microsoft.boxes[account.sub].series["series"].master
    cancelled = master | {"type": "exception", "isCancelled": True, "start": stamp(firsts[3]), "end": stamp(firsts[3])}
    microsoft.change(account, "series", firsts[3], cancelled)
    await sync(one, mine)
    assert text(firsts[3]) not in await starts(one)
    microsoft.remove(account, "series")
    await sync(one, mine)
    assert await starts(one) == {}


async def test_a_series_of_which_one_occurrence_alone_is_told_keeps_the_others(
    one: Tenant, microsoft: Microsoft
) -> None:
    """Whether a series always comes again whole is documented nowhere, so its occurrences are asked for."""
    account = microsoft.account()
    firsts = [at(1 + n) for n in range(4)]
    microsoft.repeat(account, meeting("daily", at(-70), subject="Daily"), *firsts)
    mine = await connected(one, microsoft, account)
    box = microsoft.boxes[account.sub]
    later = meeting("x", firsts[1] + timedelta(hours=1), subject="Daily")
    microsoft.change(account, "daily", firsts[1], later)
    [only] = [each for each in box.series["daily"].occurrences.values() if each["type"] == "exception"]
    link = f"{microsoft.url}/v1.0/me{DELTA}?%24deltatoken={next(iter(microsoft.views))}.{microsoft.number}.0.0"
    body = {"value": [only], "@odata.deltaLink": link}
    microsoft.faults.append(Fault(DELTA, 200, json.dumps(body).encode()))
    await sync(one, mine)
    assert {start for start, _ in (await starts(one)).values()} == {
        text(firsts[0]),
        text(firsts[1] + timedelta(hours=1)),
        text(firsts[2]),
        text(firsts[3]),
    }


async def test_days_begin_at_midnight_of_the_events_zone(one: Tenant, microsoft: Microsoft) -> None:
    account = microsoft.account()
    day = TODAY.replace(tzinfo=None) + timedelta(days=5)
    whole = {"isAllDay": True, "start": stamp(day), "end": stamp(day + timedelta(days=2))}
    pacific = {"originalStartTimeZone": "Pacific Standard Time"}
    microsoft.put(account, meeting("d", at(5), subject="Fair") | whole)
    microsoft.put(account, meeting("p", at(5), subject="Far") | whole | pacific)
    custom = {"originalStartTimeZone": "tzone://Microsoft/Custom"}
    microsoft.put(account, meeting("c", at(6), subject="Custom") | custom)
    days = [datetime.combine(TODAY.date() + timedelta(days=7 + n), datetime.min.time()) for n in range(2)]
    microsoft.repeat(account, meeting("s", at(-70), subject="Days") | whole, *days, minutes=1_440)
    mine = await connected(one, microsoft, account)
    found = await meetings(one)
    fair, far = (datetime.fromisoformat(found[name]["dueAt"]).astimezone(UTC) for name in ("Fair", "Far"))
    assert (found["Fair"]["durationMinutes"], found["Fair"]["sync"]["allDay"]) == (2_880, True)
    assert (fair.hour in (22, 23), far.hour in (7, 8), far - fair > timedelta(hours=7)) == (True, True, True)
    assert (found["Fair"]["sync"]["timeZone"], found["Far"]["sync"]["timeZone"]) == (
        "Europe/Berlin",
        "America/Los_Angeles",
    )
    assert (found["Custom"]["dueAt"], found["Custom"]["sync"]["timeZone"]) == (text(at(6)), None)
    assert {f"{each:%Y-%m-%d}" for each in days} <= set(await starts(one))
    assert (await connection(one, mine))["counts"]["meetings"] == 5


async def test_what_is_no_meeting_is_in_the_ledger_with_its_reason(one: Tenant, microsoft: Microsoft) -> None:
    account = microsoft.account()
    declined = {"responseStatus": {"response": "declined", "time": "2026-11-24T12:00:00Z"}}
    microsoft.put(
        account,
        meeting("p", at(1), subject="CanaryOfADentist", sensitivity="private", location={"displayName": "CanaryOfA"}),
        meeting("c", at(1), subject="CanaryOfADoctor", sensitivity="confidential"),
        meeting("h", at(1), subject="CanaryOfAHobby", sensitivity="personal"),
        meeting("d", at(2), subject="Declined", **declined),
        meeting("f", at(3), subject="Away", showAs="oof") | {"attendees": []},
        meeting("o", at(4), person(account.email), subject="Alone", organizer=person(account.email)),
        meeting("u", at(5), subject="Unreadable") | {"start": {"dateTime": "soon", "timeZone": "UTC"}},
        meeting("z", at(5), subject="Nowhere")
        | {"start": {"dateTime": f"{at(5):%Y-%m-%dT%H:%M:%S}", "timeZone": "Mars"}},
        meeting("t", at(5)),
    )
    mine = await connected(one, microsoft, account)
    listed = await one.gateway.rest("GET", f"/integrations/{mine}/items", one.headers())
    reasons = sorted((each["subject"] or "", each["reason"] or "") for each in listed.json())
    assert reasons == [
        ("", "private"),
        ("", "private"),
        ("", "private"),
        ("Alone", "no_external_attendee"),
        ("Away", "not_a_meeting"),
        ("Declined", "declined"),
        ("Nowhere", "unreadable"),
        ("Talk", ""),
        ("Unreadable", "unreadable"),
    ]
    for column in (SyncItem.body, SyncItem.external_id, SyncOccurrence.subject, Event.data):
        assert "CanaryOfA" not in str(await one.rows(column))


async def test_what_no_calendar_should_say_holds_nothing_up(one: Tenant, microsoft: Microsoft, google: Google) -> None:
    ann, bob = google.account(), microsoft.account()
    zero = "Ze\0ro"
    google.put(ann, gmail.meeting("z", at(3), subject=zero, iCalUID=zero, location=zero, description=zero))
    microsoft.put(bob, meeting("y", at(4), subject=f"{zero} too", iCalUId=zero, location={"displayName": zero}))
    microsoft.put(bob, meeting(zero, at(4), subject="Never found again"))
    # A zone has the name that the inviter's program gave it: also that of a folder of zones, or too long for a file.
    for number, name in enumerate(("America", "Z" * 300)):
        microsoft.put(bob, meeting(name[:3], at(5, number), subject=name[:3], originalStartTimeZone=name))
    google.put(ann, gmail.meeting("w", at(5), subject="Odd", eventType=["default"]))
    for provider, account in ((google, ann), (microsoft, bob)):
        mine = await connected(one, provider, account)
        assert ((await runs(one, mine))[0]["status"], (await connection(one, mine))["problem"]) == ("succeeded", None)
    assert set(await meetings(one)) == {"Zero", "Zero too", "Ame", "ZZZ", "Odd"}


async def test_retry_after_is_obeyed_in_both_forms_and_opens_no_breaker(one: Tenant, microsoft: Microsoft) -> None:
    account = microsoft.account()
    mine = await connected(one, microsoft, account)
    limited = json.dumps({"error": {"code": "ApplicationThrottled", "message": "…"}}).encode()
    date = format_datetime(now().astimezone(UTC) + timedelta(minutes=20), usegmt=True)
    asked = [
        (Fault(DELTA, 429, limited, {"Retry-After": "120"}), 120),
        (Fault(DELTA, 429, limited, {"Retry-After": date}), 1_200),
        *((Fault(DELTA, 429, limited), None) for _ in range(6)),
    ]
    for fault, seconds in asked:
        microsoft.faults.append(fault)
        await hurry(one)
        await sync(one, mine)
        shown = await connection(one, mine)
        assert (shown["status"], shown["problem"]["code"]) == ("active", "rate_limited")
        wait = datetime.fromisoformat(shown["problem"]["retry_at"]) - datetime.now(UTC)
        assert seconds is None or seconds - 10 <= wait.total_seconds() <= seconds * 4 + 10, (fault, wait)
    microsoft.put(account, meeting("a", at(3), subject="After"))
    await hurry(one)
    await sync(one, mine)
    assert (set(await meetings(one)), (await connection(one, mine))["problem"]) == ({"After"}, None)


async def test_nothing_is_removed_because_of_a_bad_day(one: Tenant, microsoft: Microsoft) -> None:
    account = microsoft.account()
    microsoft.put(account, *(meeting(f"m{n}", at(1 + n), subject=f"M {n}") for n in range(6)))
    mine = await connected(one, microsoft, account)
    microsoft.page = 2
    cut = b'{"value": [{"id": "m0", "subj'
    again = {"value": [], "@odata.nextLink": f"{microsoft.url}/v1.0/me{DELTA}?%24skiptoken=again"}
    comes_again = json.dumps(again).encode()
    bad: list[tuple[list[Fault], str]] = [
        ([Fault(DELTA, 503)], "provider_unavailable"),
        ([Fault(DELTA, 200, cut)] * 3, "provider_answer"),
        ([Fault(DELTA, 200, b"[]")] * 3, "provider_answer"),
        ([Fault(DELTA, 200, comes_again)] * 2, "provider_answer"),
        ([Fault(DELTA, 200, b'{"value": []}')], "provider_answer"),
        ([Fault(DELTA, 404)], "provider_answer"),
    ]
    for faults, code in bad:
        microsoft.faults += faults
        await sync(one, mine, full=True)
        assert microsoft.faults == []
        assert (await connection(one, mine))["problem"]["code"] == code, faults
        assert len(await meetings(one)) == 6
        await sync(one, mine)  # its success keeps the breaker shut
    microsoft.faults.append(Fault(DELTA, 200, cut))
    await sync(one, mine, full=True)
    assert ((await connection(one, mine))["problem"], len(await meetings(one))) == (None, 6)


async def test_a_calendar_that_is_too_large_changes_nothing(
    one: Tenant, microsoft: Microsoft, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = microsoft.account()
    microsoft.put(account, *(meeting(f"m{n}", at(1 + n), subject=f"M {n}") for n in range(3)))
    mine = await connected(one, microsoft, account)
    monkeypatch.setattr(adapter, "ITEMS_OF_A_STREAM_MAX", 2)
    await sync(one, mine, full=True)
    assert (await connection(one, mine))["problem"]["code"] == "too_large"
    assert len(await meetings(one)) == 3


async def test_links_are_followed_to_where_was_asked_alone(one: Tenant, microsoft: Microsoft, google: Google) -> None:
    account = microsoft.account()
    microsoft.put(account, *(meeting(f"m{n}", at(1 + n), subject=f"M {n}") for n in range(3)))
    mine = await connected(one, microsoft, account)
    microsoft.page = 2
    port = microsoft.url.rpartition(":")[2]
    leading = [
        f"{google.url}/v1.0/me{DELTA}",
        f"http://localhost:{port}/v1.0/me{DELTA}",
        f"http://me@127.0.0.1:{port}/v1.0/me{DELTA}",
        f"{microsoft.url}/beta/me{DELTA}",
        f"{microsoft.url}/v1.0/../token",
        f"{microsoft.url}/v1.0/%2E%2e/token",
        "//evil.example/v1.0/me",
        "http://[evil",
    ]
    elsewhere = len(google.asked)
    for place in leading:
        for faults in ([], [Fault(DELTA, 200, json.dumps({"value": [], "@odata.deltaLink": place}).encode())]):
            microsoft.leads_to, microsoft.faults = None if faults else place, list(faults)
            before = microsoft.count(DELTA)
            await sync(one, mine, full=True)
            problem = (await connection(one, mine))["problem"]
            assert (problem["code"], place in problem["message"]) == ("provider_answer", False), place
            assert (microsoft.count(DELTA), len(google.asked)) == (before + 1, elsewhere), place
            microsoft.leads_to = None
            await sync(one, mine)
    assert len(await meetings(one)) == 3


async def test_a_link_that_is_kept_of_another_place_is_forgotten(one: Tenant, microsoft: Microsoft) -> None:
    """The operator has moved to another address: everything is read again, and nothing is asked elsewhere."""
    account = microsoft.account()
    microsoft.put(account, meeting("a", at(3), subject="Kept"))
    mine = await connected(one, microsoft, account)
    before = (await meetings(one))["Kept"]["id"]
    [(stream_id,)] = await one.rows(SyncStream.id)
    link = f"https://elsewhere.example/v1.0/me{DELTA}?%24deltatoken=1"
    async with one.gateway.world.database.writing(one.id) as session:
        stream = await session.find(SyncStream, id=stream_id)
        assert stream is not None
        sealed = sources.sealed_cursor(one.gateway.runtime.ports.pepper, stream_id, link)
        await session.update(stream, cursor=sealed)
    await sync(one, mine)
    found = await meetings(one)
    assert ({s: each["id"] for s, each in found.items()}, (await runs(one, mine))[0]["status"]) == (
        {"Kept": before},
        "succeeded",
    )


async def test_zones_are_known_by_their_windows_names() -> None:
    names = ("W. Europe Standard Time", "UTC-02", "Europe/Berlin", "UTC")
    assert [str(zone_of(name)) for name in names] == ["Europe/Berlin", "Etc/GMT+2", "Europe/Berlin", "UTC"]
    assert [zone_of(name) for name in ("Mars Time", "tzone://Microsoft/Custom", "../etc/passwd", "", None)] == [
        None
    ] * 5
    assert [zone_of(name) for name in ("America", "Z" * 300, "Z " * 200)] == [None] * 3


async def test_permissions_that_are_missing_need_the_member(one: Tenant, microsoft: Microsoft) -> None:
    mine = await connected(one, microsoft, microsoft.account())
    refusals = (
        (403, "ErrorAccessDenied", "scopes_missing"),
        (403, "ErrorSomething", "forbidden"),
        (404, "MailboxNotEnabledForRESTAPI", "forbidden"),
    )
    for status, code, problem in refusals:
        microsoft.faults.append(Fault(DELTA, status, json.dumps({"error": {"code": code, "message": "…"}}).encode()))
        await sync(one, mine)
        shown = await connection(one, mine)
        assert (shown["status"], shown["problem"]["code"]) == ("action_required", problem)
        begun = (await one.gateway.rest("POST", f"/integrations/{mine}/reconnect", one.headers())).json()
        assert begun["authorization_url"].startswith(microsoft.url)
        async with one.gateway.world.database.writing(one.id) as session:
            found = await session.find(Integration, id=mine, lock=True)
            assert found is not None
            await session.update(found, status="active", problem_code=None)


async def test_other_calendars_wait_to_be_followed(one: Tenant, microsoft: Microsoft) -> None:
    account = microsoft.account()
    shared = "canary-of-an-outlook-colleague@crm.example"
    microsoft.secrets.add(shared)
    microsoft.calendars[account.sub] += [{"id": "AQMkTeam=", "name": "Team"}, {"id": "AQMkShared", "name": shared}]
    mine = await connected(one, microsoft, account)
    streams = (await connection(one, mine))["streams"]
    followed = {each["name"]: each["enabled"] for each in streams}
    assert followed == {"Calendar": True, "Another calendar": False, "Team": False}
    team = next(each["id"] for each in streams if each["name"] == "Team")
    change = {"streams": [{"id": team, "enabled": True}]}
    assert (await one.gateway.rest("PATCH", f"/integrations/{mine}", one.headers(), change)).status_code == 200
    await work(one)
    assert (await runs(one, mine))[0]["status"] == "succeeded"


async def test_one_meeting_of_two_providers_is_one_row(one: Tenant, microsoft: Microsoft, google: Google) -> None:
    """Born at Google, seen in Outlook, whose identifier wraps Google's and names the day of an occurrence."""
    ann, bob = google.account(), microsoft.account()
    first = at(4)
    invited = {"organizer": {"email": ann.email, "self": True}}
    google.put(ann, gmail.meeting("g", at(3), bob.email, "eve@out.example", subject="Single", **invited))
    google.put(ann, gmail.occurrence("gs", first, subject="Weekly"))
    organized = {"organizer": {"emailAddress": {"address": ann.email, "name": "Ann"}}}
    microsoft.put(
        bob,
        meeting("x", at(3), "kim@out.example", subject="Single", iCalUId=wrapped_uid("g@google.com"), **organized),
    )
    microsoft.repeat(bob, meeting("ms", at(-70), subject="Weekly", iCalUId=wrapped_uid("gs@google.com")), first)
    theirs = await connected(one, google, ann)
    mine = await connected(one, microsoft, bob, role="admin")
    found = await meetings(one)
    assert set(found) == {"Single", "Weekly"}
    for each in found.values():
        assert {source["integrationId"] for source in each["sync"]["sources"]} == {theirs, mine}
    people = {each["email"] for each in found["Single"]["participants"]}
    assert {"eve@out.example", "kim@out.example", ann.email, bob.email} <= people
    reasons = {each["reason"] for each in (await items(one, mine, role="admin")).values()}
    assert reasons == {"duplicate"}
    assert (await one.gateway.rest("DELETE", f"/integrations/{theirs}", one.headers())).status_code == 204
    await work(one)
    after = await meetings(one)
    assert {subject: each["id"] for subject, each in after.items()} == {s: each["id"] for s, each in found.items()}
    for each in after.values():
        assert [source["integrationId"] for source in each["sync"]["sources"]] == [mine]
        assert each["ownerId"] == one.subject("admin")
    deleting = f"/integrations/{mine}?delete_synced=true"
    assert (await one.gateway.rest("DELETE", deleting, one.headers("admin"))).status_code == 202
    await work(one)
    assert await meetings(one) == {}
