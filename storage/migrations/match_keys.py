"""The triggers that wrote match keys from revision 0030 until 0061, for the migrations that make or take them away.

A record has a key for each thing that says something of it; a change touches the keys that it changes alone. Most keys
are one record's alone, and nothing is counted of these. On PostgreSQL they run at the end of the transaction: by then
every writer holds the organization's event counter, so that two that share several keys never wait for each other
(decision 431). Whoever makes many records there has the keys of all written as one set (decision 1050).
"""

# ruff: noqa: S608  # no value stands in these texts, only names of our own tables and columns

from collections.abc import Iterator
from dataclasses import dataclass

_LONGEST = 300
"""Characters of an address or a domain: an index holds no more of a text of any script."""
LATER = "crm.match_keys_later"
"""The setting of PostgreSQL that is `on` while records are made whose keys are written as a set behind them."""


@dataclass(frozen=True, slots=True)
class Matched:
    """Says how the records of a table are matched: `keys` are expressions of a row `{0}`, each with its condition.

    `read` are the columns that these are made of.
    """

    table: str
    kind: str
    keys: tuple[tuple[str, str], ...]
    read: tuple[str, ...]

    def keys_of(self, row: str) -> list[str]:
        """The expressions of a row's keys: NULL for what says nothing of it."""
        return [f"CASE WHEN {wanted} THEN {key} END".format(row) for key, wanted in self.keys]

    @property
    def function(self) -> str:
        """The name of what writes the keys of rows on PostgreSQL: of one as a trigger, `_of` many as a set."""
        return f"crm_match_{self.table}"


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
        yield f"DROP FUNCTION {matched.function}()"
        yield f"DROP FUNCTION IF EXISTS {matched.function}_of(uuid, uuid[])"


def backfill(matched: Matched) -> Iterator[str]:
    """The statements that write the keys of the records there are, of the organization `:organization`."""
    each = _each(matched, "t", f" FROM {matched.table} AS t WHERE t.org_id = :organization AND")
    yield f"INSERT INTO match_keys (org_id, kind, key, record_id) {each}"
    yield (
        "INSERT INTO match_groups (org_id, kind, key, sign, size)"
        " SELECT org_id, kind, key, substr(key, 1, 1), count(*) FROM match_keys"
        f" WHERE org_id = :organization AND kind = '{matched.kind}' GROUP BY org_id, kind, key HAVING count(*) > 1"
    )


def _each(matched: Matched, row: str, source: str, unlike: str = "") -> str:
    """Selects the keys of a row; those alone that another one does not have, if it is told."""
    selects = [
        f"SELECT {row}.org_id AS org_id, '{matched.kind}' AS kind, {key} AS key, {row}.id AS record_id"
        f"{source} ({wanted})" + (f" AND ({key}) IS NOT ({other})" if unlike else "")
        for (key, wanted), other in zip(
            ((key.format(row), wanted.format(row)) for key, wanted in matched.keys),
            matched.keys_of(unlike),
            strict=True,
        )
    ]
    return " UNION ALL ".join(selects)


def _differs(matched: Matched, operator: str) -> str:
    return " OR ".join(f"OLD.{name} {operator} NEW.{name}" for name in matched.read)


def _shared(matched: Matched, organization: str, record: str, keys: str) -> str:
    """Counts that a record has keys, where others have them, too: the second counts the first as well.

    The look for another one is no EXISTS, which PostgreSQL would join, by a plan for the few rows that there are now.
    """
    kind = f"'{matched.kind}'"
    return (
        "INSERT INTO match_groups (org_id, kind, key, sign, size)"
        f" SELECT {organization}, {kind}, k.key, substr(k.key, 1, 1), 2 FROM ({keys}) AS k"
        f" WHERE (SELECT 1 FROM match_keys AS m WHERE m.org_id = {organization} AND m.kind = {kind}"
        f" AND m.key = k.key AND m.record_id <> {record} LIMIT 1) IS NOT NULL"
        " ON CONFLICT (org_id, kind, key) DO UPDATE SET size = match_groups.size + 1"
    )


def _sqlite(matched: Matched) -> Iterator[str]:
    def put(unlike: str = "") -> str:
        keys = _each(matched, "NEW", " WHERE", unlike)
        return (
            f"{_shared(matched, 'NEW.org_id', 'NEW.id', keys)};"
            f" INSERT INTO match_keys (org_id, kind, key, record_id) {keys};"
        )

    def drop(unlike: str = "") -> str:
        keys = f"SELECT key FROM ({_each(matched, 'OLD', ' WHERE', unlike)})"
        own = f"org_id = OLD.org_id AND kind = '{matched.kind}' AND key IN ({keys})"
        return (
            f"UPDATE match_groups SET size = size - 1 WHERE {own}; DELETE FROM match_groups WHERE {own} AND size <= 1;"
            f" DELETE FROM match_keys WHERE {own} AND record_id = OLD.id;"
        )

    yield f"CREATE TRIGGER match_{matched.table}_insert AFTER INSERT ON {matched.table} BEGIN {put()} END"
    yield (
        f"CREATE TRIGGER match_{matched.table}_update AFTER UPDATE OF {', '.join(matched.read)} ON {matched.table}"
        f" WHEN {_differs(matched, 'IS NOT')} BEGIN {drop('NEW')} {put('OLD')} END"
    )
    yield f"CREATE TRIGGER match_{matched.table}_delete AFTER DELETE ON {matched.table} BEGIN {drop()} END"


