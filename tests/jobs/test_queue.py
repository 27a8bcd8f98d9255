"""The port: a job exists with its transaction or not at all, and is seen by its organization only (decision 32)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from contract.vocabulary import JobStatus
from jobs.queue import enqueue, schedule, status, supersede
from jobs.work import Run, work
from storage.base import now
from storage.tables import Job, QueuedJob
from tests.jobs.conftest import Workers, until
from tests.support.world import World


async def queue(world: World) -> list[Any]:
    async with world.database.directory() as session:
        return list(await session.rows(select(QueuedJob.org_id, QueuedJob.job_id, QueuedJob.due_at, QueuedJob.holder)))


async def test_a_job_is_enqueued_with_its_transaction(world: World) -> None:
    before = now()
    async with world.database.writing(world.one.id) as session:
        job = await enqueue(session, "some_work", {"to": "Ada", "n": [1, None]})
    async with world.database.reading(world.one.id) as session:
        row = await status(session, job.id)
    assert (row.kind, row.status, row.attempts, row.error, row.progress) == ("some_work", "queued", 0, None, 0.0)
    assert (row.arguments, row.started_at, row.finished_at) == ({"to": "Ada", "n": [1, None]}, None, None)
    [entry] = await queue(world)
    assert (entry.org_id, entry.job_id, entry.holder) == (world.one.id, job.id, None)
    assert before <= entry.due_at <= now()


async def test_an_appending_session_will_do(world: World) -> None:
    async with world.database.writing(world.one.id) as session:
        job = await enqueue(session, "some_work", {"n": 1}, delay=timedelta(hours=1))
    async with world.database.reading(world.one.id) as session:
        assert (await status(session, job.id)).arguments == {"n": 1}
    [entry] = await queue(world)
    assert (entry.org_id, entry.job_id) == (world.one.id, job.id)
    assert timedelta(minutes=59) < entry.due_at - now() <= timedelta(hours=1)


async def test_no_job_without_its_transaction(world: World) -> None:
    before = await world.dump()

    async def broken() -> None:
        async with world.database.writing(world.one.id) as session:
            await enqueue(session, "some_work", {})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await broken()
    assert await world.dump() == before


async def test_status_knows_the_organizations_own_jobs_only(world: World) -> None:
    async with world.database.writing(world.one.id) as session:
        job = await enqueue(session, "some_work", {})
    async with world.database.reading(world.two.id) as session:
        assert await status(session, job.id) is None
        assert await status(session, "nonsense") is None
    async with world.database.writing(world.two.id) as session:
        assert await supersede(session, job.id) is False
    assert len(await queue(world)) == 1


async def test_one_unfinished_job_of_a_key(world: World) -> None:
    async def once(organization: str, kind: str, key: str) -> str:
        async with world.database.writing(organization) as session:
            return (await enqueue(session, kind, {}, key=key)).id

    ids = await asyncio.gather(*(once(world.one.id, "render", "a") for _ in range(5)))
    assert len(set(ids)) == 1
    others = [await once(world.one.id, "render", "b"), await once(world.one.id, "scrape", "a")]
    others.append(await once(world.two.id, "render", "a"))
    assert len({*ids, *others}) == 4 == len(await queue(world))

    async with world.database.writing(world.one.id) as session:
        assert await supersede(session, ids[0]) is True
        again = await enqueue(session, "render", {"n": 2}, key="a")
    assert again.id not in ids
    assert again.arguments == {"n": 2}


async def test_a_waiting_job_is_superseded(world: World, workers: Workers) -> None:
    done = []

    @work("note")
    async def note(run: Run, n: int) -> None:
        done.append(n)

    async with world.database.writing(world.one.id) as session:
        first = await enqueue(session, "note", {"n": 1})
        assert await supersede(session, first.id) is True
        assert await supersede(session, first.id) is False
        second = await enqueue(session, "note", {"n": 2})
    workers.start()
    await until(world, second.id, JobStatus.SUCCEEDED)
    async with world.database.reading(world.one.id) as session:
        row = await status(session, first.id)
    assert (row.status, row.attempts, row.started_at) == ("superseded", 0, None)
    assert row.finished_at is not None
    assert done == [2]
    async with world.database.writing(world.one.id) as session:
        assert await supersede(session, second.id) is False


async def test_scheduled_work_is_done_again_and_again_in_one_job(world: World, workers: Workers) -> None:
    attempts = []
    third = asyncio.Event()

    @work("tick", attempts=1)
    async def tick(run: Run) -> None:
        attempts.append(run.attempt)
        if len(attempts) == 1:
            raise ZeroDivisionError
        if len(attempts) == 3:
            third.set()

    async with world.database.writing(world.one.id) as session:
        job = await schedule(session, "tick", {}, every=timedelta(seconds=1))
        assert (await schedule(session, "tick", {}, every=timedelta(seconds=9))).id == job.id
    workers.start()
    async with asyncio.timeout(60):
        await third.wait()
        taken_back = False
        while not taken_back:
            async with world.database.writing(world.one.id) as session:
                taken_back = await supersede(session, job.id)
    assert attempts[:3] == [1, 1, 1]
    async with world.database.reading(world.one.id) as session:
        jobs = await session.rows(select(Job.id, Job.status, Job.error).where(Job.org_id == world.one.id))
    assert [tuple(row) for row in jobs] == [(job.id, "superseded", None)]
