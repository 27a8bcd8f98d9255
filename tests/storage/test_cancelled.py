"""Reads whose caller goes away, as fields do beside one that fails: the pool serves whoever comes next."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import Select, func, select
from sqlmodel import col

from storage.database import Database
from storage.tables import Member


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
