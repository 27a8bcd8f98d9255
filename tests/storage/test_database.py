from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from sqlalchemy import and_, select, text
from sqlmodel import col

from contract.errors import Unavailable
from storage import sqlite_connection
from storage.base import Money, as_uuid, new_id
from storage.database import Database
from storage.db_errors import is_statement_error, refusal_of
from storage.tables import Account, Activity, Deal, Event, EventCounter, Organization, PipelineStage
from storage.tenancy.writing import WritingSession
from tests.support.postgresql import Server

only_sqlite = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
only_postgresql = pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)


@pytest.fixture
async def org(database: Database) -> str:
    organization = Organization(external_id="org", name="Org")
    async with database.directory(writing=True) as session:
        await session.insert(organization)
    return organization.id


@only_sqlite
async def test_the_settings_are_in_force_on_every_connection(database: Database, org: str) -> None:
    names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")

    async def settings() -> tuple[Any, ...]:
        async with database.reading(org) as session:
            found = tuple([await session.scalar(text(f"PRAGMA {name}")) for name in names])
            await together.wait()  # so that each has a connection of its own
            return found

    together = asyncio.Barrier(5)  # an organization's share of the turns
    assert await asyncio.gather(*(settings() for _ in range(5))) == [("wal", 2, 1, 5000)] * 5


@only_sqlite
async def test_readers_do_not_wait_for_the_writer(database: Database, org: str) -> None:
    async with database.writing(org) as writer:
        await writer.insert(EventCounter(last=1))
        async with database.reading(org) as reader:
            assert await reader.find(EventCounter) is None


async def test_no_update_is_lost(open_database: Callable[[], Database], dialect: str, org: str) -> None:
    processes = [open_database() for _ in range(2)]
    async with processes[0].writing(org) as session:
        await session.insert(EventCounter(last=0))

    async def add_one(database: Database) -> None:
        async with database.writing(org) as session:
            counter = await session.find(EventCounter, lock=True)
            assert counter is not None
            seen = counter.last
            await asyncio.sleep(0.001)
            await session.update(counter, last=seen + 1)

    await asyncio.gather(*(add_one(processes[number % 2]) for number in range(50)))
    async with processes[1].reading(org) as session:
        counter = await session.find(EventCounter)
    assert counter is not None
    assert counter.last == 50


