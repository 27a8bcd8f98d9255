"""The primary killed under load and a standby promoted: nothing acknowledged is lost, and the old one comes back."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from storage import migrate
from tests.faults.load import CUT, kept, pick, writing
from tests.support.live import going
from tests.support.postgresql import DURABLE, Server
from tests.support.standby import REPLICATED, Standby, caught_up, follow, several

pytestmark = pytest.mark.long

WRITES = pick(100, 400)
"""Acknowledged before the kill, and again after it."""
WRITE_SECONDS = 1.0 if os.getloadavg()[0] < 2 * (os.cpu_count() or 1) else 10.0
"""From the promotion to the first write: the promise; on a busy machine it says nothing about the service."""


@pytest.fixture
def pair() -> Iterator[tuple[Server, Standby]]:
    """A primary, and a standby that has each commit before it is acknowledged."""
    with Server(**DURABLE, **REPLICATED) as primary:
        primary.create("kept")
        asyncio.run(migrate.upgrade(primary.url("kept")))
        with Standby(primary) as standby:
            primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'", role="postgres")
            primary.execute("SELECT pg_reload_conf()", role="postgres")
            yield primary, standby


async def test_a_standby_takes_the_place_of_a_killed_primary(pair: tuple[Server, Standby], tmp_path: Path) -> None:
    """Decision 960; both doors write meanwhile."""
    primary, standby = pair
    async with going(tmp_path, several("kept", primary, standby), CRM_RATE_LIMIT="off") as live:
        async with writing(live) as load:
            await load.until(WRITES)
            killed = time.monotonic()
            primary.kill()
            await asyncio.to_thread(standby.promote)
            promoted = time.monotonic()
            await load.until(len(load.acknowledged) + WRITES)
            written = next(at for at, outcome, _ in load.at if at > promoted and outcome in (200, 201))
        assert load.outcomes.keys() <= {200, 201, 503, CUT}, load.outcomes
        found = await kept(load)
        print(f"promoted after {promoted - killed:.2f} s, written {written - promoted:.2f} s later; {found}")
        assert (found.lost, found.partial) == (0, 0)
        assert found.unknown <= load.outcomes[503] + load.outcomes[CUT]
        assert written - promoted < WRITE_SECONDS
        await asyncio.to_thread(follow, primary, standby)
        assert await asyncio.to_thread(primary.ask, "SELECT pg_is_in_recovery()")
        async with httpx.AsyncClient(headers=live.token(), timeout=30) as client:
            assert (await client.post(f"{live.service.address}/deals", json={"name": "After"})).status_code == 201
        await asyncio.to_thread(caught_up, standby, primary)
        count = "SELECT count(*) FROM deals"
        counted = [await asyncio.to_thread(server.ask, count, database="kept") for server in (primary, standby)]
        assert counted[0] == counted[1]
        assert "Traceback" not in live.service.log.read_text()
