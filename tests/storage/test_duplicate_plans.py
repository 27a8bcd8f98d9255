"""How the databases find groups of duplicates right after an import, of which the planner knows nothing yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from contract.bulk_vocabulary import MergeableKind
from storage.base import new_id
from storage.database import Database
from storage.match_triggers import MATCHED, Sign
from storage.queries import duplicates
from storage.queries.duplicates import Shared
from storage.seeding import Plan, seed
from storage.tables import Contact
from tests.storage.test_plans import Seeded, driver_of, explain
from tests.support.postgresql import Server

GROUPS = 400
SIZE = 20
MOST = 30
"""The rows that may be looked at for a group: its records, their other keys, and those who share these."""


async def _fill(url: str, dialect: str) -> str:
    """An organization that had few contacts when the planner looked, and has many that are alike by now."""
    database = Database(url, statement_seconds=None)
    summary = await seed(database, Plan(1, 3, 6, 3, 6, seed=3))
    async with driver_of(database) as driver:
        if dialect == "postgresql":
            for table in ("contacts", "match_groups", "not_duplicates"):
                await driver.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
        await driver.execute("ANALYZE")
    async with database.writing(summary.organizations[0]) as session:
        for number in range(GROUPS):
            shared = {"phone": f"+49 30 1{number:06}", "email": f"p{number}@in.example"}
            alike = [Contact(first_name=f"F{number}", last_name="One", **shared) for _ in range(2)]
            called = {"phone": f"+49 30 2{number:06}"}
            others = [Contact(last_name=f"N{number}x{i}", **called, email=f"{i}o{number}@in.example") for i in "ab"]
            await session.insert(*alike, *others)
    await database.close()
    return summary.organizations[0]


@pytest.fixture(params=["sqlite", "postgresql"])
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Seeded]:
    if request.param == "sqlite":
        file = tmp_path / "crm.db"
        template: Path = request.getfixturevalue("sqlite_template")
        file.write_bytes(template.read_bytes())
        url = f"sqlite+aiosqlite:///{file}"
        yield Seeded(url, asyncio.run(_fill(url, "sqlite")), "sqlite")
        return
    server: Server = request.getfixturevalue("postgresql")
    server.create("duplicates", template=request.getfixturevalue("postgresql_template"))
    url = server.url("duplicates")
    yield Seeded(url, asyncio.run(_fill(url, "postgresql")), "postgresql")
    server.drop("duplicates")


@pytest.fixture
async def imported(filled: Seeded) -> AsyncIterator[Seeded]:
    filled.opened = Database(filled.url)
    yield filled
    await filled.opened.close()


async def test_a_page_of_groups_reads_as_much_as_it_shows(imported: Seeded) -> None:
    """Decision 1156: what is asked of a group is found by indexes, whatever is known of the tables."""
    behind_emails = Shared("b", 1, "")
    for after in (None, behind_emails):

        async def page(session: Any, after: Shared | None = after) -> None:
            found = await duplicates.shared(session, MergeableKind.CONTACT, SIZE, after=after)
            wanted = "a" if after is None else "c"
            assert [group.sign for group in found] == [wanted] * SIZE, "the telephones of those with one e-mail are not"

        [sent] = await imported.sent(page)
        for plan in await explain(imported, sent):
            assert [step for step in plan.scanned if "not_duplicates" not in step] == [], plan
            looked_at = SIZE if after is None else GROUPS + SIZE  # the telephones of the first are passed over
            assert plan.rows <= MOST * looked_at, f"{plan}\n{sent.text}"


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("table", "sign"), [(m.table, s) for m in MATCHED for s in m.signs], ids=lambda v: str(v)[:40])
async def test_the_plan_of_an_empty_table_looks_a_key_up_by_its_own_index(
    database: Database, dialect: str, table: str, sign: Sign
) -> None:
    """Decision 1190: a connection keeps it while the table fills."""
    types = ["uuid", *("uuid" if name == "account_id" else "text" for name in sign.columns)]
    alike = " AND ".join(f"r.{name} = ${n}" for n, name in enumerate(("org_id", *sign.columns), 1))
    given = ", ".join(f"'{new_id()}'" for _ in types)
    async with driver_of(database) as driver:
        await driver.execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan")
        await driver.execute(
            f"PREPARE look ({', '.join(types)}) AS SELECT 1 FROM {table} AS r WHERE {alike} AND r.version > 0 LIMIT 1"
        )
        plan = "\n".join(row[0] for row in await driver.fetch(f"EXPLAIN EXECUTE look ({given})"))
    assert sign.columns[0] in plan.partition(" on ")[0], plan
