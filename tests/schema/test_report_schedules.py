"""Schedules of reports: each moment one run, by whichever worker, as the report's owner, to members."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.vocabulary import SYSTEM_ACTOR
from jobs import report_schedules
from jobs.mails import today
from storage.base import now
from storage.tables import Event, Job, Mail, Report, ReportRun, ReportWatch
from tests.isolation.requests import ERRORS
from tests.records.test_mails import MAIL, Script, mailing, settled
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCHEDULE = "schedule { frequency at weekday dayOfMonth timeZone to formats nextAt pausedReason }"
CREATE = (
    f"mutation($i: ReportCreateInput!) {{ reportCreate(input: $i) {{ report {{ id version {SCHEDULE} }} {ERRORS} }} }}"
)
UPDATE = f"""mutation($id: ID!, $i: ReportUpdateInput!) {{
  reportUpdate(id: $id, input: $i) {{ report {{ id version {SCHEDULE} }} {ERRORS} }} }}"""
READ = f"query($id: ID!) {{ report(id: $id) {{ id version {SCHEDULE} }} }}"
RUNS = f"query($id: ID!) {{ report(id: $id) {{ runs {{ nodes {{ id status requestedBy error {MAIL} }} }} }} }}"
DELETE = f"mutation($id: ID!) {{ reportDelete(id: $id) {{ deletedId {ERRORS} }} }}"
DAILY = {"frequency": "DAILY", "to": ["viewer@example.com"]}
NAMED = {"name": "Won", "kind": "WON_LOST_BY_MONTH"}


async def saved(tenant: Tenant, role: str = "member", schedule: Any = DAILY, **fields: Any) -> Any:
    made = await tenant.ask(CREATE, tenant.headers(role), i={**NAMED, "schedule": schedule, **fields})
    assert made["userErrors"] == []
    return made["report"]


async def make_due(tenant: Tenant, report: str, moment: datetime) -> None:
    """Have the schedule's next moment be this one."""
    async with tenant.gateway.world.database.writing(tenant.id) as session:
        found = await session.find(Report, id=report, lock=True)
        assert found is not None
        assert found.schedule is not None
        await session.update(found, next_at=moment, schedule=report_schedules.moved(found.schedule, moment))
        watched = await session.find(ReportWatch, org_id=tenant.id, lock=True)
        assert watched is not None
        await session.update(watched, next_at=moment)


async def fire(tenant: Tenant, most: int = 50) -> None:
    await report_schedules.fire(tenant.gateway.world.database, most)


async def runs(tenant: Tenant, report: str) -> Any:
    return (await tenant.ask(RUNS, tenant.headers("admin"), id=report))["runs"]["nodes"]


async def test_a_schedule_is_set_shown_changed_and_taken_off(one: Tenant) -> None:
    monthly = {
        "frequency": "MONTHLY",
        "dayOfMonth": 31,
        "at": "07:00",
        "timeZone": "Europe/Berlin",
        "to": ["VIEWER@example.com"],
        "formats": ["PDF", "CSV"],
    }
    report = await saved(one, schedule=monthly)
    shown = report["schedule"]
    assert shown == {
        **monthly,
        "weekday": None,
        "to": ["viewer@example.com"],
        "nextAt": shown["nextAt"],
        "pausedReason": None,
    }
    assert datetime.fromisoformat(shown["nextAt"]) > now()
    assert await one.ask(READ, one.headers("viewer"), id=report["id"]) == report
    rest = (await one.gateway.rest("GET", f"/reports/{report['id']}", one.headers())).json()
    assert (rest["schedule"]["frequency"], rest["schedule"]["next_at"]) == ("monthly", shown["nextAt"])
    assert "scheduled_by" not in rest["schedule"]
    same = await one.ask(UPDATE, id=report["id"], i={"schedule": monthly})
    assert same["report"] == report  # nothing changed, so nothing is told
    weekly = {"frequency": "WEEKLY", "weekday": "MONDAY", "to": ["admin@example.com"]}
    changed = (await one.ask(UPDATE, id=report["id"], i={"schedule": weekly}))["report"]
    assert (changed["schedule"]["at"], changed["schedule"]["weekday"], changed["version"]) == ("07:00", "MONDAY", 2)
    kept = (await one.ask(UPDATE, id=report["id"], i={"name": "Other"}))["report"]
    assert kept["schedule"] == changed["schedule"]
    off = (await one.ask(UPDATE, id=report["id"], i={"schedule": None}))["report"]
    assert off["schedule"] is None
    assert await one.rows(Report.next_at, Report.scheduled_by) == [(None, None)]
    told = [data for type, data in await one.rows(Event.type, Event.data) if type == "report_updated"]
    assert [data["changed"] for data in told] == [["schedule"], ["name"], ["schedule"]]
    rested = await one.gateway.rest(
        "PATCH",
        f"/reports/{report['id']}",
        one.headers(),
        {"schedule": {"frequency": "daily", "to": ["viewer@example.com"]}},
    )
    assert (rested.status_code, rested.json()["schedule"]["at"]) == (200, "07:00")


