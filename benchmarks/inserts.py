"""Measures what each index of `activities` and of the search entries costs a row that is inserted, and its size.

Rows as new meetings would be are inserted in a transaction that is rolled back: without any index, and in turns with
one, the others being dropped within the same transaction. Triggers and foreign keys rest meanwhile, since what they
take would hide what an index does; the whole as the service writes it is told beside that, and what it takes less
without a trigger. Told is the processor time of the connection's own process, by the system's clock of it: it waits for
nobody, and others of the machine change it little (decision 1178).
"""

# ruff: noqa: S608  # no value of others stands in these texts, only names of our own tables and columns

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import asyncpg

from benchmarks.cores import fine_seconds
from benchmarks.grown import DATABASE, columns_of
from benchmarks.postgresql import OWNER, Server

WHOLE, ROW, ALL = "as the service writes it", "the row alone", "the row with all its indexes"
ENTRY, BOTH = "its search entry alone", "its search entry with both indexes"
PARTS = (WHOLE, ALL, ROW, BOTH, ENTRY)
"""The parts that are told beside the indexes and the triggers."""
_DEAD = 0.1
"""The share of dead rows behind which they are cleared away: what was rolled back is no growth of the table."""

_INDEXES = """SELECT i.relname AS name, pg_relation_size(i.oid) AS bytes, t.relname AS of_table, c.conname AS belongs
FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid JOIN pg_class AS t ON t.oid = x.indrelid
LEFT JOIN pg_constraint AS c ON c.conindid = i.oid AND c.conrelid = t.oid
WHERE t.relname IN ('activities', 'search_entries') ORDER BY 3, 1"""
_TRIGGERS = """SELECT tgname AS name FROM pg_trigger
WHERE tgrelid = 'activities'::regclass AND NOT tgisinternal AND tgname LIKE '%\\_insert' ORDER BY 1"""
_FRESH = """CREATE TEMP TABLE fresh AS
SELECT a.*, e.kind, e.size, e.words, '-7' || substr(md5(n::text), 1, 3) || '-a' || substr(md5(n::text), 4, 3) || '-'
  || substr(md5(n::text), 7, 12) AS tail, n AS place,
  CASE WHEN a.due_at - a.created_at < interval '30 days' THEN a.due_at - a.created_at
    WHEN a.due_at IS NOT NULL THEN n % 120 * interval '1 day' END AS ahead
FROM (SELECT generate_series(0, {rows} - 1) AS n) AS s
JOIN (SELECT *, row_number() OVER () - 1 AS number FROM
  (SELECT * FROM activities WHERE type = 'meeting' LIMIT {known}) AS few) AS a ON a.number = n % {known}
JOIN search_entries AS e ON e.org_id = a.org_id AND e.id = a.id AND e.kind = 5 ORDER BY n"""
_ID = "(left(h, 8) || '-' || substr(h, 9) || tail)::uuid"
_MADE = "timestamptz '2026-11-01Z' + p * interval '1 second'"
_VALUES: Mapping[str, str] = {
    "id": _ID,
    "created_at": _MADE,
    "updated_at": _MADE,
    "due_at": f"date_bin('15 minutes', {_MADE} + ahead, '2000-01-01Z')",
    "completed_at": f"CASE WHEN completed_at IS NOT NULL THEN {_MADE} END",
}
_FROM = (
    "FROM (SELECT *, {before} + place AS p, lpad(to_hex(1793491200000 + {before} + place), 12, '0') AS h FROM fresh)"
    " AS f ORDER BY place"
)
"""New identifiers and moments for each run, behind those of the runs before, as they come with time."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Says what one index, or another part, takes of each row."""

    microseconds: float
    bytes: float
    """On the disk, of each row that is there."""
    log: float
    """Bytes of the write-ahead log, right behind a checkpoint, so that pages that are touched come whole."""

    def less(self, other: Cost) -> Cost:
        """Returns what it has more than another."""
        return Cost(self.microseconds - other.microseconds, self.bytes, self.log - other.log)


