"""Filtered lists on SQLite, whose next rows are looked at before others (decision 1180)."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from contract.criteria import EVERYTHING, All, Compare, Condition, ListQuery, Not, Op, Order, PageWindow, Related
from contract.vocabulary import SortDirection
from storage.base import new_id
from storage.bounded_cache import BoundedCache
from storage.database import Database
from storage.queries import filtered_pages, listables, paging
from storage.queries.filtered_pages import FilteredPage
from storage.queries.filtering import bind
from storage.seeding import Plan, seed

DESC, ASC = SortDirection.DESC, SortDirection.ASC
DEALS = listables.DEALS
OPEN = Compare("status", Op.EQ, "open")
NAMED = Compare("name", Op.CONTAINS, "a")
CONDITIONS: dict[str, tuple[Condition, Callable[[Any], bool]]] = {
    "what many meet": (OPEN, lambda row: row.status == "open"),
    "what few meet": (
        All((OPEN, Compare("name", Op.CONTAINS, "ar"))),
        lambda row: row.status == "open" and "ar" in row.name,
    ),
    "what none meets": (All((OPEN, Compare("name", Op.CONTAINS, "\t"))), lambda row: False),
    "one of several": (Compare("status", Op.IN, ("won", "lost")), lambda row: row.status in ("won", "lost")),
    "and a link": (
        All((OPEN, Related("account", NAMED))),
        lambda row: row.status == "open" and row.account_id in row.named,
    ),
    "and not another": (
        All((OPEN, Not(Compare("currency", Op.EQ, "EUR")))),
        lambda row: row.status == "open" and row.currency != "EUR",
    ),
}


@pytest.fixture(scope="module")
def filled(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A file with 900 deals of one organization that the planner knows, and the organization."""
    file = tmp_path_factory.mktemp("filtered") / "crm.db"
    file.write_bytes(sqlite_template.read_bytes())
    url = f"sqlite+aiosqlite:///{file}"

    async def fill() -> str:
        database = Database(url)
        summary = await seed(database, Plan(1, 60, 60, 900, 10, seed=5))
        await database.close()
        return summary.organizations[0]

    organization = asyncio.run(fill())
    with closing(sqlite3.connect(file)) as connection, connection:
        # As an import makes them: many of one moment.
        moment = "(SELECT created_at FROM deals LIMIT 1 OFFSET 300)"
        some = "(SELECT id FROM deals ORDER BY created_at LIMIT 300 OFFSET 200)"
        connection.execute(f"UPDATE deals SET created_at = {moment} WHERE id IN {some}")
    return url, organization


class Deals:
    """The organization's deals, read from a database that knows no statement yet."""

    def __init__(self, database: Database, organization: str) -> None:
        self.database, self.organization = database, organization

    async def page(self, condition: Condition, order: Order | None, **window: Any) -> paging.PageRows[Any]:
        async with self.database.reading(self.organization) as session:
            question = ListQuery(condition, order, PageWindow(**window))
            return await paging.page(session, DEALS, question, is_bounded=True)

    async def walked(
        self, condition: Condition, order: Order | None, size: int, *, backward: bool = False
    ) -> list[Any]:
        """All rows that meet it, page by page, in the list's order."""
        rows: list[Any] = []
        cursor: str | None = None
        while True:
            window = {"last": size, "before": cursor} if backward else {"first": size, "after": cursor}
            found = await self.page(condition, order, **window)
            rows = [*found.rows, *rows] if backward else [*rows, *found.rows]
            if not (found.has_previous if backward else found.has_next):
                return rows
            cursor = paging.cursor(DEALS, order, found.rows[0 if backward else -1])


@asynccontextmanager
async def opened(filled: tuple[str, str]) -> AsyncIterator[Deals]:
    database = Database(filled[0])
    # Its own, since the tests' databases share theirs.
    database.statements = BoundedCache(entries=100, size=1_000_000)
    try:
        yield Deals(database, filled[1])
    finally:
        await database.close()


async def expected(deals: Deals, order: Order | None, meets: Callable[[Any], bool]) -> list[str]:
    async with deals.database.reading(deals.organization) as session:
        accounts = (await paging.page(session, listables.ACCOUNTS, ListQuery(page=PageWindow(first=500)))).rows
    named = {account.id for account in accounts if "a" in account.name}
    rows = await deals.walked(EVERYTHING, order, 500)
    return [row.id for row in rows if meets(_Row(row, named))]


