"""Blocks that are ended from outside, and the task that goes on behind them."""

from __future__ import annotations

import asyncio

import pytest

from resolvers.shared.cut import Cut

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_block_is_ended_and_its_task_goes_on() -> None:
    cut, seen = Cut(), []
    asyncio.get_running_loop().call_soon(cut.now)
    async with asyncio.timeout(30):
        try:
            async with cut:
                await asyncio.Event().wait()
                seen.append("on")
        finally:
            seen.append("behind")
        await asyncio.sleep(0)
    assert (seen, cut.is_cut) == (["behind"], True)
    cut.now()  # which is no matter any more


async def test_a_block_that_ends_by_itself_was_not_cut() -> None:
    cut = Cut()
    async with cut:
        await asyncio.sleep(0)
    cut.now()
    await asyncio.sleep(0)
    assert not cut.is_cut


async def test_a_block_has_its_time() -> None:
    async with asyncio.timeout(30):
        async with (cut := Cut(0.01)):
            await asyncio.Event().wait()
    assert cut.is_cut


async def test_a_cut_twice_is_one() -> None:
    async with asyncio.timeout(30):
        async with (cut := Cut()):
            cut.now()
            cut.now()
            await asyncio.Event().wait()
        await asyncio.sleep(0)
    assert cut.is_cut


async def test_what_the_block_raises_stays() -> None:
    cut = Cut()
    with pytest.raises(ZeroDivisionError):
        async with cut:
            raise ZeroDivisionError
    assert not cut.is_cut


async def test_a_cancelled_task_is_cancelled() -> None:
    """Also where its block is ended at the same moment: the end of the process comes first."""

    async def work(cut: Cut) -> None:
        async with cut:
            await asyncio.Event().wait()

    for is_cut in (False, True):
        cut = Cut()
        task = asyncio.create_task(work(cut))
        await asyncio.sleep(0)
        if is_cut:
            cut.now()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
