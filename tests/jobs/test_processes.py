"""Workers as processes: apart or inside `serve`, killed, and told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from contract.vocabulary import JobStatus
from jobs.queue import enqueue
from storage import migrate
from storage.tables import Account
from tests.jobs.conftest import until
from tests.support.gateway import open_gateway
from tests.support.service import Service, environment
from tests.support.world import World

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def process(folder: Path, *arguments: str, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """`crm-gateway` with the tests' kinds of work, which this process alone knows: it does its jobs itself."""
    with (folder / f"log-{time.monotonic_ns()}").open("wb") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", "tests.support.working", *arguments],
            cwd=ROOT,
            env=environment(folder, CRM_JOB_LEASE_SECONDS="1", CRM_WORKER_BESIDE="0", PORT="0", **settings),
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    try:
        yield running
    finally:
        if running.poll() is None:
            running.terminate()
        try:
            running.wait(60)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


async def put(world: World, seconds: float) -> str:
    async with world.database.writing(world.one.id) as session:
        return (await enqueue(session, "diary", {"seconds": seconds})).id


async def diary(world: World, lines: int = 0) -> list[tuple[str, int]]:
    """What the work wrote, oldest first, as soon as there are so many lines."""
    statement = select(Account.name).where(Account.org_id == world.one.id).order_by(Account.created_at, Account.id)
    async with asyncio.timeout(30):
        while True:
            async with world.database.reading(world.one.id) as session:
                rows = await session.rows(statement)
            if len(rows) >= lines:
                return [(row.name.split()[0], int(row.name.split()[1])) for row in rows]
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("command", [("worker",), ("serve", "--no-migrate")], ids=["worker", "serve"])
async def test_a_killed_worker_s_job_is_resumed_once(
    world: World, database_url: str, tmp_path: Path, command: tuple[str, ...]
) -> None:
    job = await put(world, 1.6)  # longer than a lease, so that whoever works has to renew it
    with process(tmp_path, *command, CRM_DATABASE_URL=database_url) as first:
        [(_, victim)] = await diary(world, 1)
        assert victim == first.pid
        with (
            process(tmp_path, *command, CRM_DATABASE_URL=database_url) as second,
            process(tmp_path, *command, CRM_DATABASE_URL=database_url) as third,
        ):
            os.kill(victim, signal.SIGKILL)
            assert first.wait() == -signal.SIGKILL
            row = await until(world, job, JobStatus.SUCCEEDED, JobStatus.FAILED)
            assert (row.status, row.attempts, row.error) == ("succeeded", 2, None)
            await asyncio.sleep(1.6)  # a lease and the pause between two looks, in which nothing more may happen
            lines: list[Any] = await diary(world)
            assert [what for what, _ in lines] == ["began", "began", "ended"]
            assert lines[1][1] == lines[2][1] in (second.pid, third.pid)
            for worker in (second, third):
                worker.terminate()
                assert worker.wait(60) == 0


async def test_a_worker_that_is_told_to_stop_finishes_its_job(world: World, database_url: str, tmp_path: Path) -> None:
    job = await put(world, 1)
    with process(tmp_path, "worker", CRM_DATABASE_URL=database_url) as worker:
        await diary(world, 1)
        worker.terminate()
        assert worker.wait(60) == 0
    row = await until(world, job, JobStatus.SUCCEEDED)
    assert row.attempts == 1
    assert [what for what, _ in await diary(world)] == ["began", "ended"]


async def test_serve_without_a_worker_says_whether_one_works_elsewhere(
    world: World, database_url: str, tmp_path: Path
) -> None:
    """And leaves the jobs alone; with one it says so, also where there are several processes."""

    def line(service: Service) -> tuple[int, Any]:
        answer = httpx.get(f"{service.address}/ready")
        lines = [check for check in answer.json()["checks"] if check["name"] == "worker"]
        return answer.status_code, [{name: line[name] for name in ("name", "ok", "message")} for line in lines]

    job = await put(world, 0)
    with Service(tmp_path, "--no-worker", CRM_DATABASE_URL=database_url) as service:
        message = "not in this process; none beating elsewhere"
        assert line(service) == (200, [{"name": "worker", "ok": True, "message": message}])
        assert (await until(world, job, JobStatus.QUEUED)).attempts == 0
        with process(tmp_path, "worker", CRM_DATABASE_URL=database_url):
            await until(world, job, JobStatus.SUCCEEDED)
            message = "not in this process; 1 beating elsewhere"
            expected = (200, [{"name": "worker", "ok": True, "message": message}])
            for _ in range(100):  # the first job may be done before the first beat is written
                if line(service) == expected:
                    break
                await asyncio.sleep(0.1)
            assert line(service) == expected
    with Service(tmp_path, CRM_DATABASE_URL=database_url) as service:
        message = "runs jobs in this process"
        assert line(service) == (200, [{"name": "worker", "ok": True, "message": message}])
        job = await put(world, 0)  # of a kind that this process does not know
        await until(world, job, JobStatus.FAILED)
        counted = await asyncio.to_thread(lambda: httpx.get(f"{service.address}/metrics").text)
        assert 'crm_job_attempts_total{kind="unknown",outcome="failed"} 1.0' in counted
    for arguments, message in (
        ((), "runs jobs in a process beside this one"),
        (("--no-worker",), "not in this process; none beating elsewhere"),
    ):
        with Service(tmp_path, "--workers", "2", *arguments, CRM_DATABASE_URL=database_url) as service:
            assert line(service) == (200, [{"name": "worker", "ok": True, "message": message}])


async def test_a_worker_that_cannot_beat_makes_the_service_not_ready(database_url: str, tmp_path: Path) -> None:
    """And goes on by itself as soon as it can."""
    async with (
        open_gateway(database_url, tmp_path / "data", job_lease_seconds=1) as gateway,
        gateway.runtime.working(),
    ):
        world = gateway.world

        async def becomes(status: int, **check: Any) -> None:
            async with asyncio.timeout(60):
                while True:
                    answer = await gateway.http.get("/ready")
                    line = answer.json()["checks"][2]
                    if answer.status_code == status and line | check == line:
                        return
                    await asyncio.sleep(0.05)

        await becomes(200, name="worker", ok=True, message="runs jobs in this process")
        await migrate.downgrade(database_url, "0001")
        await becomes(503, name="worker", ok=False, message="does not beat")
        await migrate.upgrade(database_url)
        await becomes(200, name="worker", ok=True, message="runs jobs in this process")
        job = await put(world, 0)
        assert (await until(world, job, JobStatus.FAILED)).attempts == 0
