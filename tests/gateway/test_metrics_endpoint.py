"""`/metrics` of several processes and of the worker, and `/ready` in bounded time (decisions 123 and 124)."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from contract.errors import Unavailable
from gateway.observability.metrics import REGISTRY, Sampled
from gateway.observability.readiness import Readiness
from storage.connection_pool import Connections, PoolState
from storage.database import Database
from tests.support.gateway import open_gateway
from tests.support.live import going
from tests.support.service import SCRIPT, Service, environment
from transport.readiness import Check


def _value(text: str, name: str) -> float:
    """The sum of a name's samples."""
    return sum(
        float(line.rpartition(" ")[2]) for line in text.splitlines() if re.match(rf"{re.escape(name)}([{{ ]|$)", line)
    )


@pytest.mark.long
def test_processes_on_one_socket_count_together(tmp_path: Path) -> None:
    with Service(tmp_path, "--no-worker", "--workers", "2") as service:
        for _ in range(40):  # a connection each, so that either may take it
            assert httpx.get(f"{service.address}/deals").status_code == 401
        _until(service.address, _DEALS, 40.0)  # each process gives on once a second what it has counted (decision 965)
        assert {_value(httpx.get(f"{service.address}/metrics").text, _DEALS) for _ in range(6)} == {40}
        first = _started(service, 2)
        text = _until(service.address, "crm_pool_connections", 20.0)
        os.kill(first.pop(), signal.SIGKILL)
        # What the dead one counted stays, what it had is gone; another takes its place.
        assert _value(text, _DEALS) == 40
        assert len(_started(service, 3)) == 3
        assert _value(_until(service.address, "crm_pool_connections", 20.0), _DEALS) == 40
        assert service.end() == 0


_DEALS = 'crm_requests_total{operation="GET /deals",status="401",surface="rest"}'


def _started(service: Service, number: int) -> set[int]:
    """The processes that have started, once there are so many."""
    end = time.monotonic() + 60
    while len(found := service.processes()) < number:
        assert time.monotonic() < end, service.log.read_text()
        time.sleep(0.1)
    return set(found)


def _until(address: str, name: str, value: float) -> str:
    end = time.monotonic() + 30
    while True:
        text = httpx.get(f"{address}/metrics").text
        if _value(text, name) == value:
            return text
        assert time.monotonic() < end, text
        time.sleep(0.2)


@pytest.mark.long
async def test_requests_in_flight_are_counted_in_every_process(tmp_path: Path, sqlite_template: Path) -> None:
    shutil.copyfile(sqlite_template, tmp_path / "crm.db")
    (tmp_path / "crm.db").chmod(0o600)
    async with going(tmp_path, f"sqlite+aiosqlite:///{tmp_path / 'crm.db'}", "--workers", "2") as live:
        address = live.service.address
        with live.held():
            waiting = [asyncio.create_task(live.create(f"deal {number}")) for number in range(6)]
            await asyncio.to_thread(_until, address, "crm_requests_in_flight", 6.0)
        await asyncio.gather(*waiting)
        await asyncio.to_thread(_until, address, "crm_requests_in_flight", 0.0)


