from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool
from sqlmodel import SQLModel

from contract.errors import Unavailable
from storage import migrate
from storage.base import new_id
from storage.database import Database
from storage.search_index import ENTRIES, FULL_TEXT_TABLE
from storage.tables import Account, Deal, Lead, Organization, PipelineStage, StageChange, Tag, TagLink
from storage.tables.activities import LISTING_INDEXES, UNCOMPARED_INDEXES
from storage.tables.search import SEARCH_INDEX
from tests.support.postgresql import Server
from tests.support.rows import TENANT_TABLES, count_rows, fill


async def look(url: str, inside: Any) -> Any:
    """What `inside` says of a connection with none of our isolation layers."""
    engine = create_async_engine(url, poolclass=NullPool)
    async with engine.connect() as connection:
        found = await connection.run_sync(inside)
        await connection.commit()
    await engine.dispose()
    return found


def plain(index: Any) -> dict[str, Any]:
    """What the inspector says of an index, with the words of its condition."""
    return {**index, "dialect_options": {k: str(v) for k, v in index.get("dialect_options", {}).items()}}


def shape(connection: Connection) -> dict[str, Any]:
    """Everything that the database says of its tables, without the listing indexes."""
    inspector = inspect(connection)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an index may have expressions, which the inspector remarks on
        return {
            table: {
                "columns": {  # by name: a migration adds columns at the end, and a class has them where they belong
                    c["name"]: (str(c["type"]), getattr(c["type"], "collation", None), c["nullable"], c["default"])
                    for c in inspector.get_columns(table)
                },
                "key": inspector.get_pk_constraint(table),
                "references": sorted(inspector.get_foreign_keys(table), key=str),
                "unique": sorted(inspector.get_unique_constraints(table), key=str),
                "checks": sorted(inspector.get_check_constraints(table), key=str),
                "indexes": sorted(
                    (
                        plain(i)
                        for i in inspector.get_indexes(table)
                        if i["name"] not in {*LISTING_INDEXES, SEARCH_INDEX}
                    ),
                    key=str,
                ),
            }
            for table in sorted(inspector.get_table_names())
            if table != "alembic_version" and not table.startswith(FULL_TEXT_TABLE)
        }


def _is_our_own(name: str) -> bool:
    """What the migrations make in the dialect's words, past the tables' metadata."""
    return name in {*UNCOMPARED_INDEXES, SEARCH_INDEX} or name.startswith(FULL_TEXT_TABLE)


async def test_the_migrations_make_the_tables_that_the_program_has(database_url: str, empty_database_url: str) -> None:
    def differences(connection: Connection) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "autogenerate skipping metadata-specified expression-based index")
            return compare_metadata(
                MigrationContext.configure(
                    connection, opts={"include_object": lambda o, n, k, r, c: not _is_our_own(n)}
                ),
                SQLModel.metadata,
            )

    assert await look(database_url, differences) == []
    await look(empty_database_url, SQLModel.metadata.create_all)
    assert await look(database_url, shape) == await look(empty_database_url, shape)


async def test_the_listing_indexes_are_there_in_the_dialects_words(database_url: str, dialect: str) -> None:
    query = {
        "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND name LIKE 'ix_meetings%'",
        "postgresql": "SELECT indexname, indexdef FROM pg_indexes WHERE indexname LIKE 'ix_meetings%'",
    }[dialect]
    found = dict(await look(database_url, lambda c: [tuple(row) for row in c.execute(text(query))]))
    assert set(found) == set(LISTING_INDEXES)
    for name, terms in LISTING_INDEXES.items():
        expected = ", ".join(terms)
        if dialect == "sqlite":
            assert f"({expected.replace(' NULLS LAST', '')}) WHERE type = 'meeting'" in found[name]
        else:
            # The server leaves out what is the default: NULLS FIRST of a descending order is not ours for created_at.
            assert f"({expected}) WHERE (type = 'meeting'::text)" in found[name]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_table_that_is_its_key_alone_has_no_rows_beside_it(database_url: str, empty_database_url: str) -> None:
    """However the table was made."""
    query = text("SELECT sql FROM sqlite_master WHERE name = 'match_keys'")
    await look(empty_database_url, SQLModel.metadata.create_all)
    for url in (database_url, empty_database_url):
        assert (await look(url, lambda c: c.scalar(query))).rstrip().endswith("WITHOUT ROWID")


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_every_tenant_table_has_one_forced_policy(database_url: str) -> None:
    def policies(connection: Connection) -> Any:
        secured = connection.execute(
            text(
                "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
                " AND relrowsecurity AND relforcerowsecurity"
            )
        ).scalars()
        rules = connection.execute(text("SELECT tablename, cmd, permissive, qual = with_check FROM pg_policies"))
        return set(secured), sorted(map(tuple, rules))

    secured, rules = await look(database_url, policies)
    assert secured == set(TENANT_TABLES)
    assert rules == [(table, "ALL", "PERMISSIVE", True) for table in sorted(TENANT_TABLES)]


