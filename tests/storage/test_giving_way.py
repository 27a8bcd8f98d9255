"""What takes long to write into a file gives way to others on the processor, and nothing else does (decision 1194)."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import aiosqlite
import pytest

from storage import connection_pool
from storage.adapters.aiosqlite import step_back
from storage.connection_pool import giving_way
from storage.database import Database
from tests.support.connections import taken_from

_LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT sum(i) FROM n"
ORG = "11111111-1111-4111-8111-111111111111"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="threads have a rank on Linux alone")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(f"sqlite+aiosqlite:///{tmp_path / 'crm.db'}")
    async with database.writing(ORG) as session:
        await (await session.driver()).execute("CREATE TABLE notes (text TEXT)")
    yield database
    await database.close()


def _nice(driver: aiosqlite.Connection) -> int:
    """How nice the thread of a connection is; one that has ended is not found."""
    assert driver._thread.native_id is not None
    return os.getpriority(os.PRIO_PROCESS, driver._thread.native_id)


async def _is_closed(driver: aiosqlite.Connection) -> bool:
    """Says whether its thread ends, if not at this moment."""
    await asyncio.to_thread(driver._thread.join, 10)
    return not driver._thread.is_alive()


async def _wrote(database: Database, *, is_long: bool) -> tuple[aiosqlite.Connection, int]:
    """The connection that wrote, and how much nicer than this thread its own was."""
    with giving_way(is_long):
        async with database.writing(ORG) as session:
            driver = await session.driver()
            await driver.execute("INSERT INTO notes VALUES ('x')")
            return driver, _nice(driver) - os.getpriority(os.PRIO_PROCESS, 0)


async def test_a_thread_steps_back_alone(tmp_path: Path) -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    async with aiosqlite.connect(tmp_path / "a.db") as one, aiosqlite.connect(tmp_path / "a.db") as other:
        await step_back(one)
        assert [_nice(one), _nice(other), os.getpriority(os.PRIO_PROCESS, 0)] == [min(before + 10, 19), before, before]


async def test_a_long_statement_of_one_that_stepped_back_looks_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = list[int]()
    monkeypatch.setattr(os, "sched_yield", lambda: looks.append(threading.get_ident()))
    async with aiosqlite.connect(":memory:") as driver:
        await step_back(driver)
        await driver.execute_fetchall("SELECT 1")
        assert looks == []
        await driver.execute_fetchall(_LONG)
        assert len(looks) > 10
        assert set(looks) == {driver._thread.ident}


async def test_only_what_takes_long_gives_way_and_its_connection_is_used_by_nobody_else(database: Database) -> None:
    short, nicer = await _wrote(database, is_long=False)
    assert nicer == 0
    long, nicer = await _wrote(database, is_long=True)
    assert nicer == min(10, 19 - os.getpriority(os.PRIO_PROCESS, 0))
    assert long is not short
    assert await _wrote(database, is_long=False) == (short, 0)
    with giving_way(True):
        taken = await database.connections.take()
    assert taken.driver is long
    await database.connections.give_back(taken)
    assert await _wrote(database, is_long=True) == (long, nicer)


async def test_those_that_give_way_are_closed_when_nobody_uses_them(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "IDLE_SECONDS", 0.01)
    short, _ = await _wrote(database, is_long=False)
    long, _ = await _wrote(database, is_long=True)
    assert await _is_closed(long)
    assert (await _wrote(database, is_long=False))[0] is short
    again, _ = await _wrote(database, is_long=True)
    await database.close()
    assert await _is_closed(again)
    assert await _is_closed(short)


async def test_who_is_cancelled_at_the_commit_tells_others_to_look(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = list[str]()
    execute = aiosqlite.Connection.execute

    async def cancelled(driver: aiosqlite.Connection, sql: str, *values: object) -> object:
        done = await execute(driver, sql, *values)
        if sql == "COMMIT":
            raise asyncio.CancelledError
        return done

    database.committed.append(told.append)
    monkeypatch.setattr(aiosqlite.Connection, "execute", cancelled)
    with pytest.raises(asyncio.CancelledError):
        await _wrote(database, is_long=True)
    assert told == [ORG]


async def test_a_thread_that_cannot_step_back_leaves_no_connection(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[aiosqlite.Connection] = []

    async def cancelled(driver: aiosqlite.Connection) -> None:
        opened.append(driver)
        raise asyncio.CancelledError

    monkeypatch.setattr(connection_pool, "step_back", cancelled)
    with pytest.raises(asyncio.CancelledError):
        await _wrote(database, is_long=True)
    assert await _is_closed(opened[0])
    assert database.connections.state.in_use == 0
    monkeypatch.undo()

    def refused(_by: int) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "nice", refused)
    assert (await _wrote(database, is_long=True))[1] == 0


async def _raises(database: Database) -> None:
    with giving_way(True):
        async with database.writing(ORG) as session:
            await (await session.driver()).execute("INSERT INTO notes VALUES ('lost')")
            raise LookupError


async def _is_cancelled(database: Database) -> None:
    task = asyncio.current_task()
    assert task is not None
    with giving_way(True):
        async with database.writing(ORG) as session:
            await (await session.driver()).execute("INSERT INTO notes VALUES ('lost')")
            task.cancel()
            await asyncio.sleep(1)


@pytest.mark.parametrize(("ends", "error"), [(_raises, LookupError), (_is_cancelled, asyncio.CancelledError)])
async def test_a_write_that_fails_leaves_nothing(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    ends: Callable[[Database], Awaitable[None]],
    error: type[BaseException],
) -> None:
    monkeypatch.setattr(connection_pool, "IDLE_SECONDS", 0.01)
    opened = taken_from(database.connections, monkeypatch)
    with pytest.raises(error):
        await asyncio.create_task(ends(database))
    [(taken, _)] = opened
    assert await _is_closed(taken.driver)
    assert database.connections.state.in_use == 0
    driver, _ = await _wrote(database, is_long=False)
    assert [text async for (text,) in await driver.execute("SELECT text FROM notes")] == ["x"]
