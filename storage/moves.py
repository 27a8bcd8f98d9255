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
from storage.moved_rows import (
    COUNTER,
    LATER,
    bring_counter,
    bring_directory,
    bring_later,
    home_of,
    say_moved,
    say_where,
)
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

_STAYS = frozenset({"file_leftovers"})
"""Bytes that no row names are removed by whoever finds them."""
_EXPIRING = frozenset({"idempotency_keys"})
"""Rows that end by their age are deleted on every server, whoever is at home there (jobs/upkeep.py)."""
CATCH_UP_SECONDS = 0.4
TRIES = 60
TRY_PAUSE_SECONDS = 1.0
DRAIN_SECONDS = 10.0
"""What a statement that began before the switch may still take, on the server that the organization has left."""
_COMPARED_AT_ONCE_SECONDS = 0.2
_OUT = "copy"
"""The name of a database outside, and what it says of an organization that is being copied there."""
_TROUBLE = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
"""The errors of a connection or of a statement."""

Say = Callable[[str], None]


def copied_tables() -> list[str]:
    """The tables that PostgreSQL copies: those of an organization, but for what stays or comes later."""
    apart = {*OF_DIRECTORY, *LATER, *_STAYS, COUNTER}
    return [str(table.name) for table in tables() if table.name not in apart]


class LeftBehind(Hindrance):
    """The organization has moved, and what is left where it lay is not deleted."""