async def test_up_down_and_up_again_with_rows_in_every_table(
    database_url: str, open_database: Callable[[], Database]
) -> None:
    # Searchable records of an organization are an account, a contact, a lead, a deal, a file and six activities.
    counts = dict.fromkeys((t.name for t in SQLModel.metadata.sorted_tables), 2) | {ENTRIES: 22, "activities": 12}
    counts |= {"meeting_cell_deltas": 4}  # two meetings of each organization
    database = open_database()
    rows = await fill(database)
    assert await count_rows(database, rows) == counts
    await database.close()

    before = await look(database_url, shape)
    await migrate.downgrade(database_url, "base")
    assert await look(database_url, shape) == {}
    assert await migrate.current(database_url) is None
    assert await migrate.pending(database_url) == migrate.revisions()

    await migrate.upgrade(database_url)
    assert await look(database_url, shape) == before
    again = open_database()
    rows = await fill(again)
    assert await count_rows(again, rows) == counts


DOMAINS = {"HTTPS://www.Acme.example/x": "acme.example", "acme.example": "acme.example", "N/A": "n/a", None: None}


@pytest.mark.long  # all migrations since then, four times; rows in every table go through them all besides
async def test_domains_get_their_one_spelling(database_url: str, open_database: Callable[[], Database]) -> None:
    """Decision 215: in every organization, however many rows; taken back and applied again it stays."""
    database = open_database()
    made: dict[str, str | None] = {}
    for number in range(2):
        org = Organization(id=new_id(), external_id=f"org-{number}", name="O")
        async with database.directory(writing=True) as directory:
            await directory.insert(org)
        async with database.writing(org.id) as session:
            for given, kept in [*DOMAINS.items(), *[("www.many.example", "many.example")] * 1_001 * number]:
                account, lead = Account(name="A", domain=given), Lead(name="L", company_domain=given)
                await session.insert(account, lead)
                made |= {account.id: kept, lead.id: kept}
    await database.close()
    for _ in range(2):
        await migrate.downgrade(database_url, "0012")
        await migrate.upgrade(database_url)
        assert await look(database_url, _domains) == made


