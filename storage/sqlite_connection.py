"""Opens connections to a SQLite file, each with its settings, and what is called on them.

One that writes keeps in memory what a statement needs to take back its own changes: the copies of the pages that it
touches (decision 1203). SQLite makes a file of them beyond 64 KiB, which is sixteen pages, and a new record with its
indexes, its words and its event touches more.
"""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final

from storage.adapters.aiosqlite import FileConnection, Work
from storage.statements import AnyRow, AnyValue

PRAGMAS: Final = ("busy_timeout=5000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")
_WRITER_PRAGMAS: Final = ("temp_store=MEMORY",)


async def begun(connect: Callable[[], sqlite3.Connection], *, to_write: bool = False) -> FileConnection:
    """A connection that is open. Raises sqlite3.Error where there is no such file, or no database in it."""
    driver = FileConnection(connect)
    await driver
    try:
        for pragma in (*PRAGMAS, *(_WRITER_PRAGMAS if to_write else ())):
            await driver.execute_fetchall(f"PRAGMA {pragma}")
    except BaseException:
        await driver.close()
        raise
    return driver


def fetching(statement: str, parameters: Sequence[AnyValue]) -> Work[Sequence[AnyRow]]:
    """Have all rows of a statement."""

    def fetch(connection: sqlite3.Connection) -> Sequence[AnyRow]:
        return connection.execute(statement, parameters).fetchall()

    return fetch


def reading(statement: str, parameters: Sequence[AnyValue]) -> Work[tuple[tuple[str, ...], Sequence[AnyRow]]]:
    """Have the names of a statement's columns, and all its rows."""

    def read(connection: sqlite3.Connection) -> tuple[tuple[str, ...], Sequence[AnyRow]]:
        cursor = connection.execute(statement, parameters)
        return tuple(column[0] for column in cursor.description or ()), cursor.fetchall()

    return read


def changing(statement: str, parameters: Sequence[AnyValue]) -> Work[int]:
    """Have a statement change rows, and say how many."""

    def change(connection: sqlite3.Connection) -> int:
        return max(connection.execute(statement, parameters).rowcount, 0)

    return change
