"""What is relied on of SQLAlchemy, SQLModel, aiosqlite and asyncpg below their surface (storage/adapters)."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
from pathlib import Path
from typing import Any

import aiosqlite
import asyncpg
import pytest
from sqlalchemy import Boolean, DateTime, Text, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql.asyncpg import AsyncAdapt_asyncpg_connection
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import MissingGreenlet
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Mapper
from sqlmodel import SQLModel, UTCDateTime

from storage import tables
from storage.adapters import aiosqlite as sqlite_driver
from storage.adapters import sqlalchemy as adapter
from storage.adapters import sqlmodel as models
from storage.base import Tenant
from tests.support.internals import signature_of


@pytest.mark.parametrize("dialect", [sqlite.dialect(paramstyle="qmark"), postgresql.asyncpg.dialect()])
def test_a_compiled_statement_tells_its_parameters_in_order(dialect: Dialect) -> None:
    statement = select(bindparam("b", type_=Text), bindparam("a", type_=Boolean))
    compiled = statement.compile(dialect=dialect)
    assert adapter.positions(compiled) == ["b", "a"]
    assert isinstance(adapter.bound_type(compiled, "a"), Boolean)
    assert adapter.positions(select(1).compile(dialect=dialect)) in ((), [], ["param_1"])


def test_a_type_of_ours_tells_what_it_wraps_and_how_a_value_is_bound() -> None:
    assert isinstance(adapter.plain_type(UTCDateTime()), DateTime)
    assert adapter.plain_type(Text) is Text
    assert adapter.bind_processor(Boolean(), sqlite.dialect())(True) == 1
    assert adapter.bind_processor(Text(), sqlite.dialect()) is None


async def test_the_pool_hands_out_an_idle_connection_at_once_and_makes_one_only_behind_the_bridge(
    tmp_path: Path,
) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'a.db'}", pool_size=2, pool_reset_on_return=None)
    try:
        pool = adapter.pool_of(engine)
        assert adapter.idle_connections(pool) == 0
        with pytest.raises(MissingGreenlet):
            pool.connect()
        pooled: Any = await adapter.greenlet_spawn(pool.connect)
        assert isinstance(adapter.driver_of(pooled), aiosqlite.Connection)
        pooled.close()
        assert adapter.idle_connections(pool) == 1
        again = pool.connect()
        assert adapter.idle_connections(pool) == 0
        await adapter.greenlet_spawn(again.invalidate)
        again.close()
    finally:
        await engine.dispose()
    assert all(callable(getattr(pooled, name)) for name in ("close", "detach", "invalidate"))


async def test_a_driver_of_sqlite_is_interrupted_from_outside_its_thread(tmp_path: Path) -> None:
    forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    driver = await aiosqlite.connect(tmp_path / "a.db")
    sqlite_driver.interrupt(driver)  # nothing runs, and nothing happens
    asyncio.get_running_loop().call_later(0.1, sqlite_driver.interrupt, driver)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        await driver.execute_fetchall(forever)
    assert await driver.execute_fetchall("SELECT 1") == [(1,)]
    assert inspect.iscoroutinefunction(driver.interrupt)  # or else the adapter is not needed any more
    await driver.close()
    sqlite_driver.interrupt(driver)  # closed: nothing happens either


def test_every_table_has_a_mapper_in_the_registry() -> None:
    found = list(models.mappers())
    assert all(isinstance(mapper, Mapper) for mapper in found)
    assert {"deals", "accounts"} <= {str(mapper.local_table) for mapper in found}
    assert tables.Deal in {mapper.class_ for mapper in found}


def test_an_attribute_of_a_model_is_set_past_its_metaclass() -> None:
    assert str(Tenant.org_id) == "org_id"
    assert type(SQLModel).__setattr__ is not type.__setattr__
    assert "org_id" in vars(Tenant)


def test_the_dialect_begins_and_ends_through_the_drivers_transaction() -> None:
    """`TenantConnection.transaction` is where the organization is set, in the message that begins it (wall 5)."""
    source = inspect.getsource(AsyncAdapt_asyncpg_connection)
    assert "self._connection.transaction(" in source
    assert all(one in source for one in ("transaction.start()", "_transaction.commit)", "_transaction.rollback)"))


def test_the_driver_makes_connections_of_a_class_that_is_given() -> None:
    assert "connection_class" in inspect.signature(asyncpg.connect).parameters
    assert signature_of(asyncpg.Connection, "transaction").startswith("(self, *, isolation=None, readonly=False")
    for name in ("add_termination_listener", "remove_termination_listener", "terminate", "set_type_codec", "fetch"):
        assert callable(getattr(asyncpg.Connection, name))


def test_a_statement_whose_caller_has_gone_is_ended_by_a_task_that_the_connection_drops_with_itself() -> None:
    source = inspect.getsource(asyncpg.Connection._cancel_current_command)
    assert "self._cancellations.add(" in source
    assert "create_task(" in source
    assert "fut.cancel()" in inspect.getsource(asyncpg.Connection._clean_tasks)
