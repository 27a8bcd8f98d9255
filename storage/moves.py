"""Moves an organization to another server while it is used (decision 1084).

Copy and compare, stop its writes for a moment, let the directory say the other server, compare again, delete what is
left behind. A mover that dies leaves the organization where the directory says; to move it again begins anew, or ends
what is left.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import asyncpg
from sqlalchemy.engine import URL, make_url

from storage.clusters import DIRECTORY
from storage.postgres.organization_copy import (
    Copy,
    Hindrance,
    Sums,
    connect,
    conninfo,
    delete_rows,
    differing,
    end_publication,
    end_subscription,
    hold_still,
    identity,
    sums,
)
from storage.queries.organization_rows import tables
from storage.tenancy.guard import OF_DIRECTORY

LATER = ("job_queue", "analytics_watches", "chat_watches", "reminder_watches", "report_watches", "webhook_watches")
"""Tables that workers look into for all organizations: their rows come with the switch and not before."""
_STAYS = frozenset({"file_leftovers"})
"""Bytes that no row names are removed by whoever finds them."""
CATCH_UP_SECONDS = 0.4
TRIES = 60
TRY_PAUSE_SECONDS = 1.0
DRAIN_SECONDS = 10.0
"""What a statement that began before the switch may still take, on the server that the organization has left."""
_COMPARED_AT_ONCE_SECONDS = 0.2

Say = Callable[[str], None]


def copied_tables() -> list[str]:
    """The tables that PostgreSQL copies: those of an organization, but for what stays or comes later."""
    return [str(table.name) for table in tables() if table.name not in {*OF_DIRECTORY, *LATER, *_STAYS}]


@dataclass
class Moved:
    """What a move came to."""

    rows: int = 0
    tables: int = 0
    refused_seconds: list[float] = field(default_factory=list)
    """How long writes were refused, each time."""
    compared: str = ""
    deleted: int = 0


class Servers:
    """Connections of superusers to the servers by name, opened when they are needed."""

    def __init__(self, addresses: Mapping[str, str | URL]) -> None:
        self.addresses = {name: make_url(address) for name, address in addresses.items()}
        self._stack = AsyncExitStack()

    def address(self, name: str) -> URL:
        """The address of a server. Raises Hindrance where nothing names it."""
        if name not in self.addresses:
            raise Hindrance(f"there is no server {name}: see CRM_CLUSTERS and CRM_MOVE_ADDRESSES")
        return self.addresses[name]

    async def to(self, name: str) -> asyncpg.Connection:
        """A new connection."""
        connection = await connect(self.address(name))
        self._stack.push_async_callback(connection.close)
        return connection

    async def close(self) -> None:
        """Close all."""
        await self._stack.aclose()


async def move(
    addresses: Mapping[str, str | URL], org_id: str, to: str, say: Say, *, drain_seconds: float = DRAIN_SECONDS
) -> Moved:
    """Move the organization to the server of this name, or end what a move there has left.

    Raises Hindrance where it cannot be done: it lies then where it lay, and what was copied is gone again.
    """
    servers, moved = Servers(addresses), Moved()
    try:
        directory = await servers.to(DIRECTORY)
        async with _alone(directory, org_id):
            home = await _home(directory, org_id)
            servers.address(to)
            if home != to:
                await _Move(servers, org_id, home, to, say, moved).run(directory, drain_seconds)
            else:
                moved.deleted = await _end_what_is_left(servers, org_id, home, say)
    except (asyncpg.PostgresError, OSError) as error:
        raise Hindrance(f"{type(error).__name__}: {error}") from error
    finally:
        await servers.close()
    return moved


async def copy_out(addresses: Mapping[str, str | URL], org_id: str, url: str | URL, say: Say) -> Moved:
    """Copy the organization with its members into a database that has no organization, all of one moment.

    Keys and tokens are not copied (decision 625), nor the queue: a worker finds what is unfinished. Raises Hindrance.
    """
    servers, moved = Servers({**addresses, _OUT: url}), Moved()
    try:
        directory = await servers.to(DIRECTORY)
        async with _alone(directory, org_id):
            home = await _home(directory, org_id)
            await _Move(servers, org_id, home, _OUT, say, moved).run_out(directory)
    except (asyncpg.PostgresError, OSError) as error:
        raise Hindrance(f"{type(error).__name__}: {error}") from error
    finally:
        await servers.close()
    return moved


_OUT = "copy"


@asynccontextmanager
async def _alone(directory: asyncpg.Connection, org_id: str) -> AsyncIterator[None]:
    if not await directory.fetchval("SELECT pg_try_advisory_lock(hashtextextended($1::text, 58))", org_id):
        raise Hindrance("somebody moves it already")
    yield


async def _home(directory: asyncpg.Connection, org_id: str) -> str:
    row = await directory.fetchrow("SELECT cluster FROM organizations WHERE id = $1", org_id)
    if row is None:
        raise Hindrance("there is no such organization")
    return row["cluster"] or DIRECTORY


def _said(name: str) -> str | None:
    """What `organizations.cluster` says of a server."""
    return None if name == DIRECTORY else name


async def _say_where(connection: asyncpg.Connection, org_id: str, name: str) -> None:
    """Have a server other than the directory's say where the organization lies."""
    await connection.execute(
        "INSERT INTO organizations (id, external_id, name, created_at, cluster) "
        "VALUES ($1::uuid, $1::uuid::text, '', now(), $2) "
        "ON CONFLICT (id) DO UPDATE SET cluster = excluded.cluster",
        org_id,
        _said(name),
    )


