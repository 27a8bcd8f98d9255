"""Roll-ups: what is kept is what the records come to, whatever was written, folded or rolled back (decision 262)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from sqlalchemy import select
from sqlmodel import col

from jobs import roll_ups
from storage.base import new_id
from storage.database import Database
from storage.queries.cell_checks import differences, put_right
from storage.queries.cells import DEALS, ROLLUPS, fold, forget_empty, has_deltas
from storage.tables import Activity, Deal, DealCell, DealCellDelta, Organization, PipelineStage
from tests.support.gateway import Gateway
from tests.support.statements import statements
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOW = datetime(2026, 11, 22, 12, 30, 0, 123456, tzinfo=UTC)
AMOUNTS = [None, "0", "0.0001", "999999999999999.9999", "12345.6789"]
DAYS = [None, date(1, 1, 1), date(2026, 2, 28), date(2026, 11, 30), date(9999, 12, 31)]
MOMENTS = [None, NOW, NOW - timedelta(days=1, microseconds=1), datetime(2026, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)]
OWNERS = [None, "", "ada", "a|b", "=a"]


def deal(random: Random, stages: list[PipelineStage]) -> dict[str, Any]:
    stage, amount = random.choice([None, *stages]), random.choice(AMOUNTS)
    return {
        "stage_id": None if stage is None else stage.id,
        "status": "open" if stage is None else stage.type,
        "owner_id": random.choice(OWNERS),
        "currency": random.choice(["EUR", "JPY"]),
        "value": None if amount is None else Decimal(amount),
        "close_date": random.choice(DAYS),
        "closed_at": None if stage is None or stage.type == "open" else random.choice(MOMENTS),
    }


def meeting(random: Random) -> dict[str, Any]:
    return {
        "owner_id": random.choice(OWNERS),
        "source": random.choice(["manual", "zoom"]),
        "due_at": random.choice(MOMENTS),
        "completed_at": random.choice(MOMENTS),
        "duration_minutes": random.choice([None, 0, 45]),
    }


async def is_right(one: Tenant) -> bool:
    async with one.gateway.world.database.reading(one.id) as session:
        return not any([await differences(session, rollup) for rollup in ROLLUPS])


@pytest.mark.parametrize("seed", range(3))
async def test_what_is_kept_is_what_is_counted_anew(one: Tenant, seed: int) -> None:
    random = Random(seed)
    stages = [PipelineStage(name=kind, position=n, type=kind) for n, kind in enumerate(("open", "won", "lost"))]
    await one.add(*stages)
    records: list[Any] = []
    for _ in range(60):
        async with one.gateway.world.database.writing(one.id) as session:
            await one_write(session, random, stages, records)
            if random.random() < 0.2:
                for rollup in ROLLUPS:
                    await fold(session, rollup)
        if random.random() < 0.3:
            with suppress(ZeroDivisionError):
                async with one.gateway.world.database.writing(one.id) as session:
                    await one_write(session, random, stages, list(records))
                    raise ZeroDivisionError
    assert await is_right(one)
    async with one.gateway.world.database.writing(one.id) as session:
        for rollup in ROLLUPS:
            await fold(session, rollup)
            await forget_empty(session, rollup)
            assert not await has_deltas(session, rollup)
    assert await is_right(one)


async def one_write(session: Any, random: Random, stages: list[PipelineStage], records: list[Any]) -> None:
    what = random.choice(("deal", "meeting", "task", "change", "change", "name", "delete")) if records else "deal"
    if what == "deal":
        records += await session.insert(Deal(name="d", **deal(random, stages)))
    elif what in ("meeting", "task"):
        records += await session.insert(Activity(type=what, subject="s", **meeting(random)))
    else:
        index = random.randrange(len(records))
        record = records[index]
        if what == "delete":
            await session.delete(records.pop(index))
        elif hasattr(record, "stage_id"):
            changes = deal(random, stages) if what == "change" else {"name": "other"}
            records[index] = await session.update(record, **changes)
        else:
            changes = meeting(random) if what == "change" else {"subject": "other"}
            records[index] = await session.update(record, **changes)


async def test_what_differs_is_found_and_put_right(one: Tenant) -> None:
    """As after a restore of a part of the tables."""
    database = one.gateway.world.database
    deal = Deal(name="a", value=Decimal("0.0001"), owner_id="ada")
    await one.add(deal, Deal(name="b", currency="JPY", owner_id="ada"))
    async with database.writing(one.id) as session:
        await fold(session, DEALS)
        [cell] = await session.find_all(select(DealCell).where(col(DealCell.currency) == "JPY"))
        assert (cell.deals, cell.valued, cell.owner_id) == (1, 0, "ada")
        await session.update(cell, deals=5)
        await session.insert(DealCellDelta(id=new_id(), **cell._asdict() | {"currency": "XXX", "org_id": one.id}))
    async with database.writing(one.id) as session:
        missing = await differences(session, DEALS)
        assert sorted((row.currency, row.deals) for row in missing) == [("JPY", -4), ("XXX", -1)]
        assert await put_right(session, DEALS) == 2
    async with database.writing(one.id) as session:
        assert await put_right(session, DEALS) == 0


WAYS = {
    "groupBy: [STAGE]": True,
    "groupBy: [STAGE, STATUS]": True,
    "groupBy: [OWNER, CLOSE_DATE]": True,
    "groupBy: [CLOSE_DATE], grain: QUARTER": True,
    'filter: {status: {in: [WON]}, ownerId: {neq: "ada"}}': True,
    "groupBy: [CLOSE_DATE], grain: WEEK": False,
    "groupBy: [SOURCE]": False,
    "groupBy: [CREATED_AT]": False,
    'filter: {name: {eq: "d"}}': False,
    'filter: {account: {name: {eq: "d"}}}': False,
}


@pytest.mark.parametrize("asked", WAYS)
async def test_a_question_that_cells_answer_reads_no_deal(one: Tenant, asked: str) -> None:
    with statements(one.gateway.world.database) as sent:
        await one.ask(f"{{ dealAggregate({asked}) {{ groups {{ count winRate weighted {{ amount }} }} }} }}")
    read = [text for text in sent if "deal_cells" in text or "FROM deals" in text]
    assert read
    assert all(("deal_cells" in text) is WAYS[asked] for text in read)


async def test_smallest_and_largest_are_read_of_the_deals(one: Tenant) -> None:
    with statements(one.gateway.world.database) as sent:
        await one.ask("{ dealAggregate { total { values { minimum } } } }")
    assert not any("deal_cells" in text for text in sent)


@pytest.mark.parametrize(("zone", "is_rolled_up"), [("UTC", True), ("Europe/Paris", False)])
async def test_days_of_meetings_are_those_of_utc(one: Tenant, zone: str, is_rolled_up: bool) -> None:
    document = (
        "query($zone: String!) { meetingAggregate(groupBy: [OWNER, DUE_AT], timeZone: $zone) { total { count } } }"
    )
    with statements(one.gateway.world.database) as sent:
        await one.ask(document, zone=zone)
    assert any("meeting_cells" in text for text in sent) is is_rolled_up


async def test_writers_and_folds_at_once(one: Tenant) -> None:
    """None waits for another in turn, and nothing is counted twice or lost."""
    database = one.gateway.world.database
    random = Random(7)

    async def write() -> None:
        for _ in range(10):
            async with database.writing(one.id) as session:
                [made] = await session.insert(Deal(name="d", **deal(random, [])))
                await session.update(made, value=Decimal("1.5"))

    async def folding() -> None:
        for _ in range(10):
            await roll_ups.fold_all(database, one.id)

    async with asyncio.timeout(60):
        await asyncio.gather(*(write() for _ in range(4)), *(folding() for _ in range(3)))
    assert await is_right(one)
    await roll_ups.fold_all(database, one.id)
    async with database.reading(one.id) as session:
        cells = await session.find_all(select(DealCell).where(col(DealCell.org_id) == one.id))
    assert (sum(cell.deals for cell in cells), sum(cell.valued for cell in cells)) == (40, 40)


@pytest.mark.parametrize("word", ["committed", "heard"])
async def test_what_was_written_is_folded_in_the_next_turn(
    one: Tenant, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """Decision 263: by this process, or by another that tells of it; a turn without news reads nothing of it."""
    database = one.gateway.world.database
    folded: list[str] = []

    async def fold_all(database: Database, org_id: str) -> None:
        folded.append(org_id)
        await fold_of(database, org_id)

    fold_of = roll_ups.fold_all
    monkeypatch.setattr(roll_ups, "fold_all", fold_all)
    if word == "heard":
        await one.add(Deal(name="d"))
    folding = roll_ups.Folding(database)
    try:
        if word == "heard":
            database.heard[-1](one.id)
        else:
            await one.add(Deal(name="d"))
        await folding.turn()
        async with database.reading(one.id) as session:
            assert not await has_deltas(session, DEALS)
        for _ in range(100):  # until no word of these commits is under way any more
            folded.clear()
            await folding.turn()  # other tests' organizations, whose work may still go on, can have news
            if one.id not in folded:
                break
            await asyncio.sleep(0.01)
        else:
            pytest.fail("each turn folds")
    finally:
        database.committed.pop()
        database.heard.pop()


async def test_the_operator_has_them_counted_anew(one: Tenant, two: Tenant) -> None:
    database = one.gateway.world.database
    await one.add(Deal(name="d", currency="JPY"))
    await two.add(Deal(name="d", currency="JPY"))
    await roll_ups.fold_all(database, one.id)
    async with database.writing(one.id) as session:
        [cell] = await session.find_all(select(DealCell).where(col(DealCell.org_id) == one.id))
        await session.update(cell, deals=3)
    assert [await roll_ups.put_right(database, tenant.id, dry=True) for tenant in (one, two)] == [1, 0]
    assert [await roll_ups.put_right(database, tenant.id) for tenant in (one, two)] == [1, 0]
    assert [await roll_ups.put_right(database, tenant.id, dry=True) for tenant in (one, two)] == [0, 0]


async def test_cells_of_nothing_are_forgotten(one: Tenant) -> None:
    database = one.gateway.world.database
    made = Deal(name="d")
    await one.add(made)
    await roll_ups.fold_all(database, one.id)
    async with database.writing(one.id) as session:
        found = await session.find(Deal, id=made.id)
        assert found is not None
        await session.delete(found)
    assert (await one.ask("{ dealAggregate(groupBy: [STATUS]) { groups { count } } }"))["groups"] == []
    await roll_ups.tidy(database, one.id)
    async with database.reading(one.id) as session:
        assert await session.find_all(select(DealCell).where(col(DealCell.org_id) == one.id)) == []


async def test_nothing_is_kept_of_an_organization_that_is_deleted(gateway: Gateway) -> None:
    tenant = await new_tenant(gateway)
    await tenant.add(Deal(name="d"), Activity(subject="s"))
    await roll_ups.fold_all(gateway.world.database, tenant.id)
    await tenant.add(Deal(name="d"), Activity(subject="s"))
    async with gateway.world.database.directory(writing=True) as session:
        found = await session.find(Organization, id=tenant.id)
        assert found is not None
        await session.delete(found)
    async with gateway.world.database.reading(tenant.id) as session:
        for rollup in ROLLUPS:
            assert not await has_deltas(session, rollup)
            assert await session.rows(select(rollup.cells).where(rollup.cells.org_id == tenant.id)) == []
