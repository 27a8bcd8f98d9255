"""Two processes on one socket, replaced one after the other under load: no request fails."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.faults.load import kept, pick, until, writing
from tests.support.live import Live, going

pytestmark = pytest.mark.long

ROUNDS = pick(1, 3)


def _said(live: Live, what: str) -> list[int]:
    return live.service.processes(what)


async def _until(live: Live, started: int, finished: int) -> None:
    await until(lambda: len(_said(live, "started")) >= started and len(_said(live, "ended")) >= finished)


async def _one_connection_each(live: Live, end: asyncio.Event, outcomes: Counter[int | str]) -> None:
    """Requests over connections of their own: some are accepted by a process that is told to end that moment."""
    while not end.is_set():
        async with httpx.AsyncClient(headers=live.token(), timeout=30) as client:
            try:
                answer = await client.get(f"{live.service.address}/deals", params={"limit": 1})
                outcomes[answer.status_code] += 1
            except httpx.TransportError as error:
                outcomes[type(error).__name__] += 1


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_no_request_fails(database_url: str, tmp_path: Path) -> None:
    async with going(tmp_path, database_url, "--workers", "2", CRM_RATE_LIMIT="off") as live:
        await _until(live, 2, 0)
        end, single = asyncio.Event(), Counter[int | str]()
        tasks = [asyncio.create_task(_one_connection_each(live, end, single)) for _ in range(4)]
        async with writing(live, 4) as load:
            for number in range(1, ROUNDS + 1):
                await load.until(len(load.acknowledged) + 50)
                began = time.monotonic()
                os.kill(live.service.pid, signal.SIGHUP)
                await _until(live, 2 + 2 * number, 2 * number)
                print(f"both replaced after {time.monotonic() - began:.1f} s")
            await load.until(len(load.acknowledged) + 50)
        end.set()
        await asyncio.gather(*tasks)
        started, finished = _said(live, "started"), _said(live, "ended")
        assert len(set(started)) == 2 * ROUNDS + 2
        assert set(finished) == set(started[:-2])
        print(f"kept alive {load.outcomes}, one connection each {single}")
        assert load.outcomes.keys() == {200, 201}
        assert single.keys() == {200}
        found = await kept(load)
        assert (found.lost, found.partial, found.unknown) == (0, 0, 0)
