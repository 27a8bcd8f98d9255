"""Runs over a feed at an address: what changes there changes here, and a bad day of the feed removes nothing."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import select
from sqlmodel import col

from contract.integrations import IntegrationProblemCode
from resolvers.shared.pacing import Pacing
from storage.base import new_id, now
from storage.new_rows import new_row
from storage.tables import Activity, Event, Integration, QueuedJob, SyncItem, SyncRun, SyncStream
from tests.integrations.test_refresh import sync
from tests.support.consents import connected
from tests.support.feeds import at, by_address, connection, event, feed, items, meetings, replaced, upload, work
from tests.support.google import Google, meeting
from tests.support.statements import statements
from tests.support.tenants import Tenant
from tests.support.web import Asked, Reply, Web, open_web

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/secret-address/calendar.ics"
CALENDAR = {"Content-Type": "text/calendar"}


def serving(*events: str, **more: Any) -> Reply:
    return Reply(feed(*events).encode(), 200, CALENDAR | more)


def open_feed(reply: Any) -> AbstractAsyncContextManager[Web]:
    return open_web({PATH: reply})


async def problem(tenant: Tenant, integration_id: str) -> str | None:
    shown = (await connection(tenant, integration_id))["problem"]
    return None if shown is None else str(shown["code"])


async def test_changes_come_and_what_is_unchanged_costs_one_call(one: Tenant) -> None:
    async with open_feed(serving(event("a"), event("b", subject="Other"), ETag='"1"')) as web:
        integration_id = await by_address(one, web.url + PATH)
        await work(one)
        assert set(await meetings(one)) == {"Talk", "Other"}

        def unchanged(asked: Asked) -> Reply:
            assert asked.headers["if-none-match"] == '"1"'
            return Reply(b"", 304, {})

        web.replies[PATH] = unchanged
        with statements(one.gateway.world.database) as sent:
            await work(one, anyway=True)
        assert not any("activities" in text or "sync_items" in text for text in map(str, sent))
        [run] = [r for r in (await _runs(one, integration_id)) if r["mode"] == "incremental"]
        assert (run["status"], run["calls"], run["processed"]) == ("succeeded", 1, 0)
        compressed = {"Content-Encoding": "gzip"} | CALENDAR
        moved = feed(event("a", start=at(5), subject="Moved"), event("b", "STATUS:CANCELLED", subject="Other"))
        web.replies[PATH] = Reply(gzip.compress(moved.encode()), 200, compressed)
        await work(one, anyway=True)
        found = await meetings(one)
        assert (set(found), found["Moved"]["dueAt"]) == ({"Moved"}, f"{at(5):%Y-%m-%dT%H:%M:%S}Z")


SEEN = "query($i: ID!) { integrationItems(integrationId: $i) { nodes { subject seenAt } } }"
SOURCES = "{ meetings { nodes { subject sync { sources { seenAt } } } } }"


async def test_a_feed_that_is_as_it_was_was_shown_then(one: Tenant) -> None:
    """Decision 1012."""
    async with open_feed(serving(event("a"), event("b", subject="Old"), ETag='"1"')) as web:
        mine = await by_address(one, web.url + PATH)
        await work(one)

        async def seen() -> dict[str, str]:
            path = f"/integrations/{mine}/items"
            rows = {r["subject"]: r["seen_at"] for r in (await one.gateway.rest("GET", path, one.headers())).json()}
            by_graphql = {n["subject"]: n["seenAt"] for n in (await one.ask(SEEN, i=mine))["nodes"]}
            found = (await one.ask(SOURCES))["nodes"]
            by_source = {n["subject"]: n["sync"]["sources"][0]["seenAt"] for n in found}
            assert rows == by_graphql == by_source
            return rows

        first = await seen()
        web.replies[PATH] = Reply(b"", 304, {})
        await work(one, anyway=True)
        second = await seen()
        assert set(second.values()) == {(await connection(one, mine))["streams"][0]["last_synced_at"]}
        assert all(second[name] > first[name] for name in first)
        web.replies[PATH] = Reply(b"", 500, {})
        await work(one, anyway=True)
        assert await seen() == second


async def _runs(tenant: Tenant, integration_id: str) -> list[Any]:
    path = f"/integrations/{integration_id}/runs"
    runs: list[Any] = (await tenant.gateway.rest("GET", path, tenant.headers())).json()
    return runs


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(b"<html>Sign in</html>"), IntegrationProblemCode.FEED_UNREADABLE),
        (Reply(b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a", 200, CALENDAR), IntegrationProblemCode.FEED_UNREADABLE),
        (Reply(b"", 404, {}), IntegrationProblemCode.FEED_UNREACHABLE),
        (Reply(b"", 500, {}), IntegrationProblemCode.PROVIDER_UNAVAILABLE),
        (Reply(b"", 429, {"Retry-After": "120"}), IntegrationProblemCode.RATE_LIMITED),
        (Reply(b"", 429, {"Retry-After": "Tue, 24 Nov 2099 10:00:00 GMT"}), IntegrationProblemCode.RATE_LIMITED),
        (Reply(b"x" * (10 * 1024 * 1024 + 1), 200, CALENDAR), IntegrationProblemCode.TOO_LARGE),
    ],
)
async def test_a_bad_day_of_the_feed_removes_nothing_and_passes(
    one: Tenant, reply: Reply, code: IntegrationProblemCode
) -> None:
    async with open_feed(serving(event("a"))) as web:
        integration_id = await by_address(one, web.url + PATH)
        await work(one)
        web.replies[PATH] = reply
        for _ in range(2):
            await work(one, anyway=True)
        shown = await connection(one, integration_id)
        assert (shown["status"], shown["problem"]["code"]) == ("active", code.value)
        assert "127.0.0.1" not in shown["problem"]["message"]
        assert shown["problem"]["retry_at"] is not None
        assert set(await meetings(one)) == {"Talk"}
        types = [type for (type,) in await one.rows(Event.type)]
        assert types.count("integration_failed") == 1
        web.replies[PATH] = serving(event("a", subject="Back"))
        await work(one, anyway=True)
        assert (await problem(one, integration_id), set(await meetings(one))) == (None, {"Back"})


async def test_an_empty_feed_and_a_large_removal_wait_for_another_pass_that_agrees(one: Tenant) -> None:
    many = [event(f"e{number}", subject=f"T {number}", start=at(number % 50 + 1)) for number in range(50)]
    async with open_feed(serving(*many)) as web:
        integration_id = await by_address(one, web.url + PATH)
        await work(one)
        assert len(await meetings(one)) == 50
        web.replies[PATH] = serving()
        await work(one, anyway=True)
        assert len(await meetings(one)) == 50
        web.replies[PATH] = serving(*many)
        await work(one, anyway=True)
        assert len(await meetings(one)) == 50
        web.replies[PATH] = serving(*many[:10])
        await work(one, anyway=True)
        assert len(await meetings(one)) == 50
        await work(one, anyway=True)
        assert len(await meetings(one)) == 10
        web.replies[PATH] = serving(*many[:8])
        await work(one, anyway=True)
        assert len(await meetings(one)) == 8
        assert await problem(one, integration_id) is None


class Watched(Pacing):
    """The pace of requests, of which there are so many, with the steps that had their turn."""

    def __init__(self, requests: int = 0) -> None:
        super().__init__()
        self.requests, self.steps, self.asked = requests, 0, asyncio.Event()
        self.others = self._looked

    def _looked(self) -> int:
        self.asked.set()
        return self.requests

    def _first(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None] | None:
        turn = super()._first(loop)
        self.steps += turn is not None
        return turn


async def test_requests_go_first_at_each_step_of_a_run_and_its_steps_are_short(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decision 1175."""
    runtime, pace = one.gateway.runtime, Watched()
    monkeypatch.setattr(runtime, "ports", replace(runtime.ports, paced=pace.paced))
    with statements(one.gateway.world.database) as sent:
        await upload(one, *(event(f"e{n}", subject=f"T {n}") for n in range(120)))
    assert len(await meetings(one)) == 120
    assert sum("INSERT INTO sync_items" in text for text in sent) == 3
    assert pace.steps > len(list(sent)) / 2  # what comes before and after the run's work is not paced