async def test_a_block_that_raises_leaves_nothing(database: Database, org: str) -> None:
    async def fail() -> None:
        async with database.writing(org) as session:
            await session.insert(Account(name="x"), PipelineStage(name="x"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    async with database.reading(org) as session:
        assert await session.find(Account) is None
        assert await session.find(PipelineStage) is None


async def test_a_reading_block_writes_nothing(database: Database, org: str) -> None:
    async def write(statement: Any = None) -> None:
        async with database.reading(org) as session:
            if statement is None:
                await session.insert(Account(name="x"))
            else:
                await session.execute(statement)

    with pytest.raises(RuntimeError, match="a write in a reading session"):
        await write()
    with pytest.raises(RuntimeError, match="a write in a reading session"):
        await write(text("UPDATE accounts SET name = 'x' WHERE org_id = :org").bindparams(org=org))
    async with database.reading(org) as session:
        assert await session.find(Account) is None


@only_sqlite
async def test_a_file_that_another_process_holds_is_unavailable(
    database_url: str, monkeypatch: pytest.MonkeyPatch, org: str
) -> None:
    monkeypatch.setattr(sqlite_connection, "PRAGMAS", ("foreign_keys=ON", "busy_timeout=50"))
    impatient = Database(database_url)
    script = (
        "import sqlite3, sys; file = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "file.execute('BEGIN IMMEDIATE'); print('held', flush=True); sys.stdin.read()"
    )
    file = str(impatient.url.database)
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, file, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"held\n"
    with pytest.raises(Unavailable):
        async with impatient.writing(org) as session:
            await session.find(Account)
    async with impatient.reading(org) as session:
        assert await session.find(Account) is None
    await holder.communicate(b"")
    async with impatient.writing(org) as session:
        await session.insert(Account(name="x"))
    await impatient.close()


@only_sqlite
async def test_a_folder_that_is_gone_is_unavailable(tmp_path: Path, dialect: str) -> None:
    database = Database(f"sqlite+aiosqlite:///{tmp_path}/gone/crm.db")
    with pytest.raises(Unavailable):
        async with database.directory() as session:
            await session.scalar(text("SELECT 1"))
    await database.close()
    await asyncio.sleep(0.2)  # the driver's thread takes leave of the loop a moment after its failure was told


@only_postgresql
async def test_a_server_that_is_away_is_unavailable(tmp_path: Path, dialect: str) -> None:
    for address in (f"postgresql+asyncpg://crm@/crm?host={tmp_path}", "postgresql+asyncpg://crm@127.0.0.1:1/crm"):
        database = Database(address)
        with pytest.raises(Unavailable):
            async with database.directory() as session:
                await session.scalar(text("SELECT 1"))
        await database.close()


@only_postgresql
async def test_of_two_that_wait_for_each_other_one_is_told_to_try_again(database: Database, org: str) -> None:
    """A conversion locks the account before the deal; whoever gives the deal that account locks it after."""
    account, deal = Account(name="A"), Deal(name="D", owner_id="u")
    async with database.writing(org) as session:
        await session.insert(account, deal)
    both = asyncio.Barrier(2)

    async def lock(*ids: str) -> str:
        try:
            async with database.writing(org) as session:
                for identifier in ids:
                    model = Account if identifier == account.id else Deal
                    assert await session.find(model, col(model.id) == identifier, lock=True)
                    if identifier == ids[0]:
                        await both.wait()
        except Unavailable:
            return "again"
        return "done"

    assert sorted(await asyncio.gather(lock(account.id, deal.id), lock(deal.id, account.id))) == ["again", "done"]


@only_postgresql
async def test_connections_that_the_server_ends_are_unavailable_once(
    database: Database, postgresql: Server, org: str
) -> None:
    async def backend() -> int:
        async with database.reading(org) as session:
            return int(await session.scalar(text("SELECT pg_backend_pid()")))

    first = await backend()
    await asyncio.to_thread(postgresql.execute, f"SELECT pg_terminate_backend({first})", role="postgres")
    with suppress(Unavailable):  # unless its end was heard of already
        await backend()
    assert await backend() != first


def test_a_connection_that_is_told_to_end_as_it_is_used_is_away() -> None:
    """The driver has read that the server ends it, and the loop not yet that it is closed."""
    told = asyncpg.InternalClientError("cannot switch to state 15; another operation (2) is in progress")
    assert isinstance(refusal_of(told), Unavailable)
    assert not is_statement_error(told)


@only_postgresql
async def test_what_a_closed_connection_refuses_is_unavailable_and_no_text_of_a_mistake(
    database: Database, org: str
) -> None:
    """The driver's own errors have no code: whether the connection is closed is asked of it."""

    async def closed() -> None:
        async with database.writing(org) as writing:
            await writing.find(Account)
            assert isinstance(writing, WritingSession)
            (await writing.driver()).terminate()
            await writing.find(Account)

    async def mistaken() -> None:
        async with database.writing(org) as writing:
            await writing.find(Account)
            raise asyncpg.InterfaceError("this connection is used as if it were closed")

    with pytest.raises(Unavailable):
        await closed()
    with pytest.raises(asyncpg.InterfaceError):
        await mistaken()
    async with database.reading(org) as reading:
        await reading.find(Account)
        for at_hand in database.connections._at_hand.drivers:
            at_hand.terminate()
        with pytest.raises(ConnectionResetError):
            await reading.find(Account)
        await reading.find(Account)


@pytest.mark.usefixtures("impatient")
@only_postgresql
async def test_more_sessions_than_connections_wait_and_then_give_up(database_url: str, org: str) -> None:
    small = Database(database_url, pool_size=1)
    async with small.writing(org) as holding:
        await holding.find(Account)
        with pytest.raises(Unavailable):
            async with small.reading(org) as waiting:
                await waiting.find(Account)
    await small.close()


@only_postgresql
async def test_without_statement_caches_nothing_stays_prepared(database_url: str, org: str) -> None:
    database = Database(database_url, pool_size=1, statement_cache=False)
    for _ in range(3):
        async with database.reading(org) as session:
            await session.find(Account)
    async with database.reading(org) as session:
        # The one that asks.
        assert await session.scalar(text("SELECT count(*) FROM pg_prepared_statements")) <= 1
    await database.close()


AMOUNTS = [
    Decimal(text) for text in ("0", "0.0001", "0.5", "1", "9.9999", "10", "1500", "12.5", "999999999999999.9999")
]


@pytest.mark.parametrize("text", ["1500", "1500.", "1500.0000", "000000000001500.0000"])
def test_an_amount_keeps_the_zeros_before_its_point(text: str) -> None:
    assert str(Money.decode(text)) == "1500"


async def test_money_comes_back_exactly_and_in_order(database: Database, org: str) -> None:
    async with database.writing(org) as session:
        await session.insert(*(Deal(name=str(amount), value=amount) for amount in reversed(AMOUNTS)), Deal(name="none"))
        await session.insert(
            Deal(name="minus zero", value=Decimal("-0")), Deal(name="many zeros", value=Decimal("12.500000"))
        )
    own = col(Deal.org_id) == org
    value = col(Deal.value)
    async with database.reading(org) as session:
        found = await session.rows(select(value, Deal.name).where(own, value.is_not(None)).order_by(value, Deal.name))
        assert [(str(amount), name) for amount, name in found] == [
            ("0", "0"),
            ("0", "minus zero"),
            ("0.0001", "0.0001"),
            ("0.5", "0.5"),
            ("1", "1"),
            ("9.9999", "9.9999"),
            ("10", "10"),
            ("12.5", "12.5"),
            ("12.5", "many zeros"),
            ("1500", "1500"),
            ("999999999999999.9999", "999999999999999.9999"),
        ]
        for bound in AMOUNTS:
            above = await session.rows(select(value).where(own, value > bound))
            assert {row[0] for row in above} == {amount for amount in AMOUNTS if amount > bound}
            same = await session.rows(select(value).where(own, value == bound))
            assert {row[0] for row in same} == {bound}
        assert (await session.row(select(value).where(own, col(Deal.name) == "none"))) == (None,)


async def test_time_comes_back_in_utc_to_the_microsecond(database: Database, org: str) -> None:
    moment = datetime(2026, 3, 29, 2, 30, 0, 123456, timezone(timedelta(hours=5, minutes=45)))
    activities = [
        Activity(subject="given", due_at=moment),
        Activity(subject="far", due_at=datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)),
        Activity(subject="early", due_at=datetime(1, 1, 1, tzinfo=UTC)),
        Activity(subject="whole", due_at=datetime(2026, 1, 1, tzinfo=UTC)),
    ]
    async with database.writing(org) as session:
        await session.insert(*activities)
    own = col(Activity.org_id) == org
    due = col(Activity.due_at)
    async with database.reading(org) as session:
        found = await session.rows(select(Activity.subject, due).where(own).order_by(due))
        assert [(subject, at.isoformat()) for subject, at in found] == [
            ("early", "0001-01-01T00:00:00+00:00"),
            ("whole", "2026-01-01T00:00:00+00:00"),
            ("given", "2026-03-28T20:45:00.123456+00:00"),
            ("far", "9999-12-31T23:59:59.999999+00:00"),
        ]
        same = select(Activity.subject).where(own, due == moment.astimezone(timezone(timedelta(hours=-9))))
        assert await session.rows(same) == [("given",)]
        assert await session.rows(select(Activity.subject).where(own, due > moment)) == [("far",)]


async def test_a_time_without_a_zone_is_refused(database: Database, org: str) -> None:
    with pytest.raises(ValueError, match="must have timezone information"):
        async with database.writing(org) as session:
            await session.insert(Activity(due_at=datetime(2026, 1, 1)))


async def test_a_date_stays_a_date(database: Database, org: str) -> None:
    async with database.writing(org) as session:
        await session.insert(Deal(name="x", close_date=date(2026, 2, 28)))
    async with database.reading(org) as session:
        assert await session.scalar(select(Deal.close_date).where(col(Deal.org_id) == org)) == date(2026, 2, 28)


async def test_documents_come_back_as_they_were_given(database: Database, org: str) -> None:
    document = {"z": 1, "a": [1.5, None, True, {"y": "é\u2028😀", "b": "'\"\\"}], "": {}, "m": 2**53}
    async with database.writing(org) as session:
        await session.insert(
            Event(sequence=1, type="t", area="a", actor="x", data=document),
            Activity(subject="with", details=document),
            Activity(subject="empty", details={}),
            Activity(subject="without"),
        )
    async with database.reading(org) as session:
        event = await session.find(Event)
        assert event is not None
        assert list(event.data) == list(document)
        assert event.data == document
        own = col(Activity.org_id) == org
        found = dict(map(tuple, await session.rows(select(Activity.subject, Activity.details).where(own))))
        assert found == {"with": document, "empty": {}, "without": None}
        nulls = select(Activity.subject).where(own, col(Activity.details).is_(None))
        assert await session.rows(nulls) == [("without",)]


async def test_the_values_of_a_join_stay_apart_from_those_of_a_condition(database: Database, org: str) -> None:
    async with database.writing(org) as session:
        for name, won in (("a", "open"), ("b", "won")):
            [account] = await session.insert(Account(name=name))
            await session.insert(Deal(name=f"deal of {name}", account_id=account.id, status=won, owner_id="u"))

    async def found(account: str, status: str) -> str | None:
        same = and_(col(Deal.org_id) == col(Account.org_id), col(Deal.account_id) == col(Account.id))
        async with database.reading(org) as session:
            wanted = select(Deal.name).select_from(Account).join(Deal, and_(same, col(Deal.status) == status))
            name: str | None = await session.scalar(wanted.where(col(Account.name) == account))
            return name

    assert [await found("a", "open"), await found("b", "won"), await found("b", "open"), await found("open", "b")] == [
        *("deal of a", "deal of b"),
        *(None, None),
    ]


async def test_text_sorts_by_code_point(database: Database, org: str) -> None:
    names = ["", " ", "B", "Z", "a", "b", "ä", "é", "😀"]
    async with database.writing(org) as session:
        await session.insert(*(Account(name=name) for name in reversed(names)))
    async with database.reading(org) as session:
        found = await session.rows(select(Account.name).where(col(Account.org_id) == org).order_by(col(Account.name)))
    assert [name for (name,) in found] == names


def test_identifiers_are_of_version_7_and_grow_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = [0, 1, 1_700_000_000_000, 1_795_000_000_123, 2**48 - 1]
    made = []
    for moment in moments:
        monkeypatch.setattr("storage.base.time.time_ns", lambda moment=moment: moment * 1_000_000 + 999_999)
        made.append(new_id())
    assert made == sorted(made)
    for moment, text_ in zip(moments, made, strict=True):
        value = UUID(text_)
        assert (value.version, value.variant, value.int >> 80) == (7, "specified in RFC 4122", moment)
        assert str(value) == text_
    monkeypatch.undo()
    assert len({new_id() for _ in range(10_000)}) == 10_000


def test_only_a_uuid_is_an_identifier() -> None:
    known = "01a1fb8f-f996-7827-b5f6-073e23e64648"
    assert as_uuid(known) == known
    assert as_uuid(known.upper()) == known
    assert as_uuid(known.replace("-", "")) == known
    for other in ("", "x", known[:-1], known + "0", "z" * 32, None, 7, UUID(known)):
        assert as_uuid(other) is None


@only_sqlite
async def test_the_file_and_its_companions_are_for_their_owner_only(database: Database, org: str) -> None:
    async with database.writing(org) as session:
        await session.insert(Account(name="x"))
        file = Path(str(database.url.database))
        modes = {path.name: path.stat().st_mode & 0o777 for path in (file, Path(f"{file}-wal"), Path(f"{file}-shm"))}
    assert modes == {"crm.db": 0o600, "crm.db-wal": 0o600, "crm.db-shm": 0o600}
