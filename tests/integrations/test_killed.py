"""`kill -9` amid the first run of an account: no event is lost, none is there twice, and the counts are exact."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from storage.tables import Activity, Event, Integration, SyncItem, SyncOccurrence, SyncRun
from tests.faults.load import pick, until
from tests.integrations.sides import side
from tests.jobs.test_processes import process
from tests.support.feeds import at, connection
from tests.support.google import Google, meeting
from tests.support.tenants import Tenant

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

EVENTS, KILLS = pick(400, 5_000), pick(3, 10)


async def test_a_first_run_that_is_killed_loses_and_doubles_nothing(
    one: Tenant, google: Google, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Each worker comes further than the one before it, which had repeated all pages, and is killed there."""
    of_google = side("google", request)
    google.page = EVENTS // 20
    google.put(
        of_google.account,
        *(
            meeting(f"e{n}", at(1 + n % 300), subject=f"E {n}", visibility="default" if n % 10 else "private")
            for n in range(EVENTS - 2)  # beside the two that the account had
        ),
    )
    told = (await of_google.come_back(one))[1]
    mine = (await of_google.completed(one, told)).json()["id"]
    runtime = one.gateway.runtime
    settings = {f"CRM_{name.upper()}": value for name, value in of_google.settings.items()} | {
        "CRM_DATABASE_URL": one.gateway.world.database.url.render_as_string(hide_password=False),
        "CRM_DATA_DIR": str(runtime.settings.data_dir),
    }

    async def reaches(number: int) -> bool:
        return len(await one.rows(SyncItem.id)) >= number

    async def is_done() -> bool:
        return await one.rows(SyncRun.status) == [("succeeded",)]

    for kill in range(1, KILLS + 1):
        with process(tmp_path, "worker", **settings) as worker:
            await until(lambda: reaches(kill * EVENTS // (KILLS + 1)))  # noqa: B023  # awaited here
            os.kill(worker.pid, signal.SIGKILL)
            assert worker.wait() == -signal.SIGKILL
    assert not await is_done()
    with process(tmp_path, "worker", **settings):
        await until(is_done)
    private = len(range(0, EVENTS - 2, 10)) + 1
    taken = EVENTS - private
    assert len({row[0] for row in await one.rows(SyncItem.external_id)}) == EVENTS
    assert len(await one.rows(SyncItem.id)) == len(await one.rows(SyncOccurrence.id)) == EVENTS
    subjects = Counter(row[0] for row in await one.rows(Activity.subject))
    assert (len(subjects), set(subjects.values())) == (taken, {1})
    assert await one.rows(SyncRun.created, SyncRun.skipped, SyncRun.removed) == [(taken, private, 0)]
    assert (await connection(one, mine))["counts"]["meetings"] == taken
    told_of = [
        each
        for data, type in await one.rows(Event.data, Event.type)
        if type == "meetings_synced"
        for each in data["created"]
    ]
    assert (len(told_of), len(set(told_of))) == (taken, taken)
    assert await one.rows(Integration.problem_code) == [(None,)]
