"""aiosqlite below its documented surface: the connection of the standard library that its thread works on."""

from typing import Any


def interrupt(driver: Any) -> None:
    """End what the driver's thread runs; where it runs nothing, nothing happens.

    The driver's own `interrupt` is a coroutine, and a timer of the event loop cannot wait for one.
    """
    connection = driver._connection  # None once it is closed
    if connection is not None:
        connection.interrupt()
