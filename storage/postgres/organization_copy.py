"""Copies the rows of one organization to another PostgreSQL server, and keeps the copy up to date, by its own logical
replication: a publication with row filters there, a subscription here.

It works since the organization is a part of each key that PostgreSQL compares rows by. Triggers do not fire for what
arrives, so that nothing is made of it twice. Whoever copies has to be a superuser of both servers.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg
from sqlalchemy.engine import URL

from contract.limits import CONNECTION_SECONDS
from storage.postgres.tenant_connection import driver_options

PAUSE_SECONDS = 0.002
SLOTS = "crm_move_"
"""The beginning of the names of what a move makes on servers."""
_ALIKE = {
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "application_name": "crm-gateway move",
}
"""Settings with which two servers write a value in the same way."""
_LOCK_MILLISECONDS = 300
_SILENT_MILLISECONDS = 60_000
"""A mover that is silent for so long while it holds writers off is gone, and its machine perhaps with it."""

Sum = tuple[int, int, int]
"""How many rows there are, and two sums of halves of their hashes: they do not depend on an order."""
Sums = Mapping[str, Sum]


class Hindrance(Exception):
    """The organization cannot be copied or moved so; the words are for the operator."""


async def connect(url: URL) -> asyncpg.Connection:
    """A connection that bypasses the policies. Raises what the driver does, or Hindrance for an ordinary role."""
    _, options = url.get_dialect()().create_connect_args(url)
    connection = await asyncpg.connect(
        **driver_options(options), timeout=CONNECTION_SECONDS, statement_cache_size=0, server_settings=_ALIKE
    )
    if not await connection.fetchval("SELECT rolsuper FROM pg_roles WHERE rolname = current_user"):
        await connection.close()
        raise Hindrance(f"{url.username} is no superuser of {url.host or 'its server'}: see CRM_MOVE_ADDRESSES")
    return connection


def conninfo(url: URL) -> str:
    """The address as PostgreSQL's own library takes it. Raises Hindrance for what it cannot say."""
    _, options = url.get_dialect()().create_connect_args(url)
    known = {"host": "host", "port": "port", "user": "user", "password": "password", "database": "dbname"}
    parts = {}
    for name, value in driver_options(options).items():
        if name not in known or isinstance(value, list):
            raise Hindrance(f"{name} of an address cannot be told to the other server: name one host, without options")
        parts[known[name]] = str(value)
    return " ".join(f"{name}='{_escaped(value)}'" for name, value in parts.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "\\'")


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@dataclass(frozen=True)
class Copy:
    """The copy of one organization from one server to another, by connections of superusers to both."""

    org_id: str
    tables: Sequence[str]
    source: asyncpg.Connection
    target: asyncpg.Connection

    @property
    def name(self) -> str:
        """The name of the publication, the slot and the subscription."""
        return f"{SLOTS}{self.org_id.replace('-', '')}"

    async def begin(self, source_conninfo: str) -> None:
        """Have PostgreSQL copy the rows, and follow what becomes of them. What an earlier try left has to be gone."""
        if await self.source.fetchval("SHOW wal_level") != "logical":
            raise Hindrance("wal_level of the server that it lies on has to be logical, which takes a restart")
        listed = ", ".join(f"{table} WHERE (org_id = '{self.org_id}')" for table in self.tables)
        await self.source.execute(f"CREATE PUBLICATION {self.name} FOR TABLE {listed}")
        # Made here rather than by the subscription, which would wait for itself within one server.
        await self.source.execute("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", self.name)
        # The other server reads as whoever the address says; the setting is for a role that the policies hold for.
        address = f"{source_conninfo} options='-c crm.org_id={self.org_id}'"
        # From 16 on it writes as the tables' owner else, whom the policies hold for.
        as_superuser = ", run_as_owner = true" if self.target.get_server_version().major >= 16 else ""
        await self.target.execute(
            f"CREATE SUBSCRIPTION {self.name} CONNECTION {_literal(address)} PUBLICATION {self.name} "
            "WITH (create_slot = false, copy_data = true, synchronous_commit = 'on', "
            f"disable_on_error = true{as_superuser})"
        )

    async def copied(self) -> None:
        """Wait until every table has been copied. Raises Hindrance where the subscription gave up."""
        while True:
            row = await self.target.fetchrow(
                "SELECT s.subenabled, (SELECT count(*) FROM pg_subscription_rel r WHERE r.srsubid = s.oid) AS tables,"
                " (SELECT count(*) FROM pg_subscription_rel r WHERE r.srsubid = s.oid AND r.srsubstate = 'r') AS ready"
                " FROM pg_subscription s WHERE s.subname = $1 AND s.subdbid = "
                "(SELECT oid FROM pg_database WHERE datname = current_database())",
                self.name,
            )
            if row is None or not row["subenabled"]:
                raise Hindrance("the subscription ended: the log of the server that it moves to says why")
            if row["tables"] == row["ready"] == len(self.tables):
                return
            await asyncio.sleep(0.05)

    @asynccontextmanager
    async def stopped(self) -> AsyncIterator[None]:
        """While nobody writes to the organization at the source: those who try are refused (`crm_enter`).

        What is said over the same connection is said while nobody writes, or not at all. Raises LockNotAvailableError
        where those who write already do not end in time.
        """
        lock = "hashtextextended($1::text, 57)"
        await self.source.execute(
            f"SET lock_timeout = {_LOCK_MILLISECONDS}; SET idle_session_timeout = {_SILENT_MILLISECONDS}"
        )
        try:
            await self.source.execute(f"SELECT pg_advisory_lock({lock})", self.org_id)
            try:
                yield
            finally:
                await self.source.execute(f"SELECT pg_advisory_unlock({lock})", self.org_id)
        finally:
            await self.source.execute("RESET lock_timeout; RESET idle_session_timeout")

    async def caught_up(self, observer: asyncpg.Connection, seconds: float) -> None:
        """Wait until all that is committed at the source by now is there. Raises TimeoutError."""
        async with observer.transaction():
            await observer.execute("SET LOCAL synchronous_commit = on")
            await observer.execute("SELECT pg_logical_emit_message(true, 'crm_move', '')")
        reached = await observer.fetchval("SELECT pg_current_wal_flush_lsn()::text")
        question = "SELECT confirmed_flush_lsn >= $1::text::pg_lsn FROM pg_replication_slots WHERE slot_name = $2"
        async with asyncio.timeout(seconds):
            while not await observer.fetchval(question, reached, self.name):  # noqa: ASYNC110  # another process
                await asyncio.sleep(PAUSE_SECONDS)

    async def cut(self) -> None:
        """End the subscription, the slot and the publication, as far as they are there."""
        await end_subscription(self.target, self.name)
        await end_publication(self.source, self.name)