@pytest.mark.parametrize(
    ("schedule", "field"),
    [
        ({"frequency": "MONTHLY", "dayOfMonth": 32}, ["dayOfMonth"]),
        ({"frequency": "MONTHLY", "dayOfMonth": 0}, ["dayOfMonth"]),
        ({"frequency": "MONTHLY"}, ["dayOfMonth"]),
        ({"frequency": "WEEKLY"}, ["weekday"]),
        ({"frequency": "DAILY", "weekday": "MONDAY"}, ["weekday"]),
        ({"frequency": "WEEKLY", "weekday": "MONDAY", "dayOfMonth": 1}, ["dayOfMonth"]),
        *(({"at": at}, ["at"]) for at in ("25:00", "24:00", "7:00", "07:60", "07:00:00", "", "٠٧:٠٠", "07:00\n")),
        ({"timeZone": "Berlin"}, ["timeZone"]),
        ({"to": []}, ["to"]),
        ({"to": [f"a{n}@example.com" for n in range(21)]}, ["to"]),
        ({"to": ["viewer@example.com", "stranger@example.org"]}, ["to", "1"]),
        ({"to": ["viewer@example.com\nBcc: x@example.org"]}, ["to", "0"]),
        ({"formats": ["PDF", "PDF"]}, ["formats"]),
    ],
)
async def test_what_is_wrong_is_told_at_its_field_and_nothing_is_saved(
    one: Tenant, schedule: dict[str, Any], field: list[str]
) -> None:
    answer = await one.ask(CREATE, i={**NAMED, "schedule": DAILY | schedule})
    place = ["input", "schedule", *field]
    assert [(p["code"], p["field"]) for p in answer["userErrors"]] == [("VALIDATION", place)]
    assert await one.rows(Report.id) == await one.rows(Event.id) == await one.rows(ReportWatch.next_at) == []
    report = await saved(one)
    answer = await one.ask(UPDATE, id=report["id"], i={"schedule": DAILY | schedule})
    assert [(p["code"], p["field"]) for p in answer["userErrors"]] == [("VALIDATION", place)]
    assert await one.ask(READ, id=report["id"]) == report


async def test_a_moment_is_one_run_and_one_message(one: Tenant) -> None:
    report = await saved(one, schedule={**DAILY, "formats": ["CSV"]})
    await make_due(one, report["id"], now() - timedelta(seconds=1))
    await asyncio.gather(*(fire(one) for _ in range(8)))  # as many workers
    [run] = await runs(one, report["id"])
    assert (run["requestedBy"], run["mail"]["to"]) == (SYSTEM_ACTOR, ["viewer@example.com"])
    async with mailing(one, Script()) as script:
        done = await settled(one, run["id"])
        assert (done["status"], done["mail"]["status"], len(done["files"])) == ("SUCCEEDED", "SENT", 1)
    assert [letter.subject for letter in script.letters] == ["Won"]
    moved = (await one.ask(READ, id=report["id"]))["schedule"]
    assert datetime.fromisoformat(moved["nextAt"]) > now()
    told = [(type, actor) for type, actor in await one.rows(Event.type, Event.actor) if type == "report_emailed"]
    assert told == [("report_emailed", SYSTEM_ACTOR)]
    assert len(await one.rows(ReportRun.id)) == 1
    [(watched,)] = await one.rows(ReportWatch.next_at)
    assert watched == datetime.fromisoformat(moved["nextAt"])


