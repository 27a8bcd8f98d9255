"""Two servers: where an organization's rows lie, who knows it, and what is refused while it moves (decision 1080).

A second server is another database of the same one here: the service knows no difference.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest
from sqlalchemy import make_url

from contract.errors import Unavailable
from contract.scopes import Role
from identity import directory
from jobs.queue import enqueue
from jobs.work import KINDS, Run, Work
from jobs.worker import Worker
from storage.base import new_id
from storage.clusters import Clusters, on_each_server, servers_of
from storage.database import Database
from storage.queries import credentials, members
from storage.queries.organizations import all_ids, create_organization
from storage.tables import Account
from tests.support.postgresql import Server

NAMES = ("clusters_of_directory", "clusters_of_north")
HERE, THERE = new_id(), new_id()


@pytest.fixture(scope="module")
def addresses(postgresql: Server, postgresql_template: str) -> Iterator[tuple[str, str]]:
    for name in NAMES:
        postgresql.create(name, template=postgresql_template)
    yield postgresql.url(NAMES[0]), postgresql.url(NAMES[1])
    for name in NAMES:
        postgresql.drop(name)


@asynccontextmanager
async def process(addresses: tuple[str, str], *, is_set: bool = True) -> AsyncIterator[Database]:
    """What a process has, with CRM_CLUSTERS or without."""
    database = Database(addresses[0])
    if is_set:
        await Clusters(database, {"north": Database(addresses[1])}).refresh()
    try:
        yield database
    finally:
        await database.close()


@dataclass
class Servers:
    database: Database
    names: tuple[asyncpg.Connection, asyncpg.Connection]

    async def counts(self, table: str, org_id: str) -> tuple[int, int]:
        """How many rows of a table an organization has on each server, past all policies."""
        question = f"SELECT count(*) FROM {table} WHERE org_id = $1"
        first, second = [await one.fetchval(question, org_id) for one in self.names]
        return first, second


@pytest.fixture
async def servers(addresses: tuple[str, str], postgresql: Server) -> AsyncIterator[Servers]:
    connections = [await postgresql.connect(str(make_url(url).database), role="postgres") for url in addresses]
    async with process(addresses) as database:
        for org_id, cluster in ((HERE, None), (THERE, "north")):
            await create_organization(database, "An organization", org_id, org_id, cluster)
            await directory.add_member(
                database, org_id, "ada", name="Ada", email="ada@example.com", role=Role.ADMIN, scopes=Role.ADMIN.scopes
            )
        yield Servers(database, (connections[0], connections[1]))
    for connection in connections:
        await connection.close()


async def test_rows_lie_with_their_organization_and_who_may_call_with_the_directory(servers: Servers) -> None:
    for org_id in (HERE, THERE):
        async with servers.database.writing(org_id) as session:
            await session.insert(Account(name="Rows"))
            await enqueue(session, "nothing", {})
    for table in ("accounts", "people", "jobs", "job_queue", "event_counters"):
        assert await servers.counts(table, HERE) >= (1, 0), table
        assert (await servers.counts(table, THERE))[0] == 0, table
        assert (await servers.counts(table, THERE))[1] >= 1, table
    assert await servers.counts("memberships", THERE) == (1, 0)
    async with servers.database.reading(THERE) as session:
        assert await members.is_active(session, "ada")
        assert await members.scopes_of(session, ["ada"]), "of the directory, in the same session"
        assert await credentials.organization_keys(session, owner=None) == []


async def test_both_transactions_end_together(servers: Servers) -> None:
    async def suspend(*, then: type[Exception] | None) -> None:
        async with servers.database.writing(THERE) as session:
            async with session.within():
                found = await members.membership(session, "ada", lock=True)
                assert found is not None
                await members.suspend(session, found)
            if then is not None:
                raise then

    async def states() -> tuple[bool, bool]:
        async with servers.database.reading(THERE) as session:
            return bool(await members.scopes_of(session, ["ada"])), await members.is_active(session, "ada")

    with pytest.raises(ZeroDivisionError):
        await suspend(then=ZeroDivisionError)
    assert await states() == (True, True)
    await suspend(then=None)
    assert await states() == (False, False)
    async with servers.database.writing(THERE) as session:
        await members.resume(session, "ada")


async def test_every_process_learns_where_an_organization_lies(
    servers: Servers, addresses: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """One that has no setting refuses those of the other server; the credential's statement tells it."""
    new = new_id()
    async with process(addresses) as other, process(addresses, is_set=False) as strange:
        await create_organization(servers.database, "New", new, new, "north")
        await directory.add_member(
            servers.database, new, "eve", name="Eve", email="e@example.com", role=Role.ADMIN, scopes=Role.ADMIN.scopes
        )
        assert len(servers_of(other, new)) == 1, "not known yet"
        [row] = await directory.known(other, ["eve"])
        assert (row.org_id, row.cluster) == (new, "north")
        assert [one.place for one in servers_of(other, new)] == ["", "north"]
        with pytest.raises(Unavailable):
            await directory.known(strange, ["eve"])
        assert "CRM_CLUSTERS" in caplog.text
    async with process(addresses) as later:
        assert len(servers_of(later, new)) == 2, "asked for at the start"
        async with later.directory() as session:
            assert {HERE, THERE, new} <= set(await all_ids(session))


