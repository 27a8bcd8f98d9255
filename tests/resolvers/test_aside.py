"""Work in threads: it ends with whoever asked for it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from resolvers.shared.threads import Pace, aside


def _threads() -> int:
    return sum(thread.name.startswith("aside") for thread in threading.enumerate())


async def test_it_gives_what_the_work_gives() -> None:
    assert await aside(lambda _: 7) == 7

    def fail(_: Pace) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await aside(fail)


async def test_it_ends_with_its_caller() -> None:
    steps, left = 0, threading.Event()

    def endless(pace: Pace) -> None:
        nonlocal steps
        try:
            while True:
                steps += 1
                pace()
        finally:
            left.set()

    caller = asyncio.create_task(aside(endless))
    while not steps:  # noqa: ASYNC110  # a thread sets no event of the loop
        await asyncio.sleep(0.01)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert left.is_set()
    before = steps
    await asyncio.sleep(0.05)
    assert steps == before


async def test_what_waits_for_a_thread_need_not_begin() -> None:
    begun = 0

    def endless(pace: Pace) -> None:
        nonlocal begun
        begun += 1
        while True:
            pace()

    callers = [asyncio.create_task(aside(endless)) for _ in range(40)]
    while begun < _threads() or not begun:  # noqa: ASYNC110  # a thread sets no event of the loop
        await asyncio.sleep(0.01)
    for caller in callers:
        caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    assert begun < len(callers)
    assert await aside(lambda _: 7) == 7
