"""Loaders: one batch a turn, each key once, and nobody's cancellation is another's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from resolvers.shared.loader import Loader


class Batches:
    """Answers each key with its double, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.began, self.go = asyncio.Event(), asyncio.Event()
        self.go.set()

    async def __call__(self, keys: list[int]) -> Sequence[int]:
        self.asked.append(keys)
        self.began.set()
        await self.go.wait()
        return [2 * key for key in keys]


async def test_what_is_asked_in_one_turn_comes_together_and_once() -> None:
    batches = Batches()
    loader = Loader(batches)
    assert await asyncio.gather(*(loader.load(key) for key in (1, 2, 1, 3))) == [2, 4, 2, 6]
    assert await asyncio.gather(loader.load(2), loader.load(4)) == [4, 8]
    assert batches.asked == [[1, 2, 3], [4]]


async def test_what_came_along_is_not_asked_for() -> None:
    batches = Batches()
    loader = Loader(batches)
    loader.prime(1, 10)
    loader.prime(1, 11)
    assert await loader.load(1) == 10
    assert batches.asked == []


async def test_one_that_is_cancelled_takes_nothing_from_the_others() -> None:
    batches = Batches()
    batches.go.clear()
    loader = Loader(batches)
    first, second = (asyncio.create_task(loader.load(1)) for _ in range(2))
    await batches.began.wait()
    first.cancel()
    batches.go.set()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await second == 2


async def test_a_batch_that_fails_fails_for_all_of_its_keys() -> None:
    async def fail(_keys: list[int]) -> Sequence[int]:
        raise ValueError("canary")

    loader = Loader(fail)
    assert [str(error) for error in await asyncio.gather(loader.load(1), loader.load(2), return_exceptions=True)] == [
        "canary"
    ] * 2
