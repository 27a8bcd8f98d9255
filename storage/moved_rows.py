"""Brings to the other server what PostgreSQL does not copy: where the organization lies, and rows that come last."""

from collections.abc import Sequence

import asyncpg

from storage.clusters import DIRECTORY
from storage.postgres.organization_copy import Hindrance

LATER = ("job_queue", "analytics_watches", "chat_watches", "reminder_watches", "report_watches", "webhook_watches")
"""Tables that workers look into for all organizations: their rows come with the switch and not before."""
_WANTED = {
    "job_queue": ("job_id", "SELECT id FROM jobs WHERE org_id = $1 AND finished_at IS NULL"),
    "webhook_watches": ("webhook_id", "SELECT id FROM webhooks WHERE org_id = $1"),
}
"""Those of them whose rows are of use while another row is there. It may be gone since an interrupted move."""
COUNTER = "event_counters"
"""The table whose row says how far the change log goes.

It comes last, so that a replica of the other server has all else once it has that (decision 1101).
"""


async def home_of(directory: asyncpg.Connection, org_id: str) -> str:
    """The name of the server that the organization lies on. Raises Hindrance where there is no such organization."""
    row = await directory.fetchrow("SELECT cluster FROM organizations WHERE id = $1", org_id)
    if row is None:
        raise Hindrance("there is no such organization")
    return row["cluster"] or DIRECTORY


async def say_where(connection: asyncpg.Connection, org_id: str, name: str) -> None:
    """Have a server other than the directory's say where the organization lies."""
    await connection.execute(
        "INSERT INTO organizations (id, external_id, name, created_at, cluster) "
        "VALUES ($1::uuid, $1::uuid::text, '', now(), $2) "
        "ON CONFLICT (id) DO UPDATE SET cluster = excluded.cluster",
        org_id,
        _said(name),
    )


async def say_moved(directory: asyncpg.Connection, org_id: str, name: str) -> None:
    """Have the directory say where the organization lies from now on."""
    await directory.execute(
        "UPDATE organizations SET cluster = $2, moved_at = greatest(clock_timestamp(), moved_at + interval "
        "'1 microsecond') WHERE id = $1",
        org_id,
        _said(name),
    )


def _said(name: str) -> str | None:
    """Returns the value by which `organizations.cluster` names a server."""
    return None if name == DIRECTORY else name


async def bring_counter(source: asyncpg.Connection, target: asyncpg.Connection, org_id: str) -> None:
    """Copy how far the change log goes, which nobody may write to meanwhile."""
    await _insert(target, COUNTER, await source.fetch(f"SELECT * FROM {COUNTER} WHERE org_id = $1", org_id))  # noqa: S608  # our table


async def bring_later(source: asyncpg.Connection, target: asyncpg.Connection, org_id: str) -> None:
    """Take the places in queues from one server to the other; a worker that has one in hand goes on there."""
    async with source.transaction(), target.transaction():
        await source.execute("SET LOCAL session_replication_role = replica")
        for table in LATER:  # six
            rows = await source.fetch(f"DELETE FROM {table} WHERE org_id = $1 RETURNING *", org_id)  # noqa: S608  # names of our tables
            if rows and table in _WANTED:
                column, question = _WANTED[table]
                wanted = {row["id"] for row in await target.fetch(question, org_id)}
                rows = [row for row in rows if row[column] in wanted]
            await _insert(target, table, rows)


async def bring_directory(source: asyncpg.Connection, target: asyncpg.Connection, org_id: str) -> None:
    """Copy who the organization and its members are, without what would let anybody in."""
    members = "SELECT m.* FROM members m JOIN memberships s USING (subject) WHERE s.org_id = $1"
    found = {
        "members": await source.fetch(members, org_id),
        "memberships": await source.fetch("SELECT * FROM memberships WHERE org_id = $1", org_id),
    }
    named = await source.fetchrow("SELECT external_id, name, created_at FROM organizations WHERE id = $1", org_id)
    async with target.transaction():
        await target.execute(
            "UPDATE organizations SET external_id = $2, name = $3, created_at = $4, cluster = NULL WHERE id = $1",
            *(org_id, *named.values()),
        )
        for table, rows in found.items():
            await _insert(target, table, rows)


async def _insert(target: asyncpg.Connection, table: str, rows: Sequence[asyncpg.Record]) -> None:
    """Insert rows of the same table elsewhere, but for those that are there."""
    if rows:
        names = ", ".join(rows[0].keys())
        values = ", ".join(f"${place + 1}" for place in range(len(rows[0])))
        statement = f"INSERT INTO {table} ({names}) VALUES ({values}) ON CONFLICT DO NOTHING"  # noqa: S608  # our tables
        await target.executemany(statement, [tuple(row.values()) for row in rows])