def _domains(connection: Connection) -> dict[str, str | None]:
    if connection.dialect.name == "postgresql":
        for table in ("accounts", "leads"):
            connection.execute(text(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY"))
    rows = connection.execute(text("SELECT id, domain FROM accounts UNION ALL SELECT id, company_domain FROM leads"))
    found = {str(row[0]): row[1] for row in rows}
    connection.rollback()
    return found


@pytest.mark.long  # all migrations since then, four times; rows in every table go through them all besides
async def test_texts_are_folded_tags_made_and_deals_closed(
    database_url: str, open_database: Callable[[], Database]
) -> None:
    """Decisions 237, 239 and 243: of rows that are there, taken back and applied again."""
    database = open_database()
    org = Organization(id=new_id(), external_id="org", name="O")
    async with database.directory(writing=True) as directory:
        await directory.insert(org)
    at = datetime(2026, 5, 1, tzinfo=UTC)
    stages = [PipelineStage(name=kind, type=kind, position=n) for n, kind in enumerate(("open", "won"))]
    told, untold = (Deal(name="ÄÖ", status="won", stage_id=stages[1].id, competitors=["ÉÉ"]) for _ in "ab")
    many = [Deal(name=f"Ü{n}") for n in range(1_001)]
    leads = [Lead(name="L", tags=tags) for tags in (["VIP", "fair"], ["vip"], ["VIP", "vip", "ＶＩＰ"], [])]
    async with database.writing(org.id) as session:
        await session.insert(*stages)
        await session.insert(told, untold, *many, *leads)
        move = {"from_stage_id": stages[0].id, "to_stage_id": stages[1].id}
        await session.insert(StageChange(deal_id=told.id, at=at, **move))
    changed = untold.updated_at
    await database.close()
    for _ in range(2):
        await migrate.downgrade(database_url, "0014")
        await migrate.upgrade(database_url)
    database = open_database()
    async with database.reading(org.id) as session:
        deals = {deal.id: deal for deal in await _all(session, Deal)}
        tags = {tag.id: tag for tag in await _all(session, Tag)}
        links = sorted((link.record_id, link.position, tags[link.tag_id].name) for link in await _all(session, TagLink))
        moments = {link.record_id: link.record_created_at for link in await _all(session, TagLink)}
        spelt = {lead.id: lead.tags for lead in await _all(session, Lead)}
    assert {deal.folded_name for deal in deals.values()} == {"äö", *(f"ü{n}" for n in range(1_001))}
    assert (deals[told.id].folded_competitors, deals[told.id].folded_currency) == (["éé"], "usd")
    assert (deals[told.id].closed_at, deals[untold.id].closed_at) == (at, changed)
    assert deals[many[0].id].closed_at is None
    assert sorted((tag.name, tag.folded_name) for tag in tags.values()) == [("VIP", "vip"), ("fair", "fair")]
    expected = [(leads[0].id, 0, "VIP"), (leads[0].id, 1, "fair"), (leads[1].id, 0, "VIP"), (leads[2].id, 0, "VIP")]
    assert links == sorted(expected)
    assert moments == {lead.id: lead.created_at for lead in leads[:3]}
    assert [spelt[lead.id] for lead in leads] == [["VIP", "fair"], ["VIP"], ["VIP"], []]


async def _all(session: Any, model: Any) -> list[Any]:
    return list(await session.find_all(select(model).where(model.org_id == session.org_id)))


async def test_what_is_pending(empty_database_url: str) -> None:
    known = migrate.revisions()
    assert known[0] == "0001"
    assert await migrate.pending(empty_database_url) == known
    assert await migrate.current(empty_database_url) is None
    await migrate.upgrade(empty_database_url)
    assert await migrate.pending(empty_database_url) == []
    assert await migrate.current(empty_database_url) == known[-1]


async def test_looking_for_pending_migrations_makes_no_file(tmp_path: Path) -> None:
    assert await migrate.pending(f"sqlite+aiosqlite:///{tmp_path}/no/crm.db") == migrate.revisions()
    assert await asyncio.to_thread(os.listdir, tmp_path) == []


async def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    await migrate.upgrade(f"sqlite+aiosqlite:///{tmp_path}/deep/crm.db")
    assert (tmp_path / "deep").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "deep/crm.db").stat().st_mode & 0o777 == 0o600
    with pytest.raises(ValueError, match="SQLite needs a file"):
        await migrate.upgrade("sqlite+aiosqlite:///:memory:")


async def test_a_database_of_a_newer_version_is_refused(database_url: str) -> None:
    await look(database_url, lambda c: c.execute(text("UPDATE alembic_version SET version_num = '9999'")))
    with pytest.raises(migrate.UnknownRevision, match="revision 9999"):
        await migrate.upgrade(database_url)


_START = """
import asyncio, os, sys
import alembic.command, aiosqlite, asyncpg
from sqlalchemy import text
from storage import migrate
from storage.database import Database
from storage.tables import load_all

async def start():
    await migrate.upgrade(sys.argv[1])
    database = Database(sys.argv[1])
    async with database.directory(writing=True) as session:
        await session.execute(text("UPDATE organizations SET name = name"))
    await database.close()

load_all()  # most of the work, and that of each of them
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        asyncio.run(start())
        os._exit(0)
    children.append(child)
print(*(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


async def test_processes_that_start_at_once_migrate_once(empty_database_url: str) -> None:
    root = Path(migrate.__file__).parents[1]
    start = (sys.executable, "-W", "error", "-c", _START, empty_database_url)
    process = await asyncio.create_subprocess_exec(*start, cwd=root, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    assert said.split() == [b"0", b"0", b"0"]
    assert await migrate.pending(empty_database_url) == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the migrations, in use instead of them."""
    copy = tmp_path / "migrations"
    shutil.copytree(migrate.FOLDER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(migrate, "FOLDER", copy)
    return copy


async def test_a_failing_migration_leaves_nothing(empty_database_url: str, folder: Path) -> None:
    file = next((folder / "versions").glob("0001*.py"))
    file.write_text(file.read_text().replace("    _index_listings()\n", "    _index_listings()\n    1 / 0\n"))
    with pytest.raises(ZeroDivisionError):
        await migrate.upgrade(empty_database_url)
    assert await look(empty_database_url, shape) == {}
    assert await migrate.current(empty_database_url) is None


async def test_a_drafted_migration_of_unchanged_tables_is_empty(database_url: str, folder: Path) -> None:
    known = migrate.revisions()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "autogenerate skipping metadata-specified expression-based index")
        await migrate.draft(database_url, "Nothing")
    number = f"{int(known[-1]) + 1:04}"
    drafted = (folder / "versions" / f"{number}_nothing.py").read_text()
    assert "import sqlmodel" in drafted
    assert drafted.count("    pass") == 2
    assert migrate.revisions() == [*known, number]


async def test_nothing_pending_is_found_without_alembic(database_url: str) -> None:
    script = (
        "import asyncio, sys; from storage import migrate;"
        "asyncio.run(migrate.upgrade(sys.argv[1])); sys.exit('alembic' in sys.modules)"
    )
    root = Path(migrate.__file__).parents[1]
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, database_url, cwd=root)
    assert await process.wait() == 0


async def test_a_database_that_is_away(tmp_path: Path) -> None:
    away = f"postgresql+asyncpg://crm@/crm?host={tmp_path}"
    with pytest.raises(Unavailable):
        await migrate.pending(away)
    with pytest.raises(Unavailable):
        await migrate.upgrade(away)


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_the_lock_is_waited_for(empty_database_url: str, postgresql: Server) -> None:
    name = make_url(empty_database_url).database
    assert name is not None
    other = await postgresql.connect(name)
    await other.execute(f"SELECT pg_advisory_lock({0x63726D})")
    upgrading = asyncio.create_task(migrate.upgrade(empty_database_url))
    started = time.perf_counter()
    while not await other.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
        assert time.perf_counter() - started < 60
        await asyncio.sleep(0.01)
    assert not upgrading.done()
    await other.close()
    await upgrading
    assert await migrate.pending(empty_database_url) == []
