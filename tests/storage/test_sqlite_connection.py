"""Who writes to a file has a connection of its own kind, which makes no second file (decision 1203)."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from storage.connection_pool import giving_way
from storage.database import Database
from storage.tenancy.sessions import WritingSession

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
    return [str(link.readlink()) for link in links if link.is_symlink() and "etilqs" in str(link.readlink())]


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
