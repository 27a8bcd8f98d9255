"""The triggers that write the match keys of accounts and contacts, and count who shares one, with the record itself.

A record has a key for each thing that says something of it; a change of other columns costs nothing. Most keys are one
record's alone, and nothing is counted of these. On PostgreSQL they run at the end of the transaction: by then every
writer holds the organization's event counter, so that two that share several keys never wait for each other
(decision 431).
"""

# ruff: noqa: S608  # no value stands in these texts, only names of our own tables and columns

from collections.abc import Iterator
from dataclasses import dataclass

_LONGEST = 300
"""Characters of an address or a domain: an index holds no more of a text of any script."""


@dataclass(frozen=True, slots=True)
class Matched:
    """Says how the records of a table are matched: `keys` are expressions of a row `{0}`, each with its condition.

    `read` are the columns that these are made of.
    """

    table: str
    kind: str
    keys: tuple[tuple[str, str], ...]
    read: tuple[str, ...]


_NAME = "trim(coalesce({0}.match_first_name, '') || ' ' || coalesce({0}.match_last_name, ''))"
ACCOUNTS = Matched(
    "accounts",
    "account",
    (
        (f"'b' || substr({{0}}.domain, 1, {_LONGEST})", "{0}.domain LIKE '%.%'"),
        ("'e' || {0}.match_name", "{0}.match_name <> ''"),
    ),
    ("domain", "match_name"),
)
CONTACTS = Matched(
    "contacts",
    "contact",
    (
        (f"'a' || substr({{0}}.folded_email, 1, {_LONGEST})", "{0}.folded_email <> ''"),
        ("'c' || {0}.match_phone", "{0}.match_phone <> ''"),
        (f"'d' || CAST({{0}}.account_id AS text) || ' ' || {_NAME}", f"{{0}}.account_id IS NOT NULL AND {_NAME} <> ''"),
        (f"'e' || {_NAME}", f"{_NAME} <> ''"),
    ),
    ("folded_email", "match_phone", "match_first_name", "match_last_name", "account_id"),
)
MATCHED = (ACCOUNTS, CONTACTS)


def triggers(dialect: str, matched: Matched) -> Iterator[str]:
    """The statements that keep a table's keys from now on."""
    return (_sqlite if dialect == "sqlite" else _postgresql)(matched)


def removal(dialect: str, matched: Matched) -> Iterator[str]:
    """The statements that take its triggers away."""
    on = "" if dialect == "sqlite" else f" ON {matched.table}"
    for event in ("insert", "update", "delete"):
        yield f"DROP TRIGGER match_{matched.table}_{event}{on}"
    if dialect == "postgresql":
        yield f"DROP FUNCTION crm_match_{matched.table}()"


def backfill(matched: Matched) -> Iterator[str]:
    """The statements that write the keys of the records there are, of the organization `:organization`."""
    each = _each(matched, "t", f" FROM {matched.table} AS t WHERE t.org_id = :organization AND")
    yield f"INSERT INTO match_keys (org_id, kind, key, record_id) {each}"
    yield (
        "INSERT INTO match_groups (org_id, kind, key, sign, size)"
        " SELECT org_id, kind, key, substr(key, 1, 1), count(*) FROM match_keys"
        f" WHERE org_id = :organization AND kind = '{matched.kind}' GROUP BY org_id, kind, key HAVING count(*) > 1"
    )


def _each(matched: Matched, row: str, source: str) -> str:
    """Selects the keys of a row."""
    selects = [
        f"SELECT {row}.org_id AS org_id, '{matched.kind}' AS kind, {key} AS key, {row}.id AS record_id"
        f"{source} ({wanted})"
        for key, wanted in ((key.format(row), wanted.format(row)) for key, wanted in matched.keys)
    ]
    return " UNION ALL ".join(selects)


def _differs(matched: Matched, operator: str) -> str:
    return " OR ".join(f"OLD.{name} {operator} NEW.{name}" for name in matched.read)


def _shared(matched: Matched, organization: str, record: str, keys: str) -> str:
    """Counts that a record has keys, where others have them, too: the second counts the first as well.

    The look for another one is no EXISTS, which PostgreSQL would join, by a plan for the few rows that there are now.
    """
    return (
        "INSERT INTO match_groups (org_id, kind, key, sign, size)"
        f" SELECT {organization}, '{matched.kind}', k.key, substr(k.key, 1, 1), 2 FROM ({keys}) AS k WHERE ("
        f"SELECT 1 FROM match_keys AS m WHERE m.org_id = {organization} AND m.kind = '{matched.kind}'"
        f" AND m.key = k.key AND m.record_id <> {record} LIMIT 1) IS NOT NULL"
        " ON CONFLICT (org_id, kind, key) DO UPDATE SET size = match_groups.size + 1"
    )


