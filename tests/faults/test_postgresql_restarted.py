"""PostgreSQL restarted in immediate mode, as after a crash, while clients write."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import httpx
import pytest

from tests.faults.load import kept, pick, writing
from tests.support.live import going
from tests.support.postgresql import Server

pytestmark = pytest.mark.long

RESTARTS = pick(2, 5)
WRITES = pick(100, 400)
"""Acknowledged before each restart."""
BACK_SECONDS = 2.0 if os.getloadavg()[0] < 2 * (os.cpu_count() or 1) else 15.0
"""The promise; on a machine that others keep this busy it says nothing about the service."""
_ASKED_AT_ONCE = 3


async def ready_at(address: str) -> float:
    """When `/ready` was answered well for the first time from now on; asked again while answers are slow."""
    answered: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    async def ask(client: httpx.AsyncClient) -> None:
        if (await client.get(f"{address}/ready")).status_code == 200 and not answered.done():
            answered.set_result(time.monotonic())

    async with asyncio.timeout(30), httpx.AsyncClient(timeout=30) as client, asyncio.TaskGroup() as group:
        asked: set[asyncio.Task[None]] = set()
        while not answered.done():
            if len(asked) < _ASKED_AT_ONCE:
                asked.add(group.create_task(ask(client)))
            await asyncio.wait({answered}, timeout=0.1)
            asked = {task for task in asked if not task.done()}
    return answered.result()


async def test_only_503_and_back_at_once(cluster: Server, hurt_url: str, tmp_path: Path) -> None:
    async with going(tmp_path, hurt_url, CRM_RATE_LIMIT="off") as live:
        address = live.service.address
        async with writing(live) as load:
            for number in range(1, RESTARTS + 1):
                await load.until(number * WRITES)
                began = time.monotonic()
                accepting = await asyncio.to_thread(cluster.restart)
                ready = await ready_at(address)
                await load.until(len(load.acknowledged) + 1)
                written = next(at for at, outcome, _ in load.at if at > accepting and outcome in (200, 201))
                await asyncio.sleep(2)
                refused = [at for at, outcome, _ in load.at if at > accepting and outcome == 503]
                after = {
                    "ready": ready - accepting,
                    "first write": written - accepting,
                    "last refusal": max(refused, default=accepting) - accepting,
                }
                print(f"down for {accepting - began:.2f} s; seconds after it took connections again: {after}")
                assert max(after.values()) < BACK_SECONDS, after
            await load.until((RESTARTS + 1) * WRITES)
        assert load.outcomes.keys() <= {200, 201, 503}
        found = await kept(load)
        print(f"{len(load.acknowledged)} acknowledged over {RESTARTS} restarts; {found}; {load.outcomes}")
        assert (found.lost, found.partial) == (0, 0)
        # A commit whose answer was cut off by the restart may have been done.
        assert found.unknown <= load.outcomes[503]
        assert "Traceback" not in live.service.log.read_text()
