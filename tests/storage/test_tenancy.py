from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import bindparam, func, insert, select, text, update
from sqlmodel import col

from contract.errors import Problems
from storage import table_statements
from storage.base import new_id
from storage.database import Database
from storage.statements import ORG_PARAM, CompiledStatement
from storage.tables import (
    Account,
    Activity,
    Credential,
    Deal,
    DealContact,
    EventCounter,
    HealthSnapshot,
    Organization,
    PipelineStage,
    StageChange,
    TagLink,
)
from storage.tenancy import guard
from storage.tenancy.guard import TenantBreach
from storage.tenancy.sessions import TenantSession
from tests.storage import forgotten
from tests.storage.forgotten import Statement
from tests.support.postgresql import Server
from tests.support.rows import TENANT_TABLES, Rows
from tests.support.statements import BROKEN_RULES, DATABASE_ERRORS

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def database(filled: tuple[str, Rows, Rows]) -> AsyncIterator[Database]:
    opened = Database(filled[0])
    yield opened
    await opened.close()


@pytest.fixture
def ours(filled: tuple[str, Rows, Rows]) -> Rows:
    return filled[1]


@pytest.fixture
def theirs(filled: tuple[str, Rows, Rows]) -> Rows:
    return filled[2]


@pytest.fixture
async def beyond(database: Database, dialect: str, request: pytest.FixtureRequest) -> AsyncIterator[Beyond]:
    name = database.url.database
    assert name is not None
    if dialect == "sqlite":
        file = sqlite3.connect(name)
        yield Beyond(file)
        file.close()
    else:
        server: Server = request.getfixturevalue("postgresql")
        connection = await server.connect(name, role="postgres")
        yield Beyond(connection)
        await connection.close()


