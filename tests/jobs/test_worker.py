"""The worker: what it runs, how often, under whose name, and what a job says afterwards (decisions 32 to 36)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from contract.errors import InvalidState
from contract.vocabulary import JobStatus
from jobs import attempts, long_places
from jobs.long_places import LONG_OF_ONE
from jobs.queue import enqueue, enqueue_each
from jobs.work import LeaseLost, Retry, Run, WorkFailed, work
from jobs.worker import SLOTS_OF_ONE
from storage.base import now
from storage.connection_pool import Taken
from storage.database import Database
from storage.tables import Account, Job, JobWorker, QueuedJob
from tests.jobs.conftest import Workers, until
from tests.support.world import World

DONE = (JobStatus.SUCCEEDED, JobStatus.FAILED)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts follow each other at once; how long they really wait has a test of its own."""
    monkeypatch.setattr(attempts, "_FIRST_PAUSE", 0.01)


async def put(world: World, kind: str, arguments: dict[str, Any] | None = None, **options: Any) -> str:
    async with world.database.writing(world.one.id) as session:
        return (await enqueue(session, kind, arguments or {}, **options)).id


async def names(world: World) -> list[str]:
    async with world.database.reading(world.one.id) as session:
        rows = await session.rows(select(Account.name).where(Account.org_id == world.one.id).order_by(Account.name))
    return [row.name for row in rows]


async def test_a_job_runs_in_its_organization(world: World, workers: Workers) -> None:
    seen = []

    @work("account")
    async def account(run: Run, name: str) -> None:
        seen.append((run.org_id, run.job_id, run.attempt, run.is_last))
        await run.progress(0.5)
        async with run.writing() as session:
            await session.insert(Account(name=name))
        async with run.reading() as session:
            assert session.org_id == run.org_id

    began = now()
    job = await put(world, "account", {"name": "A"})
    workers.start()
    row = await until(world, job, *DONE)
    assert (row.status, row.attempts, row.error, row.progress) == ("succeeded", 1, None, 1.0)
    assert began <= row.created_at <= row.started_at <= row.finished_at <= now()
    assert seen == [(world.one.id, job, 1, False)]
    assert await names(world) == ["A"]
    async with world.database.directory() as session:
        assert await session.rows(select(QueuedJob.job_id)) == []


async def test_the_last_transaction_and_the_success_are_one(world: World, workers: Workers) -> None:
    """What comes after it cannot make the job run again."""

    @work("account")
    async def account(run: Run) -> None:
        async with run.finishing() as session:
            await session.insert(Account(name="Once"))
        raise ZeroDivisionError

    job = await put(world, "account")
    workers.start()
    row = await until(world, job, *DONE)
    assert (row.status, row.attempts, row.progress) == ("succeeded", 1, 1.0)
    await workers.stop(workers.started[0])
    assert await names(world) == ["Once"]
    assert workers.counted == [("account", "succeeded")]


async def test_a_last_transaction_that_cannot_be_committed_is_no_success(
    world: World, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attempt is another one's to repeat, at once and not when its lease has run out."""
    attempts: list[int] = []

    end, ended = Database.end, list[str]()

    async def gone(database: Database, taken: Taken, organization: str | None, *, commit: bool) -> None:
        is_it = "account" in attempts_under_way and not ended and organization is not None
        if is_it:
            ended.append("once")
        await end(database, taken, organization, commit=commit and not is_it)
        if is_it:
            raise ConnectionResetError

    attempts_under_way: list[str] = []

    @work("account")
    async def account(run: Run) -> None:
        attempts.append(run.attempt)
        async with run.finishing() as session:
            if run.attempt == 1:
                attempts_under_way.append("account")
            await session.insert(Account(name=f"Attempt {run.attempt}"))

    monkeypatch.setattr(Database, "end", gone)
    job = await put(world, "account")
    workers.start()
    row = await until(world, job, *DONE)
    assert (row.status, row.attempts, attempts) == ("succeeded", 2, [1, 2])
    await workers.stop(workers.started[0])
    assert await names(world) == ["Attempt 2"]
    assert workers.counted == [("account", "retried"), ("account", "succeeded")]


def test_the_pauses_between_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    longest = [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]
    for attempt, seconds in enumerate(longest, 1):
        drawn = [attempts.pause(attempt).total_seconds() for _ in range(50)]
        assert seconds * 0.8 <= min(drawn) < max(drawn) <= seconds
    assert attempts.pause(10_000).total_seconds() <= 600


async def _gives_up(run: Run) -> None:
    raise WorkFailed("No such site")


async def _retries(run: Run) -> None:
    raise Retry(f"Attempt {run.attempt} of the site failed", after=timedelta(0))


async def _refuses(run: Run) -> None:
    raise InvalidState("The campaign is archived")


async def _breaks(run: Run) -> None:
    raise ValueError("/etc/secret SELECT 1")


async def _hangs(run: Run) -> None:
    await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("function", "attempted", "error"),
    [
        (_gives_up, 1, "No such site"),
        (_retries, 3, "Attempt 3 of the site failed"),
        (_refuses, 3, "The campaign is archived"),
        (_breaks, 3, "Internal error"),
        (_hangs, 3, "The work took longer than 0.05 seconds"),
    ],
)
async def test_what_a_failed_job_says(
    world: World,
    workers: Workers,
    caplog: pytest.LogCaptureFixture,
    function: Callable[[Run], Awaitable[None]],
    attempted: int,
    error: str,
) -> None:
    work("wrong", attempts=3, seconds=0.05)(function)
    job = await put(world, "wrong")
    workers.start()
    with caplog.at_level(logging.DEBUG):
        row = await until(world, job, JobStatus.FAILED)
    assert (row.attempts, row.error) == (attempted, error)
    assert row.finished_at is not None
    assert "secret" not in caplog.text
    await workers.stop(workers.started[0])
    assert workers.counted == [("wrong", "retried")] * (attempted - 1) + [("wrong", "failed")]


