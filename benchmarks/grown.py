"""A large organization, made within PostgreSQL of a small one: ten million meetings in minutes instead of hours.

The small one is seeded as always, through the service's own sessions. Each of its activities becomes as many as are
wanted: with identifiers of their own and times of creation in between, in the order in which a service would have
written them, with the same links and texts, and so the same words. Indexes are made of their own definitions once the
rows are there, search entries are copied with their records, and the cells of the roll-up count as many times as much.
A test compares the result with what the triggers of the service write (decision 1177).
"""

# ruff: noqa: S608  # no value of others stands in these texts, only names of our own tables and columns

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from benchmarks.cores import Cores
from benchmarks.data import KEPT, Place, Profile, fill
from benchmarks.postgresql import OWNER, Server
from storage.queries.cells import MEETINGS

DATABASE = "grown"
_SEEDING = {
    "wal_level": "minimal",  # what a transaction makes anew goes to the disk once, without the log
    "max_wal_senders": "0",
    "fsync": "off",  # who crashes begins anew; the files are written out at the end
    "max_wal_size": "4GB",
}
_MEASURING = {"autovacuum": "off"}  # nothing changes but what a benchmark changes, and tidies up
_NICE = 10
_SESSION = (
    "SET session_replication_role = replica",  # neither triggers nor foreign keys: all that they do is done here
    "SET maintenance_work_mem = '1GB'",
    "SET work_mem = '256MB'",
)
_INDEXES = """SELECT indexname AS name, indexdef AS made FROM pg_indexes AS i
WHERE tablename = $1 AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conname = i.indexname) ORDER BY 1"""
_COLUMNS = """SELECT attname AS name FROM pg_attribute
WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum"""
_MOULD = (
    "CREATE TEMP TABLE mould AS SELECT a.*, e.kind, e.size, e.words, row_number() OVER (ORDER BY a.created_at, a.id)"
    " AS place FROM activities AS a JOIN search_entries AS e ON e.org_id = a.org_id AND e.id = a.id"
)
_OTHERS = (
    "CREATE TEMP TABLE others AS SELECT e.* FROM search_entries AS e"
    " WHERE NOT EXISTS (SELECT 1 FROM mould AS m WHERE m.org_id = e.org_id AND m.id = e.id)"
)
_ID = (
    "CASE k WHEN 0 THEN m.id ELSE (left(m.id::text, 13) || '-8' || substr(md5(m.id::text || k), 1, 3)"
    " || '-a' || substr(md5(m.id::text || k), 4, 3) || '-' || substr(md5(m.id::text || k), 7, 12))::uuid END"
)
"""The copy's identifier: made up (version 8), and beside the record's own in the order of identifiers."""
_MOMENTS = ("created_at", "updated_at", "due_at", "completed_at")


def _moved(name: str, step: float) -> str:
    """A moment of the copy: later where it is that of the creation, and the planned one where it is another."""
    later = f"m.{name} + k * interval '{step:.6f} s'"
    return f"CASE WHEN m.{name} = m.created_at THEN {later} ELSE m.{name} END"


async def columns_of(connection: asyncpg.Connection, table: str) -> list[str]:
    """The names of the columns that a row is inserted with."""
    return [row["name"] for row in await connection.fetch(_COLUMNS, table)]


def _copies(times: int) -> str:
    """Each record's copies together, in the order of creation; naming the record keeps the planner from another."""
    return (
        "FROM (SELECT * FROM mould ORDER BY place) AS m"
        f" CROSS JOIN LATERAL generate_series(0, {times - 1} + 0 * m.size) AS k"
    )


async def grow(connection: asyncpg.Connection, times: int, seconds_between: float) -> None:
    """Make so many activities of each that is there; `seconds_between` is how far apart they were made.

    The connection is a superuser's.
    """
    for statement in (*_SESSION, _MOULD, _OTHERS):
        await connection.execute(statement)
    step = seconds_between / times
    columns = await columns_of(connection, "activities")
    values = [_ID if c == "id" else _moved(c, step) if c in _MOMENTS else f"m.{c}" for c in columns]
    indexes = {table: await connection.fetch(_INDEXES, table) for table in ("activities", "search_entries")}
    async with connection.transaction():
        await connection.execute("TRUNCATE activities, search_entries, sync_occurrences, synced_meetings")
        for index in (*indexes["activities"], *indexes["search_entries"]):
            await connection.execute(f"DROP INDEX {index['name']}")
        await connection.execute(
            f"INSERT INTO activities ({', '.join(columns)}) SELECT {', '.join(values)} {_copies(times)}"
        )
        await connection.execute("INSERT INTO search_entries SELECT * FROM others")
        await connection.execute(
            "INSERT INTO search_entries (org_id, kind, id, created_at, size, words)"
            f" SELECT m.org_id, m.kind, {_ID}, {_moved('created_at', step)}, m.size, m.words {_copies(times)}"
        )
        for index in (*indexes["activities"], *indexes["search_entries"]):
            await connection.execute(index["made"])
        sums = ", ".join(f"{name} = {name} * {times}" for name in MEETINGS.sums)
        await connection.execute(f"UPDATE {MEETINGS.cells.__tablename__} SET {sums}")
    await connection.execute("VACUUM ANALYZE")


@contextmanager
def grown(profile: Profile, times: int, cores: Cores) -> Iterator[tuple[Place, Server]]:
    """A database with the profile's rows and so many activities of each, on a server of its own; it goes afterwards."""
    folder = KEPT / f"grown-{profile.name}-{times}"
    shutil.rmtree(folder, ignore_errors=True)
    everything = Cores(os.sched_getaffinity(0))
    try:
        with Server(folder, everything, settings=_SEEDING, niceness=_NICE) as server:
            server.create(DATABASE)
            asyncio.run(_seed(server, profile, times))
        os.sync()  # now, so that nothing of it is written while something is measured
        with Server(folder, cores, settings=_MEASURING) as server:
            url = server.url(DATABASE, role=OWNER)
            yield Place("postgresql", url, url, server=server.pid), server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _seed(server: Server, profile: Profile, times: int) -> None:
    await fill(server.url(DATABASE), profile)
    plan = profile.largest
    async with server.connected(DATABASE) as connection:
        await grow(connection, times, plan.span.total_seconds() / plan.sizes.meetings)