async def test_a_moment_that_was_run_is_never_run_again(one: Tenant) -> None:
    """Whatever becomes of the schedule's row, the run holds its moment."""
    report = await saved(one)
    moment = now() - timedelta(seconds=1)
    await make_due(one, report["id"], moment)
    await fire(one)
    await make_due(one, report["id"], moment)
    await fire(one)
    assert len(await one.rows(ReportRun.id)) == len(await one.rows(Mail.id)) == 1
    await one.ask(UPDATE, id=report["id"], i={"schedule": None})


async def test_after_an_outage_there_is_one_run(one: Tenant) -> None:
    report = await saved(one)
    await make_due(one, report["id"], now() - timedelta(days=40))
    await fire(one)
    await fire(one)
    assert len(await runs(one, report["id"])) == 1
    assert (
        timedelta()
        < datetime.fromisoformat((await one.ask(READ, id=report["id"]))["schedule"]["nextAt"]) - now()
        <= timedelta(days=1)
    )


async def test_nothing_runs_before_its_moment_or_after_it_is_taken_off(one: Tenant) -> None:
    report = await saved(one)
    await make_due(one, report["id"], now() + timedelta(seconds=60))
    await fire(one)
    assert await runs(one, report["id"]) == []
    await make_due(one, report["id"], now() - timedelta(seconds=1))
    await one.ask(UPDATE, id=report["id"], i={"schedule": None})
    await fire(one)
    assert await runs(one, report["id"]) == []
    assert await one.rows(ReportWatch.next_at) == []
    await one.ask(UPDATE, id=report["id"], i={"schedule": DAILY})
    await make_due(one, report["id"], now() - timedelta(seconds=1))
    assert (await one.ask(DELETE, id=report["id"]))["userErrors"] == []
    await fire(one)
    assert await one.rows(ReportRun.id) == []


@pytest.mark.parametrize("how", ["left", "suspended"])
async def test_an_owner_who_may_not_read_any_more_pauses_it(one: Tenant, how: str) -> None:
    report = await saved(one)
    verb = "memberRemove" if how == "left" else "memberDeactivate"
    await one.ask(f'mutation {{ {verb}(id: "{one.subject()}") {{ {ERRORS} }} }}', one.headers("admin"))
    await make_due(one, report["id"], now() - timedelta(seconds=1))
    await fire(one)
    paused = (await one.ask(READ, one.headers("admin"), id=report["id"]))["schedule"]
    assert paused["nextAt"] is None
    assert paused["pausedReason"] == "The owner does not belong to the organization any more"
    assert await runs(one, report["id"]) == []
    assert await one.rows(Mail.id) == await one.rows(Job.id) == []
    told = [data for type, data in await one.rows(Event.type, Event.data) if type == "report_schedule_paused"]
    assert told == [{"report_id": report["id"]}]
    resumed = await one.ask(
        UPDATE, one.headers("admin"), id=report["id"], i={"ownerId": one.subject("admin"), "schedule": DAILY}
    )
    assert (resumed["userErrors"], resumed["report"]["schedule"]["pausedReason"]) == ([], None)
    assert resumed["report"]["schedule"]["nextAt"] is not None


async def test_a_time_zone_that_is_gone_pauses_it_and_stops_no_other(one: Tenant, two: Tenant) -> None:
    """Decision 952: a worker with another database of time zones goes on with all that it can."""
    gone, other, theirs = await saved(one), await saved(one), await saved(two)
    async with one.gateway.world.database.writing(one.id) as session:
        found = await session.find(Report, id=gone["id"], lock=True)
        assert found is not None
        assert found.schedule is not None
        await session.update(found, schedule={**found.schedule, "time_zone": "Atlantis/Poseidonis"})
    for tenant, report in ((one, gone), (one, other), (two, theirs)):
        await make_due(tenant, report["id"], now() - timedelta(seconds=1))
    await fire(one)
    paused = (await one.ask(READ, id=gone["id"]))["schedule"]
    assert (paused["nextAt"], paused["pausedReason"]) == (None, "Its time zone is not known here any more")
    assert await runs(one, gone["id"]) == []
    assert [len(await runs(*each)) for each in ((one, other["id"]), (two, theirs["id"]))] == [1, 1]
    resumed = await one.ask(UPDATE, id=gone["id"], i={"schedule": DAILY})
    assert resumed["report"]["schedule"]["nextAt"] is not None