async def test_of_two_moves_at_once_the_one_that_is_seen_later_is_seen(
    servers: Servers, addresses: tuple[str, str]
) -> None:
    """Its time is before the newest that is known."""
    sooner, later = new_id(), new_id()
    move = "UPDATE organizations SET cluster = 'north', moved_at = now() + $2 * interval '1 second' WHERE id = $1"
    for org_id in (sooner, later):
        await create_organization(servers.database, "Moved", org_id, org_id)
    async with process(addresses) as other:
        for org_id, second in ((later, 1.0), (sooner, 0.0)):
            await servers.names[0].execute(move, org_id, second)
            assert other.clusters is not None
            await other.clusters.refresh()
            assert [one.place for one in servers_of(other, org_id)] == ["", "north"]


@pytest.mark.parametrize("org_id", [HERE, THERE], ids=["here", "there"])
async def test_writes_are_refused_while_somebody_moves_the_organization(servers: Servers, org_id: str) -> None:
    """Reads go on, and so do the writes of others; afterwards it is refused where it lies no more."""
    mover = servers.names[0 if org_id == HERE else 1]

    async def write(to: str) -> None:
        async with servers.database.writing(to) as session:
            await session.insert(Account(name="Written"))

    async with mover.transaction():
        await mover.execute("SELECT pg_advisory_xact_lock(hashtextextended($1::text, 57))", org_id)
        with pytest.raises(Unavailable) as refused:
            await write(org_id)
        assert refused.value.retry_after == 1
        async with servers.database.reading(org_id) as session:
            assert await members.is_active(session, "ada")
        await write(THERE if org_id == HERE else HERE)
    await write(org_id)
    before = await mover.fetchval("SELECT cluster FROM organizations WHERE id = $1", org_id)
    await mover.execute("UPDATE organizations SET cluster = 'elsewhere' WHERE id = $1", org_id)
    with pytest.raises(Unavailable):
        await write(org_id)
    await mover.execute("UPDATE organizations SET cluster = $2 WHERE id = $1", org_id, before)
    await write(org_id)


async def test_one_worker_runs_the_jobs_of_all_servers(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    done: set[str] = set()
    both = asyncio.Event()

    async def run(run: Run) -> None:
        done.add(run.org_id)
        if done == {HERE, THERE}:
            both.set()

    monkeypatch.setitem(KINDS, "clusters_work", Work("clusters_work", run, 1, 60.0))
    for org_id in (HERE, THERE):
        async with servers.database.writing(org_id) as session:
            await enqueue(session, "clusters_work", {})
    ports: Any = SimpleNamespace(artifacts=None, mails_per_day=1)  # Any: all that is asked for here
    worker = Worker(servers.database, ports, lambda *_: None)
    worker.start()
    try:
        async with asyncio.timeout(30):
            await both.wait()
    finally:
        await worker.stop(5)


async def test_a_server_that_is_away_keeps_nobody_from_the_others(addresses: tuple[str, str]) -> None:
    database = Database(addresses[0])
    away = Database("postgresql+asyncpg://crm@/nothing?host=/nowhere")
    Clusters(database, {"away": away, "north": Database(addresses[1])})
    asked: list[str | None] = []

    async def look(server: Database) -> None:
        async with server.directory() as session:
            await all_ids(session)
        asked.append(server.place)

    assert not await on_each_server(database, look)
    assert not await on_each_server(database, look)
    assert asked == ["", "north"] * 2
    await database.close()