@dataclass
class _Move:
    servers: Servers
    org_id: str
    home: str
    to: str
    say: Say
    moved: Moved

    async def run(self, directory: asyncpg.Connection, drain_seconds: float) -> None:
        """All of it."""
        source, target = await self.servers.to(self.home), await self.servers.to(self.to)
        await _check(source, target)
        copy = Copy(self.org_id, copied_tables(), source, target)
        await self._begin_anew(copy)
        try:
            await copy.begin(conninfo(self.servers.address(self.home)))
            self.say(f"Copying from {self.home} to {self.to}.")
            await copy.copied()
            seconds = await self._rehearse(copy)
            self.say(f"Copied and compared: {self.moved.rows} rows of {self.moved.tables} tables. Switching.")
            before = await self._switch(copy, directory, at_once=seconds < _COMPARED_AT_ONCE_SECONDS)
        except (Exception, asyncio.CancelledError):
            if await _home(directory, self.org_id) == self.home:
                await self._begin_anew(copy)  # nothing of it stays
            raise
        self.say(f"It lies on {self.to}. Deleting what is left on {self.home} once nobody reads it there.")
        await copy.cut()
        await asyncio.sleep(drain_seconds)
        self._must_equal(before, await sums(source, self.org_id, copy.tables), "was written to after the switch")
        self.moved.deleted = await delete_rows(source, self.org_id, copied_tables())

    async def run_out(self, directory: asyncpg.Connection) -> None:
        """A copy for good, in place of a move."""
        source, target = await self.servers.to(self.home), await self.servers.to(self.to)
        await _check(source, target)
        if others := await target.fetchval("SELECT count(*) FROM organizations WHERE id <> $1", self.org_id):
            raise Hindrance(f"the database has {others} organizations: name one that has none")
        copy = Copy(self.org_id, copied_tables(), source, target)
        await self._begin_anew(copy)
        try:
            await copy.begin(conninfo(self.servers.address(self.home)))
            self.say("Copying.")
            await copy.copied()
            async with self._held(copy) as (still, _):
                await end_subscription(target, copy.name)
            found = await self._compared(copy, still, target)
            self.moved.rows, self.moved.tables = sum(rows for rows, _, _ in found.values()), len(found)
            await _bring_directory(directory, target, self.org_id)
        finally:
            await copy.cut()

    async def _begin_anew(self, copy: Copy) -> None:
        """Undo what another try may have left; the directory has the say."""
        if self.home != DIRECTORY:
            await _say_where(copy.source, self.org_id, self.home)
        await copy.cut()
        if self.to != DIRECTORY:
            await _say_where(copy.target, self.org_id, self.home)
        await delete_rows(copy.target, self.org_id, [*LATER, *reversed(copied_tables())])

    async def _rehearse(self, copy: Copy) -> float:
        """Compare every table, as of a moment; the seconds that the comparison took."""
        async with self._held(copy) as (source, target):
            pass
        began = time.monotonic()
        found = await self._compared(copy, source, target)
        self.moved.rows, self.moved.tables = sum(rows for rows, _, _ in found.values()), len(found)
        await asyncio.gather(source.close(), target.close())
        return time.monotonic() - began

    async def _compared(self, copy: Copy, source: asyncpg.Connection, target: asyncpg.Connection) -> Sums:
        """What the rows come to on both. Raises Hindrance where they differ."""
        one, other = await asyncio.gather(*(sums(each, self.org_id, copy.tables) for each in (source, target)))
        self._must_equal(one, other, f"differs on {self.to}")
        return one

    async def _switch(self, copy: Copy, directory: asyncpg.Connection, *, at_once: bool) -> Sums:
        """Let the organization lie on the other server; what its rows came to in that moment."""
        async with self._held(copy) as (source, target):
            compared = await self._compared(copy, source, target) if at_once else None
            if self.to != DIRECTORY:
                await _say_where(copy.target, self.org_id, self.to)
            if self.home != DIRECTORY:  # before the directory, so that nobody can write there whatever follows
                still = await self.servers.to(self.home)
                await _say_where(still, self.org_id, self.to)
            await directory.execute(
                "UPDATE organizations SET cluster = $2, moved_at = greatest(clock_timestamp(), moved_at + interval "
                "'1 microsecond') WHERE id = $1",
                self.org_id,
                _said(self.to),
            )
            await _bring_later(await self.servers.to(self.home), copy.target, self.org_id)
        self.moved.compared = "while writes were refused" if at_once else "before and after the switch"
        found = compared or await self._compared(copy, source, target)
        await asyncio.gather(source.close(), target.close())
        return found

    @asynccontextmanager
    async def _held(self, copy: Copy) -> AsyncIterator[tuple[asyncpg.Connection, asyncpg.Connection]]:
        """While writes are refused, and the copy has all: connections that see that moment, for longer too."""
        observer = await self.servers.to(self.home)
        for left in reversed(range(TRIES)):
            source, target = await self.servers.to(self.home), await self.servers.to(self.to)
            began, is_held = time.monotonic(), False
            try:
                async with copy.stopped():
                    await copy.caught_up(observer, CATCH_UP_SECONDS)
                    await hold_still(source)
                    await hold_still(target)
                    is_held = True
                    yield source, target
            except (asyncpg.LockNotAvailableError, TimeoutError):
                await asyncio.gather(source.close(), target.close())
                if is_held or not left:
                    raise Hindrance(
                        "its writers leave no moment for the switch: try again when it is quieter"
                    ) from None
            finally:
                self.moved.refused_seconds.append(time.monotonic() - began)
            if is_held:
                return
            await asyncio.sleep(TRY_PAUSE_SECONDS)

    def _must_equal(self, one: Sums, other: Sums, words: str) -> None:
        if different := differing(one, other):
            raise Hindrance(f"{', '.join(different)} {words}")