async def test_a_schedule_needs_an_owner_who_may_read_what_it_tells(one: Tenant) -> None:
    await one.scoped("api:read", name="reader")
    report = await saved(one, kind="ACTIVITY_BY_OWNER")
    refused = await one.ask(UPDATE, id=report["id"], i={"ownerId": one.subject("reader")})
    assert [(p["code"], p["field"]) for p in refused["userErrors"]] == [("VALIDATION", ["input", "ownerId"])]
    assert await one.ask(READ, id=report["id"]) == report
    gone = f'mutation {{ memberUpdate(id: "{one.subject()}", role: VIEWER) {{ {ERRORS} }} }}'
    await one.ask(gone, one.headers("admin"))
    await make_due(one, report["id"], now() - timedelta(seconds=1))
    await fire(one)
    assert len(await runs(one, report["id"])) == 1  # a viewer reads activities, and goes on owning


async def test_addresses_of_others_need_an_administrator_also_when_it_runs(one: Tenant) -> None:
    outside = {**DAILY, "to": ["stranger@example.org"]}
    report = await saved(one, role="admin", schedule=outside)
    await make_due(one, report["id"], now() - timedelta(seconds=1))
    await fire(one)
    [run] = await runs(one, report["id"])
    async with mailing(one, Script()) as script:
        await settled(one, run["id"])
    assert [list(letter.still_to) for letter in script.letters] == [["stranger@example.org"]]
    await one.ask(
        f'mutation {{ memberUpdate(id: "{one.subject()}", role: ADMIN) {{ {ERRORS} }} }}', one.headers("admin")
    )
    await one.ask(
        f'mutation {{ memberUpdate(id: "{one.subject("admin")}", role: MEMBER) {{ {ERRORS} }} }}', one.headers("member")
    )
    await make_due(one, report["id"], now() - timedelta(seconds=1))
    await fire(one)
    assert len(await runs(one, report["id"])) == 1
    paused = (await one.ask(READ, id=report["id"]))["schedule"]
    assert paused["pausedReason"] == "None of the addresses is a member's any more"


async def test_beyond_the_messages_of_a_day_files_are_made_and_it_is_told(one: Tenant) -> None:
    report = await saved(one, schedule={**DAILY, "formats": ["CSV"]})
    await one.add(Mail(subject="x", recipients=[], asked_by="x", created_at=today(now())))
    await make_due(one, report["id"], now() - timedelta(seconds=1))
    await fire(one, most=1)
    [run] = await runs(one, report["id"])
    assert run["mail"]["status"] == "FAILED"
    async with mailing(one, Script()) as script, one.gateway.runtime.working(), asyncio.timeout(60):
        while (await runs(one, report["id"]))[0]["status"] != "SUCCEEDED":  # noqa: ASYNC110  # a worker's own pace
            await asyncio.sleep(0.05)
    assert script.letters == []
    assert "1 messages" in run["mail"]["error"]


async def test_schedules_of_another_organization_are_nobodys(one: Tenant, two: Tenant) -> None:
    mine, theirs = await saved(one), await saved(two)
    assert await two.ask(READ, id=mine["id"]) is None
    [missing] = (await two.ask(UPDATE, id=mine["id"], i={"schedule": None}))["userErrors"]
    assert missing["code"] == "NOT_FOUND"
    await make_due(one, mine["id"], now() - timedelta(seconds=1))
    await fire(two)  # a worker works for all
    assert len(await runs(one, mine["id"])) == 1
    assert await runs(two, theirs["id"]) == []
    assert len(await two.rows(Mail.id)) == 0


async def test_a_worker_finds_what_is_due_by_itself(one: Tenant) -> None:
    report = await saved(one, schedule={**DAILY, "formats": ["CSV"]})
    await make_due(one, report["id"], now() + timedelta(seconds=1))
    async with mailing(one, Script()) as script, one.gateway.runtime.working(), asyncio.timeout(60):
        while not script.letters:  # noqa: ASYNC110  # a worker's own pace
            await asyncio.sleep(0.05)
    assert len(await runs(one, report["id"])) == 1


async def test_a_schedule_keeps_what_it_was_asked_for() -> None:
    kept = {"frequency": "monthly", "at": "07:00", "weekday": None, "day_of_month": 1, "time_zone": "Europe/Berlin"}
    rhythm = report_schedules.rhythm_of(kept)
    assert rhythm.after(datetime(2026, 3, 2, tzinfo=UTC)) == datetime(2026, 4, 1, 5, tzinfo=UTC)
