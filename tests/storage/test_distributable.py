"""What a database that is distributed by organization would refuse, as the catalogue of a migrated database shows it.

The rules are those that Citus publishes for distributed, reference and local tables. Each exception stands in a list
with what would be done about it; the lists may shrink and not grow.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import asyncpg
import pytest
import sqlglot
from sqlalchemy import make_url

from storage.base import new_id
from storage.match_triggers import MATCHED
from storage.moves import copied_tables
from storage.placement import Placement, placements
from storage.tenancy import guard
from tests.support.distribution import KNOWN, Refusal, refusals
from tests.support.distribution_watch import complain
from tests.support.postgresql import Server

on_postgresql = pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)

PLACES = placements()
DISTRIBUTED = {name for name, place in PLACES.items() if place is Placement.DISTRIBUTED}
"""Tables of an organization."""
LOCAL_TO_DISTRIBUTED = {
    "fk_job_queue_org_id_job_id": "a queue for each server, or none of the key: a job is looked up when it is taken",
    "fk_media_org_id_artifact_id": "the organization becomes a part of the public key, and the table is distributed",
    "fk_webhook_watches_org_id_webhook_id": "its rows are an organization's: distributed, and each server is asked",
}
"""Foreign keys from a local table to a distributed one, or the other way round, with what would be done about each."""
MATCHING = [(matched, event) for matched in MATCHED for event in matched.events()]
"""The triggers that count who shares a match key, by what they are called after."""
_SAME_SERVER = "they write rows of the same organization, which lie on the same server"
TRIGGERS = dict.fromkeys(
    (
        *(f"crm_search_{noun}" for noun in ("accounts", "activities", "contacts", "deals", "files", "leads")),
        *("crm_deal_cells", "crm_meeting_cells", "crm_tag_link"),
        *(f"{matched.function}_{event}" for matched, event in MATCHING),
    ),
    _SAME_SERVER,
)
"""Functions that triggers of distributed tables call, with why they may; the engine has to be told to allow them."""
MADE = {
    ("activities", "column occurred_at"): "of its own row, and not the key",
    ("record_changes", "column former_owner"): "of its own row, and not the key",
    ("contacts", "column match_name"): "of its own row, and not the key",
    **{
        (m.table, f"constraint match_{m.table}_{event}"): "a trigger of those above, for changes within one transaction"
        for m, event in MATCHING
    },
}
"""Columns that are made of others, and triggers at the end of a transaction, with why they may be there."""


@pytest.fixture
async def catalogue(postgresql: Server, database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await postgresql.connect(str(make_url(database_url).database))
    yield connection
    await connection.close()


@on_postgresql
async def test_every_table_is_placed(catalogue: asyncpg.Connection) -> None:
    found = await catalogue.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert {row["tablename"] for row in found} - {"alembic_version"} == PLACES.keys()


@on_postgresql
async def test_the_organization_leads_every_key_of_a_distributed_table(catalogue: asyncpg.Connection) -> None:
    """Nothing can be unique across the servers but what begins with where it lies."""
    rows = await catalogue.fetch(
        """SELECT c.relname AS table, i.indisprimary AS is_primary, a.attname AS first,
                  pg_get_indexdef(i.indexrelid) AS text,
                  'org_id' = ANY (ARRAY(SELECT k.attname FROM pg_attribute k
                                        WHERE k.attrelid = i.indrelid AND k.attnum = ANY (i.indkey))) AS has
           FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
           JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
           WHERE i.indisunique AND c.relnamespace = 'public'::regnamespace"""
    )
    checked = [row for row in rows if row["table"] in DISTRIBUTED]
    assert {row["table"] for row in checked if row["is_primary"]} == DISTRIBUTED
    assert [row["text"] for row in checked if not row["has"]] == []
    assert [row["text"] for row in checked if row["is_primary"] and row["first"] != "org_id"] == []
    columns = await catalogue.fetch(
        """SELECT table_name, udt_name, is_nullable FROM information_schema.columns
           WHERE table_schema = 'public' AND column_name = 'org_id'"""
    )
    kinds = {row["table_name"]: (row["udt_name"], row["is_nullable"]) for row in columns}
    assert {name for name in DISTRIBUTED if kinds.get(name) != ("uuid", "NO")} == set()


@on_postgresql
async def test_rows_that_move_are_told_apart_with_their_organization(catalogue: asyncpg.Connection) -> None:
    """A move chooses rows by it: of any other table nobody could change a row while one organization moves."""
    rows = await catalogue.fetch(
        """SELECT c.relname AS name FROM pg_class c
           WHERE c.relname = ANY ($1::text[]) AND c.relreplident <> 'f' AND NOT EXISTS
             (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
              WHERE i.indrelid = c.oid AND i.indisprimary AND a.attname = 'org_id')""",
        copied_tables(),
    )
    assert [row["name"] for row in rows] == []


@on_postgresql
async def test_foreign_keys_lead_to_the_same_server(catalogue: asyncpg.Connection) -> None:
    rows = await catalogue.fetch(
        """SELECT f.conname AS name, c.relname AS source, t.relname AS target, f.confdeltype::text AS deletes,
                  ARRAY(SELECT attname::text FROM unnest(f.conkey) WITH ORDINALITY k(n, place)
                        JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.n ORDER BY k.place) AS columns,
                  ARRAY(SELECT attname::text FROM unnest(f.confkey) WITH ORDINALITY k(n, place)
                        JOIN pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.n ORDER BY k.place) AS others,
                  ARRAY(SELECT attname::text FROM unnest(f.confdelsetcols) AS n
                        JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = n) AS emptied
           FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid JOIN pg_class t ON t.oid = f.confrelid
           WHERE f.contype = 'f'"""
    )
    assert rows
    crossing, wrong = set(), []
    for row in rows:
        pair = (PLACES[row["source"]], PLACES[row["target"]])
        match pair:
            case (_, Placement.REFERENCE) | (Placement.LOCAL, Placement.LOCAL):
                continue
            case (Placement.DISTRIBUTED, Placement.DISTRIBUTED):
                together = ("org_id", "org_id") in zip(row["columns"], row["others"], strict=True)
                empties = row["deletes"] in "nd" and ("org_id" in row["emptied"] or not row["emptied"])
                if not together or empties:
                    wrong.append(row["name"])
            case _:
                crossing.add(row["name"])
    assert wrong == []
    assert crossing == LOCAL_TO_DISTRIBUTED.keys()


@on_postgresql
async def test_nothing_of_a_distributed_table_is_counted_or_made_on_one_server(catalogue: asyncpg.Connection) -> None:
    """No sequences, identities, generated columns, exclusions, deferred constraints or indexes on expressions."""
    rows = await catalogue.fetch(
        """WITH own AS (SELECT oid, relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r')
           SELECT relname AS table, 'column ' || attname AS what FROM pg_attribute JOIN own ON oid = attrelid
           WHERE attidentity <> '' OR attgenerated <> ''
           UNION ALL SELECT relname, 'constraint ' || conname FROM pg_constraint f JOIN own ON own.oid = conrelid
           WHERE contype = 'x' OR condeferrable AND contype <> 'f'
           UNION ALL SELECT relname, pg_get_indexdef(indexrelid) FROM pg_index JOIN own ON oid = indrelid
           WHERE indexprs IS NOT NULL"""
    )
    assert {(row["table"], row["what"]) for row in rows if row["table"] in DISTRIBUTED} == MADE.keys()
    assert await catalogue.fetchval("SELECT count(*) FROM pg_sequences WHERE schemaname = 'public'") == 0


@on_postgresql
async def test_policies_have_no_statement_of_their_own(catalogue: asyncpg.Connection) -> None:
    rows = await catalogue.fetch(
        "SELECT tablename, coalesce(qual, '') || coalesce(with_check, '') AS text FROM pg_policies"
    )
    assert {row["tablename"] for row in rows} >= DISTRIBUTED
    assert [row["tablename"] for row in rows if re.search(r"\bselect\b", row["text"], re.IGNORECASE)] == []


@on_postgresql
async def test_triggers_of_distributed_tables_are_known(catalogue: asyncpg.Connection) -> None:
    rows = await catalogue.fetch(
        """SELECT DISTINCT p.proname AS function FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid
           JOIN pg_proc p ON p.oid = g.tgfoid WHERE NOT g.tgisinternal AND c.relname = ANY ($1::text[])""",
        sorted(DISTRIBUTED),
    )
    assert {row["function"] for row in rows} == TRIGGERS.keys()


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        ("SELECT id FROM deals WHERE org_id = $1 FOR UPDATE", set()),
        ("SELECT id FROM job_queue FOR UPDATE SKIP LOCKED", set()),
        ("UPDATE deals SET name = $2 WHERE org_id = $1", set()),
        ("UPDATE deals SET name = random()::text WHERE org_id = $1", {Refusal.VOLATILE}),
        (
            "WITH made AS (INSERT INTO tags (org_id) VALUES ($1) RETURNING id) SELECT id FROM made",
            {Refusal.WRITES_WITHIN},
        ),
        ("INSERT INTO tags (org_id, id) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", {Refusal.CONFLICT}),
        ("INSERT INTO tags (org_id, id) VALUES ($1, $2) ON CONFLICT (org_id, id) DO NOTHING", set()),
        ("SELECT 1 FROM deals d, tags t WHERE d.org_id = $1 AND t.org_id = $2", {Refusal.SEVERAL}),
        ("SELECT 1 FROM deals d JOIN tags t ON t.org_id = d.org_id WHERE d.org_id = $1", set()),
        ("SELECT 1 FROM deals d WHERE d.org_id = $1 AND d.org_id = $2", set()),
        ("SELECT 1 FROM jobs j JOIN job_queue q ON q.org_id = j.org_id WHERE j.org_id = $1", {Refusal.MIXED}),
    ],
)
def test_what_is_refused_is_seen(statement: str, refused: set[Refusal]) -> None:
    [tree] = sqlglot.parse(guard.numbered(statement, "postgresql"), dialect="postgres")
    assert tree is not None
    assert refusals(tree) == refused


def test_the_exceptions_only_shrink() -> None:
    """Who makes one of them unnecessary lowers the number."""
    assert len(KNOWN) <= 11


def test_a_test_fails_that_sends_what_is_refused() -> None:
    """Every statement of the suite is judged when it is read first."""
    statement = "SELECT 1 FROM deals d, tags t WHERE d.org_id = $1 AND t.org_id = $2 AND d.name = '{}'"
    guard.read(statement.format(new_id()), "sqlite")
    complain()
    guard.read(statement.format(new_id()), "postgresql")
    with pytest.raises(AssertionError, match="select deals"):
        complain()
    complain()
