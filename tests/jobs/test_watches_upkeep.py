"""What is due is looked for although nobody noted it: an organization that was put back has rows and no watches."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from sqlalchemy import delete, select
from sqlmodel import col

from contract.vocabulary import ReportKind
from jobs import reminders, report_schedules
from jobs.queue import enqueue
from jobs.upkeep import Upkeep
from jobs.watches_upkeep import NEXT, mend
from resolvers.report_inputs import ReportCreate
from resolvers.reports import create_report
from resolvers.tasks import TaskCreate, create_task
from storage.base import now
from storage.database import Database
from storage.queries.organization_rows import DERIVED
from storage.tables import (
    Activity,
    Event,
    Job,
    QueuedJob,
    ReminderWatch,
    Report,
    ReportRun,
    ReportWatch,
    WebhookWatch,
)
from storage.tenancy.sessions import TenantSession
from tests.support.statements import statements as sent_to
from tests.support.world import World

PAST = timedelta(minutes=-1)


async def put_back(world: World) -> None:
    """A task and a report that are due, as the rows of an `org export` say it."""
    context = await world.context("member@one", world.one)
    schedule = {"frequency": "daily", "to": ["ada@example.com"]}
    task = await create_task(context, TaskCreate(subject="T", remind_at=now() + timedelta(hours=1)))
    admin = await world.context("admin@one", world.one)
    report = await create_report(
        admin, ReportCreate.model_validate({"name": "R", "kind": ReportKind.PIPELINE_BY_STAGE, "schedule": schedule})
    )
    assert task is not None
    async with world.database.writing(world.one.id) as session:
        made = await session.find(Activity, id=task.id, lock=True)
        assert made is not None
        await session.update(made, remind_at=now() + PAST)
        found = await session.find(Report, id=report.id, lock=True)
        assert found is not None
        await session.update(found, next_at=now() + PAST)
        for watch in (ReminderWatch, ReportWatch):
            await session.execute(delete(watch).where(col(watch.org_id) == session.org_id))


async def became(world: World) -> tuple[int, int]:
    """How many reminders were told, and how many runs were made."""
    await reminders.remind(world.database)
    await report_schedules.fire(world.database, 50)
    async with world.database.reading(world.one.id) as session:
        own = col(Event.org_id) == world.one.id, col(Event.type) == "task_reminded"
        told = await session.rows(select(col(Event.id)).where(*own))
        runs = await session.rows(select(col(ReportRun.id)).where(col(ReportRun.org_id) == world.one.id))
    return len(told), len(runs)


async def test_what_is_due_is_found_by_upkeep(world: World) -> None:
    """Decision 950."""
    await put_back(world)
    assert await became(world) == (0, 0)
    upkeep = Upkeep(world.database)
    for _ in range(4):  # an organization in each turn
        await upkeep.turn()
    assert await became(world) == (1, 1)


async def test_a_watch_that_comes_too_late_is_moved_and_others_stay(world: World) -> None:
    await put_back(world)
    async with world.database.writing(world.one.id) as session:
        await session.insert(ReportWatch(org_id=world.one.id, next_at=now() + timedelta(days=1)))
        await session.insert(ReminderWatch(org_id=world.one.id, next_at=now() + 2 * PAST))
    await mend(world.database, world.one.id)
    async with world.database.directory() as session:
        [kept] = await session.rows(select(col(ReminderWatch.next_at)))
        [moved] = await session.rows(select(col(ReportWatch.next_at)))
    assert kept.next_at < now() + PAST
    assert moved.next_at <= now() + PAST
    with sent_to(world.database) as sent:
        await mend(world.database, world.one.id)
    reads = ("SELECT", "WITH TENANT_SCOPE")
    assert not [text for text in sent if not text.lstrip().upper().startswith(reads)], "nothing is left to be written"


async def test_what_fails_for_one_organization_is_done_for_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Decision 993."""
    await put_back(world)
    await mend(world.database, world.one.id)
    async with world.database.writing(world.two.id) as session:
        await session.insert(ReportWatch(org_id=world.two.id, next_at=now() + 2 * PAST))
    fire = report_schedules.report_schedules.due

    async def due(session: TenantSession, moment: datetime, size: int) -> Sequence[Report]:
        if session.org_id == world.two.id:
            raise ZeroDivisionError("what nobody thought of: ada@example.com")
        return await fire(session, moment, size)

    monkeypatch.setattr(report_schedules.report_schedules, "due", due)
    assert await became(world) == (1, 1)
    [line] = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert f"organization={world.two.id} of=report type=ZeroDivisionError" in line
    assert "ada@" not in line
    async with world.database.directory() as session:
        watches = await session.rows(select(col(ReportWatch.org_id), col(ReportWatch.next_at)))
    put_off = {row.org_id: row.next_at for row in watches}[world.two.id]
    assert now() < put_off < now() + timedelta(minutes=2)


async def test_jobs_that_were_put_back_are_done(world: World) -> None:
    """Decision 992."""
    async with world.database.writing(world.one.id) as session:
        waiting = await enqueue(session, "some_work", {})
        await session.insert(Job(org_id=world.one.id, kind="some_work", arguments={}, status="succeeded"))
        await session.execute(delete(QueuedJob).where(col(QueuedJob.org_id) == session.org_id))
    await mend(world.database, world.one.id)
    async with world.database.reading(world.one.id) as session:
        places = await session.rows(select(col(QueuedJob.job_id)).where(col(QueuedJob.org_id) == session.org_id))
    assert [place.job_id for place in places] == [waiting.id]


async def test_every_watch_of_a_moment_is_among_them() -> None:
    known = {str(table.__tablename__) for table, _ in NEXT}
    assert known == {name for name in DERIVED if name.endswith("_watches")} - {str(WebhookWatch.__tablename__)}


async def test_what_cannot_be_forgotten_of_one_organization_holds_up_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decision 993."""
    seen = []

    async def failing(_: Database, org_id: str) -> bool:
        seen.append(org_id)
        raise RuntimeError("of this organization alone")

    monkeypatch.setattr("jobs.upkeep.prune", failing)
    upkeep = Upkeep(world.database)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            await upkeep.turn()
    assert len(set(seen)) == 2
