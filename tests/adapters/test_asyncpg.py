"""What is relied on of asyncpg below its documented surface (storage/adapters/asyncpg.py); and it does the same."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator

import asyncpg
import pytest

from storage.adapters.asyncpg import fetch
from storage.database import Database
from storage.postgres.tenant_connection import TenantConnection

pytestmark = pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)


@pytest.fixture
async def connection(empty_database_url: str) -> AsyncIterator[TenantConnection]:
    """A connection to a database of one table with two rows."""
    database = Database(empty_database_url)
    taken = await database.connections.take()
    await taken.driver.execute("CREATE TABLE things (id int, name text); INSERT INTO things VALUES (1, 'a'), (2, 'b')")
    yield taken.driver
    await database.connections.give_up(taken)


_ASKED = "SELECT * FROM things WHERE id >= $1 ORDER BY id"


@pytest.mark.usefixtures("dialect")
def test_a_fetch_finds_out_nothing_that_is_not_looked_at_here() -> None:
    names = inspect.unwrap(asyncpg.Connection._do_execute).__code__.co_names
    handled = {name for name in names if name.endswith("Error")}
    assert handled == {"OutdatedSchemaCacheError", "InvalidCachedStatementError"}
    asked = inspect.getsource(asyncpg.Connection._get_statement)
    assert "(query, record_class, ignore_custom_codec)" in asked
    assert "record_class = self._protocol.get_record_class()" in asked
    sent = inspect.getsource(asyncpg.Connection._Connection__execute)
    for argument in ("state=stmt", "args=args", "portal_name=''", "limit=limit", "return_extra=return_status"):
        assert argument in sent


async def test_the_records_are_those_of_the_library(connection: TenantConnection) -> None:
    expected = await connection.fetch(_ASKED, 1)
    assert [*expected] == [*await fetch(connection, _ASKED, [1])] == [(1, "a"), (2, "b")]
    assert await fetch(connection, "SELECT 5 AS never_sent_before", []) == [(5,)]
    assert (await fetch(connection, _ASKED, [2]))[0]["name"] == "b"


async def test_a_table_that_has_changed_is_asked_anew(connection: TenantConnection) -> None:
    for _ in range(2):
        assert len((await fetch(connection, _ASKED, [1]))[0]) == 2
    await connection.execute("ALTER TABLE things ADD COLUMN more int DEFAULT 7")
    assert [*await fetch(connection, _ASKED, [2])] == [(2, "b", 7)]
    await connection.execute("ALTER TABLE things DROP COLUMN more")
    async with connection.transaction():
        with pytest.raises(asyncpg.InvalidCachedStatementError):
            await fetch(connection, _ASKED, [2])
        await connection.execute("ROLLBACK; BEGIN")
        assert [*await fetch(connection, _ASKED, [2])] == [(2, "b")]


async def test_what_the_library_refuses_is_refused(connection: TenantConnection) -> None:
    await fetch(connection, _ASKED, [1])
    with pytest.raises(asyncpg.DataError):
        await fetch(connection, _ASKED, ["a text"])
    with pytest.raises(asyncpg.InterfaceError):
        await fetch(connection, _ASKED, [])
    await fetch(connection, "SELECT pg_sleep($1)", [0.0])
    slow = asyncio.create_task(fetch(connection, "SELECT pg_sleep($1)", [0.2]))
    await asyncio.sleep(0.05)
    with pytest.raises(asyncpg.InterfaceError, match="another operation"):
        await fetch(connection, _ASKED, [1])
    await slow
    connection.terminate()
    with pytest.raises(asyncpg.InterfaceError, match="closed"):
        await fetch(connection, _ASKED, [1])


async def test_a_fetch_that_is_given_up_is_ended_at_the_server(connection: TenantConnection) -> None:
    await fetch(connection, "SELECT pg_sleep($1)", [0.0])
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(fetch(connection, "SELECT pg_sleep($1)", [5.0]), 0.05)
    assert [*await fetch(connection, _ASKED, [2])] == [(2, "b")]