@dataclass
class Moved:
    """What a move came to."""

    rows: int = 0
    tables: int = 0
    refused_seconds: list[float] = field(default_factory=list)
    """How long writes were refused, each time."""
    compared: str = ""
    deleted: int = 0
    has_switched: bool = False


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

    Raises Hindrance where it cannot be done: it lies then where it lay, and what was copied is gone again. Raises
    LeftBehind where it has moved, and the end of it is still to be done.
    """
    servers, moved = Servers(addresses), Moved()
    try:
        directory = await servers.to(DIRECTORY)
        async with _alone(directory, org_id):
            home = await home_of(directory, org_id)
            servers.address(to)
            others = sorted(servers.addresses.keys() - {home})
            deleted = await _end_what_is_left(servers, org_id, home, others, say, needed=to)
            if home == to:
                moved.deleted = deleted
            else:
                await _Move(servers, org_id, home, to, say, moved).run(directory, drain_seconds)
    except (Hindrance, *_TROUBLE) as error:
        raise (LeftBehind if moved.has_switched else Hindrance)(_words(error)) from error
    finally:
        await servers.close()
    return moved


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, Hindrance) else f"{type(error).__name__}: {error}"


async def copy_out(addresses: Mapping[str, str | URL], org_id: str, url: str | URL, say: Say) -> Moved:
    """Copy the organization with its members into a database that has no organization, all of one moment.

    Keys and tokens are not copied (decision 625), nor the queue: a worker finds what is unfinished. Raises Hindrance.
    """
    servers, moved = Servers({**addresses, _OUT: url}), Moved()
    try:
        directory = await servers.to(DIRECTORY)
        async with _alone(directory, org_id):
            home = await home_of(directory, org_id)
            await _Move(servers, org_id, home, _OUT, say, moved).run_out(directory)
    except _TROUBLE as error:
        raise Hindrance(_words(error)) from error
    finally:
        await servers.close()
    return moved


@asynccontextmanager
async def _alone(directory: asyncpg.Connection, org_id: str) -> AsyncIterator[None]:
    if not await directory.fetchval("SELECT pg_try_advisory_lock(hashtextextended($1::text, 58))", org_id):
        raise Hindrance("somebody moves it already")
    yield


@dataclass
class _Move:
    servers: Servers
    org_id: str
    home: str
    to: str
    say: Say
    moved: Moved

    async def run(self, directory: asyncpg.Connection, drain_seconds: float) -> None:
        """All of it, where nothing is left of another try."""
        # The connection that has the move for itself holds writers off as well where it can: it is lost with both.
        source = directory if self.home == DIRECTORY else await self.servers.to(self.home)
        copy = Copy(self.org_id, copied_tables(), source, await self.servers.to(self.to))
        try:
            await copy.begin(conninfo(self.servers.address(self.home)))
            self.say(f"Copying from {self.home} to {self.to}.")
            await copy.copied()
            seconds = await self._rehearse(copy)
            self.say(f"Copied and compared: {self.moved.rows} rows of {self.moved.tables} tables. Switching.")
            before = await self._switch(copy, directory, at_once=seconds < _COMPARED_AT_ONCE_SECONDS)
        except (Exception, asyncio.CancelledError):
            if await home_of(directory, self.org_id) == self.home:  # not where somebody else may move it by now
                await _end_what_is_left(self.servers, self.org_id, self.home, [self.to], self.say, needed=self.to)
            raise
        self.say(f"It lies on {self.to}. Deleting what is left on {self.home} once nobody reads it there.")
        await copy.cut()
        await asyncio.sleep(drain_seconds)
        self._must_equal(before, await sums(source, self.org_id, copy.tables), "was written to after the switch")
        if await home_of(directory, self.org_id) != self.to:  # asked over the connection that has the move for itself
            raise Hindrance("somebody has moved it on")
        self.moved.deleted = await delete_rows(source, self.org_id, [COUNTER, *copied_tables()])

    async def run_out(self, directory: asyncpg.Connection) -> None:
        """A copy for good, in place of a move."""
        source, target = await self.servers.to(self.home), await self.servers.to(self.to)
        await _check(source, target)
        strange = "SELECT count(*) FROM organizations WHERE id <> $1 OR cluster IS DISTINCT FROM $2"
        if others := await target.fetchval(strange, self.org_id, _OUT):  # but for what another try has begun
            raise Hindrance(f"the database has {others} organizations: name one that has none")
        copy = Copy(self.org_id, copied_tables(), source, target)
        await copy.cut()
        await say_where(target, self.org_id, _OUT)
        await delete_rows(target, self.org_id, [COUNTER, *reversed(copied_tables())])
        try:
            await copy.begin(conninfo(self.servers.address(self.home)))
            self.say("Copying.")
            await copy.copied()
            async with self._held(copy) as (still, _):
                await end_subscription(target, copy.name)
            found = await self._compared(copy, still, target)
            self.moved.rows, self.moved.tables = sum(rows for rows, _, _ in found.values()), len(found)
            await bring_counter(still, target, self.org_id)
            await bring_directory(directory, target, self.org_id)
        finally:
            await copy.cut()

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
            await bring_counter(source, copy.target, self.org_id)
            if self.to != DIRECTORY:
                await say_where(copy.target, self.org_id, self.to)
            # Over the connection that holds writers off (decision 1103): where it is lost, they are let in, and it has
            # not moved.
            if self.home != DIRECTORY:  # before the directory, so that nobody can write there whatever follows
                await say_where(copy.source, self.org_id, self.to)
            await say_moved(directory, self.org_id, self.to)
            self.moved.has_switched = True
        await bring_later(await self.servers.to(self.home), copy.target, self.org_id)
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
        if different := set(differing(one, other)) - (_EXPIRING if self.moved.has_switched else set()):
            raise Hindrance(f"{', '.join(sorted(different))} {words}")


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


async def _end_what_is_left(
    servers: Servers, org_id: str, home: str, others: Sequence[str], say: Say, *, needed: str
) -> int:
    """End what a move has left, at home and on the other servers; how many rows were deleted on those (decision 1102).

    One that cannot be looked at keeps what is left there, unless it is needed.
    """
    number, at_home = 0, await servers.to(home)
    name = Copy(org_id, (), at_home, at_home).name
    await end_subscription(at_home, name)  # first: what is deleted elsewhere would be deleted here
    await end_publication(at_home, name)
    if home != DIRECTORY:
        await say_where(at_home, org_id, home)
    for other in others:
        try:
            connection = await servers.to(other)
            await _check(connection, at_home)
        except (Hindrance, *_TROUBLE) as error:
            if other == needed:
                raise
            say(f"{other} cannot be looked at, so that what a move may have left there stays: {_words(error)}")
            continue
        await end_subscription(connection, name)
        await end_publication(connection, name)
        if other != DIRECTORY:
            await say_where(connection, org_id, home)
        await bring_later(connection, at_home, org_id)
        deleted = await delete_rows(connection, org_id, [COUNTER, *copied_tables()])
        if deleted:
            say(f"{deleted} rows that were left on {other} are deleted.")
        number += deleted
    return number
