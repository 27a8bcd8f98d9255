"""Who is next at the database: turns are shared by organization (decision 143)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from sqlalchemy import text

from contract.errors import Unavailable
from storage.database import Database
from storage.tables import Organization
from storage.turns import Turns


async def _waiting(turns: Turns, group: str, order: list[str]) -> asyncio.Task[None]:
    async def wait() -> None:
        await turns.wait(group)
        order.append(group)

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    return task


@pytest.mark.parametrize(("count", "alone"), [(1, 1), (2, 1), (3, 2), (10, 5), (11, 6)])
async def test_one_organization_alone_leaves_turns_for_others(count: int, alone: int) -> None:
    turns = Turns(count, 2)
    assert sum(turns.at_once("a") for _ in range(count)) == alone
    assert turns.at_once("b") is (count > 1)


async def test_there_is_always_one_for_whoever_has_none() -> None:
    turns = Turns(10, 2)
    held = {group: sum(turns.at_once(group) for _ in range(10)) for group in "abc"}
    assert held == {"a": 5, "b": 3, "c": 1}
    assert turns.at_once("d")
    assert not turns.at_once("e")  # all are taken now


async def test_the_next_turn_goes_to_who_holds_fewest_and_then_in_turn() -> None:
    turns, order = Turns(2, None), list[str]()
    assert turns.at_once("a")
    assert turns.at_once("b")
    tasks = [await _waiting(turns, group, order) for group in ("a", "a", "a", "c", "d")]
    assert turns.waiting == 5
    turns.give_back("b")  # a holds one of two, so that it is c's
    await asyncio.sleep(0)
    assert order == ["c"]
    for group in ("a", "c", "d", "a", "a", "a"):
        turns.give_back(group)
        await asyncio.sleep(0)
    assert order == ["c", "a", "d", "a", "a"]
    assert turns.free == 2
    await asyncio.gather(*tasks)


async def test_a_queue_of_one_organization_keeps_no_other_waiting() -> None:
    turns, order = Turns(4, None), list[str]()
    for _ in range(2):
        assert turns.at_once("a")
    tasks = [await _waiting(turns, "a", order) for _ in range(50)]
    assert turns.at_once("b")  # though fifty wait
    assert not turns.at_once("a")
    turns.give_back("b")
    for _ in range(52):
        turns.give_back("a")
        await asyncio.sleep(0)
    assert order == ["a"] * 50
    assert (turns.free, turns.waiting) == (4, 0)
    await asyncio.gather(*tasks)


async def test_whoever_gives_up_or_waits_in_vain_leaves_nothing() -> None:
    turns, order = Turns(1, 0.05), list[str]()
    assert turns.at_once("a")
    given_up, in_vain = [await _waiting(turns, "b", order) for _ in range(2)]
    given_up.cancel()
    with pytest.raises(Unavailable):
        await in_vain
    assert (turns.waiting, turns.waits, turns.timeouts) == (0, 2, 1)
    turns.give_back("a")
    assert turns.at_once("b")
    turns.give_back("b")
    # A turn that comes in the moment in which its taker is cancelled goes on to the next.
    assert turns.at_once("a")
    first, second = await _waiting(turns, "b", order), await _waiting(turns, "c", order)
    turns.give_back("a")
    first.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert order == ["c"]
    turns.give_back("c")
    assert turns.free == 1


@asynccontextmanager
async def _organizations(database: Database) -> AsyncIterator[tuple[str, str]]:
    made = [Organization(external_id=name, name=name) for name in ("one", "two")]
    async with database.directory(writing=True) as session:
        await session.insert(*made)
    yield made[0].id, made[1].id
    await database.close()


async def test_writers_of_one_organization_keep_no_other_from_writing_or_reading(database_url: str) -> None:
    database = Database(database_url, pool_size=4)
    order: list[str] = []
    async with _organizations(database) as (one, two):
        if database.dialect == "postgresql":
            async with AsyncExitStack() as stack:  # each holds one: to open a connection takes longer than many turns
                for session in (
                    *(database.writing(each) for each in (one, one, two)),
                    database.directory(writing=True),
                ):
                    await stack.enter_async_context(session)
                    await session.scalar(text("SELECT 1"))

        async def write(organization: str) -> None:
            async with database.writing(organization) as session:
                await session.scalar(text("SELECT 1"))  # which begins the transaction
                order.append(organization)

        async with database.writing(one) as session:
            await session.scalar(text("SELECT 1"))
            tasks = [asyncio.create_task(write(one)) for _ in range(20)]
            await asyncio.sleep(0)
            other = asyncio.create_task(write(two))
            async with asyncio.timeout(60), database.reading(two) as session:
                await session.scalar(text("SELECT 1"))
            await asyncio.sleep(0)
        await asyncio.gather(other, *tasks)
    assert order.index(two) < 5  # and not behind the twenty that came before it
