"""A member's bucket and the organization's, by a clock of the test's own: exact sums, both or none (decision 100)."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from identity.budget import SIZE, sizes_of
from identity.pairs import Drawn, MemoryPairs, Sizes
from identity.token_buckets import Size
from tests.support.clock import Clock


async def test_both_have_to_hold_the_points_or_nothing_is_taken() -> None:
    pairs = MemoryPairs(sizes_of(3_000), clock=Clock())
    assert (await pairs.take("org", "ada", 2_000)).granted
    refused = await pairs.take("org", "ben", 1_001)
    assert (refused.granted, refused.missing) == (False, 0)
    assert not (await pairs.take("org", "ada", 1)).granted
    assert (await pairs.take("org", "ben", 1_000)).granted
    assert (await pairs.take("other", "ada", 2_000)).granted
    assert (await pairs.take("", "ada", 2_000)).granted
    assert not (await pairs.take("", "ada", 1)).granted


async def test_what_is_given_back_goes_into_both() -> None:
    pairs = MemoryPairs(sizes_of(2_000), clock=Clock())
    drawn = await pairs.take("org", "ada", 2_000)
    assert not (await pairs.take("org", "ben", 1)).granted
    assert await pairs.give(drawn, 1_500) == (5_000_000, 5_000_000)
    assert (await pairs.take("org", "ben", 1_500)).granted
    assert await pairs.give(drawn, 500) == (0, 15_000_000)
    assert await pairs.give(drawn, 5_000) == (0, 0)


async def test_what_is_kept_has_a_bound_and_an_organization_stays_with_its_members() -> None:
    pairs = MemoryPairs(sizes_of(2_000), most=100, clock=Clock())
    await pairs.take("org", "busy", 1_000)
    for number in range(1_000):
        await pairs.take(f"org {number}", "once", 1)
        assert not (await pairs.take("org", "busy", 1_001)).granted
        assert len(pairs) <= 100
        assert len(pairs._organizations) <= 100
    await pairs.take("org", "another", 1_000)
    assert not (await pairs.take("org", "third", 1)).granted


async def test_points_go_back_to_a_bucket_that_was_forgotten_meanwhile() -> None:
    pairs = MemoryPairs(SMALL, most=1, clock=Clock())
    drawn = await pairs.take("org", "ada", 5)
    await pairs.take("other", "ben", 1)
    assert await pairs.give(drawn, 5) == (0, 0)
    assert (await pairs.take("org", "ada", 7)).granted


SMALL = Sizes(Size(7, 333_333), Size(11, 190_000))
_MEMBERS = [("one", "ada"), ("one", "ben"), ("two", "ada"), ("", "ada")]
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.integers(0, 15), st.sampled_from(_MEMBERS)),
        st.tuples(st.just("give"), st.integers(-9, 15), st.sampled_from(_MEMBERS)),
        st.tuples(st.just("wait"), st.integers(0, 3_000_000), st.just(("", ""))),
    ),
    max_size=60,
)


@given(steps=_STEPS)
async def test_they_are_buckets_that_are_filled_steadily(steps: list[tuple[str, int, tuple[str, str]]]) -> None:
    """Beside the plainest description of two, in fractions of a point."""
    clock = Clock()
    pairs = MemoryPairs(SMALL, clock=clock)
    sizes: dict[tuple[str, ...], Size] = dict.fromkeys(_MEMBERS, SMALL.member)
    sizes |= {(holder[0],): SMALL.organization for holder in _MEMBERS if holder[0]}
    levels = {name: Fraction(size.maximum) for name, size in sizes.items()}
    latest: dict[tuple[str, str], Drawn] = {}

    def fill(name: tuple[str, ...], points: Fraction) -> None:
        levels[name] = min(Fraction(sizes[name].maximum), levels[name] + points)

    for what, number, holder in steps:
        names = [name for name in (holder, holder[:1]) if name in sizes]
        if what == "wait":
            clock.now += number * 1_000
            for name, size in sizes.items():
                fill(name, Fraction(number, size.point))
            continue
        if what == "give" and holder in latest:
            for name in names:
                fill(name, Fraction(number))
            missing = await pairs.give(latest[holder], number)
        else:
            wanted = abs(number)
            granted = not wanted or all(levels[name] >= min(wanted, sizes[name].maximum) for name in names)
            drawn = latest[holder] = await pairs.take(*holder, wanted)
            assert drawn.granted == granted
            for name in names:
                levels[name] -= wanted if granted else 0
            missing = (drawn.missing, drawn.shared)
        for name, left in zip(names, missing, strict=False):
            assert sizes[name].available(left) == levels[name] // 1


def test_a_member_s_bucket_is_that_of_the_limits() -> None:
    assert sizes_of().member == SIZE == Size(2_000, 10_000)
    assert sizes_of().organization == Size(10_000, 2_000)
    assert sizes_of().organization.span == SIZE.span
