"""Processes tell each other of their commits, outside of any transaction (decision 198)."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import text

from storage.change_feed import ChangeFeed
from storage.database import Database
from storage.postgres import pg_notify
from storage.queries.records import append_event
from storage.tables import EventCounter, Organization

only_postgresql = pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)


@pytest.fixture
async def org(database: Database) -> str:
    async with database.directory(writing=True) as session:
        [organization] = await session.insert(Organization(external_id="org", name="Org"))
    async with database.writing(organization.id) as session:
        await session.insert(EventCounter(last=0))
    return organization.id


async def note(database: Database, org: str) -> None:
    async with database.writing(org) as session:
        await append_event(session, type="t", area="a", actor="x", request_id=None, data={})


@asynccontextmanager
async def another_process(
    database: Database, monkeypatch: pytest.MonkeyPatch, woken: asyncio.Event
) -> AsyncIterator[list[float]]:
    """The moments at which a process that writes nothing hears of an organization."""
    heard: list[float] = []
    feed = ChangeFeed(database)

    def wake(_organization: str) -> None:
        heard.append(time.monotonic())
        woken.set()

    monkeypatch.setattr(feed, "wake", wake)
    async with feed.running():
        yield heard


async def listening(database: Database, number: int) -> None:
    """Wait until so many processes listen."""
    asked = text("SELECT count(*) FROM pg_stat_activity WHERE query ILIKE 'LISTEN%'")
    async with asyncio.timeout(10):
        while True:
            async with database.directory() as session:
                if await session.scalar(asked) >= number:
                    return
            await asyncio.sleep(0.02)


@only_postgresql
async def test_nothing_notifies_in_a_transaction(database: Database, org: str) -> None:
    async with database.directory() as session:
        assert await session.scalar(text("SELECT count(*) FROM pg_trigger WHERE tgname LIKE '%told%'")) == 0
        assert await session.scalar(text("SELECT count(*) FROM pg_proc WHERE proname = 'crm_changed'")) == 0


@pytest.mark.long
@only_postgresql
async def test_another_process_hears_soon(
    database: Database, open_database: Callable[[], Database], org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken, rounds = asyncio.Event(), []
    async with another_process(open_database(), monkeypatch, woken) as heard, ChangeFeed(database).running():
        await listening(database, 2)
        for _ in range(4):  # a busy machine has quiet moments
            delays = []
            for _ in range(20):
                heard.clear()
                woken.clear()
                await note(database, org)
                committed = time.monotonic()
                async with asyncio.timeout(5):
                    await woken.wait()
                delays.append(heard[0] - committed)
                await asyncio.sleep(0.03)
            rounds.append(statistics.quantiles(delays, n=20)[18])
    assert min(rounds) < 0.1


@only_postgresql
async def test_commits_that_fall_together_are_told_once(
    database: Database, open_database: Callable[[], Database], org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken = asyncio.Event()
    async with another_process(open_database(), monkeypatch, woken) as heard, ChangeFeed(database).running():
        await listening(database, 2)
        began = time.monotonic()
        await asyncio.gather(*(note(database, org) for _ in range(100)))
        took = time.monotonic() - began
        await asyncio.sleep(3 * pg_notify.APART_SECONDS + 0.2)
    assert 1 <= len(heard) <= took / pg_notify.APART_SECONDS + 3
    assert len(heard) < 100
