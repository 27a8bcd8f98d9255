"""Reads that a replica answers: never older than they may be, and never lost with it (decisions 996 and 998)."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from sqlalchemy import func, make_url, select
from sqlmodel import col

from contract.criteria import All, ListQuery, PageWindow, Selection
from gateway.observability.doctor_replication import of_replicas
from identity import directory
from storage import migrate, replicas
from storage.database import Database
from storage.postgres.replication import replicas_at
from storage.queries import events, listables
from storage.queries.paging import page
from storage.queries.records import append_event
from storage.queries.shared_rows import SHARED_FROM
from storage.replicas import Place, Reason, Replicas
from storage.statements import parsed
from storage.tables import Campaign, Deal, Person
from tests.support.postgresql import Server
from tests.support.standby import REPLICATED, Standby, caught_up

SOON_SECONDS = 1.0
"""Far less than the eight seconds that a statement has: what a read waits for a replica that hangs is 40 ms, and what
else the machine does comes on top (decision 175)."""


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Server, Standby]]:
    with Server(**REPLICATED) as primary:
        primary.create("read")
        asyncio.run(migrate.upgrade(primary.url("read")))
        with Standby(primary) as standby:
            yield primary, standby


@dataclass
class Reading:
    """A primary with replicas, an organization in it, and who answered its reads."""

    primary: Server
    standby: Standby
    database: Database
    org_id: str
    places: Counter[Place] = field(default_factory=Counter)
    fallbacks: Counter[Reason] = field(default_factory=Counter)

    async def follow(self, *servers: Server, is_cached: bool = True) -> None:
        """Have these be the replicas; a server that takes writes is a fresh one."""
        if self.database.replicas is not None:
            await self.database.replicas.close()
        databases = [Database(server.url("read"), statement_cache=is_cached) for server in servers]
        self.database.replicas = Replicas(
            databases, lambda place: self.places.update([place]), lambda reason: self.fallbacks.update([reason])
        )
        async with asyncio.timeout(10):
            while not all(one.is_asked for one in self.database.replicas.all):  # noqa: ASYNC110  # it tells nobody
                await asyncio.sleep(0.005)

    async def write(self, name: str) -> int:
        """A deal with its event; the event's number."""
        found: list[int] = []
        async with self.database.writing(self.org_id, found.append) as session:
            deal = Deal(name=name, owner_id="ada")
            await session.insert(deal)
            data = {"deal_id": deal.id}
            await append_event(session, type="deal_created", area="crm", actor="ada", request_id=None, data=data)
        return found[-1]

    async def names(self, at_least: int) -> set[str]:
        """The names of the newest deals, by a page with its links, of which columns are decoded."""
        async with self.database.following(self.org_id, at_least) as session:
            found = await page(session, listables.DEALS, ListQuery(All(()), None, PageWindow(first=50)))
        return {row.name for row in found.rows}

    @asynccontextmanager
    async def held_back(self) -> AsyncIterator[None]:
        """While the standby applies nothing."""
        await asyncio.to_thread(self.standby.ask, "SELECT pg_wal_replay_pause()")
        try:
            yield
        finally:
            await asyncio.to_thread(self.standby.ask, "SELECT pg_wal_replay_resume()")


@pytest.fixture
async def reading(pair: tuple[Server, Standby], request: pytest.FixtureRequest) -> AsyncIterator[Reading]:
    primary, standby = pair
    database = Database(primary.url("read"))
    await directory.create_organization(database, request.node.name, request.node.name)
    org_id = await directory.key_of(database, request.node.name)
    assert org_id is not None
    made = Reading(primary, standby, database, org_id)
    await made.follow(standby)
    await asyncio.to_thread(caught_up, primary, standby)
    yield made
    await database.close()


async def test_a_replica_that_has_the_write_answers(reading: Reading) -> None:
    position = await reading.write("Fresh")
    await asyncio.to_thread(caught_up, reading.primary, reading.standby)
    assert await reading.names(position) == {"Fresh"}
    async with reading.database.following(reading.org_id, position) as session:
        [event] = await events.after(session, 0)
        assert await session.find(Deal, id=parsed(event.data)["deal_id"])
        assert await session.find(Deal, id=reading.org_id) is None, "no row is an answer, too"
    assert reading.places == {Place.REPLICA: 4}
    assert not reading.fallbacks


async def test_one_behind_a_pooler_answers_in_a_transaction(reading: Reading) -> None:
    position = await reading.write("Pooled")
    await asyncio.to_thread(caught_up, reading.primary, reading.standby)
    await reading.follow(reading.standby, is_cached=False)
    assert await reading.names(position) == {"Pooled"}
    assert reading.places == {Place.REPLICA: 1}


async def test_one_that_is_behind_is_not_believed(reading: Reading) -> None:
    """Not even where it would have rows to give; what was there before it gives."""
    before = await reading.write("Before")
    await asyncio.to_thread(caught_up, reading.primary, reading.standby)
    async with reading.held_back():
        after = await reading.write("After")
        assert await reading.names(after) == {"Before", "After"}
        assert reading.fallbacks == {Reason.BEHIND: 1}
        assert await reading.names(before) == {"Before"}, "old enough for who asks for no more"
        assert reading.places == {Place.PRIMARY: 1, Place.REPLICA: 1}
        for _ in range(5):
            assert await reading.names(after) == {"Before", "After"}
        assert reading.fallbacks == {Reason.BEHIND: 1 + replicas.BEHIND_MAX}, "then it is left alone"


