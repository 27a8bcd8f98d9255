"""What is due is looked for although nobody noted it: an organization that was put back has rows and no watches."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete, select
from sqlmodel import col

from contract.vocabulary import ReportKind
from jobs import reminders, report_schedules
from jobs.upkeep import Upkeep
from jobs.watches_upkeep import NEXT, mend
from resolvers.report_inputs import ReportCreate
from resolvers.reports import create_report
from resolvers.tasks import TaskCreate, create_task
from storage.base import now
from storage.queries.organization_rows import DERIVED
from storage.tables import Activity, Event, ReminderWatch, Report, ReportRun, ReportWatch, WebhookWatch
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
    assert not [text for text in sent if not text.lstrip().upper().startswith("SELECT")], (
        "nothing is left to be written"
    )


async def test_every_watch_of_a_moment_is_among_them() -> None:
    known = {str(table.__tablename__) for table, _ in NEXT}
    assert known == {name for name in DERIVED if name.endswith("_watches")} - {str(WebhookWatch.__tablename__)}
