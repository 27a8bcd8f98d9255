"""Buckets in memory: exact sums, by a clock of the test's own (decision 100)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.budget import SIZE
from identity.token_buckets import MemoryBuckets, Size
from tests.support.clock import Clock


async def test_it_holds_2000_points_and_100_come_back_each_second() -> None:
    clock = Clock()
    buckets = MemoryBuckets(SIZE, clock=clock)
    assert Size(2_000, 10_000) == SIZE
    taken = await buckets.take("a", 2_000)
    assert taken == (True, 20_000_000)
    assert not (await buckets.take("a", 1)).granted
    clock.forward(0.009_999)
    assert not (await buckets.take("a", 1)).granted
    clock.forward(0.000_001)
    assert (await buckets.take("a", 1)).granted
    assert not (await buckets.take("a", 1)).granted
    clock.forward(1)
    assert not (await buckets.take("a", 101)).granted
    assert (await buckets.take("a", 100)).granted
    clock.forward(3_600)
    assert not (await buckets.take("a", 0)).missing
    assert (await buckets.take("a", 2_000)).granted


async def test_buckets_are_apart() -> None:
    buckets = MemoryBuckets(SIZE, clock=Clock())
    assert (await buckets.take("a", 2_000)).granted
    assert (await buckets.take("b", 2_000)).granted


async def test_more_than_a_bucket_holds_needs_a_full_one_and_is_owed() -> None:
    clock = Clock()
    buckets = MemoryBuckets(SIZE, clock=clock)
    await buckets.take("a", 1)
    refused = await buckets.take("a", 5_000)
    assert not refused.granted
    assert SIZE.wait(refused.missing, 5_000) == 10_000
    clock.forward(0.01)
    granted = await buckets.take("a", 5_000)
    assert (granted.granted, SIZE.available(granted.missing)) == (True, -3_000)
    assert (await buckets.take("a", 0)).granted
    assert SIZE.wait(granted.missing, 1) == 30_010_000
    clock.forward(30)
    assert not (await buckets.take("a", 1)).granted
    clock.forward(0.01)
    assert (await buckets.take("a", 1)).granted


async def test_what_is_kept_has_a_bound() -> None:
    clock = Clock()
    buckets = MemoryBuckets(SIZE, most=100, clock=clock)
    for number in range(1_000):
        await buckets.take("busy", 1)
        await buckets.take(f"once {number}", 1)
        assert len(buckets) <= 100
    assert not (await buckets.take("busy", 1_001)).granted
    clock.forward(20)
    await buckets.take("busy", 0)
    assert len(buckets) == 99


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.integers(0, 5_000)),
        st.tuples(st.just("wait"), st.integers(0, 30_000_000)),
    ),
    max_size=60,
)


@pytest.mark.parametrize("size", [SIZE, Size(7, 333_333)])
@given(steps=_STEPS)
async def test_it_is_a_bucket_that_is_filled_steadily(size: Size, steps: list[tuple[str, int]]) -> None:
    """Beside the plainest description of one, in fractions of a point."""
    clock = Clock()
    buckets = MemoryBuckets(size, clock=clock)
    level = Fraction(size.maximum)
    for what, number in steps:
        if what == "wait":
            clock.now += number * 1_000
            level = min(Fraction(size.maximum), level + Fraction(number, size.point))
        else:
            granted = number == 0 or level >= min(number, size.maximum)
            taken = await buckets.take("a", number)
            assert taken.granted == granted
            level -= number if granted else 0
            assert size.available(taken.missing) == level // 1