async def test_one_other_is_asked_before_the_primary(reading: Reading) -> None:
    await reading.follow(reading.standby, reading.standby, reading.primary)
    async with reading.held_back():
        position = await reading.write("Elsewhere")
        for _ in range(3):
            assert await reading.names(position) == {"Elsewhere"}
    assert reading.places == {Place.REPLICA: 2, Place.PRIMARY: 1}, "the first two were behind"
    assert reading.fallbacks == {Reason.BEHIND: 3}


async def test_owners_come_from_a_replica_with_what_they_own_and_not_alone(reading: Reading) -> None:
    """Decision 1060: of members the log tells what changes, but not that there is one more."""
    position = await reading.write("Owned")
    await asyncio.to_thread(caught_up, reading.primary, reading.standby)
    owned = listables.DEALS.selecting(
        Selection(frozenset({"name", "owner_id"}), frozenset({("owner", frozenset({"name"}))}))
    )
    async with reading.database.following(reading.org_id, position) as session:
        for size in (1, SHARED_FROM):  # joined, and as rows that a page has in common
            await page(session, owned, ListQuery(All(()), None, PageWindow(first=size)))
        assert reading.places == {Place.REPLICA: 2}
        await page(session, listables.PEOPLE, ListQuery(All(()), None, PageWindow(first=1)))
        both = select(col(Deal.name), col(Person.name)).where(
            col(Deal.org_id) == reading.org_id, col(Person.org_id) == reading.org_id
        )
        await session.rows(both)
    assert reading.places == {Place.REPLICA: 2, Place.PRIMARY: 2}
    assert not reading.fallbacks


async def test_what_the_log_does_not_tell_of_is_asked_of_the_primary(reading: Reading) -> None:
    position = await reading.write("Fresh")
    async with reading.database.following(reading.org_id, position) as session:
        await session.find(Campaign, id=reading.org_id)
        await session.scalar(select(func.count()).select_from(Deal).where(col(Deal.org_id) == reading.org_id))
    assert reading.places[Place.PRIMARY] >= 1
    assert reading.fallbacks[Reason.ERROR] == 0


async def test_one_that_hangs_costs_a_moment_once(reading: Reading) -> None:
    """Decision 999."""
    position = await reading.write("Fresh")
    await asyncio.to_thread(caught_up, reading.primary, reading.standby)
    assert await reading.names(position) == {"Fresh"}
    with reading.standby.paused():
        began = time.monotonic()
        found = await asyncio.gather(*(reading.names(position) for _ in range(5)))
        took = time.monotonic() - began
        assert found == [{"Fresh"}] * 5
        assert took < SOON_SECONDS
        assert reading.fallbacks == {Reason.AWAY: 5}
        assert await reading.names(position) == {"Fresh"}
        assert reading.fallbacks == {Reason.AWAY: 5}, "it is left alone"
    async with asyncio.timeout(10):
        while reading.places[Place.REPLICA] < 2:
            await asyncio.sleep(0.1)
            assert await reading.names(position) == {"Fresh"}


async def test_one_that_dies_fails_no_read(reading: Reading) -> None:
    """Last: it begins anew."""
    position = await reading.write("Fresh")
    await asyncio.to_thread(caught_up, reading.primary, reading.standby)
    assert await reading.names(position) == {"Fresh"}
    await asyncio.to_thread(reading.standby.kill)
    began = time.monotonic()
    assert await asyncio.gather(*(reading.names(position) for _ in range(5))) == [{"Fresh"}] * 5
    assert time.monotonic() - began < SOON_SECONDS
    assert reading.fallbacks[Reason.AWAY] >= 1
    await asyncio.to_thread(reading.standby.restart)


async def test_doctor_says_how_late_each_is(reading: Reading) -> None:
    """And which is none, or away."""
    urls = [reading.standby.url("read"), reading.primary.url("read"), "postgresql+asyncpg://crm@/read?host=/nowhere"]
    found = [(one.ok, one.message) for one in of_replicas(await replicas_at([make_url(url) for url in urls]))]
    assert found == [
        (False, "/nowhere:5432 cannot be reached"),
        (True, f"{reading.standby.address[0]}:5432 is 0.0 s behind"),
        (False, f"{reading.primary.address[0]}:5432 takes writes"),
    ]


async def test_reads_that_may_be_late_are_served_by_what_was_there_lately(reading: Reading) -> None:
    """Decision 998: at most STALE_SECONDS ago, by when it was looked, and not by the standby's clock."""
    found = reading.database.replicas
    assert found is not None
    assert found.lately(reading.org_id, 7) == 7
    moment = time.monotonic()
    found.observe(moment, [(reading.org_id, 5), (None, None)])
    found.observe(moment, [(reading.org_id, 7)])
    assert found.lately(reading.org_id, 7) == 5
    found.observe(moment + 10, [(reading.org_id, 8)])
    assert found.lately(reading.org_id, 9) == 8
    found.observe(moment - 100, [("other", 3)])
    assert found.lately("other", 4) == 4
