"""Limits how long one statement of SQLite may take: it is interrupted; PostgreSQL ends its own (decision 87)."""

import asyncio
from typing import Protocol, TypeVar

from storage.adapters.aiosqlite import FileConnection, Work

T = TypeVar("T")


class Clock(Protocol):
    """Measures a statement."""

    def leave_out(self, seconds: float) -> None:
        """So much of its time was a wait."""


async def to_the_end(driver: FileConnection, work: Work[T], seconds: float | None, clock: Clock | None) -> T:
    """Returns what a call of SQLite's driver gives, interrupted after so many seconds, or with its caller.

    What another process's lock was waited for is not the statement's time.
    """
    answer = driver.ask(work)
    timer = asyncio.get_running_loop().call_later(seconds, answer.cancel) if seconds else None
    try:
        return await answer
    finally:
        if timer is not None:
            timer.cancel()
        if clock is not None and driver.waited:
            clock.leave_out(driver.waited)