async def end_subscription(target: asyncpg.Connection, name: str) -> None:
    """End a subscription without asking the server that it follows."""
    is_there = await target.fetchval(
        "SELECT true FROM pg_subscription WHERE subname = $1 AND subdbid = "
        "(SELECT oid FROM pg_database WHERE datname = current_database())",
        name,
    )
    if is_there:
        await target.execute(f"ALTER SUBSCRIPTION {name} DISABLE")
        await target.execute(f"ALTER SUBSCRIPTION {name} SET (slot_name = NONE)")
        await target.execute(f"DROP SUBSCRIPTION {name}")


async def end_publication(source: asyncpg.Connection, name: str) -> None:
    """End a publication and its slots, those of tables that were being copied among them."""
    slots = (
        "SELECT slot_name, active_pid FROM pg_replication_slots WHERE slot_name = $1 AND database = current_database()"
    )
    async with asyncio.timeout(30):
        while (slot := await source.fetchrow(slots, name)) is not None:
            if slot["active_pid"] is None:
                await source.execute("SELECT pg_drop_replication_slot($1)", name)
            else:
                await source.execute("SELECT pg_terminate_backend($1)", slot["active_pid"])
                await asyncio.sleep(0.02)
    await source.execute(f"DROP PUBLICATION IF EXISTS {name}")


async def hold_still(connection: asyncpg.Connection) -> None:
    """Have the connection see what is there now, until its transaction ends."""
    await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1 FROM pg_class LIMIT 1")


async def identity(connection: asyncpg.Connection) -> tuple[int, str]:
    """Which database of which server it is, whatever its address."""
    row = await connection.fetchrow("SELECT system_identifier, current_database() AS name FROM pg_control_system()")
    return row["system_identifier"], row["name"]


async def sums(connection: asyncpg.Connection, org_id: str, tables: Sequence[str]) -> Sums:
    """What the rows of each table come to: equal where every column of every row is."""
    found = {}
    columns = await connection.fetch(
        "SELECT attrelid::regclass::text AS name, array_agg(attname::text ORDER BY attname) AS columns "
        "FROM pg_attribute WHERE attrelid = ANY ($1::text[]::regclass[]) AND attnum > 0 AND NOT attisdropped "
        "GROUP BY attrelid",
        list(tables),
    )
    for table, names in columns:  # some eighty
        row = ", ".join(f'"{name}"' for name in names)
        half = "coalesce(sum(('x' || substr(hash, {start}, 16))::bit(64)::bigint::numeric), 0)::text"
        counted = await connection.fetchrow(
            f"SELECT count(*) AS rows, {half.format(start=1)} AS first, {half.format(start=17)} AS second "  # noqa: S608  # names of our tables
            f"FROM (SELECT md5(ROW({row})::text) AS hash FROM {table} WHERE org_id = $1) hashed",
            org_id,
        )
        found[table] = (counted["rows"], int(counted["first"]), int(counted["second"]))
    return found


def differing(one: Sums, other: Sums) -> list[str]:
    """The tables whose rows are not the same."""
    return sorted(table for table in one.keys() | other.keys() if one.get(table) != other.get(table))


async def delete_rows(connection: asyncpg.Connection, org_id: str, tables: Sequence[str]) -> int:
    """Delete the organization's rows on a server that it does not lie on; how many there were. No trigger fires."""
    number = 0
    any_of = "SELECT '{0}' AS name WHERE EXISTS (SELECT FROM {0} WHERE org_id = $1)"
    question = " UNION ALL ".join(any_of.format(table) for table in tables)
    filled = {row["name"] for row in await connection.fetch(question, org_id)}
    for table in [table for table in tables if table in filled]:  # a transaction each, so that nobody waits for all
        async with connection.transaction():
            await connection.execute("SET LOCAL session_replication_role = replica")
            done = await connection.execute(f"DELETE FROM {table} WHERE org_id = $1", org_id)  # noqa: S608  # as above
            number += int(done.rpartition(" ")[2])
    return number