async def _check(source: asyncpg.Connection, target: asyncpg.Connection) -> None:
    """Raises Hindrance where these are no two databases of this version."""
    if await identity(source) == await identity(target):
        raise Hindrance("both names are of one database")
    versions = [await one.fetchval("SELECT version_num FROM alembic_version") for one in (source, target)]
    if versions[0] != versions[1]:
        raise Hindrance("the servers are at different migrations: run `crm-gateway migrate`")
    found = await source.fetch(
        "SELECT c.relname::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
        "WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attname = 'org_id'"
    )
    if strange := {row["name"] for row in found} ^ {str(table.name) for table in tables()}:
        raise Hindrance(f"this version does not know all tables there: {', '.join(sorted(strange))}")


async def _bring_later(source: asyncpg.Connection, target: asyncpg.Connection, org_id: str) -> None:
    """Take the places in queues from one server to the other; a worker that has one in hand goes on there."""
    async with source.transaction(), target.transaction():
        await source.execute("SET LOCAL session_replication_role = replica")
        for table in LATER:  # six
            rows = await source.fetch(f"DELETE FROM {table} WHERE org_id = $1 RETURNING *", org_id)  # noqa: S608  # names of our tables
            await _insert(target, table, rows)


async def _bring_directory(source: asyncpg.Connection, target: asyncpg.Connection, org_id: str) -> None:
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


async def _end_what_is_left(servers: Servers, org_id: str, home: str, say: Say) -> int:
    """End what a move has left on servers that the organization does not lie on; how many rows were deleted there."""
    number, at_home = 0, await servers.to(home)
    name = Copy(org_id, (), at_home, at_home).name
    await end_subscription(at_home, name)  # first: what is deleted elsewhere would be deleted here
    await end_publication(at_home, name)
    if home != DIRECTORY:
        await _say_where(at_home, org_id, home)
    for other in servers.addresses.keys() - {home}:
        connection = await servers.to(other)
        await _check(connection, at_home)
        await end_subscription(connection, name)
        await end_publication(connection, name)
        if other != DIRECTORY:
            await _say_where(connection, org_id, home)
        await _bring_later(connection, at_home, org_id)
        deleted = await delete_rows(connection, org_id, copied_tables())
        if deleted:
            say(f"{deleted} rows that were left on {other} are deleted.")
        number += deleted
    return number
