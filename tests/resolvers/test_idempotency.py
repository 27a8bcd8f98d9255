"""Attempts under a key that do not go as they should, and several processes over one database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlmodel import col

from contract.errors import Conflict, KeyInUse, NotFound, Problems, ProviderFailed, TimedOut
from identity.encryption import seal
from providers.sequencing import Refused
from resolvers.campaigns import delete_campaign
from resolvers.deals import DealCreate, DealUpdate, create_deal, update_deal
from resolvers.outreach_domains import purchase_domain
from resolvers.outreach_inputs import DomainName
from resolvers.shared import idempotency
from resolvers.shared.context import Context, Services
from resolvers.shared.idempotency import ask, read_key, same_answer
from resolvers.shared.inputs import parse
from storage.base import new_id, now
from storage.database import Database
from storage.tables import Campaign, Deal, Event, IdempotencyKey, OutreachDomain
from tests.support.sequencing import Stub, services_with
from tests.support.world import World, open_world

NAME = parse(DomainName, {"name": "acme.com"})
DEAL = DealCreate(name="once")


@pytest.fixture
def stub(database: Database) -> Stub:
    return Stub(database)


@pytest.fixture
async def world(database: Database, stub: Stub) -> AsyncIterator[World]:
    async with open_world(database, services_with(database, stub)) as world:
        yield world


async def under(world: World, key: str, services: Services | None = None) -> Context:
    """The context of a request under this key; of another process where it has other services."""
    ctx = await world.context("admin@one", world.one)
    return Context(services or world.services, ctx.principal, new_id(), key=read_key(key))


async def rows(world: World, *columns: Any) -> list[tuple[Any, ...]]:
    async with world.database.reading(world.one.id) as session:
        org_id = columns[0].class_.org_id
        return [tuple(row) for row in await session.rows(select(*columns).where(org_id == world.one.id))]


async def change_key(world: World, **values: Any) -> None:
    async with world.database.writing(world.one.id) as session:
        await session.execute(update(IdempotencyKey).where(col(IdempotencyKey.org_id) == world.one.id).values(**values))


def as_another_process(world: World, database: Database) -> Services:
    return replace(world.services, database=database, turns=type(world.services.turns)())


async def test_effects_come_after_the_commit_and_once(database: Database) -> None:
    async with open_world(database) as world:
        for _ in range(3):
            await create_deal(await under(world, "k"), DEAL)
        assert len(world.notifications.handed) == 1
        seen = world.notifications.handed[0].data["deal_id"]
        assert await rows(world, Deal.id) == [(seen,)]
        with pytest.raises(Problems):
            await create_deal(await under(world, "other"), DealCreate(name="x", account_id=new_id()))
        assert len(world.notifications.handed) == 1


async def test_a_write_that_is_cut_off_leaves_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancelled when deal, event and claim are written, and only the result and the commit are to come."""

    def cut(_: Any) -> bytes:
        raise asyncio.CancelledError

    monkeypatch.setattr(idempotency, "dumps", cut)
    with pytest.raises(asyncio.CancelledError):
        await create_deal(await under(world, "k"), DEAL)
    assert await rows(world, Deal.id) == await rows(world, Event.id) == await rows(world, IdempotencyKey.id) == []
    monkeypatch.undo()
    made = await create_deal(await under(world, "k"), DEAL)
    assert await rows(world, Deal.id) == [(made.id,)]


@pytest.mark.usefixtures("impatient")
async def test_a_write_that_gets_no_connection_has_not_begun(world: World, database_url: str) -> None:
    """It has looked for its key, and waits for others that hold the only connection, or on SQLite the file."""
    single = Database(database_url, pool_size=1)
    ctx = await under(world, "k", as_another_process(world, single))
    released, done = asyncio.Event(), asyncio.Event()

    async def hold(until: asyncio.Event) -> None:
        async with single.writing(world.one.id) as session:
            await session.scalar(select(1))
            await until.wait()

    async def create() -> Any:
        async with asyncio.timeout(4 if single.dialect == "sqlite" else 60):
            return await create_deal(ctx, DEAL)

    try:
        # Reads do not wait for SQLite's writer, so there nobody has to make way for the look at the key.
        first = done if single.dialect == "sqlite" else released
        holders, creating = [asyncio.create_task(hold(first))], asyncio.create_task(create())
        await asyncio.sleep(0.1)
        holders.append(asyncio.create_task(hold(done)))
        await asyncio.sleep(0.1)
        released.set()
        with pytest.raises(TimeoutError if single.dialect == "sqlite" else idempotency.Unavailable):
            await creating
        done.set()
        await asyncio.gather(*holders)
        assert (await create_deal(ctx, DEAL)).name == "once"
        assert len(await rows(world, Deal.id)) == 1
    finally:
        await single.close()


async def test_two_processes_make_one_row(world: World, open_database: Callable[[], Database]) -> None:
    processes = [as_another_process(world, open_database()) for _ in range(3)]
    contexts = [await under(world, "k", processes[number % 3]) for number in range(24)]
    made = await asyncio.gather(*(create_deal(ctx, DEAL) for ctx in contexts))
    assert len({deal.id for deal in made}) == 1
    assert await rows(world, Deal.id) == [(made[0].id,)]
    assert sorted((ctx.key.done, ctx.key.replayed) for ctx in contexts if ctx.key) == [(0, 1)] * 23 + [(1, 0)]


async def test_two_processes_with_different_arguments(world: World, open_database: Callable[[], Database]) -> None:
    processes = [as_another_process(world, open_database()) for _ in range(2)]
    inputs = [DealCreate(name=f"deal {number}") for number in range(2)]
    contexts = [await under(world, "k", process) for process in processes]
    made = await asyncio.gather(*map(create_deal, contexts, inputs), return_exceptions=True)
    assert sorted(type(outcome) is Problems for outcome in made) == [False, True]
    assert len(await rows(world, Deal.id)) == 1


