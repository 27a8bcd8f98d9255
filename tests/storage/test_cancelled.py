"""Reads whose caller goes away, as fields do beside one that fails: the pool serves whoever comes next."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Select, func, select
from sqlmodel import col

from storage.base import new_id
from storage.database import Database
from storage.postgres.tenant_connection import TenantConnection
from storage.tables import Member, Organization


def _build() -> Select[Any]:
    return select(func.count(col(Member.subject)).label("members"))


async def _shape(database: Database) -> int:
    async with database.directory() as session:
        [row] = await session.fetch("members", _build)
        return int(row.members)


async def _statement(database: Database) -> int:
    async with database.directory() as session:
        return int(await session.scalar(_build()))


@pytest.mark.parametrize("read", [_shape, _statement])
@pytest.mark.parametrize("turns", range(6))
async def test_a_read_after_cancelled_ones(database: Database, read: Any, turns: int) -> None:
    assert await read(database) == 0
    for _ in range(3):
        tasks = [asyncio.create_task(read(database)) for _ in range(3)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert [await _shape(database) for _ in range(3)] == [0, 0, 0]
        assert await asyncio.gather(*(_shape(database) for _ in range(12))) == [0] * 12


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_a_connection_whose_caller_goes_while_it_is_made_is_ended(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[TenantConnection] = []
    is_made = asyncio.Event()

    async def never(self: TenantConnection, *_: object, **__: object) -> None:
        made.append(self)
        is_made.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(TenantConnection, "set_type_codec", never)
    task = asyncio.create_task(_shape(database))
    async with asyncio.timeout(30):
        await is_made.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [connection.is_closed() for connection in made] == [True]
    assert database.connections.state.in_use == 0


@pytest.mark.parametrize("turns", range(0, 60, 2))
async def test_a_cancelled_writer_holds_nothing(sqlite_template: Path, tmp_path: Path, turns: int) -> None:
    """SQLite's one writer may be cancelled with rows still to be read, and its caller do something about that.

    The file is free at once, for another process too.
    """
    file = shutil.copyfile(sqlite_template, tmp_path / "crm.db")
    database = Database(f"sqlite+aiosqlite:///{file}")
    found = select(col(Organization.id))
    async with database.directory(writing=True) as session:
        for number in range(300):
            await session.insert(Organization(external_id=str(number), name="Org"))

    async def write() -> None:
        try:
            async with database.directory(writing=True) as session:
                while True:
                    await session.insert(Organization(external_id=new_id(), name="Org"))
                    assert await session.rows(found)
        except asyncio.CancelledError:  # which holds whatever the statement held
            with closing(sqlite3.connect(file, timeout=1, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
            raise

    try:
        task = asyncio.create_task(write())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    finally:
        await database.close()
