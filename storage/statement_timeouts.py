"""Limits how long one statement of SQLite may take: it is interrupted; PostgreSQL ends its own (decision 87)."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

import aiosqlite

from storage.adapters.aiosqlite import interrupt

T = TypeVar("T")


async def to_the_end(driver: aiosqlite.Connection, work: Coroutine[object, object, T], seconds: float | None) -> T:
    """Returns what a statement of SQLite's driver gives, interrupted after so many seconds, or with its caller.

    A cancelled caller waits until it has ended, since the driver's thread is busy with it until then.
    """
    task = asyncio.ensure_future(work)
    timer = asyncio.get_running_loop().call_later(seconds, interrupt, driver) if seconds else None
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        interrupt(driver)
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # asked for, or else the loop would log it
        raise
    finally:
        if timer is not None:
            timer.cancel()
