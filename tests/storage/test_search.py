"""The search's entries: made for rows that were there before, kept when rows come in bulk, behind layers 4 and 5."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

import pytest
from sqlalchemy import delete, func, select, text
from sqlmodel import col

from storage import migrate
from storage.base import now
from storage.database import Database
from storage.queries import search
from storage.search_index import words_of
from storage.seeding import Plan, seed
from storage.tables import Account, Activity, Contact, Deal, File, Organization, SearchEntry
from storage.tables.search import SEARCHED
from storage.tenancy.guard import TenantBreach
from tests.support.rows import Rows, fill

KINDS = [searched.kind for searched in SEARCHED.values()]


async def found(database: Database, organization: str, query: str, first: int = 100) -> list[tuple[int, str]]:
    async with database.reading(organization) as session:
        rows = await search.hits(
            session, words_of(query), KINDS, length=len(query), first=first, dialect=database.dialect
        )
    return sorted((row.kind, row.id) for row in rows)  # nothing else is the same for both meetings each time


def of(rows: Rows) -> list[tuple[int, str]]:
    """What is found by the name, in the order of kinds, and of the two meetings in that of identifiers."""
    meetings = sorted([(5, rows.later_meeting), (5, rows.activity)])
    others = [(6, rows.task), (7, rows.note), (8, rows.call), (9, rows.email), (10, rows.file)]
    return [(1, rows.account), (2, rows.contact), (3, rows.lead), (4, rows.deal), *meetings, *others]


@asynccontextmanager
async def driver_of(database: Database) -> AsyncIterator[Any]:
    """A connection of the driver, to ask what our own ways do not."""
    taken = await database.connections.take()
    yield taken.driver
    await database.connections.give_back(taken)


async def test_rows_that_were_there_before(database_url: str, open_database: Callable[[], Database]) -> None:
    database = open_database()
    ours, theirs = await fill(database)
    before = [await found(database, rows.org, rows.name) for rows in (ours, theirs)]
    assert before == [of(ours), of(theirs)]
    await database.close()
    await migrate.downgrade(database_url, "0003")
    await migrate.upgrade(database_url)
    again = open_database()
    kept = [[hit for hit in hits if hit[0] != 10] for hits in before]  # files came later
    assert [await found(again, rows.org, rows.name) for rows in (ours, theirs)] == kept
    async with again.writing(ours.org) as session:
        account = await session.find(Account, col(Account.id) == ours.account)
        assert account is not None
        await session.update(account, name="changed")
    assert await found(again, ours.org, "changed") == [(1, ours.account)]
    assert await found(again, theirs.org, "changed") == []


async def test_files_that_were_there_before(database_url: str, open_database: Callable[[], Database]) -> None:
    database = open_database()
    ours, theirs = await fill(database)
    async with database.writing(ours.org) as session:
        values = {"content_type": "text/plain", "bytes": 0, "sha256": "0"}
        await session.insert(File(name="gone", trashed_at=now(), trash_root=ours.file, **values))
    before = [await found(database, rows.org, rows.name) for rows in (ours, theirs)]
    await database.close()
    await migrate.downgrade(database_url, "0032")
    without = open_database()
    left = [[hit for hit in hits if hit[0] != 10] for hits in before]
    assert [await found(without, rows.org, rows.name) for rows in (ours, theirs)] == left
    await without.close()
    await migrate.upgrade(database_url)
    again = open_database()
    assert [await found(again, rows.org, rows.name) for rows in (ours, theirs)] == before
    assert await found(again, ours.org, "gone") == []


async def test_rows_in_bulk_have_an_entry_each(database: Database) -> None:
    summary = await seed(database, Plan(2, 20, 60, 40, 200, seed=3))
    for organization in summary.organizations:
        async with database.reading(organization) as session:
            for kind, model in ((1, Account), (2, Contact), (4, Deal), (5, Activity)):
                wanted = select(func.count()).select_from(model).where(col(model.org_id) == organization)
                if model is Activity:
                    wanted = wanted.where(col(Activity.type) == "meeting")
                entries = select(func.count()).where(
                    col(SearchEntry.org_id) == organization, col(SearchEntry.kind) == kind
                )
                assert await session.scalar(entries) == await session.scalar(wanted) > 0
            row = await session.row(
                select(col(Account.id), col(Account.name)).where(col(Account.org_id) == organization)
            )
        assert row is not None
        assert (1, row.id) in await found(database, organization, row.name)


async def test_an_organization_takes_its_entries_along(database: Database) -> None:
    _, theirs = await fill(database)
    ours = Organization(external_id="third", name="third")
    async with database.directory(writing=True) as session:
        await session.insert(ours)
    async with database.writing(ours.id) as session:
        await session.insert(Account(name="third"))
    assert len(await found(database, ours.id, "third")) == 1
    async with database.directory(writing=True) as session:
        await session.execute(delete(Organization).where(col(Organization.id) == ours.id))
    assert await found(database, ours.id, "third") == []
    assert await found(database, theirs.org, theirs.name) == of(theirs)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_more_hits_than_are_ranked(database: Database) -> None:
    """Of a word that too many records have, those that were written last are ranked (decision 75)."""
    ours, _ = await fill(database)
    async with database.writing(ours.org) as session:
        for name in ("common", "common one", "common two", "common three"):
            await session.insert(Account(name=name))

    async def names(ranked: int) -> list[str]:
        async with database.reading(ours.org) as session:
            rows = await search.hits(
                session, ["common"], KINDS, length=len("common"), first=3, dialect="sqlite", ranked=ranked
            )
            wanted = select(col(Account.id), col(Account.name)).where(col(Account.org_id) == ours.org)
            by_id = {row.id: row.name for row in await session.rows(wanted)}
        return [by_id[row.id] for row in rows]

    assert await names(4) == ["common", "common three", "common two"]
    assert await names(3) == ["common three", "common two", "common one"]
    assert await names(2) == ["common three", "common two"]


LOOSE = [
    "SELECT rowid FROM search_words WHERE search_words MATCH 'first'",
    "SELECT * FROM search_words",
    "SELECT f.rowid FROM search_words f, search_entries e WHERE e.org_id = :ours",
    "SELECT f.rowid FROM search_words f JOIN search_entries e ON f.rowid = e.kind WHERE e.org_id = :ours",
    "SELECT f.rowid FROM search_words f JOIN search_entries e ON f.rowid = e.words",
    "SELECT f.rowid FROM search_words f JOIN accounts e ON f.rowid = e.words WHERE e.org_id = :ours",
    "SELECT f.rowid FROM search_words f LEFT JOIN search_entries e ON f.rowid = e.words AND e.org_id = :ours",
    "INSERT INTO search_words (org, name) VALUES (:ours, 'x')",
    "DELETE FROM search_words",
]
PINNED = "SELECT e.id FROM search_words f JOIN search_entries e ON f.rowid = e.words WHERE e.org_id = :ours"


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_isolation_layer_4_sees_the_index(database: Database) -> None:
    ours, theirs = await fill(database)
    async with database.writing(ours.org) as session:
        for statement in LOOSE:
            bound = text(statement)
            with pytest.raises(TenantBreach):
                await session.execute(bound.bindparams(ours=ours.org) if ":ours" in statement else bound)
        rows = await session.rows(text(PINNED).bindparams(ours=ours.org))
        assert {row.id for row in rows} == {identifier for _, identifier in of(ours)}
        with pytest.raises(TenantBreach):
            await session.rows(text(PINNED).bindparams(ours=theirs.org))


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_isolation_layer_5_narrows_and_never_widens(database: Database) -> None:
    """Whatever the setting asks, another organization's entries stay out of sight, and writing goes on."""
    ours, theirs = await fill(database)
    mark = theirs.org[-8:]
    async with driver_of(database) as driver:
        every = len(of(ours))
        both = f"{mark}nsecond | {ours.org[-8:]}nfirst"
        for asked, count in (("", every), (f"{mark}:*", 0), (both, every), ("!nothing", every)):
            await driver.execute(f"BEGIN; SET LOCAL crm.org_id = '{ours.org}'; SET LOCAL crm.search = '{asked}'")
            assert await driver.fetchval("SELECT count(*) FROM search_entries") == count
            assert await driver.fetchval("SELECT count(*) FROM search_entries WHERE org_id = $1", theirs.org) == 0
            await driver.execute("ROLLBACK")


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_the_index_is_asked_below_the_policy(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not without the question in the policy: no operator of full text may go past one."""
    [ours, _] = (await seed(database, Plan(2, 100, 300, 200, 1_400, seed=5))).organizations
    sent: list[tuple[str, list[Any]]] = []
    send = database.send

    async def keeping(driver: Any, prepared: Any, parameters: list[Any]) -> list[Any]:
        sent.append((prepared.text, parameters))
        return await send(driver, prepared, parameters)

    monkeypatch.setattr(database, "send", keeping)
    assert len(await found(database, ours, "renewal", first=20)) == 20
    [(statement, parameters)] = sent
    async with driver_of(database) as driver:
        for _ in range(2):
            plan = "\n".join(row[0] for row in await driver.fetch(f"EXPLAIN {statement}", *parameters))
            assert "Bitmap Index Scan on ix_search_entries_words" in plan
            assert "Seq Scan" not in plan
            await driver.execute("ANALYZE")


@pytest.mark.long
async def test_a_search_takes_milliseconds(database: Database) -> None:
    """The measured figures, of 100,000 records, come from `python -m benchmarks.search`; this is a tenth, with room."""
    summary = await seed(database, Plan(1, 500, 1_500, 1_000, 7_000, seed=5))
    [organization] = summary.organizations
    for query in ("renewal", "demo", "with", "d", "chief exec", "zurich", "nowhere"):
        times = []
        for _ in range(3):
            started = perf_counter()
            await found(database, organization, query, first=20)
            times.append(perf_counter() - started)
        assert min(times) < 0.5, query