def _postgresql(matched: Matched) -> Iterator[str]:
    yield _of_one(matched)
    yield _of_many(matched)
    for event, timing, when in (
        ("insert", "INSERT", f" WHEN (current_setting('{LATER}', true) IS DISTINCT FROM 'on')"),
        ("update", f"UPDATE OF {', '.join(matched.read)}", f" WHEN ({_differs(matched, 'IS DISTINCT FROM')})"),
        ("delete", "DELETE", ""),
    ):
        yield (
            f"CREATE CONSTRAINT TRIGGER match_{matched.table}_{event} AFTER {timing} ON {matched.table}"
            f" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW{when} EXECUTE FUNCTION {matched.function}()"
        )


def _of_one(matched: Matched) -> str:
    """The trigger. Its keys are variables, no array: a plan that is made once is as good then as one for these values.

    Looks are by index: the first call may find the tables empty, and its connection fill them.
    """
    kind, places = f"'{matched.kind}'", range(len(matched.keys))
    olds, news = ([f"{letter}{n}" for n in places] for letter in "on")
    declared = " ".join(f"{name} text;" for name in (*olds, *news))
    set_news = " ".join(f"{news[n]} := {key};" for n, key in enumerate(matched.keys_of("NEW")))
    set_olds = " ".join(f"{olds[n]} := {key};" for n, key in enumerate(matched.keys_of("OLD")))
    same = " ".join(f"IF {olds[n]} = {news[n]} THEN {olds[n]} := NULL; {news[n]} := NULL; END IF;" for n in places)
    these = f"(VALUES {', '.join(f'({name})' for name in news)}) AS k (key)"
    of_old = f"org_id = OLD.org_id AND kind = {kind} AND key IN ({', '.join(olds)})"
    return f"""
CREATE FUNCTION {matched.function}() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE {declared}
BEGIN
  IF TG_OP <> 'DELETE' THEN {set_news} END IF;
  IF TG_OP <> 'INSERT' THEN {set_olds} {same} END IF;
  IF COALESCE({", ".join(olds)}) IS NOT NULL THEN
    DELETE FROM match_keys WHERE {of_old} AND record_id = OLD.id;
    PERFORM 1 FROM match_groups WHERE {of_old};
    IF FOUND THEN
      UPDATE match_groups SET size = size - 1 WHERE {of_old};
      DELETE FROM match_groups WHERE {of_old} AND size <= 1;
    END IF;
  END IF;
  IF COALESCE({", ".join(news)}) IS NOT NULL THEN
    INSERT INTO match_keys (org_id, kind, key, record_id)
    SELECT NEW.org_id, {kind}, k.key, NEW.id FROM {these} WHERE k.key IS NOT NULL;
    PERFORM 1 FROM match_keys
    WHERE org_id = NEW.org_id AND kind = {kind} AND key IN ({", ".join(news)}) AND record_id <> NEW.id LIMIT 1;
    IF FOUND THEN
      {_shared(matched, "NEW.org_id", "NEW.id", f"SELECT k.key FROM {these} WHERE k.key IS NOT NULL")};
    END IF;
  END IF;
  RETURN NULL;
END $$"""


def _of_many(matched: Matched) -> str:
    """Writes the keys of new records as a set. What others have is as it was before: it is looked for first."""
    kind = f"'{matched.kind}'"
    keys = _each(matched, "t", f" FROM {matched.table} AS t WHERE t.org_id = organization AND t.id = ANY (records) AND")
    had = "SELECT c.size FROM match_groups AS c WHERE c.org_id = organization AND c.kind = {0} AND c.key = k.key"
    one = "SELECT 1 FROM match_keys AS m WHERE m.org_id = organization AND m.kind = {0} AND m.key = k.key LIMIT 1"
    return f"""
CREATE FUNCTION {matched.function}_of(organization uuid, records uuid[]) RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
  WITH made AS (INSERT INTO match_keys (org_id, kind, key, record_id) {keys} RETURNING key),
  k AS MATERIALIZED (SELECT key, count(*) AS number FROM made GROUP BY key),
  counted AS (
    SELECT k.key, k.number + COALESCE(({had.format(kind)}), ({one.format(kind)}), 0) AS size FROM k)
  INSERT INTO match_groups (org_id, kind, key, sign, size)
  SELECT organization, {kind}, c.key, substr(c.key, 1, 1), c.size FROM counted AS c WHERE c.size > 1
  ON CONFLICT (org_id, kind, key) DO UPDATE SET size = EXCLUDED.size;
  RETURN true;
END $$"""
