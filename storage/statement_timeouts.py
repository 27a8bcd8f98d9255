"""Limits how long one statement of SQLite may take: it is interrupted; PostgreSQL ends its own (decision 87)."""

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
    if seconds:
        answer.begin_limit(seconds)
    try:
        return await answer
    finally:
        answer.end_limit()
        if clock is not None and (waited := driver.waited()):
            clock.leave_out(waited)
