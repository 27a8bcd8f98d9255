"""How the databases answer the statements that have to be fast: by an index in the list's order, reading one page.

PostgreSQL is asked as the ordinary role behind its policies, for a plan made for the values and for one made without
them, which is what a driver's prepared statement gets after a few runs.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlmodel import col

from contract.criteria import EVERYTHING, All, Compare, Condition, ListQuery, Op, Order, PageWindow, Selection
from contract.vocabulary import SortDirection, TimelineKind
from storage.base import new_id
from storage.database import Database
from storage.new_rows import new_row
from storage.queries import (
    aggregates,
    child_pages,
    credentials,
    deals,
    external_keys,
    health,
    history,
    listables,
    paging,
    records,
    timeline,
)
from storage.queries import tags as tagging
from storage.queries.deal_aggregates import DEAL_SOURCE
from storage.queries.listable import Listable
from storage.seeding import Plan, seed
from storage.seeding.generate import Rows
from storage.seeding.load import Loader
from storage.seeding.plan import EPOCH
from storage.tables import (
    Account,
    Activity,
    Contact,
    Credential,
    Deal,
    Event,
    File,
    FileLink,
    HealthFactor,
    HealthSnapshot,
    Member,
    Organization,
    RecordChange,
    StageChange,
    TagLink,
)
from tests.support.postgresql import Server

PLAN = Plan(2, 4_000, 6_000, 6_000, 30_000, seed=5, largest_meetings=28_000)
SIZE = 20
KEYS = 400
DESC, ASC = SortDirection.DESC, SortDirection.ASC


@dataclass
class Sent:
    """A statement as it went to the driver."""

    text: str
    parameters: list[Any]


@dataclass
class Seeded:
    """A database with a large organization."""

    url: str
    organization: str
    dialect: str
    opened: Database = field(init=False)

    def session(self) -> Any:
        return self.opened.reading(self.organization)

    async def sent(self, work: Callable[[Any], Awaitable[Any]], *, writing: bool = False) -> list[Sent]:
        """The shapes that the work sends from a session of the organization."""
        kept: list[Sent] = []

        def keeping(told: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
            def keep(driver: Any, prepared: Any, parameters: list[Any]) -> Awaitable[Any]:
                kept.append(Sent(prepared.text, parameters))
                return told(driver, prepared, parameters)

            return keep

        told = {name: getattr(self.opened, name) for name in ("send", "count")}
        try:
            for name, tell in told.items():
                setattr(self.opened, name, keeping(tell))
            async with self.opened.writing(self.organization) if writing else self.session() as session:
                await work(session)
        finally:
            for name in told:
                delattr(self.opened, name)
        return kept


async def _fill(url: str) -> str:
    database = Database(url, statement_seconds=None)  # so much takes longer than a request may
    summary = await seed(database, PLAN)
    organization = summary.organizations[0]
    async with database.reading(organization) as session:
        accounts = (await paging.page(session, listables.ACCOUNTS, ListQuery(page=PageWindow(first=200)))).rows
    snapshots = [
        (new_id(), account.id, 50, EPOCH - timedelta(days=day), "1") for account in accounts for day in range(100)
    ]
    async with database.writing(organization) as session:
        columns = ("id", "account_id", "score", "snapshot_at", "formula_version")
        await Loader(database.sql).insert(session, Rows(HealthSnapshot, columns, snapshots))
        factors = [
            (new_id(), account_id, snapshot_id, at, position, f"key{position}", "l", 50, 0.1, "e", 1)
            for snapshot_id, account_id, _, at, _ in snapshots[::10]
            for position in range(9)
        ]
        columns = (
            *("id", "account_id", "health_score_id", "snapshot_at", "position", "key", "label", "score", "weight"),
            *("explanation", "sample_size"),
        )
        await Loader(database.sql).insert(session, Rows(HealthFactor, columns, factors))
    async with database.directory(writing=True) as directory:
        subject = (await directory.scalar(select(col(Member.subject)).order_by(col(Member.subject)).limit(1))) or ""
        for number in range(KEYS):
            await directory.insert(
                Credential(
                    kind="organization_key",
                    org_id=organization,
                    key_id=f"key{number}",
                    secret_hash="h",
                    hint="h",
                    name="n",
                    owner_subject=subject,
                )
            )
    # Once more, now with the snapshots and keys.
    async with database.directory(writing=True) as session:
        await session.execute(text("ANALYZE"))
    await database.close()
    return organization


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def filled_once(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seeded]:
    """One database of each kind for all tests here."""
    if request.param == "sqlite":
        template: Path = request.getfixturevalue("sqlite_template")
        file = tmp_path_factory.mktemp("plans") / "crm.db"
        file.write_bytes(template.read_bytes())
        url = f"sqlite+aiosqlite:///{file}"
        yield Seeded(url, asyncio.run(_fill(url)), "sqlite")
        return
    server: Server = request.getfixturevalue("postgresql")
    server.create("plans", template=request.getfixturevalue("postgresql_template"))
    url = server.url("plans")
    yield Seeded(url, asyncio.run(_fill(url)), "postgresql")
    server.drop("plans")


@pytest.fixture
async def seeded(filled_once: Seeded) -> Any:
    filled_once.opened = Database(filled_once.url)
    yield filled_once
    await filled_once.opened.close()


def literal(value: Any) -> str:
    """A parameter as PostgreSQL reads it in a statement."""
    match value:
        case None:
            return "NULL"
        case bool() | int() | Decimal():
            return str(value)
        case list():
            return f"ARRAY[{', '.join(map(literal, value))}]::text[]"
        case datetime():
            return f"'{value.isoformat()}'"
    text = str(value).replace("'", "''")
    return f"'{text}'"


@dataclass
class Found:
    """What a plan says: each index by name, sorts that are more than a few ties, and the rows that were looked at."""

    indexes: set[str] = field(default_factory=set)
    sorts: list[Any] = field(default_factory=list)
    scanned: list[str] = field(default_factory=list)
    rows: float = 0
    steps: list[str] = field(default_factory=list)


@asynccontextmanager
async def driver_of(database: Database) -> AsyncIterator[Any]:
    """A connection of the driver, to ask what our own ways do not."""
    taken = await database.connections.take()
    try:
        yield taken.driver
    finally:
        await database.connections.give_back(taken)


async def explain(seeded: Seeded, sent: Sent) -> list[Found]:
    """The plans for a statement."""
    if seeded.dialect == "sqlite":
        async with driver_of(seeded.opened) as driver:
            steps = await driver.execute_fetchall(f"EXPLAIN QUERY PLAN {sent.text}", sent.parameters)
        return [_sqlite([step[3] for step in steps])]
    found = []
    async with driver_of(seeded.opened) as driver:
        for mode in ("force_custom_plan", "force_generic_plan"):
            await driver.execute(f"SET plan_cache_mode = {mode}")
            await driver.execute(f"PREPARE explained AS {sent.text}")
            values = f"({', '.join(map(literal, sent.parameters))})" if sent.parameters else ""
            [record] = await driver.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE explained{values}")
            await driver.execute("DEALLOCATE explained")
            plan = Found()
            [explained] = record[0] if isinstance(record[0], list) else json.loads(record[0])
            _postgresql(explained["Plan"], plan)
            found.append(plan)
        await driver.execute("RESET plan_cache_mode")
    return found


_HARMLESS = ("CONSTANT ROW", "VIRTUAL TABLE", "SCAN newest", "SCAN page", "SCAN sizes", "SCAN (subquery-")


def _sqlite(steps: list[str]) -> Found:
    found = Found(steps=steps)
    for step in steps:
        if "USING" in step and "INDEX" in step:
            found.indexes.add(step.split("INDEX ", 1)[1].split(" (")[0].split(" ")[0])
        if step.startswith("SCAN") and not any(word in step for word in _HARMLESS):
            found.scanned.append(step)
        if "TEMP B-TREE" in step and "LAST" not in step and "RIGHT PART" not in step:
            found.sorts.append(step)
    return found


def _postgresql(node: dict[str, Any], found: Found) -> None:
    if node["Node Type"] == "Sort" and node["Plans"][0]["Actual Rows"] > 3 * SIZE:
        found.sorts.append(node["Sort Key"])
    if "Index Name" in node:
        found.indexes.add(node["Index Name"])
    if node["Node Type"] == "Seq Scan":
        found.scanned.append(node["Relation Name"])
    if "Relation Name" in node or node["Node Type"] == "Bitmap Index Scan":
        removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
        found.rows += (node["Actual Rows"] + removed) * node["Actual Loops"]
    for child in node.get("Plans", ()):
        _postgresql(child, found)


async def check(seeded: Seeded, sent: Sent, index: str, *, rows: float) -> None:
    """Each plan goes by an index of this name or beginning, sorts nothing, and looks at no more than these rows.

    A page whose rows have long columns is looked at twice (decision 128).
    """
    looks = 2 if "WITH sizes AS" in sent.text else 1
    for plan in await explain(seeded, sent):
        told = f"{plan}\n{sent.text}"
        assert any(name.startswith(index) for name in plan.indexes), told
        assert not plan.sorts, told
        assert not plan.scanned, told
        assert plan.rows <= looks * rows, told


def listing(order: Order, condition: Condition = EVERYTHING, **page: Any) -> ListQuery:
    return ListQuery(condition, order, PageWindow(**page))


def paged(listable: Listable, question: ListQuery, **parent: Any) -> Callable[[Any], Awaitable[Any]]:
    return lambda session: paging.page(session, listable, question, is_bounded=True, **parent)


def orders() -> Iterator[Any]:
    for direction in (DESC, ASC):
        yield pytest.param(listables.MEETINGS, Order("due_at", direction), "ix_meetings_due")
        yield pytest.param(listables.MEETINGS, Order("created_at", direction), "ix_activities_created")
        for listable, table in (
            (listables.ACCOUNTS, "accounts"),
            (listables.CONTACTS, "contacts"),
            (listables.DEALS, "deals"),
        ):
            yield pytest.param(listable, Order("created_at", direction), f"ix_{table}_org_id_created_at")


@pytest.mark.parametrize(("listable", "order", "index"), [*orders()])
async def test_the_first_page_and_pages_deep_in(seeded: Seeded, listable: Listable, order: Order, index: str) -> None:
    narrow = listable.selecting(Selection(frozenset({"id"})), order)
    async with seeded.session() as session:
        everything = []
        page = PageWindow(first=500)
        while True:
            found = await paging.page(session, narrow, ListQuery(order=order, page=page))
            everything += found.rows
            if not found.has_next or len(everything) > 30_000:
                break
            page = PageWindow(first=500, after=paging.cursor(narrow, order, found.rows[-1]))
    depths = [0, len(everything) // 2, len(everything) - 50 * SIZE]
    if order.field == "due_at":
        empty = next(i for i, row in enumerate(everything) if row.due_at is None)
        assert 0 < empty < len(everything) - 50 * SIZE
        depths += [empty - 10, empty + 50]
    questions = [listing(order, first=SIZE), listing(order, last=SIZE)]
    for depth in depths:
        cursor = paging.cursor(narrow, order, everything[depth])
        questions += [listing(order, first=SIZE, after=cursor), listing(order, last=SIZE, before=cursor)]
    for question in questions:
        for sent in await seeded.sent(paged(listable, question)):
            await check(seeded, sent, index, rows=SIZE + 10)


@pytest.fixture(scope="module", params=[False, True], ids=["alone", "beside a small one"])
def of_one(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Seeded:
    """A file whose rows are nearly all of one organization, and which says so to the planner."""
    file = tmp_path_factory.mktemp("one") / "crm.db"
    file.write_bytes(sqlite_template.read_bytes())
    url = f"sqlite+aiosqlite:///{file}"

    async def fill() -> str:
        database = Database(url)
        summary = await seed(database, Plan(1, 500, 500, 1_500, 2_000, seed=5))
        if request.param:
            await seed(database, Plan(1, 20, 20, 20, 20, seed=8))
        await database.close()
        return summary.organizations[0]

    return Seeded(url, asyncio.run(fill()), "sqlite")


@pytest.mark.parametrize(("listable", "order", "index"), [*orders()])
async def test_a_page_of_nearly_all_rows_of_a_file_reads_no_whole_table(
    of_one: Seeded, listable: Listable, order: Order, index: str
) -> None:
    """Decisions 1144 and 1179."""
    of_one.opened = Database(of_one.url)
    try:
        async with of_one.session() as session:
            rows = (await paging.page(session, listable, listing(order, first=SIZE))).rows
        behind = paging.cursor(listable, order, rows[-1])
        for question in (
            listing(order, first=SIZE),
            listing(order, last=SIZE),
            listing(order, first=SIZE, after=behind),
        ):
            for sent in await of_one.sent(paged(listable, question)):
                await check(of_one, sent, index, rows=SIZE + 10)
    finally:
        await of_one.opened.close()


_NAMED = Compare("name", Op.CONTAINS, "a")


@pytest.mark.parametrize("filled_once", ["sqlite"], indirect=True)
@pytest.mark.parametrize("analyzed", [False, True])
@pytest.mark.parametrize(
    ("condition", "index"),
    [
        (_NAMED, "sqlite_autoindex_deals_1"),
        (All((_NAMED, Compare("owner_id", Op.EQ, "x"))), "ix_deals_org_id_owner_id"),
        (All((_NAMED, Compare("created_at", Op.GTE, EPOCH + timedelta(days=60)))), "ix_deals_org_id_created_at"),
    ],
    ids=["free", "of an owner", "of a time"],
)
async def test_all_that_meet_a_condition_are_read_as_they_lie(
    filled_once: Seeded, sqlite_template: Path, tmp_path: Path, condition: Condition, index: str, *, analyzed: bool
) -> None:
    """Decision 1201: where no index leads to fewer of them, whether the planner knows the table or not."""
    here = filled_once
    if not analyzed:
        file = shutil.copy(sqlite_template, tmp_path / "crm.db")
        here = Seeded(f"sqlite+aiosqlite:///{file}", filled_once.organization, "sqlite")
    here.opened = Database(here.url)
    by_stage = aggregates.Question(("stage",), frozenset({"valued"}))
    try:
        sent = await here.sent(lambda session: paging.count(session, listables.DEALS, condition))
        sent += await here.sent(lambda session: aggregates.aggregate(session, DEAL_SOURCE, condition, by_stage))
        for one in sent:
            [plan] = await explain(here, one)
            [step] = [step for step in plan.steps if step.startswith(("SEARCH deals", "SCAN deals"))]
            assert index in step or (condition is _NAMED and analyzed and step == "SCAN deals"), plan
    finally:
        await here.opened.close()


@pytest.mark.parametrize(
    ("condition", "step"),
    [
        (Compare("status", Op.EQ, "open"), "COVERING INDEX ix_deals_org_id_status_"),
        (Compare("stage_id", Op.EQ, new_id()), "COVERING INDEX ix_deals_org_id_stage_id_"),
        (Compare("created_at", Op.GTE, EPOCH), "COVERING INDEX ix_deals_org_id_created_at"),
        (Compare("currency", Op.EQ, "EUR"), "COVERING INDEX ix_deals_org_id_status_currency_"),
        (Compare("id", Op.IN, (new_id(), new_id())), "(org_id=? AND id=?)"),
    ],
    ids=["status", "stage", "time", "currency", "identifiers"],
)
async def test_what_an_index_has_is_read_in_it_alone(
    sqlite_template: Path, tmp_path: Path, condition: Condition, step: str
) -> None:
    """Decision 1201. The planner knows nothing of the table here, as where nobody had it analyzed."""
    file = shutil.copy(sqlite_template, tmp_path / "crm.db")
    here = Seeded(f"sqlite+aiosqlite:///{file}", new_id(), "sqlite")
    here.opened = Database(here.url)
    try:
        [sent] = await here.sent(lambda session: paging.count(session, listables.DEALS, condition))
        [plan] = await explain(here, sent)
    finally:
        await here.opened.close()
    assert any(step in one for one in plan.steps), plan


@pytest.mark.parametrize("name", ["account", "deal", "contact", "owner"])
async def test_meetings_below_a_filter(seeded: Seeded, name: str) -> None:
    async with seeded.session() as session:
        rows = (await paging.page(session, listables.MEETINGS, listing(Order("due_at"), first=500))).rows
    value = next(getattr(row, f"{name}_id") for row in rows if getattr(row, f"{name}_id") is not None)
    below = Compare(f"{name}_id", Op.EQ, value)
    for question in (listing(Order("due_at"), below, first=SIZE), listing(Order("due_at"), below, last=SIZE)):
        [sent] = await seeded.sent(paged(listables.MEETINGS, question))
        await check(seeded, sent, f"ix_meetings_{name}", rows=SIZE + 10)


@pytest.mark.parametrize(
    ("listable", "column", "order", "index"),
    [
        (listables.MEETINGS, Activity.account_id, Order("due_at"), "ix_meetings_account"),
        (listables.DEALS, Deal.account_id, Order("created_at"), "ix_deals_org_id_account_id_created_at"),
        (listables.DEALS, Deal.stage_id, Order("created_at"), "ix_deals_org_id_stage_id_created_at"),
        (listables.CONTACTS, Contact.account_id, Order("created_at"), "ix_contacts_org_id_account_id_created_at"),
    ],
)
async def test_the_children_of_one_parent(
    seeded: Seeded, listable: Listable, column: Any, order: Order, index: str
) -> None:
    async with seeded.session() as session:
        rows = (await paging.page(session, listable, listing(order, first=100))).rows
    parent = next(getattr(row, column.key) for row in rows if getattr(row, column.key) is not None)
    [sent] = await seeded.sent(paged(listable, listing(order, first=SIZE), parent=column, parent_id=parent))
    await check(seeded, sent, index, rows=SIZE + 10)


@pytest.mark.parametrize("listable", [listables.MEETINGS_WITH_LINKS, listables.MEETINGS])
async def test_the_links_come_along_row_by_row(seeded: Seeded, listable: Listable) -> None:
    links = frozenset((name, frozenset({"id", "name"})) for name in ("account", "deal"))
    if listable is listables.MEETINGS:
        listable = listable.selecting(Selection(frozenset({"id", "subject"}), links), Order("due_at"))
    [sent] = await seeded.sent(paged(listable, listing(Order("due_at"), first=SIZE)))
    await check(seeded, sent, "ix_meetings_due_desc", rows=4 * (SIZE + 10))


FIVE = tuple(f"tag {number}" for number in range(5))


@pytest.fixture(scope="module")
def tagged(filled_once: Seeded) -> str:
    """Another organization with many deals and five tags, each on a fifth of them, all five on every 25th."""
    return asyncio.run(_tag(filled_once))


async def _tag(filled: Seeded) -> str:
    database = Database(filled.url, statement_seconds=None)
    org = Organization(id=new_id(), external_id="tagged", name="T")
    async with database.directory(writing=True) as directory:
        await directory.insert(org)
    deals = [new_row(Deal, name="d", created_at=EPOCH - timedelta(minutes=n)) for n in range(20_000)]
    async with database.writing(org.id) as session:
        await session.insert(*deals)
        tags = await tagging.make_missing(session, FIVE)
        for number, tag in enumerate(tags.values()):
            having = [deal.id for n, deal in enumerate(deals) if (n * 7 + n // 5 * number) % 5 == 0]
            links = [new_row(TagLink, kind="deal", record_id=i, tag_id=tag.id, position=number) for i in having]
            await tagging.link(session, links)
    async with driver_of(database) as driver:
        await driver.execute("ANALYZE" if filled.dialect == "sqlite" else "VACUUM ANALYZE tag_links, deals")
    await database.close()
    return org.id


@asynccontextmanager
async def _as_if_larger(server: Server, factor: int) -> AsyncIterator[None]:
    """PostgreSQL's planner takes deals and links for so many times as many as there are.

    What it reckons with is the density that it was last told, and the pages that there are.
    """
    connection = await server.connect("plans", role="postgres")
    change = "UPDATE pg_class SET reltuples = reltuples * $1 WHERE oid IN ('deals'::regclass, 'tag_links'::regclass)"
    try:
        await connection.execute(change, float(factor))
        yield
        await connection.execute(change, 1 / factor)
    finally:
        await connection.close()


@pytest.fixture
async def planned_for_many(seeded: Seeded, tagged: str, request: pytest.FixtureRequest) -> AsyncIterator[Seeded]:
    """The organization with the tags; PostgreSQL plans for 100,000 deals, since it reads few links whole and sorts."""
    here = replace(seeded, organization=tagged)
    here.opened = seeded.opened
    if seeded.dialect == "sqlite":
        yield here
        return
    async with _as_if_larger(request.getfixturevalue("postgresql"), 5):
        yield here


@pytest.mark.parametrize("is_behind", [False, True], ids=["first", "behind"])
@pytest.mark.parametrize("number", [1, 2, 5])
async def test_a_list_by_tags_reads_the_links_in_its_order(
    planned_for_many: Seeded, number: int, is_behind: bool
) -> None:
    """What the indexes of each tag have in common at their beginning, however many records have them all."""
    here = planned_for_many
    condition = Compare("tags", Op.ALL, FIVE[:number])
    async with here.session() as session:
        first = await paging.page(session, listables.DEALS, ListQuery(condition, page=PageWindow(first=SIZE)))
    after = paging.cursor(listables.DEALS, None, first.rows[-1]) if is_behind else None
    window = PageWindow(first=SIZE, after=after)
    [sent] = await here.sent(paged(listables.DEALS, ListQuery(condition, page=window)))
    for plan in await explain(here, sent):
        told = f"{plan}\n{sent.text}"
        assert "ix_tag_links_in_order" in plan.indexes, told
        assert not plan.sorts, told
        assert plan.rows <= (SIZE + 1) * 5 * number * 3, told


async def test_what_was_told_last_is_found_by_each_record(seeded: Seeded) -> None:
    """By all columns of the index, though the planner knows nothing of what the table has become."""
    if seeded.dialect == "sqlite":
        pytest.skip("SQLite goes by the index whatever it thinks of the table")
    event = new_row(Event, sequence=1, area="crm", type="records_tagged", actor="a", occurred_at=EPOCH, data={})
    async with seeded.opened.writing(seeded.organization) as session:
        deals = [row.id for row in await session.rows(select(col(Deal.id)).order_by(col(Deal.id)).limit(4_000))]
        told = [history.Told("deal", i, {"tags": [[], ["a"]]}) for i in deals]
        for start in range(0, len(told), 500):
            await history.tell(session, event, told[start : start + 500])
        [sent] = await seeded.sent(lambda s: history.last_told(s, told[:500], event))
    for plan in await explain(seeded, sent):
        assert plan.rows <= 1_500, plan


async def test_pages_of_a_timeline(seeded: Seeded) -> None:
    """The first and one far behind: each kind from its index in its order, and no more rows than a page has."""
    account, started = Account(name="busy", created_at=EPOCH - timedelta(days=1)), EPOCH
    deal = Deal(name="d", account_id=account.id)
    moments = [started + timedelta(minutes=n) for n in range(4_000)]
    async with seeded.opened.writing(seeded.organization) as session:
        await session.insert(account, deal)
        await session.insert(*(Activity(type="note", body="b", created_at=m, account_id=account.id) for m in moments))
        await session.insert(*(StageChange(deal_id=deal.id, account_id=account.id, at=m) for m in moments))
        its = {"subject_kind": "account", "subject_id": account.id, "actor": "x", "type": "t", "fields": {"a": [0, 1]}}
        await session.insert(*(RecordChange(at=m, **its) for m in moments))
        named = dict.fromkeys(("name", "content_type", "sha256"), "n")
        files = [File(bytes=0, **named) for _ in moments]
        await session.insert(*files)
        attached = {"record_id": account.id, "kind": "account"}
        await session.insert(
            *(FileLink(file_id=f.id, attached_at=m, **attached) for f, m in zip(files, moments, strict=True))
        )
    async with seeded.opened.directory(writing=True) as directory:
        await directory.execute(text("ANALYZE"))
    feed = timeline.Feed("account", frozenset(TimelineKind), 15)
    async with seeded.session() as session:
        [last] = (await timeline.pages(session, replace(feed, size=1), [account.id]))[account.id].rows
    deep = base64.urlsafe_b64encode(json.dumps([moments[100].isoformat(), last.id]).encode()).decode().rstrip("=")
    for after in (None, deep):
        [sent] = await seeded.sent(lambda session, at=after: timeline.pages(session, feed, [account.id], after=at))
        for plan in await explain(seeded, sent):
            told = f"{plan}\n{sent.text}"
            kinds = ("activities_account", "stage_changes_account", "record_changes_subject", "file_links_record")
            for index in (f"ix_{kind}" for kind in kinds):
                assert index in plan.indexes, told
            assert not [step for step in plan.scanned if "arm_" not in step and "items" not in step], told
            assert len(plan.sorts) <= (1 if seeded.dialect == "sqlite" else 0), told  # the merge
            assert plan.rows <= 4 * 17 + 5, told


async def test_the_plan_of_a_shape_is_kept(seeded: Seeded) -> None:
    """Whatever cursor, place, parent or identifiers come: planning takes longer than reading (decision 197)."""
    if seeded.dialect == "sqlite":
        pytest.skip("SQLite plans a statement when it is prepared")
    async with seeded.session() as session:
        first = await paging.page(session, listables.MEETINGS, ListQuery(page=PageWindow(first=SIZE)))
        accounts = [row.id for row in (await paging.page(session, listables.ACCOUNTS, ListQuery())).rows]
    window = PageWindow(first=SIZE, after=paging.cursor(listables.MEETINGS, None, first.rows[-1]))
    behind = ListQuery(page=window)
    early = Compare("due_at", Op.LT, EPOCH + timedelta(days=400))
    feed = timeline.Feed("account", frozenset(TimelineKind), SIZE)
    account = col(Activity.account_id)
    last = timeline.cursor((await _feed_of(seeded, feed, accounts[0])).rows[-1])
    works: dict[str, Callable[[Any], Awaitable[Any]]] = {
        "a page": lambda s: paging.page(s, listables.MEETINGS, ListQuery(page=PageWindow(first=SIZE))),
        "behind a cursor": lambda s: paging.page(s, listables.MEETINGS, behind),
        "at a place": lambda s: paging.page(s, listables.MEETINGS, ListQuery(page=PageWindow(first=SIZE, offset=40))),
        "below a record": lambda s: paging.page(
            s, listables.MEETINGS, ListQuery(page=PageWindow(first=SIZE)), parent=account, parent_id=accounts[0]
        ),
        "below records": lambda s: child_pages.pages_by_parent(s, listables.MEETINGS, account, accounts, ListQuery()),
        "before a time, in the order of time": lambda s: paging.page(
            s, listables.MEETINGS, ListQuery(condition=early, page=PageWindow(first=SIZE))
        ),
        "by identifiers": lambda s: paging.by_ids(s, listables.ACCOUNTS, accounts),
        "a timeline": lambda s: timeline.pages(s, feed, accounts[:1]),
        "a timeline behind a cursor": lambda s: timeline.pages(s, feed, accounts[:1], after=last),
    }
    for name, work in works.items():
        sent = (await seeded.sent(work))[-1]
        taken = await seeded.opened.connections.take(seeded.organization)
        for _ in range(12):
            await taken.driver.fetch(sent.text, *sent.parameters)
        told = "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement = $1"
        [(generic, custom)] = await taken.driver.fetch(told, sent.text)
        await seeded.opened.connections.give_back(taken)
        assert generic >= 7, (name, generic, custom)


async def _feed_of(seeded: Seeded, feed: timeline.Feed, account: str) -> timeline.FeedPage:
    async with seeded.session() as session:
        return (await timeline.pages(session, feed, [account]))[account]


async def test_a_credential_by_its_key(seeded: Seeded) -> None:
    kept: list[Sent] = []
    send = seeded.opened.send

    async def keeping(driver: Any, prepared: Any, parameters: list[Any]) -> list[Any]:
        kept.append(Sent(prepared.text, parameters))
        return await send(driver, prepared, parameters)

    seeded.opened.send = keeping  # type: ignore[method-assign]
    async with seeded.opened.directory() as session:
        assert await credentials.with_memberships(session, ["key7"])
        assert await credentials.nearest_with_memberships(session, "key7")
        assert await credentials.nearest_with_memberships(session, "key7x")
        assert await credentials.nearest_with_memberships(session, "z")
    index = "uq_credentials_key_id" if seeded.dialect == "postgresql" else "sqlite_autoindex_credentials_2"
    for sent in kept:
        for plan in await explain(seeded, sent):
            assert index in plan.indexes, plan
            assert plan.rows <= 40, plan


async def test_the_latest_health_of_an_account(seeded: Seeded) -> None:
    async with seeded.session() as session:
        rows = (await paging.page(session, listables.ACCOUNTS, ListQuery(page=PageWindow(first=30)))).rows
    for ids in ([row.id for row in rows[:n]] for n in (1, 5, 30)):
        [sent] = await seeded.sent(lambda session, ids=ids: health.latest(session, ids))
        await check(seeded, sent, "ix_health_snapshots_org_id_account_id_snapshot_at_id", rows=8 * len(ids))
        [sent] = await seeded.sent(lambda session, ids=ids: health.latest_with_factors(session, ids))
        await check(seeded, sent, "ix_health_snapshots_org_id_account_id_snapshot_at_id", rows=60 * len(ids))


@pytest.mark.parametrize("listable", [listables.ACCOUNTS, listables.CONTACTS, listables.DEALS, listables.MEETINGS])
async def test_rows_by_their_identifiers(seeded: Seeded, listable: Listable) -> None:
    key = "sqlite_autoindex" if seeded.dialect == "sqlite" else "pk_"
    async with seeded.session() as session:
        rows = (await paging.page(session, listable, ListQuery(page=PageWindow(first=SIZE)))).rows
    for count in (1, SIZE):
        ids = [row.id for row in rows[:count]]
        [sent] = await seeded.sent(lambda session, ids=ids: paging.by_ids(session, listable, ids))
        await check(seeded, sent, key, rows=2 * count)
        for plan in await explain(seeded, sent):
            assert seeded.dialect != "sqlite" or any("(org_id=? AND id=?)" in step for step in plan.steps), plan


async def test_the_children_of_several_parents(seeded: Seeded) -> None:
    async with seeded.session() as session:
        rows = (await paging.page(session, listables.ACCOUNTS, ListQuery(page=PageWindow(first=5)))).rows
    ids, question = [row.id for row in rows], listing(Order("created_at"), first=SIZE)
    for listable, column in ((listables.DEALS, Deal.account_id), (listables.CONTACTS, Contact.account_id)):
        [sent] = await seeded.sent(
            lambda session, listable=listable, column=column: child_pages.pages_by_parent(
                session, listable, column, ids, question
            )
        )
        for plan in await explain(seeded, sent):
            assert plan.rows <= 2 * 5 * 10, plan
            assert seeded.dialect != "sqlite" or any("account_id=?" in step for step in plan.steps), plan


async def test_the_deals_of_each_stage(seeded: Seeded) -> None:
    """However many deals a stage has, as many are read as are shown (decision 1140)."""
    async with seeded.session() as session:
        stages = [row.id for row in (await paging.page(session, listables.STAGES, ListQuery())).rows]
    [sent] = await seeded.sent(
        lambda session: child_pages.pages_by_parent(
            session, listables.DEALS, col(Deal.stage_id), stages, listing(Order("created_at"), first=SIZE)
        )
    )
    for plan in await explain(seeded, sent):
        assert "ix_deals_org_id_stage_id_created_at" in plan.indexes, plan
        assert plan.rows <= 4 * len(stages) * (SIZE + 1), plan
        assert seeded.dialect != "sqlite" or any("(org_id=? AND id=?)" in step for step in plan.steps), plan


async def test_what_is_not_shown_of_each_stage_is_joined_with_nothing(seeded: Seeded) -> None:
    """Decision 1140. PostgreSQL takes a stage to have few deals, where there are many organizations."""
    async with seeded.session() as session:
        stages = [row.id for row in (await paging.page(session, listables.STAGES, ListQuery())).rows]
    linked = listables.DEALS.selecting(Selection(frozenset({"id"}), frozenset({("account", frozenset({"name"}))})))
    [sent] = await seeded.sent(
        lambda session: child_pages.pages_by_parent(
            session, linked, col(Deal.stage_id), stages, listing(Order("created_at"), first=SIZE)
        )
    )
    assert sent.text.count("JOIN accounts") == 1
    found = sent.text.partition(f"LIMIT {SIZE + 1}")[0].rpartition("(SELECT deals.id")[2]
    assert "accounts" not in found
    for plan in await explain(seeded, sent):
        assert plan.rows <= 6 * len(stages) * (SIZE + 1), plan


async def test_the_board_is_added_up_from_the_roll_up(seeded: Seeded) -> None:
    """Decision 1141; what the roll-up does not know is added up from the deals."""
    [whole] = await seeded.sent(lambda session: deals.totals(session, EVERYTHING))
    assert "deal_cells" in whole.text
    assert "FROM deals" not in whole.text
    [named] = await seeded.sent(lambda session: deals.totals(session, Compare("name", Op.CONTAINS, "a")))
    assert "deal_cells" not in named.text


@pytest.mark.parametrize("model", [Account, Contact, Deal], ids=lambda model: model.__tablename__)
async def test_records_by_their_keys_elsewhere(seeded: Seeded, model: Any) -> None:
    """The index holds the records that have a key alone (decision 1143)."""
    [sent] = await seeded.sent(lambda session: external_keys.ids_by_key(session, model, ["a", "b"]))
    for plan in await explain(seeded, sent):
        assert f"uq_{model.__tablename__}_org_id_external_key" in plan.indexes, plan
        assert model.__tablename__ not in plan.scanned, plan


async def test_what_names_a_record_that_goes(seeded: Seeded) -> None:
    """Each index holds the records that name one alone (decision 1143)."""
    for column in (Deal.champion_id, Deal.parent_deal_id):
        sent = await seeded.sent(
            lambda session, column=column: records.null_references(session, column, value=new_id()), writing=True
        )
        for plan in await explain(seeded, sent[-1]):
            assert f"ix_deals_org_id_{column.key}" in plan.indexes, plan
            assert not plan.scanned, plan


async def test_the_factors_of_snapshots(seeded: Seeded) -> None:
    [sent] = await seeded.sent(lambda session: health.factors(session, [new_id(), new_id()]))
    for plan in await explain(seeded, sent):
        assert seeded.dialect != "sqlite" or any("health_score_id=?" in step for step in plan.steps), plan
