"""What is relied on of SQLAlchemy, SQLModel, aiosqlite and asyncpg below their surface (storage/adapters)."""

from __future__ import annotations

import asyncio
import gc
import inspect
import sqlite3
from pathlib import Path
from typing import Any

import aiosqlite
import aiosqlite.core
import asyncpg
import pytest
from sqlalchemy import Boolean, DateTime, Text, and_, bindparam, literal, literal_column, select, true, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import Mapper
from sqlmodel import SQLModel, UTCDateTime, col

from storage import tables
from storage.adapters import aiosqlite as sqlite_driver
from storage.adapters import sqlalchemy as adapter
from storage.adapters import sqlmodel as models
from storage.base import Tenant


def test_a_dialect_of_no_database_writes_names_and_true() -> None:
    dialect = adapter.DefaultDialect(paramstyle="named")
    dialect.supports_native_boolean = True
    statement = select(literal_column("x")).where(true(), bindparam("b", type_=Boolean)).limit(bindparam("n"))
    assert " ".join(str(statement.compile(dialect=dialect)).split()) == "SELECT x WHERE :b LIMIT :n"
    assert str(select(true()).compile(dialect=dialect)).startswith("SELECT true")


@pytest.mark.parametrize("dialect", [sqlite.dialect(paramstyle="qmark"), postgresql.asyncpg.dialect()])
def test_a_compiled_statement_tells_its_parameters_in_order(dialect: Dialect) -> None:
    statement = select(bindparam("b", type_=Text), bindparam("a", type_=Boolean))
    compiled = adapter.Compiled(statement, dialect, known=statement)
    assert compiled.names == ["b", "a"]
    assert isinstance(compiled.types["a"], Boolean)
    one = select(literal(1).label("n"))
    assert adapter.Compiled(one, dialect, known=one).values() == {"param_1": 1}


@pytest.mark.parametrize("dialect", [sqlite.dialect(paramstyle="qmark"), postgresql.asyncpg.dialect()])
def test_a_statement_is_known_again_with_other_values(dialect: Dialect) -> None:
    def sought(name: str, *ids: str) -> Any:
        return select(tables.Deal.name).where(tables.Deal.name == name, col(tables.Deal.id).in_(ids))

    first, second = (adapter.structure_of(sought(*values)) for values in (("a", "1", "2"), ("b", "3", "4")))
    assert first is not None
    assert second is not None
    assert first.key == second.key
    assert adapter.structure_of(sought("a", "1")) != first
    statement = sought("a", "1", "2")
    compiled = adapter.Compiled(statement, dialect, known=statement)
    found = compiled.values(second.values)
    assert sorted(found[name] for name in compiled.names) == ["3", "4", "b"]


@pytest.mark.parametrize("dialect", [sqlite.dialect(paramstyle="qmark"), postgresql.asyncpg.dialect()])
def test_values_find_their_places_where_what_is_sent_has_them_in_another_order(dialect: Dialect) -> None:
    def sought(name: str, status: str) -> Any:
        of_contact = and_(col(tables.Deal.account_id) == col(tables.Contact.account_id), tables.Deal.status == status)
        return select(tables.Contact.id).join(tables.Deal, of_contact).where(tables.Contact.first_name == name)

    known, other = sought("Ada", "open"), adapter.structure_of(sought("Bo", "won"))
    assert other is not None
    sent = known.with_only_columns(known.exported_columns.id, maintain_column_froms=True)
    compiled = adapter.Compiled(sent, dialect, known=known)
    found = compiled.values(other.values)
    assert [found[name] for name in compiled.names] == ["won", "Bo"]