class Beyond:
    """A look at the database past every isolation layer."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def rows(self, query: str) -> list[tuple[Any, ...]]:
        if isinstance(self._connection, sqlite3.Connection):
            return self._connection.execute(query).fetchall()
        return [tuple(row) for row in await self._connection.fetch(query)]

    async def everything(self, *organizations: Rows) -> list[list[tuple[Any, ...]]]:
        """All rows of the organizations."""
        # By the whole row: JSON, which may be anywhere in it, has no order of its own on PostgreSQL.
        order = "1, 2" if isinstance(self._connection, sqlite3.Connection) else "CAST({} AS text)"
        return [
            await self.rows(f"SELECT * FROM {table} WHERE org_id = '{rows.org}' ORDER BY {order.format(table)}")
            for table in [*TENANT_TABLES, "credentials", "memberships"]
            for rows in organizations
        ]


def test_there_are_enough_forgotten_filters() -> None:
    assert len(forgotten.NARROWED) == 24
    assert len(forgotten.REFUSED) == 97
    assert len(forgotten.LEGITIMATE) == 34


async def run_all(
    statements: dict[str, Statement], database: Database, beyond: Beyond, ours: Rows, theirs: Rows
) -> dict[str, str]:
    """The fate of each statement by its name: it passed, was refused, or did harm."""
    before = await beyond.everything(theirs)
    foreign = set(vars(theirs).values())
    fates: dict[str, str] = {}
    for name, statement in statements.items():
        try:
            async with database.writing(ours.org) as session:
                shown = repr(await session.rows(statement(ours, theirs)))
        except TenantBreach:
            fates[name] = "refused"
        except DATABASE_ERRORS as error:
            fates[name] = str(error)
        else:
            fates[name] = f"shows {shown}" if any(text in shown for text in foreign) else "passed"
        if await beyond.everything(theirs) != before:
            fates[name] += ", changes what is theirs"
            before = await beyond.everything(theirs)
    return fates


async def test_the_criteria_narrow_what_the_author_forgot(
    database: Database, beyond: Beyond, ours: Rows, theirs: Rows
) -> None:
    fates = await run_all(forgotten.NARROWED, database, beyond, ours, theirs)
    assert fates == dict.fromkeys(forgotten.NARROWED, "passed")


async def test_what_is_not_pinned_never_reaches_the_database(
    database: Database, beyond: Beyond, dialect: str, ours: Rows, theirs: Rows
) -> None:
    statements = forgotten.REFUSED | forgotten.REFUSED_BY_DIALECT[dialect]
    before = await beyond.everything(ours, theirs)
    assert await run_all(statements, database, beyond, ours, theirs) == dict.fromkeys(statements, "refused")
    assert await beyond.everything(ours, theirs) == before


@pytest.mark.undistributable
async def test_legitimate_shapes_pass(
    database: Database, beyond: Beyond, dialect: str, ours: Rows, theirs: Rows
) -> None:
    statements = forgotten.LEGITIMATE | forgotten.LEGITIMATE_BY_DIALECT[dialect]
    assert await run_all(statements, database, beyond, ours, theirs) == dict.fromkeys(statements, "passed")


# Isolation layer 1: keys.


async def test_no_reference_leads_to_another_organization(database: Database, ours: Rows, theirs: Rows) -> None:
    wrong = {
        "account of a deal": Deal(name="x", account_id=theirs.account),
        "stage of a deal": Deal(name="x", stage_id=theirs.stage),
        "champion of a deal": Deal(name="x", champion_id=theirs.contact),
        "parent of a deal": Deal(name="x", parent_deal_id=theirs.deal),
        "contact on a deal": DealContact(deal_id=ours.deal, contact_id=theirs.contact),
        "deal of a contact": DealContact(deal_id=theirs.deal, contact_id=ours.contact),
        "account of an activity": Activity(account_id=theirs.account),
        "deal of an activity": Activity(deal_id=theirs.deal),
        "contact of an activity": Activity(contact_id=theirs.contact),
        "stage of a change": StageChange(deal_id=ours.deal, from_stage_id=theirs.stage),
        "tag of a record": TagLink(kind="deal", record_id=ours.deal, tag_id=theirs.tag),
        "account of a snapshot": HealthSnapshot(account_id=theirs.account, score=1, formula_version="x"),
    }
    for record in wrong.values():
        with pytest.raises(BROKEN_RULES):
            async with database.writing(ours.org) as session:
                await session.insert(record)


async def test_two_organizations_may_use_one_identifier(database: Database, ours: Rows, theirs: Rows) -> None:
    async with database.writing(ours.org) as session:
        await session.insert(Account(id=theirs.account, name="ours"))
    async with database.reading(ours.org) as session:
        found = await session.find(Account, col(Account.id) == theirs.account)
    assert found is not None
    assert found.name == "ours"
    async with database.reading(theirs.org) as session:
        found = await session.find(Account, col(Account.id) == theirs.account)
    assert found is not None
    assert found.name == "second"


# Isolation layer 2: sessions.


@pytest.mark.parametrize("organization", ["", "first", "' OR ''='", None, 7])
async def test_a_session_needs_an_organization(database: Database, organization: Any) -> None:
    with pytest.raises(TenantBreach, match="a session needs an organization"):
        database.reading(organization)
    with pytest.raises(TenantBreach, match="a session needs an organization"):
        database.writing(organization)


async def test_an_organization_in_another_spelling_is_the_same(database: Database, ours: Rows) -> None:
    async with database.reading(ours.org.upper()) as session:
        assert session.org_id == ours.org
        assert await session.scalar(select(Deal.name).where(col(Deal.org_id) == session.org_id)) == "first"


async def test_the_directory_reaches_no_tenant_table(database: Database, ours: Rows) -> None:
    async with database.directory(writing=True) as session:
        assert sorted(await session.rows(select(Organization.name))) == [("first",), ("second",)]
        assert sorted(await session.rows(select(Credential.name))) == [("first",), ("second",)]
        await session.execute(update(Credential).where(col(Credential.key_id) == "first").values(hint="x"))
        for statement in (
            select(Deal),
            select(Deal.name).where(col(Deal.org_id) == ours.org),
            text("SELECT 1 FROM organizations o JOIN Deals d ON d.org_id = o.id"),
            update(Deal).where(col(Deal.org_id) == ours.org).values(name="x"),
            insert(EventCounter).values(org_id=ours.org),
        ):
            with pytest.raises(TenantBreach):
                await session.execute(statement)
    with pytest.raises(TenantBreach):
        async with database.directory(writing=True) as session:
            await session.insert(Account(org_id=ours.org, name="x"))


def test_nothing_runs_past_the_sessions() -> None:
    """Only the storage knows the drivers, and what hands their connections out."""
    shipped = ("identity", "providers", "reports", "jobs", "resolvers", "transport", "schema", "rest_compat", "gateway")
    words = ("import asyncpg", "import aiosqlite", "import sqlite3", "connections.take", "database.begin(")
    found = {
        str(path.relative_to(ROOT))
        for name in shipped
        for path in (ROOT / name).rglob("*.py")
        if any(word in path.read_text(encoding="utf-8") for word in words)
    }
    assert found == set()


# Isolation layer 3: entities.


async def test_a_record_of_another_organization_is_not_written(
    database: Database, beyond: Beyond, ours: Rows, theirs: Rows
) -> None:
    before = await beyond.everything(ours, theirs)
    async with database.reading(theirs.org) as session:
        stolen = await session.find(Account, col(Account.id) == theirs.account)
    assert stolen is not None

    async def add(session: TenantSession) -> None:
        await session.insert(Account(org_id=theirs.org, name="x"))

    async def add_among_others(session: TenantSession) -> None:
        await session.insert(PipelineStage(name="x"), PipelineStage(org_id=theirs.org, name="x"))

    async def change(session: TenantSession) -> None:
        await session.update(stolen, name="x")

    async def take_away(session: TenantSession) -> None:
        await session.delete(stolen)

    async def give_away(session: TenantSession) -> None:
        own = await session.find(Account)
        assert own is not None
        await session.update(own, org_id=theirs.org)

    for wrong in (add, add_among_others, change, take_away, give_away):
        with pytest.raises(TenantBreach, match="another organization"):
            async with database.writing(ours.org) as session:
                await wrong(session)
    assert await beyond.everything(ours, theirs) == before


async def test_records_get_the_sessions_organization(database: Database, ours: Rows) -> None:
    stages = [PipelineStage(name=f"stage {number}") for number in range(30)]
    async with database.writing(ours.org) as session:
        stages = await session.insert(*stages)
    assert {stage.org_id for stage in stages} == {ours.org}
    async with database.reading(ours.org) as session:
        assert await session.scalar(select(func.count()).select_from(PipelineStage)) == 31
    async with database.writing(ours.org) as session:
        for stage in stages:
            await session.update(stage, position=7)
    async with database.reading(ours.org) as session:
        query = select(func.count()).select_from(PipelineStage).where(col(PipelineStage.position) == 7)
        assert await session.scalar(query) == 30


# Isolation layer 4: the SQL text.


def test_one_foreign_row_among_many_is_found(dialect: str) -> None:
    ours, theirs = new_id(), new_id()
    places = {"sqlite": "?, ?", "postgresql": "$1::UUID, $2::BIGINT"}[dialect]
    statement = f"INSERT INTO event_counters (org_id, last) VALUES ({places})"
    rows: list[tuple[Any, ...]] = [(ours, 1), (ours, 2)]
    guard.check(statement, rows, executemany=True, dialect=dialect, organization=ours)
    with pytest.raises(TenantBreach, match="pinned to another organization"):
        guard.check(statement, [*rows, (theirs, 3)], executemany=True, dialect=dialect, organization=ours)


def test_the_position_of_the_parameter_counts() -> None:
    ours, theirs = new_id(), new_id()
    for dialect, statement in {
        "sqlite": "SELECT '?', \"?\", [?], `?` /* ? */ FROM deals -- ?\n WHERE name = ? AND org_id = ?",
        "postgresql": "SELECT '?$1' FROM deals /* $1 */ WHERE name = $1::VARCHAR AND org_id = $2::UUID",
    }.items():
        guard.check(statement, (theirs, ours), executemany=False, dialect=dialect, organization=ours)
        with pytest.raises(TenantBreach, match="pinned to another organization"):
            guard.check(statement, (ours, theirs), executemany=False, dialect=dialect, organization=ours)


def test_a_known_text_is_not_read_again() -> None:
    statement = f"SELECT name FROM deals WHERE org_id = ? /* {new_id()} */"
    first = guard.read(statement, "sqlite")
    assert first.positions == (0,)
    assert guard.read(statement, "sqlite") is first


def test_a_shape_that_is_nested_too_deeply_is_refused(database: Database) -> None:
    def endless() -> Any:
        return endless()

    with pytest.raises(Problems) as refused:
        database.prepared("endless", endless)
    assert [problem.path for problem in refused.value.problems] == [("filter",)]


# Isolation layer 5: the policies of PostgreSQL.

only_postgresql = pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)


@pytest.fixture
async def raw(database: Database, postgresql: Server) -> AsyncIterator[asyncpg.Connection]:
    """The driver's own connection, as the role of the service."""
    assert database.url.database is not None
    connection = await postgresql.connect(database.url.database)
    yield connection
    await connection.close()


