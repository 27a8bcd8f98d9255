"""Heavy reads make way for other organizations (decision 144)."""

from __future__ import annotations

import asyncio

import pytest

from contract.costs import HEAVY_POINTS
from resolvers.shared import lanes
from resolvers.shared.lanes import Lanes


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which stands still unless a test moves it."""
    now = [100.0]
    monkeypatch.setattr(lanes, "monotonic", lambda: now[0])
    return now


class Reads:
    """Reads that go on until they are let go, and how many of them are worked on."""

    def __init__(self) -> None:
        self.lanes = Lanes()
        self.running = self.most = 0
        self._free = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self, organization: str, points: int, count: int) -> None:
        self._tasks += [asyncio.create_task(self._read(organization, points)) for _ in range(count)]
        await asyncio.sleep(0)

    async def _read(self, organization: str, points: int) -> None:
        async with self.lanes.reading(organization, points):
            self.running += 1
            self.most = max(self.most, self.running)
            await self._free.wait()
            self.running -= 1

    async def end(self) -> None:
        self._free.set()
        await asyncio.gather(*self._tasks)


async def test_an_organization_that_is_alone_waits_for_nobody(clock: list[float]) -> None:
    reads = Reads()
    await reads.begin("a", HEAVY_POINTS + 1, 8)
    assert reads.running == 8
    await reads.end()


async def test_while_others_are_served_heavy_reads_come_one_after_the_other(clock: list[float]) -> None:
    reads = Reads()
    async with reads.lanes.reading("b", 1):
        pass
    await reads.begin("a", HEAVY_POINTS + 1, 8)
    assert reads.running == 1
    await reads.end()
    assert reads.most == 1


async def test_light_reads_never_wait(clock: list[float]) -> None:
    reads = Reads()
    async with reads.lanes.reading("b", 1):
        pass
    await reads.begin("a", HEAVY_POINTS, 8)
    assert reads.running == 8
    await reads.end()


async def test_each_is_followed_by_a_rest_twice_as_long(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    loop = asyncio.get_running_loop()
    later = loop.call_later

    def call_later(delay: float, callback: object, *arguments: object) -> asyncio.TimerHandle:
        rests.append(delay)
        return later(0, callback, *arguments)  # type: ignore[arg-type]  # it is handed on as it came

    monkeypatch.setattr(loop, "call_later", call_later)
    reads = Lanes()
    for took in (0.25, 0.5, 5.0):
        async with reads.reading("b", 1):
            pass
        async with reads.reading("a", HEAVY_POINTS + 1):
            clock[0] += took
            async with reads.reading("b", 1):
                pass
    assert rests == [0.5, 1.0, 2.0]


async def test_others_that_were_served_a_while_ago_do_not_count(clock: list[float]) -> None:
    reads = Reads()
    async with reads.lanes.reading("b", 1):
        pass
    clock[0] += 1.5
    await reads.begin("a", HEAVY_POINTS + 1, 8)
    assert reads.running == 8
    await reads.end()


async def test_what_goes_on_for_long_rests_while_others_are_served(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decision 994."""
    rests: list[float] = []

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    monkeypatch.setattr(lanes.asyncio, "sleep", rest)
    known = Lanes()
    for organization, seconds in (("a", 0.5), ("a", 0.5), ("b", 0.25), ("b", 9.0)):
        async with known.reading(organization, 1):
            pass
        await known.make_way("a", seconds)
    clock[0] += 2
    await known.make_way("a", 0.5)
    assert rests == [0, 0, 0.5, 2.0, 0], "twice as long as it took, two seconds at most"