def test_the_worker_answers_on_a_port_of_its_own_and_gives_way(tmp_path: Path) -> None:
    """On the processor: decision 1181."""
    settings = environment(tmp_path, CRM_METRICS_PORT="0", CRM_WORKER_NICE="3")
    process = subprocess.Popen([SCRIPT, "worker"], env=settings, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        while (found := re.search(r"Metrics on (http://\S+)/metrics", process.stderr.readline())) is None:
            assert process.poll() is None
        address = found[1]
        assert os.getpriority(os.PRIO_PROCESS, process.pid) == os.getpriority(os.PRIO_PROCESS, 0) + 3
        assert httpx.get(f"{address}/health").json()["status"] == "ok"
        ready = httpx.get(f"{address}/ready")
        assert ready.status_code == 200
        assert {c["name"]: c["message"] for c in ready.json()["checks"]}["worker"] == "runs jobs in this process"
        assert 'crm_jobs_queued{state="due"} 0.0' in httpx.get(f"{address}/metrics").text
        assert httpx.get(f"{address}/deals").status_code == 404
    finally:
        process.terminate()
        assert process.wait(60) == 0
        assert process.stderr is not None
        process.stderr.close()


@pytest.mark.usefixtures("impatient")
async def test_the_pool_says_who_waits_and_in_vain(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    connections = Connections(database.open, 1)
    taken = await connections.take()
    waiting = [asyncio.create_task(connections.take()) for _ in range(2)]
    await asyncio.sleep(0)
    assert connections.state == PoolState(size=1, in_use=1, waiting=2, waits=2, timeouts=0)
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(result) for result in results] == [Unavailable, Unavailable]
    assert connections.state == PoolState(size=1, in_use=1, waiting=0, waits=2, timeouts=2)
    before = REGISTRY.get_sample_value("crm_pool_timeouts_total") or 0.0
    sampled = Sampled()
    for _ in range(2):
        sampled.pool(connections.state)
    assert REGISTRY.get_sample_value("crm_pool_timeouts_total") == before + 2
    assert REGISTRY.get_sample_value("crm_pool_connections", {"state": "in_use"}) == 1
    await connections.give_back(taken)
    assert connections.state.in_use == 0
    await connections.close()


async def test_ready_has_a_line_for_each_dependency(database_url: str, tmp_path: Path) -> None:
    async with open_gateway(database_url, tmp_path / "data") as gateway:
        answer = await gateway.http.get("/ready")
        assert answer.status_code == 200
        lines = answer.json()["checks"]
        assert [line["name"] for line in lines] == ["database", "migrations", "worker", "artifacts"]
        assert all(line["ok"] and line["ms"] > 0 for line in lines)
        (tmp_path / "data" / "artifacts").write_text("in the way")
        lines = (await gateway.http.get("/ready")).json()["checks"]
        assert (lines[3]["ok"], lines[3]["message"]) == (
            True,
            "the store cannot be used: no report is rendered, and no file read or kept",
        )


async def test_what_hangs_or_breaks_is_a_line_and_no_wait() -> None:
    asked = 0

    async def hangs() -> Check:
        nonlocal asked
        asked += 1
        while True:
            try:
                await asyncio.sleep(0.3)
            except asyncio.CancelledError:
                if asked > 100:
                    raise
                asked += 100

    async def breaks() -> Check:
        raise ValueError("SELECT canary")

    async def answers() -> Check:
        return Check("third", True, "reached")

    readiness = Readiness({"first": hangs, "second": breaks, "third": answers}, deadline=0.1)
    began = time.monotonic()
    several = await asyncio.gather(*(readiness() for _ in range(50)))
    assert time.monotonic() - began < 50 * 0.1 / 2  # one wait for all, which would be 5 s one after another
    first, second, third = several[0]
    assert first == Check("first", False, "no answer within 0.1 s", 0.1)
    assert second == Check("second", False, "could not be asked: ValueError")
    assert (third.ok, third.message) == (True, "reached")
    assert all(one is several[0] for one in several)
    assert asked == 101  # asked once for all, and told to stop
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


@pytest.mark.parametrize("arguments", [(), pytest.param(("--workers", "2"), marks=pytest.mark.long)])
def test_metrics_have_a_port_of_their_own(arguments: tuple[str, ...], tmp_path: Path) -> None:
    with Service(tmp_path, *arguments, CRM_METRICS_PORT="0") as service:
        apart = service.value("Metrics").removesuffix("/metrics")
        assert 'crm_jobs_queued{state="due"}' in httpx.get(f"{apart}/metrics").text
        assert [httpx.get(f"{apart}{path}").status_code for path in ("/health", "/ready")] == [200, 200]
        # Neither says anything of the other: the one has no data, the other no figures.
        assert [httpx.get(f"{apart}{path}").status_code for path in ("/deals", "/graphql", "/docs", "/")] == [404] * 4
        assert httpx.get(f"{service.address}/metrics").status_code == 404
        assert httpx.get(f"{service.address}/health").status_code == 200
        assert service.end() == 0
