"""Round trips to PostgreSQL, and statements on SQLite, for each kind of write (decision 199)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import func, select

from contract.errors import Problems
from resolvers.accounts import AccountCreate, AccountUpdate, create_account, delete_account, update_account
from resolvers.campaigns import CampaignUpdate, update_campaign
from resolvers.contacts import ContactCreate, create_contact, delete_contact
from resolvers.deals import (
    DealCreate,
    DealUpdate,
    LinkInput,
    create_deal,
    delete_deal,
    link_contact,
    unlink_contact,
    update_deal,
)
from resolvers.leads import LeadUpdate, update_lead
from resolvers.pipeline_stages import StageInput, create_stage
from resolvers.research import ResearchRunCreate, create_run
from resolvers.shared.context import Context
from resolvers.shared.inputs import parse
from resolvers.tags import TagsApply, apply_tags
from storage import database as database_module
from storage.base import new_id
from storage.postgres.tenant_connection import TenantConnection
from storage.tables import Campaign, Contact, Deal, Event, EventCounter, Lead, SearchEntry, StageChange
from tests.support.world import World, open_world


@pytest.fixture
async def world(database: Any) -> AsyncIterator[World]:
    async with open_world(database) as world:
        yield world


@pytest.fixture
async def ctx(world: World) -> Context:
    return await world.context("admin@one", world.one)


@contextmanager
def round_trips(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The messages that go to PostgreSQL meanwhile."""
    sent: list[str] = []
    with monkeypatch.context() as patched:
        for owner, name in ((database_module, "fetch"), (TenantConnection, "execute")):
            method = getattr(owner, name)

            def noted(driver: Any, query: str, *args: Any, _method: Any = method, **kwargs: Any) -> Awaitable[Any]:
                sent.append(query)
                answer: Awaitable[Any] = _method(driver, query, *args, **kwargs)
                return answer

            patched.setattr(owner, name, noted)
        yield sent


