"""A server that only follows another: it is read from, it takes no writes, and nobody mistakes it for a fault."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import make_url, select, text
from sqlmodel import col

from contract.errors import Unavailable
from gateway.observability.doctor_replication import LATE_SECONDS, of_hosts
from identity import directory
from storage import migrate
from storage.database import Database
from storage.postgres.replication import hosts_of, replicas_at
from storage.tables import Deal
from tests.support.postgresql import Server, in_memory
from tests.support.standby import REPLICATED, Standby, caught_up, several


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Server, Standby]]:
    with Server(**REPLICATED) as primary:
        primary.create("followed")
        asyncio.run(migrate.upgrade(primary.url("followed")))
        with Standby(primary) as standby:
            yield primary, standby


async def test_a_standby_is_read_and_refuses_writes_as_unavailable(pair: tuple[Server, Standby]) -> None:
    """Decision 960."""
    primary, standby = pair
    at_primary, at_standby = Database(primary.url("followed")), Database(standby.url("followed"))
    try:
        await directory.create_organization(at_primary, "One", "org_one")
        await asyncio.to_thread(caught_up, primary, standby)
        key = await directory.key_of(at_standby, "org_one")
        assert key is not None
        assert key == await directory.key_of(at_primary, "org_one")
        with pytest.raises(Unavailable):
            await directory.create_organization(at_standby, "Two", "org_two")
        async with at_standby.reading(key) as session:
            assert not await session.rows(select(col(Deal.id)).where(col(Deal.org_id) == key))
    finally:
        await at_primary.close()
        await at_standby.close()


async def test_several_hosts_lead_to_the_one_that_takes_writes(pair: tuple[Server, Standby]) -> None:
    """Whichever stands first."""
    primary, standby = pair
    for servers in ((primary, standby), (standby, primary)):
        database = Database(several("followed", *servers))
        try:
            async with database.directory() as session:
                assert not await session.scalar(text("SELECT pg_is_in_recovery()"))
        finally:
            await database.close()


async def test_doctor_says_which_server_is_which(pair: tuple[Server, Standby], tmp_path: Path) -> None:
    """And what a failover would lose (decision 960)."""
    primary, standby = pair
    hosts = await hosts_of(make_url(several("followed", primary, standby)))
    assert hosts is not None
    found = {finding.name: finding for finding in of_hosts(hosts)}
    first, second = (f"{server.address[0]}:5432" for server in pair)
    assert found["database_hosts"].ok
    assert found["database_hosts"].message == f"{first} takes writes, {second} follows"
    assert found["database_target"].ok
    assert found["rewind"].ok
    assert found["standby_lag"].ok
    assert not found["synchronous_standby"].ok, "none is told to wait"
    assert found["synchronous_standby"].message == f"{first} waits for none"
    assert await hosts_of(make_url(primary.url("followed"))) is None
    assert await hosts_of(make_url("sqlite+aiosqlite:///file.db")) is None
    address = several("followed", primary, standby).replace("&target_session_attrs=read-write", "")
    nowhere = address + f"&host={quote(str(tmp_path))}:5432"
    hosts = await hosts_of(make_url(nowhere))
    assert hosts is not None
    found = {finding.name: finding for finding in of_hosts(hosts)}
    assert not found["database_hosts"].ok
    assert "cannot be reached" in found["database_hosts"].message
    assert not found["database_target"].ok


class Unchecked(Server):
    """A server without data checksums, as one has them that was made by PostgreSQL 17 or older."""

    def __init__(self, like: Server) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="crm-pg-", dir=in_memory()))
        self._data = self._folder / "data"
        self._programs, self.system_user = like._programs, like.system_user
        if self.system_user is not None:
            shutil.chown(self._folder, self.system_user)
        self.run("initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "-N", "--no-data-checksums")
        with (self._data / "postgresql.conf").open("a") as file:
            file.write("listen_addresses = ''\nfsync = off\n")
        self._begin()


@pytest.fixture
def unchecked(pair: tuple[Server, Standby]) -> Iterator[Server]:
    with Unchecked(pair[0]) as server:
        yield server


async def test_doctor_warns_of_a_server_that_could_not_come_back(unchecked: Server) -> None:
    """Without checksums and hints in its log, `pg_rewind` refuses (decision 960)."""
    url = make_url(unchecked.url("postgres", role="postgres"))
    for hints in ("off", "on"):
        await asyncio.to_thread(unchecked.execute, f"ALTER SYSTEM SET wal_log_hints = {hints}", role="postgres")
        await asyncio.to_thread(unchecked.restart)
        [found] = [one for one in of_hosts(await replicas_at([url])) if one.name == "rewind"]
        assert found.ok is (hints == "on"), found
        assert "wal_log_hints" in found.advice


async def test_doctor_calls_a_standby_that_stands_still_late(pair: tuple[Server, Standby]) -> None:
    primary, standby = pair
    url = make_url(several("followed", primary, standby))
    await asyncio.to_thread(standby.ask, "SELECT pg_wal_replay_pause()")
    try:
        await asyncio.to_thread(primary.execute, "CREATE TABLE moved ()", database="followed")
        await asyncio.sleep(LATE_SECONDS + 0.5)
        hosts = await hosts_of(url)
        assert hosts is not None
        [late] = [finding for finding in of_hosts(hosts) if finding.name == "standby_lag"]
        assert not late.ok
    finally:
        await asyncio.to_thread(standby.ask, "SELECT pg_wal_replay_resume()")
