"""Limits how long one statement of SQLite may take: it is interrupted; PostgreSQL ends its own (decision 87)."""

import asyncio
from typing import TypeVar

from storage.adapters.aiosqlite import FileConnection, Work, interrupt

T = TypeVar("T")


async def to_the_end(driver: FileConnection, work: Work[T], seconds: float | None) -> T:
    """Returns what a call of SQLite's driver gives, interrupted after so many seconds, or with its caller."""
    answer = driver.ask(work)
    timer = asyncio.get_running_loop().call_later(seconds, interrupt, driver) if seconds else None
    try:
        return await answer
    finally:
        if timer is not None:
            timer.cancel()