async def test_a_purchase_is_asked_for_once_and_outside_of_any_transaction(world: World, stub: Stub) -> None:
    first = await purchase_domain(await under(world, "k"), NAME)
    again = await purchase_domain(await under(world, "k"), NAME)
    assert again == first
    assert (first.status, stub.methods) == ("active", ["purchase_domain"])


async def test_a_purchase_under_way_is_waited_for(
    world: World, stub: Stub, open_database: Callable[[], Database]
) -> None:
    elsewhere: list[asyncio.Task[Any]] = []
    other, third = [await under(world, "k", as_another_process(world, open_database())) for _ in range(2)]

    async def meanwhile() -> None:
        elsewhere.append(asyncio.create_task(purchase_domain(other, NAME)))
        await asyncio.sleep(0.3)
        assert not elsewhere[0].done()
        with pytest.raises(Problems, match="was used before, with other arguments"):
            await purchase_domain(third, parse(DomainName, {"name": "else.example.com"}))

    stub.during["purchase_domain"] = meanwhile
    first = await purchase_domain(await under(world, "k"), NAME)
    assert first.status == "active"
    assert await elsewhere[0] == first
    assert stub.methods == ["purchase_domain"]


async def test_a_purchase_that_is_refused_gives_the_key_back(world: World, stub: Stub) -> None:
    stub.fail["purchase_domain"] = [Refused("Stub does not sell this domain"), None]
    with pytest.raises(ProviderFailed):
        await purchase_domain(await under(world, "k"), NAME)
    assert await rows(world, OutreachDomain.status) == [("failed",)]
    assert await rows(world, IdempotencyKey.id) == []
    assert (await purchase_domain(await under(world, "k"), NAME)).status == "active"
    assert stub.methods == ["purchase_domain", "purchase_domain"]


async def test_a_purchase_whose_process_died_is_taken_over(
    world: World, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die() -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(idempotency, "WAIT_SECONDS", 0.2)
    stub.during["purchase_domain"] = die
    with pytest.raises(asyncio.CancelledError):
        await purchase_domain(await under(world, "k"), NAME)
    assert await rows(world, OutreachDomain.status) == [("pending",)]
    with pytest.raises(KeyInUse):
        await purchase_domain(await under(world, "k"), NAME)
    await change_key(world, leased_until=now() - timedelta(seconds=1))
    domain = await purchase_domain(await under(world, "k"), NAME)
    assert domain.status == "pending"  # a job goes on with it
    assert stub.methods == ["purchase_domain"]
    assert await purchase_domain(await under(world, "k"), NAME) == domain


async def test_who_is_overtaken_says_so(world: World, stub: Stub) -> None:
    async def overtaken() -> None:
        await change_key(world, holder=new_id())

    stub.during["purchase_domain"] = overtaken
    with pytest.raises(idempotency.Unavailable):
        await purchase_domain(await under(world, "k"), NAME)
    assert len(await rows(world, IdempotencyKey.id)) == 1


async def test_a_campaign_is_deleted_once_and_the_provider_asked_outside(world: World, stub: Stub) -> None:
    campaign = Campaign(name="c", provider="stub", provider_campaign_id="s", status="active")
    stub.sequences["s"] = "running"
    await world.add(world.one, campaign)
    first = await delete_campaign(await under(world, "k"), campaign.id)
    assert await delete_campaign(await under(world, "k"), campaign.id) == first
    assert stub.methods == ["delete"]
    with pytest.raises(NotFound):
        await delete_campaign(await under(world, "other"), campaign.id)


async def test_a_part_that_fails_takes_the_whole_along(world: World) -> None:
    deal = await create_deal(await under(world, "a"), DEAL)
    with pytest.raises(Problems):
        await update_deal(await under(world, "b"), deal.id, DealUpdate(name="new", account_id=new_id()))
    assert await rows(world, Deal.name) == [("once",)]
    assert len(await rows(world, IdempotencyKey.id)) == 1


async def test_a_result_of_another_version_is_no_reason_to_do_it_again(world: World) -> None:
    await create_deal(await under(world, "k"), DEAL)
    [(identifier,)] = await rows(world, IdempotencyKey.id)
    sealed = seal(world.services.identity.pepper, identifier, b'["kind of tomorrow"]')
    await change_key(world, result=sealed)
    with pytest.raises(Conflict, match="kept by another version"):
        await create_deal(await under(world, "k"), DEAL)
    assert len(await rows(world, Deal.id)) == 1


async def test_a_question_that_no_text_stands_for_is_like_no_other(world: World) -> None:
    question: Any = None
    for _ in range(5_000):
        question = [question]
    for answer in (b"first", b"second"):
        ctx = await under(world, "k")
        assert ctx.key is not None
        ask(ctx, ctx.key, question, is_shared=False)
        await create_deal(ctx, DEAL)
        assert await same_answer(ctx, ctx.key, answer) == answer
    assert len(await rows(world, Deal.id)) == 1


async def test_an_answer_that_cannot_be_kept_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> None:
        raise TimedOut

    ctx = await under(world, "k")
    assert ctx.key is not None
    await create_deal(ctx, DEAL)
    monkeypatch.setattr(idempotency.statements, "keep_answer", broken)
    assert await same_answer(ctx, ctx.key, b"made") == b"made"


async def test_nothing_stays_behind_in_the_process(world: World) -> None:
    for number in range(3):
        await create_deal(await under(world, f"k{number}"), DEAL)
    assert len(world.services.turns) == 0
