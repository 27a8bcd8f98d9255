"""Who writes to a file has a connection of its own kind, which makes no second file (decision 1203)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiosqlite
import pytest
from sqlalchemy import text

from contract.errors import TimedOut
from storage import connection_pool
from storage.connection_pool import giving_way
from storage.database import Database
from storage.tenancy.writing import WritingSession

ORG = "11111111-1111-4111-8111-111111111111"
_PAGES = 40
"""More than fit in the 64 KiB beyond which SQLite makes a file of them."""


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(f"sqlite+aiosqlite:///{tmp_path / 'crm.db'}")
    async with database.writing(ORG) as session:
        assert isinstance(session, WritingSession)
        driver = await session.driver()
        await driver.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT CHECK (text <> 'bad'))")
        for number in range(_PAGES):
            await driver.execute("INSERT INTO notes VALUES (?, ?)", (number, "x" * 4_000))
    yield database
    await database.close()


def _files_without_a_name() -> list[str]:
    """The files that this process has open and that no folder has: so SQLite keeps what it needs for a while."""
    links = [Path(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
    files = [str(link.readlink()) for link in links if link.is_symlink()]  # that of the listing is gone
    return [file for file in files if "etilqs" in file]


async def test_who_writes_and_who_reads_have_connections_of_their_own(database: Database) -> None:
    connections = database.connections
    writer = await connections.take(writing=True)
    readers = [await connections.take() for _ in range(2)]
    assert writer.driver not in [reader.driver for reader in readers]
    for taken in (*readers, writer):
        await connections.give_back(taken)
    again = await connections.take(), await connections.take(writing=True)
    assert [taken.driver for taken in again] == [readers[1].driver, writer.driver]
    for taken in again:
        await connections.give_back(taken)


@pytest.mark.skipif(sys.platform != "linux", reason="what a process has open is told by Linux alone")
@pytest.mark.parametrize("is_long", [False, True])
async def test_a_statement_that_touches_many_pages_makes_no_file_unless_it_gives_way(
    database: Database, is_long: bool
) -> None:
    with giving_way(is_long):
        async with database.writing(ORG) as session:
            assert isinstance(session, WritingSession)
            await (await session.driver()).execute("UPDATE notes SET text = 'y' || text")
            assert len(_files_without_a_name()) == is_long
    assert _files_without_a_name() == []


async def test_a_statement_that_fails_leaves_nothing_of_itself_and_what_came_before(database: Database) -> None:
    """What is kept in memory is what takes the statement back, page for page."""
    async with database.writing(ORG) as session:
        assert isinstance(session, WritingSession)
        driver = await session.driver()
        await driver.execute("UPDATE notes SET text = 'first' WHERE id = 0")
        with pytest.raises(Exception, match="CHECK constraint failed"):
            await driver.execute(f"UPDATE notes SET text = CASE id WHEN {_PAGES - 1} THEN 'bad' ELSE 'second' END")
    taken = await database.connections.take()
    rows = await taken.driver.execute_fetchall("SELECT substr(text, 1, 6) FROM notes ORDER BY id")
    await database.connections.give_back(taken)
    assert [row[0] for row in rows] == ["first", *["x" * 6] * (_PAGES - 1)]


async def test_a_connection_that_wrote_for_long_is_closed_and_the_next_writer_has_another(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def wrote() -> aiosqlite.Connection:
        async with database.writing(ORG) as session:
            assert isinstance(session, WritingSession)
            driver: aiosqlite.Connection = await session.driver()
            await driver.execute("UPDATE notes SET text = 'y' || text")
            return driver

    first = await wrote()
    assert await wrote() is first
    monkeypatch.setattr(connection_pool, "LONG_SECONDS", 0.0)
    assert await wrote() is first
    monkeypatch.undo()
    assert await wrote() is not first
    await asyncio.to_thread(first._thread.join, 10)
    assert not first._thread.is_alive()


async def test_a_part_that_takes_too_long_says_so(tmp_path: Path) -> None:
    """SQLite takes the whole transaction back then, and there is no part left to take back."""
    database = Database(f"sqlite+aiosqlite:///{tmp_path / 'crm.db'}", statement_seconds=0.05)
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000000)"
    statement = text(f"INSERT INTO notes {many} SELECT i FROM n WHERE :org <> ''").bindparams(org=ORG)

    async def write() -> None:
        async with database.writing(ORG) as session:
            assert isinstance(session, WritingSession)
            await (await session.driver()).execute("CREATE TABLE notes (number INTEGER)")
            async with session.within():
                await session.execute(statement)

    with pytest.raises(TimedOut):
        await write()
    taken = await database.connections.take()
    assert await taken.driver.execute_fetchall("SELECT name FROM sqlite_master") == []
    await database.connections.give_back(taken)
    await database.close()
