"""Reminders of tasks: each told once, soon after its time, whichever worker is there, or was not (decision 231)."""

from __future__ import annotations

import asyncio
import os
import signal
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlmodel import col

from jobs.reminders import BATCH, remind
from resolvers.tasks import (
    TaskCompletion,
    TaskCreate,
    TaskUpdate,
    complete_task,
    create_task,
    reopen_task,
    update_task,
)
from storage.base import now
from storage.tables import Activity, Event, ReminderWatch
from tests.jobs.conftest import Workers
from tests.jobs.test_processes import process
from tests.support.statements import statements as sent_to
from tests.support.world import World

SOON = timedelta(seconds=0.5)
PAST = timedelta(minutes=-1)


async def task(world: World, delay: timedelta | None, **more: Any) -> str:
    context = await world.context("member@one", world.one)
    remind_at = None if delay is None else now() + delay
    made = await create_task(context, TaskCreate(subject="T", remind_at=remind_at, **more))
    assert made is not None
    return made.id


async def told(world: World) -> list[tuple[str, datetime, Any]]:
    """The reminders in the change log, in their order."""
    wanted = select(Event).where(col(Event.org_id) == world.one.id, col(Event.type) == "task_reminded")
    async with world.database.reading(world.one.id) as session:
        events = await session.find_all(wanted.order_by(col(Event.sequence)))
    return [(event.data["task_id"], event.occurred_at, event) for event in events]


async def until_told(world: World, number: int) -> list[tuple[str, datetime, Any]]:
    async with asyncio.timeout(30):
        while True:
            found = await told(world)
            if len(found) >= number:
                return found
            await asyncio.sleep(0.05)


async def watched(world: World) -> list[datetime]:
    async with world.database.directory() as session:
        return [row.next_at for row in await session.rows(select(col(ReminderWatch.next_at)))]


async def test_a_reminder_is_told_once_and_taken_off_its_task(world: World, workers: Workers) -> None:
    first, second = await task(world, SOON), await task(world, timedelta(days=1))
    for _ in range(3):
        workers.start()
    [(told_of, _, event)] = await until_told(world, 1)
    await asyncio.sleep(2.5)  # two more turns of each worker
    assert told_of == first
    assert len(await told(world)) == 1
    assert (event.area, event.actor, event.data["owner_id"]) == ("crm", "system", "member@one")
    async with world.database.reading(world.one.id) as session:
        rows = await session.rows(select(col(Activity.id), col(Activity.remind_at), col(Activity.version)))
    assert {row.id: (row.remind_at is None, row.version) for row in rows} == {first: (True, 2), second: (False, 1)}
    [next_at] = await watched(world)
    assert next_at > now() + timedelta(hours=23)


async def test_done_tasks_are_not_reminded_until_they_are_open_again(world: World) -> None:
    context = await world.context("member@one", world.one)
    done, unset = await task(world, PAST), await task(world, PAST)
    await complete_task(context, done, TaskCompletion())
    await update_task(context, unset, TaskUpdate(remind_at=None))
    await remind(world.database)
    assert await told(world) == []
    assert await watched(world) == []
    await reopen_task(context, done)
    await update_task(context, unset, TaskUpdate(remind_at=now()))
    await remind(world.database)
    assert sorted(i for i, *_ in await told(world)) == sorted((done, unset))


async def test_many_that_are_due_at_once(world: World) -> None:
    """More than a batch, in few statements, numbered without a gap; workers that race tell none twice."""
    context = await world.context("member@one", world.one)
    made = [Activity(type="task", subject="T", remind_at=now() + PAST, org_id=world.one.id) for _ in range(BATCH + 3)]
    await world.add(world.one, *made)
    last = await create_task(context, TaskCreate(subject="T", remind_at=now() + PAST))  # which has them looked for
    assert last is not None
    with sent_to(world.database) as sent:
        await asyncio.gather(*(remind(world.database) for _ in range(3)))
    assert len(sent) < 100
    found = await told(world)
    assert sorted(i for i, *_ in found) == sorted([*(each.id for each in made), last.id])
    numbers = [event.sequence for *_, event in found]
    assert numbers == list(range(numbers[0], numbers[0] + BATCH + 4))
    assert await watched(world) == []


async def test_what_is_written_while_workers_look_is_not_forgotten(world: World) -> None:
    """A reminder that is set in a transaction beside the workers' own is told by a later look."""
    context = await world.context("member@one", world.one)
    stopping = asyncio.Event()

    async def look() -> None:
        while not stopping.is_set():
            await remind(world.database)
            await asyncio.sleep(0)

    lookers = [asyncio.create_task(look()) for _ in range(2)]
    made = []
    for _ in range(40):
        row = await create_task(context, TaskCreate(subject="T", remind_at=now()))
        made.append(row.id if row else "")
    await until_told(world, 40)
    stopping.set()
    await asyncio.gather(*lookers)
    assert sorted(i for i, *_ in await told(world)) == sorted(made)


@pytest.mark.long
async def test_a_killed_worker_s_reminders_are_told_by_the_next_one(
    world: World, database_url: str, tmp_path: Path
) -> None:
    """Also those that were due while no worker was there; and, with one there, within two seconds."""
    first = await task(world, SOON)
    with process(tmp_path, "worker", CRM_DATABASE_URL=database_url) as worker:
        await until_told(world, 1)
        os.kill(worker.pid, signal.SIGKILL)
        assert worker.wait() == -signal.SIGKILL
    missed = [await task(world, PAST), await task(world, timedelta(seconds=0.1))]
    await asyncio.sleep(0.5)
    with process(tmp_path, "worker", CRM_DATABASE_URL=database_url) as worker:
        await until_told(world, 3)
        due = now() + SOON
        context = await world.context("member@one", world.one)
        punctual = await create_task(context, TaskCreate(subject="T", remind_at=due))
        found = await until_told(world, 4)
        assert punctual is not None
        assert found[3][0] == punctual.id
        assert due <= found[3][1] < due + timedelta(seconds=2)
        worker.terminate()
        assert worker.wait(60) == 0
    assert [i for i, *_ in found] == [first, *missed, punctual.id]
