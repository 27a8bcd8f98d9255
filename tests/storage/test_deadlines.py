"""A statement that takes too long is ended, and its connection is as good as before (decision 87)."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import column, func, literal, select, text

from contract.errors import TimedOut
from storage.database import Database
from storage.postgres import tenant_connection
from storage.postgres.tenant_connection import TenantConnection
from storage.tables import Account, Organization

SECONDS = 0.3


@pytest.fixture
async def org(database_url: str) -> str:
    """An organization, made without haste."""
    opened = Database(database_url)
    organization = Organization(external_id="org", name="Org")
    async with opened.directory(writing=True) as session:
        await session.insert(organization)
    await opened.close()
    return organization.id


_SLOW = {
    "postgresql": "SELECT count(*) FROM pg_sleep(60)",
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000000)"
    " SELECT count(*) FROM n",
}


def slow(dialect: str) -> Any:
    """A shape that takes twenty seconds or more."""
    if dialect == "postgresql":
        return select(func.count().label("n")).select_from(func.pg_sleep(60))
    numbers = select(literal(1).label("i")).cte("n", recursive=True)
    numbers = numbers.union_all(select(numbers.c.i + 1).where(numbers.c.i < 10**10))
    return select(func.count(column("i")).label("n")).select_from(numbers)


@pytest_asyncio.fixture(params=[True, False], ids=["statements kept", "behind a pooler"])
async def database(database_url: str, dialect: str, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    if dialect == "sqlite" and not request.param:
        pytest.skip("SQLite has no pooler")
    database = Database(database_url, pool_size=1, statement_cache=request.param, statement_seconds=SECONDS)
    yield database
    await database.close()


async def _by_the_orm(database: Database, dialect: str, org: str) -> None:
    async with database.directory() as session:
        await session.scalar(text(_SLOW[dialect]))


async def _in_a_transaction(database: Database, dialect: str, org: str) -> None:
    async with database.writing(org) as session:
        await session.insert(Account(name="half"))
        await session.scalar(text(_SLOW[dialect]))


async def _straight(database: Database, dialect: str, org: str) -> None:
    async with database.directory() as session:
        await session.fetch("slow", lambda: slow(dialect))


WAYS = [_by_the_orm, _in_a_transaction, _straight]


async def _is_well(database: Database, org: str) -> None:
    """The one connection that there is answers, and nothing of what was ended is there."""
    async with asyncio.timeout(30), database.reading(org) as session:
        assert await session.find(Account) is None


@pytest.mark.parametrize("way", WAYS)
async def test_a_slow_statement_is_ended(database: Database, dialect: str, org: str, way: Any) -> None:
    for _ in range(2):
        began = time.monotonic()
        with pytest.raises(TimedOut):
            await way(database, dialect, org)
        assert time.monotonic() - began < 30
        await _is_well(database, org)


@pytest.mark.parametrize("way", WAYS)
async def test_a_statement_ends_with_its_caller(database_url: str, dialect: str, org: str, way: Any) -> None:
    unheard: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: unheard.append(about))
    database = Database(database_url, pool_size=1)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(SECONDS):
            await way(database, dialect, org)
    await _is_well(database, org)
    assert time.monotonic() - began < 30
    await database.close()
    gc.collect()
    assert unheard == []  # whose end nobody asked about would be a trace in the log


async def test_quick_statements_leave_no_timer_behind(database: Database, org: str) -> None:
    for _ in range(3):
        async with database.directory() as session:
            await session.fetch("one", lambda: select(literal(1).label("n")))
            await session.scalar(text("SELECT 1"))
        await asyncio.sleep(SECONDS)
    await _is_well(database, org)


@pytest.mark.parametrize("way", WAYS)
async def test_a_rollback_that_is_late_hides_nothing(
    database: Database, dialect: str, org: str, way: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server too busy to end the transaction in time loses the connection; the caller is told of the statement."""
    if dialect == "sqlite":
        pytest.skip("SQLite's transactions end in this process")
    await _is_well(database, org)
    send = TenantConnection.execute

    async def execute(connection: TenantConnection, query: str, *args: Any, **kwargs: Any) -> Any:
        if query == "ROLLBACK":
            await asyncio.sleep(10)
        return await send(connection, query, *args, **kwargs)

    monkeypatch.setattr(tenant_connection, "_ROLLBACK_SECONDS", 0.05)
    monkeypatch.setattr(TenantConnection, "execute", execute)
    with pytest.raises(TimedOut):
        await way(database, dialect, org)
    monkeypatch.undo()
    await _is_well(database, org)