@pytest.mark.parametrize("dialect", [sqlite.dialect(paramstyle="qmark"), postgresql.asyncpg.dialect()])
def test_nothing_is_kept_of_what_compiled_a_statement(dialect: Dialect) -> None:
    """2,000 of them would be a hundred MiB, which the bound on their texts does not see."""
    statement = select(tables.Deal).where(tables.Deal.name == "kept once", col(tables.Deal.id).in_(["1", "2"]))
    compiled = adapter.Compiled(statement, dialect, known=statement)
    other = adapter.structure_of(
        select(tables.Deal).where(tables.Deal.name == "other", col(tables.Deal.id).in_(["3", "4"]))
    )
    del statement
    gc.collect()
    texts = [str(left) for left in gc.get_objects() if isinstance(left, adapter.SQLCompiler)]
    assert compiled.text not in texts
    assert other is not None
    assert sorted(compiled.values(other.values).values()) == ["3", "4", "other"]


def test_columns_of_equal_types_share_one() -> None:
    """Each of a type's copies would bring a class of comparators."""
    deal, account = tables.Deal.__table__.c, tables.Account.__table__.c  # type: ignore[attr-defined]  # tables have it
    assert deal.id.type is deal.account_id.type is account.id.type
    assert deal.value.type is not deal.name.type
    assert len({id(c.type) for t in SQLModel.metadata.tables.values() for c in t.columns}) < 100


@pytest.mark.parametrize("dialect", [sqlite.dialect(paramstyle="qmark"), postgresql.asyncpg.dialect()])
def test_each_part_of_a_list_of_tuples_is_a_parameter_of_its_own_type(dialect: Dialect) -> None:
    def sought(*pairs: tuple[str, bool]) -> Any:
        return select(tables.Tag.name).where(tuple_(col(tables.Tag.name), literal_column("1", Boolean)).in_(pairs))

    statement = sought(("a", True), ("b", False))
    compiled = adapter.Compiled(statement, dialect, known=statement)
    assert [*compiled.values().values()] == ["a", True, "b", False]
    assert [isinstance(compiled.types[name], Boolean) for name in compiled.names] == [False, True, False, True]
    second = adapter.structure_of(sought(("c", False), ("d", True)))
    assert second is not None
    assert [*compiled.values(second.values).values()] == ["c", False, "d", True]


def test_a_type_of_ours_tells_what_it_wraps_and_how_a_value_is_bound() -> None:
    assert isinstance(adapter.plain_type(UTCDateTime()), DateTime)
    assert adapter.plain_type(Text) is Text
    assert adapter.bind_processor(Boolean(), sqlite.dialect())(True) == 1
    assert adapter.bind_processor(Text(), sqlite.dialect()) is None


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


def test_the_driver_makes_connections_of_a_class_that_is_given() -> None:
    assert "connection_class" in inspect.signature(asyncpg.connect).parameters
    for name in ("add_termination_listener", "remove_termination_listener", "terminate", "set_type_codec", "fetch"):
        assert callable(getattr(asyncpg.Connection, name))


def test_a_statement_whose_caller_has_gone_is_ended_by_a_task_that_the_connection_drops_with_itself() -> None:
    source = inspect.getsource(asyncpg.Connection._cancel_current_command)
    assert "self._cancellations.add(" in source
    assert "create_task(" in source
    assert "fut.cancel()" in inspect.getsource(asyncpg.Connection._clean_tasks)


def test_every_call_of_the_driver_of_sqlite_goes_through_one_method_to_its_thread() -> None:
    """All but those that begin and end the connection: so a transaction begins in that of its first."""
    sources = {
        name: inspect.getsource(member)
        for name, member in inspect.getmembers(aiosqlite.Connection)
        if inspect.isfunction(member)
    }
    asking = {name for name, source in sources.items() if "_tx.put_nowait(" in source}
    ending = {"stop", "_stop_running"}  # 0.22.0 has no public name for it
    assert asking - ending == {"_execute", "_connect"}
    assert "call_soon_threadsafe(set_result, future, result)" in inspect.getsource(aiosqlite.core)
    assert {"connector", "iter_chunk_size"} <= set(inspect.signature(aiosqlite.Connection).parameters)


async def test_a_connection_of_sqlite_keeps_no_process_from_ending(tmp_path: Path) -> None:
    driver = sqlite_driver.FileConnection(lambda: sqlite3.connect(tmp_path / "a.db"))
    assert driver._thread.daemon
    async with driver:
        assert await driver.execute_fetchall("SELECT 1") == [(1,)]