async def of(monkeypatch: pytest.MonkeyPatch, work: Awaitable[Any]) -> int:
    with round_trips(monkeypatch) as sent:
        await work
    return len(sent)


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_each_write_takes_its_round_trips(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = [await create_stage(ctx, parse(StageInput, {"name": name})) for name in ("One", "Two")]
    account = await create_account(ctx, AccountCreate(name="Acme"))
    contact = await create_contact(ctx, ContactCreate(first_name="Ada", account_id=account.id))
    # Once before: new connections and statements are prepared.
    fields = {"name": "Deal", "account_id": account.id, "stage_id": stages[0].id}
    deal = await create_deal(ctx, DealCreate(**fields))
    found = {
        "account created": await of(monkeypatch, create_account(ctx, AccountCreate(name="Other"))),
        "account changed": await of(monkeypatch, update_account(ctx, account.id, AccountUpdate(name="Acme 2"))),
        "deal created": await of(monkeypatch, create_deal(ctx, DealCreate(**fields))),
        "deal moved": await of(monkeypatch, update_deal(ctx, deal.id, DealUpdate(stage_id=stages[1].id))),
        "deal changed": await of(monkeypatch, update_deal(ctx, deal.id, DealUpdate(champion_id=contact.id))),
        "nothing changed": await of(monkeypatch, update_deal(ctx, deal.id, DealUpdate(name="Deal"))),
        "contact linked": await of(monkeypatch, link_contact(ctx, deal.id, contact.id, LinkInput())),
        "link changed": await of(monkeypatch, link_contact(ctx, deal.id, contact.id, LinkInput(role="Buyer"))),
        "contact unlinked": await of(monkeypatch, unlink_contact(ctx, deal.id, contact.id)),
        "contact deleted": await of(monkeypatch, delete_contact(ctx, contact.id)),
        "deal deleted": await of(monkeypatch, delete_deal(ctx, deal.id)),
        "account deleted": await of(monkeypatch, delete_account(ctx, account.id)),
    }
    assert found == {
        "account created": 1,
        "account changed": 2,
        "deal created": 1,
        "deal moved": 2,
        "deal changed": 2,
        "nothing changed": 1,
        "contact linked": 3,
        "link changed": 3,
        "contact unlinked": 3,
        "contact deleted": 3,
        "deal deleted": 3,
        "account deleted": 3,
    }


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_a_new_record_with_tags_takes_as_many_for_one_as_for_ten(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = await create_account(ctx, AccountCreate(name="Acme"))
    await create_deal(ctx, DealCreate(name="Deal", account_id=account.id, tags=["before"]))
    found = []
    for names in (["one"], [f"tag {number}" for number in range(10)]):
        deal = DealCreate(name="Deal", account_id=account.id, tags=names)
        numbers = [await of(monkeypatch, create_deal(ctx, deal)) for _ in ("tags to make", "tags to find")]
        found.append(numbers)
    assert found == [[10, 8], [10, 8]]


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_what_is_told_of_one_record_is_one_statement(
    ctx: Context, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of those that are written step by step, whether the last change of the record is extended or not."""
    lead, account = Lead(name="0"), await create_account(ctx, AccountCreate(name="Acme"))
    campaign = Campaign(name="0", provider="local")
    await world.add(world.one, lead, campaign)
    lock = AccountUpdate(owner_id=ctx.caller.subject, industry="x")  # who owned it already is looked up
    writes: dict[str, Callable[[str], Awaitable[Any]]] = {
        "lead": lambda name: update_lead(ctx, lead.id, LeadUpdate(name=name)),
        "campaign": lambda name: update_campaign(ctx, campaign.id, parse(CampaignUpdate, {"name": name})),
        "account": lambda name: update_account(ctx, account.id, lock.model_copy(update={"industry": name})),
        "tags": lambda name: apply_tags(ctx, TagsApply(ids=[account.id], add=[name])),
    }
    for noun, write in writes.items():
        await write("prepared")
        for name in ("extends", "extends again"):
            with round_trips(monkeypatch) as sent:
                await write(name)
            assert len([text for text in sent if "record_changes" in text]) == 1, noun


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_a_batch_takes_as_many_for_ten_as_for_a_hundred(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = []
    for count in (10, 10, 100):
        targets = [{"company_name": f"Company {number}"} for number in range(count)]
        run = parse(ResearchRunCreate, {"name": "Run", "targets": targets})
        numbers.append(await of(monkeypatch, create_run(ctx, run)))
    assert len(set(numbers)) == 1
    assert numbers[0] <= 9


async def test_what_a_write_leaves(ctx: Context) -> None:
    """The same on both databases, however it was sent: the record, its move, its event, its entry in the search."""
    stages = [await create_stage(ctx, parse(StageInput, {"name": n, "type": n})) for n in ("open", "won")]
    account = await create_account(ctx, AccountCreate(name="Acme"))
    contact = await create_contact(ctx, ContactCreate(first_name="Ada", account_id=account.id))
    deal = await create_deal(ctx, DealCreate(name="Deal", account_id=account.id, stage_id=stages[0].id))
    moved = await update_deal(ctx, deal.id, DealUpdate(stage_id=stages[1].id, champion_id=contact.id, name="Sold"))
    assert (deal.status, moved.status, moved.version, moved.name) == ("open", "won", 2, "Sold")
    async with ctx.reading() as session:
        stored = await session.find(Deal, id=deal.id)
        changes = await session.rows(
            select(StageChange.from_stage_id, StageChange.to_stage_id).order_by(StageChange.id)
        )
        events = await session.rows(select(Event.sequence, Event.type).order_by(Event.sequence))
        counter = await session.find(EventCounter)
    assert stored == moved
    assert [tuple(row) for row in changes] == [(None, stages[0].id), (stages[0].id, stages[1].id)]
    assert [row.sequence for row in events] == [*range(1, len(events) + 1)]
    assert [row.type for row in events][-2:] == ["deal_created", "deal_updated"]
    assert counter is not None
    assert counter.last == len(events)
    await delete_contact(ctx, contact.id)
    await delete_account(ctx, account.id)
    async with ctx.reading() as session:
        left = await session.find(Deal, id=deal.id)
        assert left is not None
        assert (left.champion_id, left.account_id, left.version) == (None, None, 4)
        assert await session.find(Contact, id=contact.id) is None
        assert await session.scalar(select(func.count()).select_from(SearchEntry)) == 1
        counter = await session.find(EventCounter)
    assert counter is not None
    assert counter.last == len(events) + 2


async def test_a_write_that_another_overtakes_is_made_all_the_same(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was looked at without a lock has another version when the statement comes."""
    deal = await create_deal(ctx, DealCreate(name="Deal"))
    stale = deal
    await update_deal(ctx, deal.id, DealUpdate(name="Overtaken"))

    async def glance(_self: Any, _model: Any, **_equal: Any) -> Deal:
        return stale

    monkeypatch.setattr("storage.tenancy.writing.WritingSession.glance", glance)
    after = await update_deal(ctx, deal.id, DealUpdate(source="x"))
    assert (after.name, after.source, after.version) == ("Overtaken", "x", 3)


async def test_a_reference_that_leads_nowhere_leaves_nothing(ctx: Context) -> None:
    deal = await create_deal(ctx, DealCreate(name="Deal"))
    for name in ("account_id", "stage_id", "champion_id"):
        with pytest.raises(Problems) as refused:
            await update_deal(ctx, deal.id, parse(DealUpdate, {name: new_id()}))
        assert [problem.path for problem in refused.value.problems] == [("input", name)]
    async with ctx.reading() as session:
        assert await session.find(Deal, id=deal.id) == deal
        assert await session.scalar(select(func.count()).select_from(Event)) == 1