async def test_an_error_goes_with_the_success_that_follows(world: World, workers: Workers) -> None:
    @work("second")
    async def second(run: Run) -> None:
        if run.attempt == 1:
            raise ZeroDivisionError

    job = await put(world, "second")
    workers.start()
    row = await until(world, job, *DONE)
    assert (row.status, row.attempts, row.error) == ("succeeded", 2, None)


async def test_arguments_are_in_no_log(world: World, workers: Workers, caplog: pytest.LogCaptureFixture) -> None:
    @work("strict", attempts=1)
    async def strict(run: Run, n: int) -> None:
        raise ValueError(n)

    caplog.set_level(logging.DEBUG)
    jobs = [await put(world, "strict", {"n": "hidden"}), await put(world, "strict", {"hidden": 1})]
    workers.start()
    for job in jobs:
        assert (await until(world, job, *DONE)).error == "Internal error"
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("jobs.")]
    # Both may run at the same time, so either may be told first.
    assert sorted(line.partition(" at=")[0] for line in lines if "internal error" in line) == sorted(
        f"internal error job={job} kind=strict type={name}"
        for job, name in zip(jobs, ("ValueError", "TypeError"), strict=True)
    )
    assert "hidden" not in "".join(lines)


async def test_an_unknown_kind_fails_clearly(world: World, workers: Workers) -> None:
    job = await put(world, "of_tomorrow")
    workers.start()
    row = await until(world, job, *DONE)
    assert (row.status, row.attempts) == ("failed", 0)
    assert row.error == "This version of the service knows no work of kind of_tomorrow"
    await workers.stop(workers.started[0])
    assert workers.counted == [("unknown", "failed")]


async def test_a_job_is_not_begun_before_its_time(world: World, workers: Workers) -> None:
    @work("note")
    async def note(run: Run) -> None:
        pass

    late = await put(world, "note", delay=timedelta(hours=1))
    early = await put(world, "note", delay=timedelta(seconds=0.2))
    workers.start()
    row = await until(world, early, *DONE)
    assert row.started_at - row.created_at >= timedelta(seconds=0.2)
    assert (await until(world, late, JobStatus.QUEUED)).attempts == 0


async def test_several_workers_do_every_job_once(world: World, workers: Workers) -> None:
    done = []

    @work("note")
    async def note(run: Run, n: int) -> None:
        await asyncio.sleep(0.01)
        done.append(n)

    jobs = [await put(world, "note", {"n": n}) for n in range(24)]
    for _ in range(3):
        workers.start()
    for job in jobs:
        assert (await until(world, job, *DONE)).attempts == 1
    assert sorted(done) == list(range(24))


async def test_an_organization_with_much_to_do_leaves_room_for_the_other(world: World, workers: Workers) -> None:
    let_go, full, begun = asyncio.Event(), asyncio.Event(), []

    @work("slow")
    async def slow(run: Run) -> None:
        begun.append(run.job_id)
        if len(begun) == SLOTS_OF_ONE:
            full.set()
        await let_go.wait()

    @work("quick")
    async def quick(run: Run) -> None:
        pass

    for _ in range(20):
        await put(world, "slow")
    workers.start()
    async with asyncio.timeout(60):
        await full.wait()
    async with world.database.writing(world.two.id) as session:
        other = await enqueue(session, "quick", {})
    async with asyncio.timeout(60):
        while True:
            async with world.database.reading(world.two.id) as session:
                state = await session.scalar(select(Job.status).where(Job.org_id == world.two.id, Job.id == other.id))
            if state == "succeeded":
                break
            await asyncio.sleep(0.02)
    assert len(begun) == SLOTS_OF_ONE
    let_go.set()


