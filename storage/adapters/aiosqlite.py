"""aiosqlite below its documented surface: the connection of the standard library that its thread works on."""

import os
import sys
from contextlib import suppress

import aiosqlite


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


async def step_back(driver: aiosqlite.Connection, by: int) -> None:
    """Have other threads precede the driver's on the processor from now on; where threads have no rank, it keeps its.

    `by` is how much nicer it is. Who is no administrator cannot take that back.
    """
    if sys.platform == "linux":  # elsewhere a process has a rank, and its threads have none
        with suppress(OSError):  # where a process may not even ask for less, it goes on as it is
            await driver._execute(os.nice, by)  # type: ignore[no-untyped-call]  # of the driver, which gives it no types