def _sqlite(matched: Matched) -> Iterator[str]:
    of_new = _each(matched, "NEW", " WHERE")
    own = f"org_id = OLD.org_id AND kind = '{matched.kind}'"
    its = f"{own} AND key IN (SELECT key FROM match_keys WHERE {own} AND record_id = OLD.id)"
    put = (
        f"{_shared(matched, 'NEW.org_id', 'NEW.id', of_new)};"
        f" INSERT INTO match_keys (org_id, kind, key, record_id) {of_new};"
    )
    drop = (
        f"UPDATE match_groups SET size = size - 1 WHERE {its}; DELETE FROM match_groups WHERE {its} AND size <= 1;"
        f" DELETE FROM match_keys WHERE {own} AND record_id = OLD.id;"
    )
    yield f"CREATE TRIGGER match_{matched.table}_insert AFTER INSERT ON {matched.table} BEGIN {put} END"
    yield (
        f"CREATE TRIGGER match_{matched.table}_update AFTER UPDATE OF {', '.join(matched.read)} ON {matched.table}"
        f" WHEN {_differs(matched, 'IS NOT')} BEGIN {drop} {put} END"
    )
    yield f"CREATE TRIGGER match_{matched.table}_delete AFTER DELETE ON {matched.table} BEGIN {drop} END"


def _postgresql(matched: Matched) -> Iterator[str]:
    kind, function = f"'{matched.kind}'", f"crm_match_{matched.table}()"
    keys = ", ".join(f"CASE WHEN {wanted} THEN {key} END" for key, wanted in matched.keys)
    # The plans are made once (they would be anew for each array otherwise), so this array is not unnested: nobody knows
    # then how long it is. They are by index: the first call may find the tables empty, and its connection fill them.
    places = ", ".join(f"(news[{place}])" for place in range(1, len(matched.keys) + 1))
    these = f"SELECT k FROM (VALUES {places}) AS v (k) WHERE k IS NOT NULL"
    shared = _shared(matched, "NEW.org_id", "NEW.id", "SELECT m.key FROM made AS m")
    yield f"""
CREATE FUNCTION {function} RETURNS trigger LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  news text[] := '{{}}';
  olds text[] := '{{}}';
  had text[];
BEGIN
  IF TG_OP <> 'DELETE' THEN
    news := array_remove(ARRAY[{keys.format("NEW")}], NULL);
  END IF;
  IF TG_OP <> 'INSERT' THEN
    olds := array_remove(ARRAY[{keys.format("OLD")}], NULL);
    had := olds;
    olds := ARRAY(SELECT k FROM unnest(olds) AS k WHERE k <> ALL (news));
    news := ARRAY(SELECT k FROM unnest(news) AS k WHERE k <> ALL (had));
  END IF;
  IF olds <> '{{}}' THEN
    DELETE FROM match_keys AS m
    WHERE m.org_id = OLD.org_id AND m.kind = {kind} AND m.key = ANY (olds || news) AND m.record_id = OLD.id;
    UPDATE match_groups AS c SET size = c.size - 1
    WHERE c.org_id = OLD.org_id AND c.kind = {kind} AND c.key = ANY (olds);
    IF FOUND THEN
      DELETE FROM match_groups AS c
      WHERE c.org_id = OLD.org_id AND c.kind = {kind} AND c.key = ANY (olds) AND c.size <= 1;
    END IF;
  END IF;
  IF news <> '{{}}' THEN
    WITH made AS (
      INSERT INTO match_keys (org_id, kind, key, record_id)
      SELECT NEW.org_id, {kind}, t.k, NEW.id FROM ({these}) AS t RETURNING key)
    {shared};
  END IF;
  RETURN NULL;
END $$"""
    for event, timing, when in (
        ("insert", "INSERT", ""),
        ("update", f"UPDATE OF {', '.join(matched.read)}", f" WHEN ({_differs(matched, 'IS DISTINCT FROM')})"),
        ("delete", "DELETE", ""),
    ):
        yield (
            f"CREATE CONSTRAINT TRIGGER match_{matched.table}_{event} AFTER {timing} ON {matched.table}"
            f" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW{when} EXECUTE FUNCTION {function}"
        )
