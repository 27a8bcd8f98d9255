"""Zoom's recordings and transcripts are put on the meetings that they belong to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.integrations import TRANSCRIPT_KEPT
from jobs.sync.recordings import NEAR
from providers.accounts.calls import waiting
from providers.accounts.zoom_recordings import spoken
from storage.tables import Activity, Integration, IntegrationAccount, SyncItem, SyncOccurrence
from tests.integrations.test_refresh import sync
from tests.support.consents import begin, come_back, complete, connected
from tests.support.feeds import at, connection, items, meetings, work
from tests.support.google import Fault, Google, meeting
from tests.support.tenants import Tenant
from tests.support.zoom import ALL, Zoom, tell

pytestmark = pytest.mark.asyncio(loop_scope="session")
NUMBER = 87_565_330_005
JOIN = f"https://us02web.zoom.us/j/{NUMBER}?pwd=x"
BOB = ("Bob Out", "bob@out.example")
WORDS = "Ann: Hello Bob\nBob Out: Good morning"


async def test_a_recording_is_put_on_the_meeting_of_its_number(one: Tenant, google: Google, zoom: Zoom) -> None:
    """By the number in link, place or text, and a start near its own (decision 980)."""
    calendar, account = google.account(), zoom.account()
    video = {"entryPoints": [{"entryPointType": "video", "uri": JOIN}]}
    google.put(
        calendar,
        meeting("link", at(-2), subject="Link", conferenceData=video),
        meeting("place", at(-3), subject="Place", location=f"Room 5, {NUMBER}"),
        meeting("text", at(-4), subject="Text", description="Meeting ID: 875 6533\u00a00005"),
        meeting("longer", at(-5), subject="Longer", location=f"https://zoom.us/j/{NUMBER}1"),
        meeting("late", at(-6), subject="Late", location=JOIN),
    )
    await connected(one, google, calendar)
    for days in (-2, -3, -4, -5):
        zoom.record(account, NUMBER, at(days) + timedelta(minutes=4), BOB, topic=f"Zoom {days}")
    zoom.record(account, NUMBER, at(-6) + NEAR + timedelta(minutes=1), BOB, topic="Zoom late")
    mine = await connected(one, zoom, account)
    found = await meetings(one)
    assert set(found) == {"Link", "Place", "Text", "Longer", "Zoom -5", "Late", "Zoom late"}
    for name in ("Link", "Place", "Text"):
        metadata = found[name]["metadata"]
        assert (metadata["transcript"], found[name]["source"]) == (WORDS, "CALENDAR")
        assert metadata["recording_url"].startswith("https://zoom.us/rec/share/")
        assert len(found[name]["sync"]["sources"]) == 2
        assert found[name]["durationMinutes"] == 60  # as it was planned
    start = at(-2) + timedelta(minutes=4)
    assert found["Link"]["metadata"]["started_at"] == f"{start:%Y-%m-%dT%H:%M:%S}Z"
    assert (found["Zoom -5"]["source"], found["Longer"]["metadata"].get("transcript")) == ("ZOOM", None)
    shown = await connection(one, mine)
    assert [(each["kind"], each["name"]) for each in shown["streams"]] == [("recordings", "Recordings")]
    assert (shown["account_label"], shown["counts"]["meetings"]) == (account.email, 5)
    listed = await items(one, mine)
    assert (listed["Zoom -2"]["reason"], listed["Zoom -5"]["reason"]) == ("duplicate", None)

    google.put(calendar, meeting("link", at(5), subject="Link moved", conferenceData=video))
    delete = "mutation($id: ID!) { meetingDelete(id: $id) { userErrors { message } } }"
    assert (await one.ask(delete, id=found["Place"]["id"]))["userErrors"] == []
    for each in (row["id"] for row in (await one.gateway.rest("GET", "/integrations", one.headers())).json()):
        await sync(one, each, full=True)
    after = await meetings(one)
    assert set(after) == {"Link moved", "Text", "Longer", "Zoom -5", "Late", "Zoom late"}
    assert after["Link moved"]["metadata"]["transcript"] == WORDS  # where it was put it stays


async def test_what_changed_alone_is_read_and_told_of(one: Tenant, zoom: Zoom) -> None:
    account = zoom.account()
    zoom.page = 2
    for days in (1, 2, 40, 80, 100):
        zoom.record(account, NUMBER + days, at(-days), BOB, topic=f"Z {days}")
    mine = await connected(one, zoom, account)
    assert set(await meetings(one)) == {"Z 1", "Z 2", "Z 40", "Z 80"}
    before, read = len(zoom.asked), await one.rows(SyncItem.id, SyncItem.hash)
    await sync(one, mine)
    assert (len(zoom.asked), await one.rows(SyncItem.id, SyncItem.hash)) == (before + 1, read)
    late = zoom.record(account, NUMBER, at(-1, 15), BOB, topic="Told of", text=None)
    assert (await tell(one.gateway.http, "meeting.started", account)).status_code == 204
    assert await work(one) == []
    assert (await tell(one.gateway.http, "recording.completed", account)).status_code == 204
    await work(one)
    assert (await meetings(one))["Told of"]["metadata"].get("transcript") is None
    other = zoom.record(zoom.account(), NUMBER, at(-1, 15), BOB)
    late["recording_files"] = other["recording_files"]
    assert (await tell(one.gateway.http, "recording.transcript_completed", account)).status_code == 204
    await work(one)
    assert (await meetings(one))["Told of"]["metadata"]["transcript"].startswith("Ann: Hello")
    assert (await connection(one, mine))["push"] is True

    zoom.access.clear()
    zoom.refresh.clear()
    gone = {"user_id": account.sub, "account_id": "a", "client_id": "c"}
    assert (await tell(one.gateway.http, "app_deauthorized", account, **gone)).status_code == 204
    await work(one)
    shown = await connection(one, mine)
    assert (shown["status"], shown["problem"]["code"]) == ("action_required", "reauthorize")


async def test_a_transcript_is_asked_for_at_zoom_alone(one: Tenant, zoom: Zoom) -> None:
    """Where it leads on to another host it is not asked for, and holds up nothing (decision 981)."""
    account = zoom.account()
    elsewhere = zoom.url.replace("127.0.0.1", "localhost")
    made = [
        zoom.record(account, NUMBER, at(-1), BOB, topic="Elsewhere", host=elsewhere),
        zoom.record(account, NUMBER + 1, at(-2), BOB, topic="Hidden"),
        zoom.record(account, NUMBER + 2, at(-2, 15), BOB, topic="Broken"),
    ]
    names = [each["recording_files"][1]["download_url"].rpartition("/")[2] for each in made]
    zoom.hidden.add(names[1])
    zoom.faults.append(Fault(names[2], 500))
    mine = await connected(one, zoom, account)
    found = await meetings(one)
    assert [each["metadata"].get("transcript") for each in found.values()] == [None, None, None]
    assert [zoom.count(f"/rec/download/{name}") for name in names] == [0, 1, 1]
    rows = await one.rows(SyncItem.id, SyncItem.seen_at)
    zoom.leads_to = elsewhere
    await sync(one, mine)  # which asks once more for what could not be had, and writes nothing
    assert [zoom.count(f"/rec/download/{name}") for name in names] == [0, 2, 2]
    assert await one.rows(SyncItem.id, SyncItem.seen_at) == rows
    assert [zoom.count(f"/rec/stored/{name}") for name in names] == [0, 0, 0]
    zoom.leads_to = None
    await sync(one, mine)
    assert (await meetings(one))["Broken"]["metadata"]["transcript"] == WORDS


async def test_what_members_write_and_what_is_private_stays_so(one: Tenant, google: Google, zoom: Zoom) -> None:
    calendar, account = google.account(), zoom.account()
    google.put(
        calendar,
        meeting("mine", at(-2), subject="Mine", location=JOIN),
        meeting("private", at(-3), subject="CanaryOfADentist", visibility="private", location=JOIN),
        meeting("twin", at(-4), subject="Twin A", location=JOIN),
        meeting("other twin", at(-4), subject="Twin B", location=JOIN),
    )
    await connected(one, google, calendar)
    change = (
        "mutation($id: ID!, $i: MeetingUpdateInput!) { meetingUpdate(id: $id, input: $i) { userErrors { message } } }"
    )
    own: dict[str, Any] = {"metadata": {"transcript": "As I remember it"}}
    assert (await one.ask(change, id=(await meetings(one))["Mine"]["id"], i=own))["userErrors"] == []
    for days in (-2, -3, -4):
        zoom.record(account, NUMBER, at(days), BOB, topic=f"CanaryOfATopic {days}", text="WEBVTT\n\nCanaryOfWords")
    mine = await connected(one, zoom, account)
    found = await meetings(one)
    assert found["Mine"]["metadata"]["transcript"] == "As I remember it"
    assert found["Mine"]["metadata"]["recording_url"].startswith("https://zoom.us/rec/share/")
    assert set(found) == {"Mine", "Twin A", "Twin B", "CanaryOfATopic -4"}
    reasons = sorted(each["reason"] or "" for each in (await items(one, mine)).values())
    assert reasons == ["", "duplicate", "private"]
    for column in (SyncOccurrence.subject, Activity.subject, SyncItem.body):
        assert "CanaryOfATopic -3" not in str(await one.rows(column))


async def test_what_is_shown_no_more_goes_and_what_came_stays(one: Tenant, google: Google, zoom: Zoom) -> None:
    calendar, account = google.account(), zoom.account()
    google.put(
        calendar, *(meeting(name, at(-d), subject=name, location=JOIN) for d, name in ((2, "Left"), (3, "Kept")))
    )
    await connected(one, google, calendar)
    for days in (2, 3):
        zoom.record(account, NUMBER, at(-days), BOB, topic=f"Topic {days}")
    mine = await connected(one, zoom, account)
    item = (await items(one, mine))["Topic 2"]["id"]
    assert (await one.gateway.rest("POST", f"/integrations/{mine}/items/{item}/ignore", one.headers())).is_success
    found = await meetings(one)
    assert [found[name]["metadata"].get("transcript") for name in ("Left", "Kept")] == [None, WORDS]
    assert (await one.gateway.rest("DELETE", f"/integrations/{mine}", one.headers())).status_code == 204
    await work(one)
    assert [token for token, grant in (zoom.access | zoom.refresh).items() if grant.account == account] == []
    assert await one.rows(IntegrationAccount.integration_id) == []
    google.put(calendar, meeting("Kept", at(-3), subject="Kept on", location=JOIN))
    [(other,)] = await one.rows(Integration.id)
    await sync(one, other)
    kept = (await meetings(one))["Kept on"]
    assert (kept["metadata"]["transcript"], kept["sync"]["overriddenFields"]) == (
        WORDS,
        ["RECORDING_URL", "TRANSCRIPT"],
    )
    assert (await tell(one.gateway.http, "recording.completed", account)).status_code == 204
    assert await work(one) == []

    again = await connected(one, zoom, account)
    assert set(await meetings(one)) == {"Left", "Kept on"}
    less = {"settings": {"visibility": "subject_only"}}
    zoom.record(account, NUMBER, at(-1), BOB, topic="Narrowed")
    await sync(one, again)
    narrowed = (await meetings(one))["Narrowed"]
    assert narrowed["metadata"]["transcript"] == WORDS
    assert (await one.gateway.rest("PATCH", f"/integrations/{again}", one.headers(), less)).is_success
    await work(one)
    narrowed = (await meetings(one))["Narrowed"]
    assert {"transcript", "recording_url"} & set(narrowed["metadata"]) == set()
    assert WORDS not in str(await one.rows(SyncItem.body))


async def test_a_permission_that_is_missing_is_named(one: Tenant, zoom: Zoom) -> None:
    """An app that administrators manage has permissions of other names (decision 982)."""
    begun = await begin(one, provider="zoom")
    asked = zoom.consent(begun["authorization_url"], zoom.account(), ALL[:2])
    told = (await come_back(one, asked, "/integrations/callback/zoom")).json()
    answer = await complete(one, told)
    assert (answer.status_code, ALL[2] in answer.text) == (409, True)
    begun = await begin(one, provider="zoom")
    asked = zoom.consent(begun["authorization_url"], zoom.account(), (*ALL, *(f"{each}:admin" for each in ALL)))
    told = (await come_back(one, asked, "/integrations/callback/zoom")).json()
    mine = (await complete(one, told)).json()["id"]
    zoom.access = {token: grant for token, grant in zoom.access.items() if setattr(grant, "scopes", ALL[:1]) is None}
    await work(one)
    shown = await connection(one, mine)
    assert (shown["status"], shown["problem"]["code"]) == ("action_required", "scopes_missing")


async def test_words_of_a_transcript_and_dates_of_a_pause() -> None:
    cues = "1\n00:00.000 --> 00:01.000 align:start\nA: one\n2\n\n00:02.000 --> 00:03.000\nB"
    assert spoken(f"WEBVTT\n\nNOTE x\nof two lines\n\n{cues}") == "A: one\n2\nB"
    many = "WEBVTT\n\n00:00.000 --> 00:01.000\n" + "x" * (TRANSCRIPT_KEPT + 1)
    assert (spoken(""), len(spoken(many))) == ("", TRANSCRIPT_KEPT)
    present = datetime(2026, 5, 30, 23, 50, tzinfo=UTC)
    assert [waiting(text, present) for text in ("2026-05-31T00:00:00Z", "2026-05-31", "2026-13-31T00:00:00Z")] == [
        *(600.0, 600.0, None)
    ]