async def test_long_work_leaves_places_to_what_is_short(
    world: World, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for a place holds no slot, and no attempt of it is counted (decision 1030)."""
    monkeypatch.setattr(long_places, "LONG", LONG_OF_ONE + 1)
    let_go, begun = asyncio.Event(), list[str]()

    @work("long")
    async def long(run: Run) -> None:
        run.takes_long()
        begun.append(run.org_id)
        await let_go.wait()

    @work("quick")
    async def quick(run: Run) -> None:
        pass

    every = [await put(world, "long") for _ in range(SLOTS_OF_ONE + 2)]
    workers.start()
    await until(world, await put(world, "quick"), *DONE)
    async with world.database.writing(world.two.id) as session:
        await enqueue_each(session, "long", [{}] * 3)
    while len(begun) < LONG_OF_ONE + 1:  # noqa: ASYNC110  # the first ones of each
        await asyncio.sleep(0.02)
    await until(world, await put(world, "quick"), *DONE)
    assert sorted(begun) == sorted([world.one.id] * LONG_OF_ONE + [world.two.id])
    let_go.set()
    rows = [await until(world, job, *DONE) for job in every]
    assert {(row.status, row.attempts) for row in rows} == {("succeeded", 1)}
    assert begun.count(world.one.id) == len(every)


async def test_a_run_that_lost_its_job_writes_nothing(world: World, workers: Workers) -> None:
    """A worker that was away for longer than its lease wakes up beside the one that resumed its job."""
    began, resumed, results = asyncio.Event(), asyncio.Event(), []

    @work("account")
    async def account(run: Run) -> None:
        if not began.is_set():
            began.set()
            await resumed.wait()
        for transaction in (run.writing, run.finishing):
            try:
                async with transaction() as session:
                    await session.insert(Account(name=f"Of attempt {run.attempt}"))
            except LeaseLost:
                results.append(run.attempt)
                raise

    job = await put(world, "account")
    asleep = workers.start(lease=3600)
    await began.wait()
    async with world.database.directory(writing=True) as session:
        await session.execute(update(QueuedJob).values(due_at=now()))
    workers.start()
    row = await until(world, job, *DONE)
    assert (row.status, row.attempts) == ("succeeded", 2)
    resumed.set()
    await workers.stop(asleep)
    assert results == [1]
    assert await names(world) == ["Of attempt 2"] * 2
    assert sorted(workers.counted) == [("account", "lost"), ("account", "succeeded")]


async def test_crashes_use_attempts_up(world: World, workers: Workers) -> None:
    """A job whose work kills its worker every time does so five times and no more."""

    @work("deadly")
    async def deadly(run: Run) -> None:
        raise AssertionError

    job = await put(world, "deadly")
    async with world.database.writing(world.one.id) as session:
        await session.execute(
            update(Job).where(Job.org_id == world.one.id, Job.id == job).values(attempts=5, status="running")
        )
    workers.start()
    row = await until(world, job, *DONE)
    assert (row.status, row.attempts, row.error) == ("failed", 5, "The work was cut off in its last attempt")


async def test_a_lease_is_renewed_while_the_work_goes_on(world: World, workers: Workers) -> None:
    @work("long")
    async def long(run: Run) -> None:
        await asyncio.sleep(2.5)

    job = await put(world, "long")
    for _ in range(2):
        workers.start(lease=0.9)
    row = await until(world, job, *DONE)
    assert (row.status, row.attempts) == ("succeeded", 1)


async def test_a_worker_that_stops_finishes_what_it_can_and_gives_back_the_rest(world: World, workers: Workers) -> None:
    started = {"short": asyncio.Event(), "endless": asyncio.Event()}

    @work("short")
    async def short(run: Run) -> None:
        started["short"].set()
        await asyncio.sleep(0.2)

    @work("endless")
    async def endless(run: Run) -> None:
        started["endless"].set()
        await asyncio.sleep(600)

    ends, waits = await put(world, "short"), await put(world, "endless")
    worker = workers.start()
    async with asyncio.timeout(60):
        await asyncio.gather(*(event.wait() for event in started.values()))
    assert worker.is_beating
    await workers.stop(worker, seconds=0.5)
    assert not worker.is_beating
    assert (await until(world, ends, *DONE)).status == "succeeded"
    row = await until(world, waits, JobStatus.QUEUED)
    assert (row.attempts, row.error) == (0, None)
    async with world.database.directory() as session:
        [entry] = await session.rows(select(QueuedJob.holder, QueuedJob.due_at))
        assert await session.rows(select(JobWorker.id)) == []
    assert entry.holder is None
    assert entry.due_at <= now()
    assert workers.counted == [("short", "succeeded"), ("endless", "released")]