@only_postgresql
async def test_the_role_is_an_ordinary_one_and_owns_the_tables(raw: asyncpg.Connection) -> None:
    role = await raw.fetchrow("SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
    assert tuple(role) == ("crm", False, False)
    owners = await raw.fetch("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'")
    assert [owner[0] for owner in owners] == ["crm"]


@only_postgresql
@pytest.mark.parametrize("table", TENANT_TABLES)
async def test_the_policies_show_one_organization_only(
    raw: asyncpg.Connection, ours: Rows, theirs: Rows, table: str
) -> None:
    seen = f"SELECT DISTINCT CAST(org_id AS text) FROM {table}"
    assert await raw.fetch(seen) == []
    for setting in ("", ours.org, theirs.org):
        async with raw.transaction():
            await raw.execute("SELECT set_config('crm.org_id', $1, true)", setting)
            assert [row[0] for row in await raw.fetch(seen)] == [setting][: bool(setting)]
    assert await raw.fetch(seen) == []


@only_postgresql
async def test_the_policies_let_nothing_be_written_elsewhere(
    raw: asyncpg.Connection, beyond: Beyond, ours: Rows, theirs: Rows
) -> None:
    before = await beyond.everything(theirs)
    insert_stage = (
        "INSERT INTO pipeline_stages (org_id, id, name, position, type, created_at)"
        f" VALUES ($1, '{new_id()}', 'x', 0, 'open', now())"
    )
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await raw.execute(insert_stage, ours.org)
    await raw.execute(f"SET crm.org_id = '{ours.org}'")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await raw.execute(insert_stage, theirs.org)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await raw.execute("UPDATE event_counters SET org_id = $1", theirs.org)
    assert await raw.execute("UPDATE deals SET name = 'x' WHERE org_id = $1", theirs.org) == "UPDATE 0"
    assert await raw.execute("DELETE FROM deal_contacts WHERE org_id = $1", theirs.org) == "DELETE 0"
    assert await raw.execute(insert_stage, ours.org) == "INSERT 0 1"
    assert await beyond.everything(theirs) == before


@only_postgresql
async def test_a_pooled_connection_never_carries_an_organization_over(
    database: Database, ours: Rows, theirs: Rows
) -> None:
    single = Database(database.url.render_as_string(hide_password=False), pool_size=1)
    setting = text(
        "SELECT current_setting('crm.org_id', true), pg_backend_pid(), current_setting('transaction_read_only')"
    )

    async def seen(how: AbstractAsyncContextManager[TenantSession]) -> tuple[Any, ...]:
        async with how as session:
            row = await session.row(setting)
            assert row is not None
            return tuple(row)

    _, backend, _ = await seen(single.reading(ours.org))
    assert await seen(single.reading(ours.org)) == (ours.org, backend, "on")
    assert await seen(single.directory()) == ("", backend, "on")
    assert await seen(single.writing(theirs.org)) == (theirs.org, backend, "off")
    assert await seen(single.directory(writing=True)) == ("", backend, "off")

    async def ours_then(*statements: str) -> None:
        async with single.writing(ours.org) as session:
            await session.row(setting)
            for statement in statements:
                with suppress(DATABASE_ERRORS):
                    await session.execute(text(statement))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await ours_then()
    assert await seen(single.directory()) == ("", backend, "on")
    # An error of the database's own, in the middle of a transaction, after which it takes nothing but its end.
    with pytest.raises(ZeroDivisionError):
        await ours_then("SELECT 1 / 0", "SELECT 1")
    assert await seen(single.writing(theirs.org)) == (theirs.org, backend, "off")
    # A statement that is given up: the connection is clean or gone, never half-way.
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(ours_then("SELECT pg_sleep(30)"), 0.1)
    assert (await seen(single.directory()))[0] == ""
    await single.close()


@only_postgresql
async def test_sessions_side_by_side_see_their_own(database: Database, ours: Rows, theirs: Rows) -> None:
    async def look(rows: Rows) -> set[str]:
        async with database.reading(rows.org) as session:
            names = await session.rows(select(Deal.name).where(col(Deal.org_id) == rows.org))
            unfiltered = await session.rows(text("SELECT current_setting('crm.org_id')"))
            return {names[0][0], unfiltered[0][0]}

    found = await asyncio.gather(*(look(rows) for _ in range(20) for rows in (ours, theirs)))
    assert found == [{"first", ours.org}, {"second", theirs.org}] * 20


# Shapes, which go to the driver without a session of the ORM: the isolation layers are the same.


async def test_shapes_are_pinned_like_any_statement(database: Database, ours: Rows, theirs: Rows) -> None:
    own = select(Deal.name).where(col(Deal.org_id) == ORG_PARAM)
    wrong = {
        "not pinned": select(Deal.name),
        "pinned by value": select(Deal.name).where(col(Deal.org_id) == theirs.org),
        "pinned by a value of the caller's": select(Deal.name).where(col(Deal.org_id) == bindparam("name")),
        "one of two": own.join(Account, col(Account.id) == col(Deal.account_id)),
        "in a subquery": own.where(col(Deal.account_id).in_(select(Account.id))),
        "of the directory": select(Organization.name),
    }
    for name, statement in wrong.items():
        async with database.reading(ours.org) as session:
            with pytest.raises(TenantBreach):
                await session.fetch(name, lambda statement=statement: statement, name=theirs.org)
    async with database.directory() as session:
        with pytest.raises(TenantBreach):
            await session.fetch("outside", lambda: own)
        names = await session.fetch("names", lambda: select(Organization.name).order_by(col(Organization.name)))
        assert [row.name for row in names] == ["first", "second"]


async def test_a_shape_shows_each_session_its_own(database: Database, ours: Rows, theirs: Rows) -> None:
    async def look(rows: Rows) -> list[str]:
        async with database.reading(rows.org) as session:
            found = await session.fetch("own", lambda: select(Deal.name).where(col(Deal.org_id) == ORG_PARAM))
            return [row.name for row in found]

    found = await asyncio.gather(*(look(rows) for _ in range(20) for rows in (ours, theirs)))
    assert found == [["first"], ["second"]] * 20


@only_postgresql
async def test_only_identifiers_are_written_into_a_text(database: Database, ours: Rows) -> None:
    """What begins a transaction carries no parameters (decision 940)."""
    shape = CompiledStatement(table_statements.locking(Deal, inside=True), database.sql, tenant=True, scoped=False)
    sought = new_id()
    sent = shape.written_out(shape.parameters(ours.org, {"id": sought}))
    assert "$" not in sent
    assert sent.count(f"'{sought}'") == sent.count(f"'{ours.org}'") == 1
    for value in ("' OR true --", sought.upper(), f"{sought}\n", sought.replace("-", ""), "", 7, None):
        with pytest.raises(TenantBreach):
            shape.written_out(shape.parameters(ours.org, {"id": value}))


@only_postgresql
async def test_behind_a_shape_the_policies_stand(database: Database, ours: Rows, theirs: Rows) -> None:
    single = Database(database.url.render_as_string(hide_password=False), pool_size=1)
    shape = CompiledStatement(select(Deal.name).where(col(Deal.org_id) == ORG_PARAM), single.sql, tenant=True)
    taken = await single.connections.take()
    driver: Any = taken.driver
    setting = "SELECT current_setting('crm.org_id', true)"
    assert [tuple(r) for r in await driver.fetch(shape.text, *shape.parameters(ours.org, {}))] == [("first",)]
    assert await driver.fetchval(setting) == ""
    # The pin asks for theirs, the layer says ours: nothing.
    assert await driver.fetch(shape.text, theirs.org, ours.org) == []
    assert await driver.fetchval(setting) == ""
    with pytest.raises(asyncpg.DataError):
        await driver.fetch(shape.text, ours.org, "no organization")
    assert await driver.fetchval(setting) == ""
    await single.connections.give_back(taken)
    await single.close()
