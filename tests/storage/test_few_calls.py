"""A transaction on SQLite takes as few calls of the driver's thread as are possible (decision 1204)."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlmodel import col

from contract.errors import TimedOut, Unavailable
from storage import database_time, sqlite_connection
from storage.adapters.aiosqlite import FileConnection
from storage.database import Database
from storage.db_errors import is_duplicate
from storage.new_rows import new_row
from storage.queries.records import append_events
from storage.tables import Account, Event, Organization
from storage.tenancy.sessions import TenantSession
from storage.tenancy.writing import WritingSession

only_sqlite = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
_FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
async def org(database: Database) -> str:
    organization = Organization(external_id="org", name="Org")
    async with database.directory(writing=True) as session:
        await session.insert(organization)
    async with database.writing(organization.id) as session:  # which has a counter and a connection then
        await append_events(session, [_event()])
    return organization.id


def _event(sequence: int = 0) -> Event:
    return new_row(Event, sequence=sequence, type="t", area="crm", actor="a", data={})


async def _names(database: Database, org: str) -> list[str]:
    async with database.reading(org) as session:
        return [row.name for row in await session.rows(select(col(Account.name)).order_by(col(Account.name)))]


async def _log(session: TenantSession) -> list[int]:
    return [row.sequence for row in await session.rows(select(col(Event.sequence)).order_by(col(Event.sequence)))]


async def _logged(database: Database, org: str) -> list[int]:
    async with database.reading(org) as session:
        return await _log(session)


@contextmanager
def _calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[None]]:
    """One for each call of a driver's thread."""
    calls: list[None] = []
    send = FileConnection._behind_the_first

    def counted(driver: FileConnection, call: Any) -> Any:
        calls.append(None)
        return send(driver, call)

    with monkeypatch.context() as patched:
        patched.setattr(FileConnection, "_behind_the_first", counted)
        yield calls