async def test_a_run_waits_while_requests_are_worked_on(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decision 1175."""
    runtime, pace = one.gateway.runtime, Watched(requests=1)
    monkeypatch.setattr("resolvers.shared.pacing._PATIENCE", 3_600.0)
    monkeypatch.setattr(runtime, "ports", replace(runtime.ports, paced=pace.paced))
    with statements(one.gateway.world.database) as sent:
        running = asyncio.create_task(upload(one, event("a", subject="T")))
        async with asyncio.timeout(60):
            await pace.asked.wait()
            await asyncio.sleep(0.2)
            assert not any("INSERT INTO sync_items" in text for text in sent)
            pace.requests = 0
            pace.look()
            await running
    assert set(await meetings(one)) == {"T"}


async def test_a_page_takes_as_many_statements_for_many_as_for_few(one: Tenant, two: Tenant) -> None:
    sizes = []
    for tenant, number in ((one, 8), (two, 48)):
        with statements(tenant.gateway.world.database) as sent:
            await upload(tenant, *(event(f"e{n}", subject=f"T {n}") for n in range(number)))
        sizes.append(len(list(sent)))
        assert len(await meetings(tenant)) == number
    assert sizes[0] == sizes[1]


async def test_two_hundred_meetings_with_where_they_come_from_take_two_more_statements(one: Tenant) -> None:
    many = (event(f"e{n}", subject=f"T {n}", start=at(n % 300 + 1), guest=f"g{n}@out.example") for n in range(200))
    await upload(one, *many)
    sizes = []
    own = "sync { uid recurrenceId conferenceUrl } participants { email name response isOrganizer"
    for more in ("", own + " }", own + " isInternal contact { id } }"):
        numbers = set()
        for first in (20, 200):
            with statements(one.gateway.world.database) as sent:
                page = await one.ask(f"{{ meetings(first: {first}) {{ nodes {{ id {more} }} }} }}")
            numbers.add(len(sent))
            assert len(page["nodes"]) == first
        sizes += numbers
        assert len(numbers) == 1, "as many for 200 as for 20"
    assert {len(each["participants"]) for each in page["nodes"]} == {1}
    assert sizes[1] <= sizes[0] + 2
    assert sizes[2] <= sizes[1] + 4, sent  # the policy, the members' addresses, and the contacts of the addresses


async def test_days_asleep_are_one_run_and_a_run_that_they_cut_off_goes_on(one: Tenant) -> None:
    """A machine that is suspended for days, seen by its clock: nothing is skipped, nothing done twice."""
    days = timedelta(days=3)
    async with open_feed(serving(event("a"), ETag='"1"')) as web:
        integration_id = await by_address(one, web.url + PATH)
        await work(one)
        [before] = await one.rows(Activity.id)
        async with one.gateway.world.database.writing(one.id) as session:
            for queued in await session.find_all(select(QueuedJob).where(col(QueuedJob.org_id) == one.id)):
                await session.update(queued, due_at=queued.due_at - days)
            [stream] = await session.find_all(select(SyncStream).where(col(SyncStream.org_id) == one.id))
            moved = {name: getattr(stream, name) - days for name in ("synced_at", "confirmed_at", "window_from")}
            await session.update(stream, **moved)
        asked = len(web.asked)
        await work(one)
        assert (len(web.asked) - asked, len(await _runs(one, integration_id))) == (1, 2)
        web.replies[PATH] = serving(event("a"), event("b", subject="Other"))
        async with one.gateway.world.database.writing(one.id) as session:  # one that was under way, and holds the job
            cut_off = new_row(SyncRun, integration_id=integration_id, mode="full", status="running", started_at=now())
            await session.insert(cut_off)
            for queued in await session.find_all(select(QueuedJob).where(col(QueuedJob.org_id) == one.id)):
                await session.update(queued, due_at=now() - days, holder=new_id())
        await work(one)
        shown = {each["id"]: each["status"] for each in await _runs(one, integration_id)}
        assert (len(shown), shown[cut_off.id]) == (3, "succeeded")
        assert (len(await meetings(one)), before in await one.rows(Activity.id)) == (2, True)


async def test_an_older_state_that_comes_late_changes_nothing(one: Tenant) -> None:
    integration_id = await upload(one, event("a", "SEQUENCE:3", subject="New"))
    await replaced(one, integration_id, event("a", "SEQUENCE:2", subject="Old"))
    assert set(await meetings(one)) == {"New"}
    await replaced(one, integration_id, event("a", "SEQUENCE:4", subject="Newer"))
    assert set(await meetings(one)) == {"Newer"}


async def test_outlooks_forms_of_an_identifier_are_one_meeting(one: Tenant) -> None:
    head = "040000008200E00074C5B7101A82E008"
    tail = "A0B1C2D3E4F5A6B7000000000000000010000000" + "AB" * 16
    first = await upload(one, event(f"{head}00000000{tail}", subject="Joint"))
    second = await upload(one, event(f"{head}07EA0B18{tail}", subject="Joint"), role="admin")
    wrapped = b"vCal-Uid\x01\x00\x00\x00" + b"plain@google.example\x00"
    await replaced(
        one, first, event(f"{head}00000000{tail}", subject="Joint"), event("plain@google.example", subject="G")
    )
    other = f"{head}00000000{'00' * 16}{len(wrapped):02x}000000{wrapped.hex()}"
    third = await upload(one, event(other, subject="G"))
    found = await meetings(one)
    assert {s["integrationId"] for s in found["Joint"]["sync"]["sources"]} == {first, second}
    assert {s["integrationId"] for s in found["G"]["sync"]["sources"]} == {first, third}


async def test_the_address_is_in_no_table_log_or_event(one: Tenant, caplog: pytest.LogCaptureFixture) -> None:
    async with open_feed(serving(event("a"))) as web:
        integration_id = await by_address(one, web.url + PATH)
        await work(one)
        web.replies[PATH] = Reply(b"", 500, {})
        await work(one, anyway=True)
        columns = (Integration.sealed, Integration.account_key, Integration.problem_message, Integration.name)
        kept = await one.rows(*columns)
        kept += await one.rows(SyncStream.cursor, SyncStream.name) + await one.rows(Event.data)
        kept += await one.rows(SyncItem.body, SyncItem.hash)
        assert all("secret-address" not in str(value) for row in kept for value in row)
        assert "secret-address" not in caplog.text
        label = (await connection(one, integration_id))["account_label"]
        assert label == "127.0.0.1"


async def test_who_lost_the_scope_is_paused_and_goes_on_with_it(one: Tenant) -> None:
    from contract.scopes import Role
    from storage.queries import members

    integration_id = await upload(one, event("a"))

    async def scopes(*names: str) -> None:
        async with one.gateway.world.database.writing(one.id) as session:
            await members.put_membership(session, one.subject(), role=None, scopes=names)

    await scopes("contacts:read")
    await work(one, anyway=True)
    assert (await connection(one, integration_id, "admin"))["status"] == "paused"
    await scopes(*Role.MEMBER.scopes)
    await work(one, anyway=True)
    assert (await connection(one, integration_id))["status"] == "active"


async def test_what_ends_meanwhile_counts_as_held(one: Tenant) -> None:
    from sqlalchemy import update

    from storage.base import now
    from storage.tables import SyncedMeeting

    await upload(one, event("a"))
    async with one.gateway.world.database.writing(one.id) as session:
        ended = update(SyncedMeeting).where(SyncedMeeting.org_id == one.id).values(pending_end=now())  # type: ignore[arg-type]
        await session.execute(ended)
    await work(one, anyway=True)
    assert (await meetings(one))["Talk"]["state"] == "COMPLETED"
    assert [data for type, data in await one.rows(Event.type, Event.data) if type == "meetings_held"]


async def test_the_items_are_of_this_organization_alone(one: Tenant, two: Tenant) -> None:
    mine = await upload(one, event("a"))
    await upload(two, event("a", subject="Theirs"))
    assert set(await meetings(one)) == {"Talk"}
    assert set(await items(one, mine)) == {"Talk"}
    answer = await two.gateway.rest("GET", f"/integrations/{mine}/items", two.headers("admin"))
    assert answer.status_code == 404


@pytest.mark.parametrize("header", ["ETag", "Last-Modified"])
async def test_a_version_that_cannot_be_sent_back_is_not(one: Tenant, header: str) -> None:
    asked: list[Asked] = []

    def answer(request: Asked) -> Reply:
        asked.append(request)
        return serving(event("a"), **{header: '"é"'})

    async with open_feed(answer) as web:
        integration_id = await by_address(one, web.url + PATH)
        await work(one)
        await work(one, anyway=True)
        assert await problem(one, integration_id) is None
        assert len(asked) == 2
        assert not {"if-none-match", "if-modified-since"} & asked[1].headers.keys()


@pytest.mark.parametrize("pause", ["0", "Tue, 24 Nov 2020 10:00:00 GMT"])
async def test_a_server_that_asks_to_wait_no_time_is_not_asked_at_once(one: Tenant, pause: str) -> None:
    async with open_feed(Reply(b"", 429, {"Retry-After": pause})) as web:
        integration_id = await by_address(one, web.url + PATH)
        await work(one)
        assert await problem(one, integration_id) == "rate_limited"
        assert len(web.asked) == 1


async def test_a_field_that_is_given_back_in_the_middle_of_a_run_is_filled(one: Tenant, google: Google) -> None:
    """Whichever transaction of the run it comes behind (decision 1032)."""
    account, database = google.account(), one.gateway.world.database
    google.page = 2
    google.put(account, *(meeting(f"m{n}", at(1 + n), subject=f"M {n}") for n in range(4)))
    mine = await connected(one, google, account)
    [meeting_id] = [each["id"] for subject, each in (await meetings(one)).items() if subject == "M 0"]
    change = 'mutation($id: ID!) { meetingUpdate(id: $id, input: {subject: "Mine"}) { userErrors { code } } }'
    release = "mutation($id: ID!) { meetingSyncRelease(id: $id) { userErrors { code } } }"
    end, commits = database.end, 0

    async def ended(taken: Any, organization: str | None, *, commit: bool) -> None:
        nonlocal commits
        await end(taken, organization, commit=commit)
        commits += commit
        if commit and commits == behind:
            assert (await one.ask(release, id=meeting_id))["userErrors"] == []

    for behind in range(1, 10):
        assert (await one.ask(change, id=meeting_id))["userErrors"] == []
        with patch.object(database, "end", ended):
            commits = -1  # asking for the run is one
            await sync(one, mine, full=True)
        assert commits >= behind
        assert set(await meetings(one)) == {"M 0", "M 1", "M 2", "M 3"}, f"behind the transaction {behind}"
