"""Opens connections to a SQLite file, each with its settings.

One that writes keeps in memory what a statement needs to take back its own changes: the copies of the pages that it
touches (decision 1203). SQLite makes a file of them beyond 64 KiB, which is sixteen pages, and a new record with its
indexes, its words and its event touches more.
"""

from typing import Final

import aiosqlite

from storage.adapters.aiosqlite import unattended

PRAGMAS: Final = ("busy_timeout=5000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")
_WRITER_PRAGMAS: Final = ("temp_store=MEMORY",)


async def begun(driver: aiosqlite.Connection, *, to_write: bool = False) -> aiosqlite.Connection:
    """The connection, once it is open. Raises sqlite3.Error where there is no such file, or no database in it."""
    await unattended(driver)
    try:
        for pragma in (*PRAGMAS, *(_WRITER_PRAGMAS if to_write else ())):
            await driver.execute_fetchall(f"PRAGMA {pragma}")
    except BaseException:
        await driver.close()
        raise
    return driver
