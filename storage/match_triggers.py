"""The triggers that write the match keys of accounts and contacts, and count who shares one, with the record itself.

A record has a key for each thing that says something of it; a change of other columns costs nothing. On PostgreSQL they
run at the end of the transaction: by then every writer holds the organization's event counter, so that two that share
several keys never wait for each other (decision 431).
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
        f" WHERE org_id = :organization AND kind = '{matched.kind}' GROUP BY org_id, kind, key"
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


def _sqlite(matched: Matched) -> Iterator[str]:
    of_new = _each(matched, "NEW", " WHERE")
    own = f"org_id = OLD.org_id AND kind = '{matched.kind}'"
    its = f"{own} AND key IN (SELECT key FROM match_keys WHERE {own} AND record_id = OLD.id)"
    put = (
        f"INSERT INTO match_keys (org_id, kind, key, record_id) {of_new};"
        " INSERT INTO match_groups (org_id, kind, key, sign, size)"
        f" SELECT org_id, kind, key, substr(key, 1, 1), 1 FROM ({of_new}) WHERE true"
        " ON CONFLICT (org_id, kind, key) DO UPDATE SET size = size + 1;"
    )
    drop = (
        f"UPDATE match_groups SET size = size - 1 WHERE {its}; DELETE FROM match_groups WHERE {its} AND size <= 0;"
        f" DELETE FROM match_keys WHERE {own} AND record_id = OLD.id;"
    )
    yield f"CREATE TRIGGER match_{matched.table}_insert AFTER INSERT ON {matched.table} BEGIN {put} END"
    yield (
        f"CREATE TRIGGER match_{matched.table}_update AFTER UPDATE OF {', '.join(matched.read)} ON {matched.table}"
        f" WHEN {_differs(matched, 'IS NOT')} BEGIN {drop} {put} END"
    )
    yield f"CREATE TRIGGER match_{matched.table}_delete AFTER DELETE ON {matched.table} BEGIN {drop} END"


def _postgresql(matched: Matched) -> Iterator[str]:
    keys = ", ".join(f"CASE WHEN {wanted} THEN {key} END" for key, wanted in matched.keys).format("NEW")
    kind, function = f"'{matched.kind}'", f"crm_match_{matched.table}()"
    yield f"""
CREATE FUNCTION {function} RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  news text[] := '{{}}';
  olds text[] := '{{}}';
BEGIN
  IF TG_OP <> 'DELETE' THEN
    news := array_remove(ARRAY[{keys}], NULL);
  ELSIF NOT EXISTS (SELECT 1 FROM organizations AS o WHERE o.id = OLD.org_id) THEN
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    WITH gone AS (
      DELETE FROM match_keys AS m
      WHERE m.org_id = OLD.org_id AND m.kind = {kind} AND m.record_id = OLD.id AND m.key <> ALL (news)
      RETURNING m.key)
    SELECT coalesce(array_agg(g.key ORDER BY g.key), '{{}}') INTO olds FROM gone AS g;
    UPDATE match_groups AS c SET size = c.size - 1
    WHERE c.org_id = OLD.org_id AND c.kind = {kind} AND c.key = ANY (olds);
    DELETE FROM match_groups AS c
    WHERE c.org_id = OLD.org_id AND c.kind = {kind} AND c.key = ANY (olds) AND c.size <= 0;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    WITH made AS (
      INSERT INTO match_keys (org_id, kind, key, record_id)
      SELECT NEW.org_id, {kind}, k, NEW.id FROM unnest(news) AS k ON CONFLICT DO NOTHING
      RETURNING key)
    INSERT INTO match_groups AS c (org_id, kind, key, sign, size)
    SELECT NEW.org_id, {kind}, m.key, substr(m.key, 1, 1), 1 FROM made AS m
    ON CONFLICT (org_id, kind, key) DO UPDATE SET size = c.size + 1;
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
