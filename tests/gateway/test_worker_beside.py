"""The worker beside a server: it runs jobs, hears of commits, is replaced, and ends with its server (decision 1182)."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from gateway.server import pauses, worker_process
from gateway.server.worker_link import Link, linked
from gateway.server.worker_process import WorkerProcess
from storage.base import new_id
from storage.change_feed import ChangeFeed
from storage.database import Database
from tests.support.service import Service


def _until(found: Callable[[], Any], seconds: float = 30) -> Any:
    """What is found, once it is something."""
    end = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
    return result


def _workers(server: int) -> list[int]:
    """The processes that the server has started, and that still run."""
    text = Path(f"/proc/{server}/task/{server}/children").read_text()
    return [int(number) for number in text.split()]


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_server_has_a_worker_beside_it(tmp_path: Path) -> None:
    """It runs what is due, one that is killed is replaced, and what both count is counted together."""
    with Service(tmp_path, "--demo", afresh=True, CRM_WORKER_NICE="3") as service:
        [worker] = _until(lambda: _workers(service.pid))
        check = next(
            each for each in httpx.get(f"{service.address}/ready").json()["checks"] if each["name"] == "worker"
        )
        assert (check["ok"], check["message"]) == (True, "runs jobs in a process beside this one")

        def count() -> list[str]:
            lines = httpx.get(f"{service.address}/metrics").text.splitlines()
            return [line for line in lines if line.startswith("crm_job_attempts_total")]

        counted = _until(count)
        assert os.getpriority(os.PRIO_PROCESS, worker) == os.getpriority(os.PRIO_PROCESS, 0) + 3
        os.kill(worker, signal.SIGKILL)
        line = f"worker process died, and another takes its place process={worker} exit_code=-9"
        _until(lambda: line in service.log.read_text())
        [successor] = _until(lambda: [each for each in _workers(service.pid) if each != worker])
        assert len(count()) >= len(counted)  # what the first one counted stays
        _until(lambda: service.log.read_text().count("worker started") == 2)
        assert httpx.get(f"{service.address}/ready").status_code == 200
        assert service.end() == 0
        assert not _runs(successor)
    assert "worker stopped" in service.log.read_text()


def test_a_worker_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    with Service(tmp_path, afresh=True) as service:
        [worker] = _until(lambda: _workers(service.pid))
        _until(lambda: "worker started" in service.log.read_text())
        service.end(signal.SIGKILL)
        _until(lambda: not _runs(worker))
    assert "worker stopped" in service.log.read_text()


def test_a_server_that_ends_at_once_leaves_no_worker(tmp_path: Path) -> None:
    """Which has not even begun by then."""
    with Service(tmp_path, afresh=True) as service:
        [worker] = _until(lambda: _workers(service.pid))
        assert service.end() == 0
        assert not _runs(worker)


@asynccontextmanager
async def _line(first: ChangeFeed, second: ChangeFeed, **options: Any) -> AsyncIterator[tuple[Link, Link]]:
    """Both ends of a line; the second one's are given the options."""
    ours, theirs = socket.socketpair()
    both = await linked(ours, first), await linked(theirs, second, **options)
    yield both
    for end in both:
        end.close()
    await asyncio.sleep(0)


async def _within_a_second(found: Callable[[], bool]) -> None:
    async with asyncio.timeout(1):
        while not found():  # noqa: ASYNC110  # there is no event for it
            await asyncio.sleep(0.005)


async def test_each_process_hears_where_the_other_committed() -> None:
    """Many commits of one moment are one word, as on PostgreSQL, and it comes at once after a pause."""
    heard: list[str] = []
    first, second, third = (new_id() for _ in range(3))
    feed = SimpleNamespace(hear=heard.append)
    async with _line(feed, feed) as (server, worker):  # type: ignore[arg-type]  # as much of a feed as is asked
        began = time.monotonic()
        server.tell(first)
        await _within_a_second(lambda: heard == [first])
        assert time.monotonic() - began < 0.5
        for _ in range(3):
            server.tell(second)
        worker.tell(third)
        await _within_a_second(lambda: sorted(heard) == sorted([first, second, third]))
        await asyncio.sleep(0.1)
        assert len(heard) == 3


