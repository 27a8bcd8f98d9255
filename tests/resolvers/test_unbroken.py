"""What is not to be broken off ends before its caller does, and what it raises then is nobody's to log."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from resolvers.shared.unbroken import unbroken


async def test_it_gives_what_the_work_gives_or_raises() -> None:
    async def fine() -> int:
        return 1

    async def broken() -> int:
        raise LookupError

    assert await unbroken(fine()) == 1
    with pytest.raises(LookupError):
        await unbroken(broken())


@pytest.mark.parametrize("times", [1, 2])
async def test_a_caller_that_is_cancelled_leaves_no_exception_behind(times: int) -> None:
    logged: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: logged.append(context))
    goes_on, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await goes_on.wait()
        ended.set()
        raise LookupError("a secret")

    caller = asyncio.create_task(unbroken(work()))
    for _ in range(times):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        caller.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert caller.done() is (times > 1)
    goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await ended.wait()
    await asyncio.sleep(0)
    gc.collect()
    assert logged == []