class _Inserting:
    """A table that rows are inserted into again and again, and where none stay."""

    def __init__(self, connection: asyncpg.Connection, rows: int, there: int) -> None:
        self.connection, self.rows, self.there = connection, rows, there
        self._before = self._dead = 0
        self.columns: Sequence[str] = ()

    async def prepare(self) -> None:
        """Have new rows ready, so that a run does nothing but insert them."""
        self.columns = await columns_of(self.connection, "activities")
        await self.connection.execute(_FRESH.format(rows=self.rows, known=min(self.there, self.rows)))
        await self.connection.execute(f"GRANT SELECT ON fresh TO {OWNER}")
        self.organization = await self.connection.fetchval("SELECT org_id::text FROM fresh LIMIT 1")

    async def run(self, table: str, *first: str) -> Cost:
        """One run, behind these statements of its transaction: microseconds of a row, no size, and bytes of its log."""
        connection = self.connection
        if self._dead > _DEAD * self.there:
            await connection.execute("VACUUM activities, search_entries, meeting_cell_deltas")
            self._dead = 0
        await connection.execute("CHECKPOINT")
        transaction = connection.transaction()
        await transaction.start()
        for statement in first:
            await connection.execute(statement)
        pid, statement = connection.get_server_pid(), self._statement(table)
        log = await connection.fetchval("SELECT pg_current_wal_insert_lsn()::text")
        spent = fine_seconds(pid)
        await connection.execute(statement)
        spent = fine_seconds(pid) - spent
        written = await connection.fetchval("SELECT pg_current_wal_insert_lsn() - $1::text::pg_lsn", log)
        await transaction.rollback()
        self._before += self.rows
        self._dead += self.rows
        return Cost(spent * 1e6 / self.rows, 0.0, float(written) / self.rows)

    def _statement(self, table: str) -> str:
        source = _FROM.format(before=self._before)
        if table == "search_entries":
            return f"INSERT INTO search_entries SELECT org_id, kind, {_ID}, {_MADE}, size, words {source}"
        values = ", ".join(_VALUES.get(name, name) for name in self.columns)
        return f"INSERT INTO activities ({', '.join(self.columns)}) SELECT {values} {source}"


_RESTING = "SET LOCAL session_replication_role = replica"


def _without(index: asyncpg.Record) -> str:
    """The statement that drops an index; those of a constraint go with it, and with what refers to it."""
    if index["belongs"] is None:
        return f"DROP INDEX {index['name']}"
    return f"ALTER TABLE {index['of_table']} DROP CONSTRAINT {index['belongs']} CASCADE"


async def costs(server: Server, there: int, rows: int, rounds: int) -> dict[str, Cost]:
    """Measures what each part takes of a row, by its name: the median of the rounds."""
    async with server.connected(DATABASE) as connection:
        inserting = _Inserting(connection, rows, there)
        await inserting.prepare()
        indexes, triggers = await connection.fetch(_INDEXES), await connection.fetch(_TRIGGERS)
        taken: dict[str, list[Cost]] = defaultdict(list)
        for _ in range(rounds):  # in turns, so that a slow minute hits all
            await _whole(inserting, [trigger["name"] for trigger in triggers], taken)
            for table, bare, full in (("activities", ROW, ALL), ("search_entries", ENTRY, BOTH)):
                await _table(inserting, [i for i in indexes if i["of_table"] == table], taken, (table, bare, full))
        numbers = {
            table: await connection.fetchval(f"SELECT count(*) FROM {table}")  # two
            for table in ("activities", "search_entries")
        }
    sizes = {index["name"]: index["bytes"] / numbers[index["of_table"]] for index in indexes}
    return {
        name: Cost(
            statistics.median(one.microseconds for one in found),
            sizes.get(name, 0.0),
            statistics.median(one.log for one in found),
        )
        for name, found in taken.items()
    }


async def _whole(inserting: _Inserting, triggers: Sequence[str], taken: Mapping[str, list[Cost]]) -> None:
    """One round of the whole, and of what each trigger is of it."""
    role = (f"SET LOCAL ROLE {OWNER}", f"SELECT set_config('crm.org_id', '{inserting.organization}', true)")
    whole = await inserting.run("activities", *role)
    taken[WHOLE].append(whole)
    for name in triggers:
        less = await inserting.run("activities", f"ALTER TABLE activities DISABLE TRIGGER {name}", *role)
        taken[name].append(whole.less(less))


async def _table(
    inserting: _Inserting,
    indexes: Sequence[asyncpg.Record],
    taken: Mapping[str, list[Cost]],
    names: tuple[str, str, str],
) -> None:
    """One round of a table's rows: without indexes, with all, and with each alone."""
    table, bare, full = names
    none = await inserting.run(table, _RESTING, *map(_without, indexes))
    taken[bare].append(none)
    taken[full].append(await inserting.run(table, _RESTING))
    for index in indexes:
        one = await inserting.run(table, _RESTING, *(_without(other) for other in indexes if other is not index))
        taken[index["name"]].append(one.less(none))