class _Row:
    """A deal, and the accounts that are named as it is asked."""

    def __init__(self, row: Any, named: set[str]) -> None:
        self._row, self.named = row, named

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("order", [None, Order("created_at", ASC), Order("updated_at", DESC)], ids=str)
@pytest.mark.parametrize("name", CONDITIONS)
async def test_every_row_that_meets_it_comes_once_and_in_order(
    filled: tuple[str, str], monkeypatch: pytest.MonkeyPatch, name: str, order: Order | None, backward: bool
) -> None:
    """However many rows are looked at first."""
    condition, meets = CONDITIONS[name]
    async with opened(filled) as deals:
        wanted = await expected(deals, order, meets)
    assert bool(wanted) is (name != "what none meets")
    for looked_at in (1, 10, 1_000):
        monkeypatch.setattr(filtered_pages, "NEXT", looked_at)
        async with opened(filled) as deals:
            rows = await deals.walked(condition, order, 60, backward=backward)
        assert [row.id for row in rows] == wanted, looked_at


@pytest.mark.parametrize("looked_at", [1, 10, 1_000])
async def test_pages_by_offset(filled: tuple[str, str], monkeypatch: pytest.MonkeyPatch, looked_at: int) -> None:
    condition, meets = CONDITIONS["what few meet"]
    monkeypatch.setattr(filtered_pages, "NEXT", looked_at)
    async with opened(filled) as deals:
        wanted = await expected(deals, None, meets)
        pages = [await deals.page(condition, None, first=7, offset=offset) for offset in range(0, len(wanted) + 7, 7)]
    assert [row.id for page in pages for row in page.rows] == wanted
    assert not pages[-1].rows


async def _steps(deals: Deals, condition: Condition, order: Order | None = None, **window: Any) -> int:
    """The hundreds of SQLite's instructions that a page takes."""
    await deals.page(condition, order, **window)
    taken = await deals.database.connections.take()
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    await taken.driver.set_progress_handler(count, 100)
    await deals.database.connections.give_back(taken)
    await deals.page(condition, order, **window)
    await taken.driver.set_progress_handler(None, 0)
    return counted


async def test_a_page_of_what_many_rows_meet_looks_at_few(
    filled: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's own plan reads all that is open; an organization may have a hundred times as many."""
    monkeypatch.setattr(filtered_pages, "NEXT", 60)
    async with opened(filled) as deals:
        taken = await _steps(deals, OPEN, first=5)
    monkeypatch.setattr(FilteredPage, "is_wanted", False)
    async with opened(filled) as deals:
        assert taken < await _steps(deals, OPEN, first=5) / 3


OWNED = Compare("owner_id", Op.EQ, new_id())
NAMED_SO = Compare("external_key", Op.EQ, "k")


@pytest.mark.parametrize(
    ("listable", "condition", "order", "is_wanted"),
    [
        (DEALS, OPEN, "created_at", True),
        (DEALS, OPEN, "updated_at", True),
        (DEALS, OPEN, "value", False),
        (DEALS, OWNED, "created_at", True),
        (DEALS, All((OPEN, OWNED)), "created_at", True),
        (DEALS, All((OPEN, NAMED_SO)), "created_at", False),
        (DEALS, All((OPEN, Compare("stage_id", Op.EQ, new_id()))), "created_at", False),
        (DEALS, NAMED, "created_at", False),
        (DEALS, Not(OPEN), "created_at", False),
        (listables.LEADS, Compare("status", Op.EQ, "open"), "created_at", False),
        (listables.LEADS, Compare("status", Op.EQ, "open"), "updated_at", True),
        (listables.ACCOUNTS, OWNED, "created_at", True),
        (listables.ACCOUNTS, OWNED, "name", False),
    ],
)
def test_it_is_done_where_another_index_leads_to_many(
    listable: Any, condition: Condition, order: str, is_wanted: bool
) -> None:
    terms = listable.terms(Order(order))
    page = FilteredPage(listable, bind(listable, condition, {}), terms, "all", False, 21, False)
    assert page.is_wanted is is_wanted
