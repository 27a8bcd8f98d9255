"""Processes tell each other of their commits, outside of any transaction (decision 198)."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager

import pytest
from sqlalchemy import text

from storage import change_feed
from storage.base import new_id
from storage.change_feed import ChangeFeed
from storage.database import Database
from storage.postgres import pg_notify
from storage.queries.records import append_event
from storage.tables import EventCounter, Organization
from storage.tenancy.sessions import TenantSession

only_postgresql = pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
only_sqlite = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


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
async def test_a_process_does_not_hear_itself(
    database: Database, open_database: Callable[[], Database], org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows already: a quiet commit wakes nobody of its own (decision 1205)."""
    woken, own = asyncio.Event(), list[str]()
    database.heard.append(own.append)
    async with another_process(open_database(), monkeypatch, woken) as heard, ChangeFeed(database).running():
        await listening(database, 2)
        await note(database, org)
        async with asyncio.timeout(5):
            await woken.wait()
        await asyncio.sleep(0.1)
    assert heard
    assert own == []


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


@only_sqlite
async def test_channels_look_in_turn_on_sqlite(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many organizations are followed, few connections are kept busy by that (decision 1145)."""
    async with database.directory(writing=True) as session:
        made = [Organization(external_id=f"org{number}", name="Org") for number in range(9)]
        organizations = [organization.id for organization in await session.insert(*made)]
    looked: Counter[str] = Counter()
    under_way: list[int] = [0]
    reading = database.reading

    @asynccontextmanager
    async def counted(organization: str) -> AsyncIterator[TenantSession]:
        looked[organization] += 1
        under_way.append(under_way[-1] + 1)
        try:
            async with reading(organization) as session:
                yield session
        finally:
            under_way.append(under_way[-1] - 1)

    monkeypatch.setattr(database, "reading", counted)
    feed = ChangeFeed(database)
    async with feed.running():
        with ExitStack() as followed:
            for organization in organizations:
                followed.enter_context(followed.enter_context(feed.channel(organization)).watching(new_id()))
            async with asyncio.timeout(10):
                while any(looked[organization] < 2 for organization in organizations):
                    for organization in organizations:
                        feed.wake(organization)
                    await asyncio.sleep(0.01)
    assert max(under_way) == 2


@only_sqlite
async def test_a_look_that_nobody_called_for_lets_requests_go_first(
    database: Database, open_database: Callable[[], Database], org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a channel that nothing woke; what it finds it finds all the same (decision 1199)."""
    monkeypatch.setattr(change_feed, "PAUSE_SECONDS", 0.02)
    waits, may_go = asyncio.Event(), asyncio.Event()

    async def paced(work: change_feed.Work) -> None:
        waits.set()
        await may_go.wait()
        await work()

    feed, job = ChangeFeed(database, paced=paced), new_id()
    async with feed.running(), asyncio.timeout(10):  # it waits for the channel's last look
        with feed.channel(org) as channel, channel.watching(job):
            assert await channel.job(job, None) is None  # by a look that was called for
            told = asyncio.create_task(channel.after(0))
            await waits.wait()
            await note(open_database(), org)  # as another process does, which wakes nobody here
            await asyncio.sleep(0.1)
            assert not told.done()
            may_go.set()
            assert [event.sequence for event in await told] == [1]
