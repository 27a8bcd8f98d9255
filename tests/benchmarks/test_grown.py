"""A large table made within PostgreSQL is as the service would have written it; what its indexes cost is told."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import asyncpg
import pytest

from benchmarks import inserts
from benchmarks.data import ROOT, Profile, fill
from benchmarks.grown import columns_of, grow
from benchmarks.postgresql import Server as BenchServer
from storage.queries.cells import MEETINGS
from storage.seeding import Plan
from tests.support.postgresql import Server

SMALL, TIMES = Profile("test-grown", Plan(1, 20, 40, 20, 200), variants=4), 3
ACTIVITIES = (200 + 4) * TIMES  # a fiftieth are calls and e-mails
ENTRIES = "SELECT org_id, kind, id, created_at, size, words::text FROM search_entries ORDER BY 1, 2, 3"
KEYS, SUMS = ", ".join(MEETINGS.keys), ", ".join(MEETINGS.sums)
CELLS = f"SELECT {KEYS}, {SUMS} FROM meeting_cells ORDER BY {KEYS}"
DELTAS = f"SELECT {KEYS}, {', '.join(f'sum({s}) AS {s}' for s in MEETINGS.sums)} FROM meeting_cell_deltas"
INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
OF_BOTH = "SELECT indexname FROM pg_indexes WHERE tablename IN ('activities', 'search_entries')"
TRIGGERS = {"meeting_cells_insert", "search_activities_insert"}
LARGER = "SELECT count(*), count(DISTINCT id), count(DISTINCT created_at) FROM activities"
FORM = "SELECT DISTINCT substr(id::text, 15, 1) FROM activities"


async def rows(connection: asyncpg.Connection, statement: str) -> Sequence[tuple[Any, ...]]:
    return [tuple(row) for row in await connection.fetch(statement)]


class Grown:
    """A grown database of the tests' own server."""

    def __init__(self, server: Server, name: str) -> None:
        self.url, self._server, self._name = server.url(name), server, name

    @asynccontextmanager
    async def connected(self, _database: str = "") -> AsyncIterator[asyncpg.Connection]:
        connection = await self._server.connect(self._name, role="postgres")
        try:
            yield connection
        finally:
            await connection.close()


@pytest.fixture
async def seeded(postgresql: Server, postgresql_template: str) -> AsyncIterator[Grown]:
    name = f"grown_{os.getpid()}"
    await asyncio.to_thread(postgresql.create, name, template=postgresql_template)
    made = Grown(postgresql, name)
    await fill(made.url, SMALL)
    yield made
    await asyncio.to_thread(postgresql.drop, name)


async def test_it_is_what_the_triggers_write(seeded: Grown) -> None:
    """Taken out and put in again, the rows have the same words and the same cells (decision 1177)."""
    async with seeded.connected() as connection:
        indexes = await rows(connection, INDEXES)
        await grow(connection, TIMES, 86_400.0)
        assert await rows(connection, INDEXES) == indexes
        assert await rows(connection, LARGER) == [(ACTIVITIES, ACTIVITIES, ACTIVITIES)]
        assert await rows(connection, FORM) == [("8",)]
    async with seeded.connected() as connection:
        entries, cells = await rows(connection, ENTRIES), await rows(connection, CELLS)
        assert sum(row[len(MEETINGS.keys)] for row in cells) == 200 * TIMES
        columns = ", ".join(await columns_of(connection, "activities"))
        await connection.execute("CREATE TEMP TABLE kept AS SELECT * FROM activities; DELETE FROM activities")
        assert len(await rows(connection, ENTRIES)) == len(entries) - ACTIVITIES
        await connection.execute(
            "DELETE FROM meeting_cell_deltas;"
            f" INSERT INTO activities ({columns}) SELECT {columns} FROM kept"  # foreign keys are looked at, too
        )
        assert await rows(connection, ENTRIES) == entries
        assert await rows(connection, f"{DELTAS} GROUP BY {KEYS} ORDER BY {KEYS}") == cells


async def test_inserting_leaves_nothing(seeded: Grown) -> None:
    """Each index is told of, by the log that it takes, and all is as before (decision 1178)."""
    async with seeded.connected() as connection:
        before = [await rows(connection, each) for each in (INDEXES, LARGER, ENTRIES)]
        wanted = {name for (name,) in await rows(connection, OF_BOTH)}
    costs = await inserts.costs(cast(BenchServer, seeded), 200, 100, 1)
    async with seeded.connected() as connection:
        assert [await rows(connection, each) for each in (INDEXES, LARGER, ENTRIES)] == before
    assert costs.keys() == wanted | set(inserts.PARTS) | TRIGGERS
    assert all(costs[name].log > 0 and costs[name].bytes > 0 for name in wanted - {"ix_activities_reminders"})
    assert costs[inserts.WHOLE].log > costs[inserts.ALL].log + costs[inserts.BOTH].log > costs[inserts.ROW].log


@pytest.mark.long
def test_it_is_measured(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "--scale", "--quick", "--docs", str(tmp_path)]
    subprocess.run(command, check=True, cwd=ROOT, timeout=600)
    page = (tmp_path / "performance.md").read_text()
    for wanted in ("| 1,000, near the end |", "most above it, MiB", "| `ix_meetings_due_desc` |", "its search entry"):
        assert wanted in page
