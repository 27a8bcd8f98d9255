"""PostgreSQL paused: it takes connections and bytes, and answers nothing. Whoever waits is told, in bounded time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select
from sqlmodel import col

from contract.errors import Unavailable
from contract.limits import CONNECTION_SECONDS, REQUEST_SECONDS
from storage.base import new_id
from storage.database import Database
from storage.queries import events, organizations
from storage.tables import Account
from tests.faults.load import kept, pick, writing
from tests.support.live import going
from tests.support.postgresql import Server

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("impatient")]

CLIENTS = 30
"""More than the pool has connections."""
PAUSE_SECONDS = pick(11, 30)
_SLACK = 3.0

Statements = Callable[[Database, str], Awaitable[None]]


async def test_everything_ends_in_time_and_goes_on_afterwards(cluster: Server, hurt_url: str, tmp_path: Path) -> None:
    async with going(tmp_path, hurt_url, CRM_RATE_LIMIT="off") as live, httpx.AsyncClient(timeout=30) as client:
        async with writing(live, CLIENTS) as load:
            await load.until(100)
            with cluster.paused():
                paused = time.monotonic()
                while time.monotonic() < paused + PAUSE_SECONDS:
                    began = time.monotonic()
                    # What needs no database is there all the time.
                    assert (await client.get(f"{live.service.address}/health")).status_code == 200
                    assert time.monotonic() - began < 1
                    began = time.monotonic()
                    assert (await client.get(f"{live.service.address}/ready")).status_code == 503
                    assert time.monotonic() - began < 2 + _SLACK
                    await asyncio.sleep(0.5)
            resumed = time.monotonic()
            while not any(at > resumed and outcome in (200, 201) for at, outcome, _ in load.at):
                await asyncio.sleep(0.01)
                assert time.monotonic() - resumed < 5
            print(f"first write {time.monotonic() - resumed:.2f} s after the pause")
            await asyncio.sleep(2)
            later = len(load.at)
            await load.until(len(load.acknowledged) + 200)
        print(f"{load.outcomes}; the longest took {max(took for _, _, took in load.at):.2f} s")
        assert load.outcomes.keys() <= {200, 201, 503, 504, "504 ['TIMEOUT']", "200 ['TIMEOUT']"}
        assert max(took for _, _, took in load.at) < REQUEST_SECONDS + _SLACK
        assert {outcome for _, outcome, _ in load.at[later:]} <= {200, 201}
        found = await kept(load)
        assert (found.lost, found.partial) == (0, 0)
        assert "Traceback" not in live.service.log.read_text()


async def _writing(database: Database, organization: str) -> None:
    async with database.writing(organization) as session:
        await session.insert(Account(name="Kept"))


async def _reading(database: Database, organization: str) -> None:
    async with database.reading(organization) as session:
        await session.rows(select(col(Account.id)).where(col(Account.org_id) == organization))


async def _shape(database: Database, organization: str) -> None:
    async with database.reading(organization) as session:
        await events.after(session, 0)


async def _appending(database: Database, organization: str) -> None:
    async with database.writing(organization) as session:
        await session.insert(Account(name="Kept"))


async def _given_up(database: Database, organization: str, statements: Statements) -> None:
    """Run the statements for half a second; giving them up takes a rollback's second at most."""
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await statements(database, organization)
    assert time.monotonic() - began < 1.5 + _SLACK


async def test_a_session_that_is_given_up_ends_at_once(cluster: Server, hurt_url: str) -> None:
    """Whether the server stopped before its transaction or within it; and its connection is not used again."""
    kinds = (_writing, _reading, _shape, _appending)
    databases = [Database(hurt_url, pool_size=1) for _ in kinds]
    organization = new_id()
    await organizations.create_organization(databases[0], "One", "one", organization)
    for database in databases:
        await _shape(database, organization)  # a connection is there
    try:
        with cluster.paused():
            await asyncio.gather(
                *(_given_up(database, organization, kind) for database, kind in zip(databases, kinds, strict=True))
            )
            began = time.monotonic()
            with pytest.raises(Unavailable):  # no new connection is to be had
                await _shape(databases[0], organization)
            assert time.monotonic() - began < CONNECTION_SECONDS + _SLACK
        for database, kind in zip(databases, kinds, strict=True):
            await kind(database, organization)
        for database, kind in ((databases[0], _writing), (databases[3], _appending)):
            with ExitStack() as stack:

                def pause(text: str, database: Database = database, stack: ExitStack = stack) -> None:
                    if "INSERT" in text:
                        database.observers.clear()
                        stack.enter_context(cluster.paused())

                database.observers.append(pause)
                await _given_up(database, organization, kind)
                assert not database.observers
            await kind(database, organization)
        async with databases[1].reading(organization) as session:
            names = await session.rows(select(col(Account.name)).where(col(Account.org_id) == organization))
        assert len(names) == 4  # of those that were given up there is nothing
    finally:
        for database in databases:
            await database.close()
