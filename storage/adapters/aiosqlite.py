"""aiosqlite below its documented surface: the connection of the standard library that its thread works on."""

import os
from typing import Final

import aiosqlite

from storage import thread_rank

_NICER: Final = 10
_STEPS: Final = 5_000
"""Steps of SQLite's machine after which it lets others have the processor: some tenths of a millisecond."""


def interrupt(driver: aiosqlite.Connection) -> None:
    """End what the driver's thread runs; where it runs nothing, nothing happens.

    The driver's own `interrupt` is a coroutine, and a timer of the event loop cannot wait for one.
    """
    connection = driver._connection  # None once it is closed
    if connection is not None:
        connection.interrupt()


def unattended(driver: aiosqlite.Connection) -> aiosqlite.Connection:
    """The connection, whose thread keeps no process from ending; it has not begun yet."""
    driver._thread.daemon = True
    return driver


async def step_back(driver: aiosqlite.Connection) -> None:
    """Have the driver's thread step back on the processor, and look aside within a long statement, from now on."""
    await driver._execute(thread_rank.step_back, _NICER)  # type: ignore[no-untyped-call]  # of the driver, without types
    await driver.set_progress_handler(os.sched_yield, _STEPS)
