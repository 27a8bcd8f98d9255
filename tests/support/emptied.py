"""Empties the database of a running application: a test has a world of its own without another application's start.

What a process keeps follows from its key alone, and no organization's identifier comes twice.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import asyncpg

from tests.support.postgresql import Server

Empty = Callable[[], Awaitable[None]]


@asynccontextmanager
async def sqlite(file: Path) -> AsyncIterator[Empty]:
    """Empties every table of a file but that of the migrations, twice: triggers write where rows go."""
    with closing(sqlite3.connect(file, timeout=60, isolation_level=None, check_same_thread=False)) as connection:
        listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        tables = sorted({name for (name,) in listed if not name.startswith("search_words")} - {"alembic_version"})
        deletions = "; ".join(f"DELETE FROM {table}" for table in (*tables, *tables))

        async def empty() -> None:
            # Beside the loop, on which the application may be about to end what it writes after an answer.
            await asyncio.to_thread(connection.executescript, f"BEGIN IMMEDIATE; {deletions}; COMMIT")

        yield empty


@asynccontextmanager
async def postgresql(server: Server, name: str) -> AsyncIterator[Empty]:
    """Empties every table of a database but that of the migrations, past its policies and triggers."""
    connection: asyncpg.Connection = await server.connect(name, role="postgres")
    found = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    tables = sorted({row["tablename"] for row in found} - {"alembic_version"})
    deletions = "; ".join(f"DELETE FROM {table}" for table in tables)

    async def empty() -> None:
        await connection.execute(f"SET session_replication_role = replica; {deletions}")

    try:
        yield empty
    finally:
        await connection.close()