@only_sqlite
async def test_a_record_and_its_event_take_three_calls(
    database: Database, org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record with the beginning, the number of the event, and the event with the commit."""
    with _calls(monkeypatch) as calls:
        async with database.writing(org) as session:
            await session.insert(Account(name="A"))
            await append_events(session, [_event(), _event()])
    assert len(calls) == 3
    assert (await _names(database, org), await _logged(database, org)) == (["A"], [1, 2, 3])


@only_sqlite
async def test_a_transaction_of_one_insert_takes_one_call(
    database: Database, org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _calls(monkeypatch) as calls:
        async with database.writing(org) as session:
            await session.insert(Account(name="A"), last=True)
    assert len(calls) == 1
    assert await _names(database, org) == ["A"]


@pytest.mark.parametrize("raises", [False, True])
async def test_a_transaction_without_a_statement_is_none(
    database: Database, org: str, monkeypatch: pytest.MonkeyPatch, raises: bool
) -> None:
    async def nothing() -> None:
        async with database.writing(org) as session:
            assert isinstance(session, WritingSession)
            await session.driver()
            if raises:
                raise ValueError("no")

    with _calls(monkeypatch) as calls:
        await asyncio.gather(nothing(), return_exceptions=True)
    assert calls == []
    assert database.connections.state.in_use == 0
    async with database.writing(org) as session:
        await session.insert(Account(name="A"))
    assert await _names(database, org) == ["A"]


async def test_the_next_statement_sees_what_was_the_last(database: Database, org: str) -> None:
    async with database.writing(org) as session:
        await append_events(session, [_event()])
        assert await _log(session) == [1, 2]
        await append_events(session, [_event()])
        await session.insert(Account(name="B"))
    assert (await _names(database, org), await _logged(database, org)) == (["B"], [1, 2, 3])


async def test_a_last_one_that_is_wrong_is_told_by_the_commit_and_nothing_is_written(
    database: Database, org: str
) -> None:
    async def write() -> Any:  # what was raised
        async with database.writing(org) as session:
            await session.insert(Account(name="A"))
            await session.insert(_event(1), last=True)

    [error] = await asyncio.gather(write(), return_exceptions=True)
    assert is_duplicate(error)
    assert (await _names(database, org), await _logged(database, org)) == ([], [1])
    assert database.connections.state.in_use == 0


@pytest.mark.parametrize("is_alone", [False, True])
async def test_a_block_that_raises_writes_nothing_of_its_last(database: Database, org: str, is_alone: bool) -> None:
    async def write() -> None:
        async with database.writing(org) as session:
            if not is_alone:
                await session.insert(Account(name="A"))
            await session.insert(_event(2), last=True)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await write()
    assert (await _names(database, org), await _logged(database, org)) == ([], [1])


@pytest.mark.parametrize("sequence", [1, 2])
async def test_a_part_that_fails_takes_its_last_back_and_leaves_what_came_before(
    database: Database, org: str, sequence: int
) -> None:
    """Whether the part raises, or what it wrote last does, which is a number that is taken."""

    async def part(session: TenantSession) -> Any:  # what was raised
        async with session.within():
            await session.insert(Account(name="within"))
            await session.insert(_event(sequence), last=True)
            if sequence == 2:
                raise ValueError("no")

    async with database.writing(org) as session:
        await session.insert(Account(name="before"), last=True)
        [error] = await asyncio.gather(part(session), return_exceptions=True)
        assert is_duplicate(error) if sequence == 1 else isinstance(error, ValueError)
        await session.insert(Account(name="after"))
        async with session.within():
            await session.insert(_event(2), last=True)
    assert (await _names(database, org), await _logged(database, org)) == (["after", "before"], [1, 2])


@only_sqlite
async def test_a_file_that_somebody_else_writes_to_is_unavailable_and_has_its_turn_back(
    database: Database, org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_connection, "PRAGMAS", ("busy_timeout=50", "journal_mode=WAL", "foreign_keys=ON"))
    other_gateway = Database(database.url.render_as_string())

    async def write() -> None:
        async with other_gateway.writing(org) as session:
            await session.insert(Account(name="A"))

    with closing(sqlite3.connect(str(database.url.database), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable):
            await write()
        other.execute("ROLLBACK")
    assert other_gateway.connections.state.in_use == 0
    await write()
    await other_gateway.close()
    assert await _names(database, org) == ["A"]


@only_sqlite
@pytest.mark.parametrize("then", ["statement", "last", "part"])
async def test_nothing_is_written_behind_a_transaction_that_was_taken_back(database_url: str, then: str) -> None:
    """SQLite takes it back whole where a write takes too long; whoever goes on would write outside of it."""
    database = Database(database_url, statement_seconds=0.05)
    many = text(f"CREATE TABLE many AS {_FOREVER} WHERE :org <> ''").bindparams(org="x")

    async def write() -> None:
        async with database.directory(writing=True) as session:
            await session.insert(Organization(external_id="1", name="Org"))
            with pytest.raises(sqlite3.OperationalError, match="interrupted"):
                await session.execute(many)
            if then == "part":
                async with session.within():
                    await session.insert(Organization(external_id="2", name="Org"))
            else:
                await session.insert(Organization(external_id="2", name="Org"), last=then == "last")

    with pytest.raises(RuntimeError, match="was taken back"):
        await write()
    async with database.directory() as session:
        assert await session.rows(select(col(Organization.id))) == []
    assert database.connections.state.in_use == 0
    await database.close()


@only_sqlite
@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_a_call_that_waits_for_a_lock_is_ended_in_time_all_the_same(
    database: Database, org: str, is_cancelled: bool
) -> None:
    """An interruption that comes while it waits is lost."""
    waiting = Database(database.url.render_as_string(), statement_seconds=None if is_cancelled else 0.05)

    async def wait() -> None:
        async with waiting.writing(org) as session:
            await session.scalar(
                text(f"SELECT (SELECT count(*) FROM ({_FOREVER})) WHERE :org <> ''").bindparams(org=org)
            )

    with closing(sqlite3.connect(str(database.url.database), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        task = asyncio.create_task(wait())
        await asyncio.sleep(0.1)
        if is_cancelled:
            task.cancel()
        await asyncio.sleep(0.05)
        other.execute("ROLLBACK")
    async with asyncio.timeout(30):
        await asyncio.wait([task])
    if is_cancelled:
        assert task.cancelled()
    else:
        assert isinstance(task.exception(), TimedOut)
    assert waiting.connections.state.in_use == 0
    await waiting.close()


@only_sqlite
async def test_the_wait_for_a_lock_is_no_statement_s_time(
    database: Database, org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_time, "monotonic", time.monotonic)  # which stands still in other tests
    told: list[float] = []
    database.timed = lambda _statement, seconds, _error: told.append(seconds)
    with closing(sqlite3.connect(str(database.url.database), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        asyncio.get_running_loop().call_later(0.5, other.execute, "ROLLBACK")
        with database_time.measured() as time_of_request:
            async with database.writing(org) as session:
                await session.insert(Account(name="A"))
                await append_events(session, [_event()])
    assert len(told) == 2, "what goes with the commit is none"
    assert max(told) < 0.4
    assert 0 <= time_of_request.seconds < 0.4


@only_sqlite
async def test_the_wait_for_a_lock_takes_nothing_of_a_statement_s_limit(
    database: Database, org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_time, "monotonic", time.monotonic)
    hasty = Database(str(database.url), statement_seconds=1)
    with closing(sqlite3.connect(str(database.url.database), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        asyncio.get_running_loop().call_later(0.5, other.execute, "ROLLBACK")
        began = time.monotonic()
        with pytest.raises(TimedOut):
            async with hasty.writing(org) as session:
                await session.scalar(text(_FOREVER))
        assert time.monotonic() - began >= 1.4
    await hasty.close()


@only_sqlite
async def test_who_is_cancelled_in_the_commit_tells_of_it_when_it_can_be_seen(database: Database, org: str) -> None:
    seen: list[list[tuple[str]]] = []

    def look(_organization: str) -> None:
        with closing(sqlite3.connect(str(database.url.database))) as other:
            seen.append(other.execute("SELECT name FROM accounts").fetchall())

    def slowly(_: sqlite3.Connection) -> None:
        writer.get_loop().call_soon_threadsafe(writer.cancel)
        time.sleep(0.2)

    async def write() -> None:
        async with database.writing(org) as session:
            await session.insert(Account(name="A"))
            assert isinstance(session, WritingSession)
            (await session.driver()).put_off(slowly)

    database.committed.append(look)
    writer = asyncio.create_task(write())
    with pytest.raises(asyncio.CancelledError):
        await writer
    assert seen == [[("A",)]]
    assert database.connections.state.in_use == 0


@only_sqlite
async def test_who_is_cancelled_waits_until_the_thread_has_ended(database: Database, org: str) -> None:
    """However often: the connection is given back when nothing goes on over it any more."""
    taken = await database.connections.take()
    driver: FileConnection = taken.driver
    ended: list[float] = []

    def work(_: sqlite3.Connection) -> None:
        time.sleep(0.2)
        ended.append(time.monotonic())

    async def wait() -> None:
        await driver.ask(work)

    task = asyncio.create_task(wait())
    for _ in range(2):
        await asyncio.sleep(0.02)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended
    await database.connections.give_back(taken)


@only_sqlite
async def test_who_is_cancelled_has_the_statement_interrupted(database_url: str) -> None:
    database = Database(database_url, statement_seconds=None)

    async def wait() -> None:
        async with database.directory() as session:
            await session.scalar(text(_FOREVER))

    task = asyncio.create_task(wait())
    asyncio.get_running_loop().call_later(0.05, task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(wait(), 0.05)
    assert database.connections.state.in_use == 0
    await database.close()


@only_sqlite
async def test_a_statement_that_takes_too_long_is_told_so(database_url: str) -> None:
    database = Database(database_url, statement_seconds=0.05)
    with pytest.raises(TimedOut):
        async with database.directory(writing=True) as session:
            await session.scalar(text(_FOREVER))
    await database.close()
