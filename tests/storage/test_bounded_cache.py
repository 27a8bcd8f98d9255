"""The one cache class, and the statements in it: bounded, right after eviction, never compiled twice while in use."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import pytest

from contract.criteria import EVERYTHING, ListQuery, Order, PageWindow, Selection
from storage import database as module
from storage.bounded_cache import BoundedCache
from storage.database import Database
from storage.queries import listables, paging
from storage.queries.listable import Listable
from storage.statements import CompiledStatement
from storage.tables import Activity, Deal
from tests.support.world import World, open_world


def test_the_longest_unused_goes_first() -> None:
    kept: BoundedCache[str, str] = BoundedCache(entries=3)
    for name in "abc":
        kept.put(name, name)
    assert kept.get("a") == "a"
    kept.put("d", "d")
    assert [kept.peek(name) for name in "abcd"] == ["a", None, "c", "d"]
    assert (kept.hits, kept.misses, len(kept)) == (1, 0, 3)
    assert kept.get("b") is None
    assert kept.misses == 1


def test_what_comes_once_does_not_push_out_what_is_used() -> None:
    kept: BoundedCache[str, str] = BoundedCache(entries=10)
    for name in "abc":
        kept.put(name, name)
        kept.get(name)
    for number in range(1_000):
        kept.put(f"once {number}", "")
    assert [kept.get(name) for name in "abc"] == ["a", "b", "c"]
    assert len(kept) == 10


def test_what_is_protected_makes_room_for_what_is_used_now() -> None:
    """Nothing stays because it was used long ago."""
    kept: BoundedCache[str, str] = BoundedCache(entries=10)
    for name in "abcdefghij":
        kept.put(name, name)
        kept.get(name)
    for name in "klmnopqrst":
        kept.put(name, name)
        kept.get(name)
    assert [name for name in "abcdefghij" if kept.peek(name)] == []


def test_sizes_are_bounded_together_and_alone() -> None:
    kept: BoundedCache[int, str] = BoundedCache(entries=100, size=1_000)
    for number in range(10):
        kept.put(number, "x", 200)
    assert [number for number in range(10) if kept.peek(number)] == [5, 6, 7, 8, 9]
    kept.put(10, "as large as all of it", 1_000)
    assert (len(kept), kept.used, kept.peek(10)) == (1, 1_000, "as large as all of it")
    kept.put(11, "larger", 1_001)
    assert (len(kept), kept.used) == (1, 1_000)
    kept.put(10, "smaller", 10)
    assert (len(kept), kept.used, kept.peek(10)) == (1, 10, "smaller")


def test_whatever_is_done_the_bounds_hold_and_values_are_those_of_their_keys() -> None:
    random = Random(1)
    kept: BoundedCache[int, int] = BoundedCache(entries=20, size=500)
    newest: dict[int, int] = {}
    for step in range(20_000):
        key = min(random.randrange(200), random.randrange(200))
        match random.randrange(10):
            case 0:
                kept.pop(key)
                newest.pop(key, None)
            case 1 | 2 | 3:
                newest[key] = step
                kept.put(key, step, random.choice((1, 10, 100, 400, 600)))
            case _:
                assert kept.get(key) in (None, newest.get(key))
        assert len(kept) <= 20
        assert kept.used == sum(entry.size for entry in kept._found.values()) <= 500
        assert len(kept._found) == len(kept._probation) + len(kept._protected)
        assert kept._protected_used == sum(entry.size for entry in kept._protected)
        assert kept._protected_used <= 400 or len(kept._protected) == 1
    kept.clear()
    assert (len(kept), kept.used, kept._protected_used) == (0, 0, 0)


# Statements.

COLUMNS = sorted(
    {"account_id", "body", "contact_id", "deal_id", "owner_id", "source", "state", "subject", "updated_at"}
)
LINKS = frozenset({("account", frozenset({"id", "name"}))})


@pytest.fixture
async def world(database: Database) -> Any:
    async with open_world(database) as world:
        yield world


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the statements that were compiled."""
    texts: list[str] = []

    class Counted(CompiledStatement):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            texts.append(self.text)

    monkeypatch.setattr(module, "CompiledStatement", Counted)
    return texts


def selections(number: int) -> list[Selection]:
    """Different ones, each made anew."""
    chosen = [c for size in range(1, 6) for c in combinations(COLUMNS, size)]
    assert len(chosen) >= number
    return [Selection(frozenset(c), LINKS) for c in chosen[:number]]


async def _pages(world: World, chosen: list[Selection]) -> None:
    async with world.database.reading(world.one.id) as session:
        for selection in chosen:
            listable = listables.MEETINGS.selecting(selection, Order("due_at"))
            await paging.page(session, listable, ListQuery(order=Order("due_at"), page=PageWindow(first=5)))


async def test_equal_questions_share_one_statement_whoever_makes_them(world: World, compiled: list[str]) -> None:
    for _ in range(3):
        await _pages(world, selections(20))
    assert len(compiled) == 20


async def test_a_statement_in_use_is_compiled_once_however_many_others_come(world: World, compiled: list[str]) -> None:
    """There was a cache of selections before the one of statements: what fell out of it left a statement behind that
    nobody found again, and had it compiled and kept a second time."""
    world.database.statements = BoundedCache(entries=50)
    [used, *others] = selections(301)
    await _pages(world, [used])
    for other in others:
        await _pages(world, [other, used])
    assert len(compiled) == 301
    assert len(world.database.statements) == 50


async def test_an_evicted_statement_is_right_when_it_comes_again(world: World, compiled: list[str]) -> None:
    await world.add(world.one, Deal(name="here"))
    world.database.statements = BoundedCache(entries=1)

    async def names(columns: set[str]) -> list[Any]:
        async with world.database.reading(world.one.id) as session:
            listable = listables.DEALS.selecting(Selection(frozenset(columns)))
            found = await paging.page(session, listable, ListQuery(page=PageWindow(first=5)))
            total = await paging.count(session, listable, EVERYTHING)
        return [total, *(row._asdict() for row in found.rows)]

    first = [await names({"name"}), await names({"name", "status"})]
    compiled.clear()
    assert [await names({"name"}), await names({"name", "status"})] == first
    assert len(compiled) >= 2
    assert set(first[0][1]) < set(first[1][1])


def test_nouns_are_equal_by_value() -> None:
    every = [listable for listable in vars(listables).values() if isinstance(listable, Listable)]
    assert len({listable.name for listable in every}) == len(every) > 15
    selection = Selection(frozenset({"name"}))
    again = Selection(frozenset(["na" + "me"]))
    assert listables.DEALS.selecting(selection) == listables.DEALS.selecting(again) != listables.DEALS
    assert hash(listables.DEALS.selecting(selection)) == hash(listables.DEALS.selecting(again))
    assert listables.DEALS.selecting(selection) != listables.DEALS_OF_CONTACTS.selecting(selection)
    assert listables.DEALS.selecting(selection) != listables.DEALS.selecting(Selection(frozenset({"name"}), LINKS))
    assert listables.MEETINGS != listables.MEETINGS_WITH_LINKS


@pytest.mark.parametrize("parent", [Activity.account_id, Activity.deal_id, Deal.account_id])
def test_a_parent_s_column_is_named_by_its_value(parent: Any) -> None:
    assert paging.named(parent) == f"{parent.class_.__name__}.{parent.key}"