async def test_who_waits_for_the_other_process_s_commits_is_woken(database: Database) -> None:
    """Those of a channel, and whoever folds what was written."""
    organization, woken = new_id(), list[str]()
    database.heard.append(woken.append)
    feed = ChangeFeed(database)
    async with _line(feed, feed) as (server, _):
        with feed.channel(organization) as channel:
            await asyncio.sleep(0.05)
            channel.reading.cancel()  # so that nothing but the word of the line sets it
            channel._woken.clear()
            server.tell(organization)
            await _within_a_second(channel._woken.is_set)
    assert woken == [organization]


async def test_a_worker_says_whether_it_works_and_learns_that_its_server_is_gone() -> None:
    said: list[bool] = []
    ended = asyncio.Event()
    feed = SimpleNamespace(hear=lambda _organization: None)
    async with _line(feed, feed, ended=ended) as (server, worker):  # type: ignore[arg-type]  # the same
        server._stated = said.append
        worker.state(works=True)
        worker.state(works=False)
        await _within_a_second(lambda: said == [True, False])
        assert not ended.is_set()
        server.close()
        await asyncio.wait_for(ended.wait(), 1)
        worker.state(works=True)  # nobody hears it, and nothing is raised
        worker.tell(new_id())
        await asyncio.sleep(0.05)


def test_a_worker_that_is_silent_or_cannot_beat_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(worker_process, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    process = WorkerProcess(demo=False, lease_seconds=30)
    assert process.is_beating  # it has the time to begin
    clock[0] = 131
    assert not process.is_beating
    process._stated(True)
    assert process.is_beating
    process._stated(False)
    assert not process.is_beating


async def test_a_worker_that_cannot_be_started_is_tried_again(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[object] = []

    async def refused(*_arguments: object, **_options: object) -> None:
        tries.append(None)
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("asyncio.create_subprocess_exec", refused)
    monkeypatch.setattr(pauses, "_FIRST_SECONDS", 0.01)
    process = WorkerProcess(demo=False, lease_seconds=30)
    async with process.followed(database, ChangeFeed(database)):
        await _within_a_second(lambda: len(tries) > 2)
    assert "cannot be started, and is tried again error=[Errno 11] Resource temporarily unavailable" in caplog.text


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)  # no statement is asked
async def test_a_worker_that_hangs_is_replaced(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """So is one that was killed; at the end the one that is left is told to end."""
    started: list[Process] = []
    start = asyncio.create_subprocess_exec

    async def silent(*_arguments: object, **options: Any) -> Process:
        started.append(await start("sleep", "60", **options))
        return started[-1]

    monkeypatch.setattr("asyncio.create_subprocess_exec", silent)
    monkeypatch.setattr(pauses, "_FIRST_SECONDS", 0.01)
    for name, seconds in (("SILENCE_SECONDS", 0.2), ("_LOOK_SECONDS", 0.05)):
        monkeypatch.setattr(worker_process, name, seconds)
    process = WorkerProcess(demo=False, lease_seconds=30)
    async with process.followed(database, ChangeFeed(database)):
        async with asyncio.timeout(10):
            while len(started) < 3:  # noqa: ASYNC110  # there is no event for it
                await asyncio.sleep(0.01)
    assert started[0].returncode == -signal.SIGKILL
    assert not [each for each in started if _runs(each.pid)]
    assert f"worker process hangs, and is killed process={started[0].pid}" in caplog.text


def test_a_worker_that_hangs_does_not_outlive_its_server(tmp_path: Path) -> None:
    with Service(tmp_path, afresh=True) as service:
        [worker] = _until(lambda: _workers(service.pid))
        _until(lambda: "worker started" in service.log.read_text())
        os.kill(worker, signal.SIGSTOP)
        assert service.end() == 0
        assert not _runs(worker)


def test_a_service_goes_on_without_a_folder_to_count_in(tmp_path: Path) -> None:
    """A cleaner of temporary files may take it: each process counts by itself then."""
    (tmp_path / "tmp").mkdir()
    with Service(tmp_path, afresh=True, TMPDIR=str(tmp_path / "tmp")) as service:
        [worker] = _until(lambda: _workers(service.pid))
        _until(lambda: "worker started" in service.log.read_text())
        shutil.rmtree(tmp_path / "tmp")
        os.kill(worker, signal.SIGKILL)
        _until(lambda: service.log.read_text().count("worker started") == 2)
        answer = httpx.get(f"{service.address}/metrics")
        assert answer.status_code == 200
        assert "process_resident_memory_bytes " in answer.text
        assert service.end() == 0
