"""`kill -9` of the server while it acknowledges writes: none is lost, none is partial."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from jobs.roll_ups import put_right
from storage.queries.organizations import all_ids
from tests.faults.load import CUT, kept, pick, writing
from tests.support.live import going
from tests.support.service import Service

pytestmark = pytest.mark.long

KILLS = pick(1, 4)
WRITES = pick(200, 500)
"""Acknowledged before each kill."""


async def test_what_was_acknowledged_survives(database_url: str, dialect: str, tmp_path: Path) -> None:
    async with going(tmp_path, database_url, CRM_RATE_LIMIT="off") as live:
        async with writing(live) as load:
            for number in range(1, KILLS + 1):
                await load.until(number * WRITES)
                code = await asyncio.to_thread(live.service.end, signal.SIGKILL)
                assert code == -signal.SIGKILL
                live.service = await asyncio.to_thread(
                    Service, tmp_path, "--no-worker", CRM_DATABASE_URL=database_url, CRM_RATE_LIMIT="off"
                )
            await load.until((KILLS + 1) * WRITES)
        try:
            found = await kept(load)
            print(f"{dialect}: {len(load.acknowledged)} acknowledged over {KILLS} kills; {found}; {load.outcomes}")
            assert (found.lost, found.partial) == (0, 0)
            # Each client had at most one request under way when the server died; those may have been done, untold.
            assert found.unknown <= load.outcomes[CUT]
            assert load.outcomes.keys() <= {200, 201, CUT}
            # What is kept ready for aggregates is what is counted anew, whenever the server died.
            async with live.database.directory() as session:
                organizations = await all_ids(session)
            assert [await put_right(live.database, org_id, dry=True) for org_id in organizations] == [0, 0]
        finally:
            assert live.service.end() == 0
