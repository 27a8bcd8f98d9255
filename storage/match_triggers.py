"""The triggers that count the accounts and contacts that share a match key, with the record itself (decision 431).

A key is a sign and the values of a record's own columns, which have an index: who shares one is looked up there, and
nothing is stored of a key that one record has alone (decision 1190). A change touches the keys that it changes alone.
On SQLite each change is counted when it is made. On PostgreSQL the triggers run at the end of the transaction: by then
every writer holds the organization's event counter, so that two that share several keys never wait for each other.
Whoever makes many records there has the keys of all counted as one set (decision 1050).
"""

# ruff: noqa: S608  # no value stands in these texts, only names of our own tables and columns

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LONGEST = 300
"""Characters of an address or a domain that is a sign: an index holds no more of a text of any script."""
IDENTIFIER = 36
"""The characters of an identifier in a key, which come first; a blank follows."""
LATER = "crm.match_keys_later"
"""The setting of PostgreSQL that is `on` while records are made whose keys are counted as a set behind them."""


@dataclass(frozen=True, slots=True)
class Sign:
    """Something that a record has and that another may have, too, such as its e-mail address.

    `letter` begins its keys. `columns` are what two records have alike, and `wanted` says of a row `{0}` whether it
    tells something. `written` are the columns that a writer names: one that is computed is none of these.
    """

    letter: str
    columns: tuple[str, ...]
    wanted: str
    written: tuple[str, ...]

    def key(self, row: str) -> str:
        """The expression of a row's key, which is a text whatever it tells."""
        values = [f"{row}.{name}" for name in reversed(self.columns)]
        return f"'{self.letter}' || " + " || ' ' || ".join([f"CAST({value} AS text)" for value in values])

    def key_if_any(self, row: str) -> str:
        """The expression of a row's key: NULL where it tells nothing."""
        return f"CASE WHEN {self.wanted.format(row)} THEN {self.key(row)} END"

    def alike(self, row: str, other: str) -> str:
        """The condition that two rows have it alike, by the index of its columns."""
        return " AND ".join(f"{row}.{name} = {other}.{name}" for name in ("org_id", *self.columns))

    def differs(self, operator: str) -> str:
        """The condition that a change changes it."""
        return " OR ".join(f"OLD.{name} {operator} NEW.{name}" for name in self.columns)


@dataclass(frozen=True, slots=True)
class Matched:
    """Says how the records of a table are matched: by their signs, the surest first."""

    table: str
    kind: str
    signs: tuple[Sign, ...]

    def parts(self) -> list[tuple[Sign, ...]]:
        """Its signs by their first column: whoever has another's name and account has its name, too."""
        firsts = dict.fromkeys(sign.columns[0] for sign in self.signs)
        return [tuple(sign for sign in self.signs if sign.columns[0] == first) for first in firsts]

    def events(self) -> list[str]:
        """Name what its triggers on PostgreSQL are of, by which they are called: a change has one for each part."""
        return ["insert", "delete", *(f"update_{part[0].letter}" for part in self.parts())]

    @property
    def function(self) -> str:
        """The beginning of the names of what counts keys on PostgreSQL."""
        return f"crm_match_{self.table}"


def _text(letter: str, column: str, wanted: str) -> Sign:
    return Sign(letter, (column,), f"{wanted} AND length({{0}}.{column}) <= {_LONGEST}", (column,))


ACCOUNTS = Matched(
    "accounts",
    "account",
    (
        _text("b", "domain", "{0}.domain LIKE '%.%'"),
        Sign("e", ("match_name",), "{0}.match_name <> ''", ("match_name",)),
    ),
)
_NAMED = ("match_first_name", "match_last_name")
CONTACTS = Matched(
    "contacts",
    "contact",
    (
        _text("a", "folded_email", "{0}.folded_email <> ''"),
        Sign("c", ("match_phone",), "{0}.match_phone <> ''", ("match_phone",)),
        Sign(
            "d",
            ("match_name", "account_id"),
            "{0}.match_name IS NOT NULL AND {0}.account_id IS NOT NULL",
            (*_NAMED, "account_id"),
        ),
        Sign("e", ("match_name",), "{0}.match_name IS NOT NULL", _NAMED),
    ),
)
MATCHED = (ACCOUNTS, CONTACTS)


def triggers(dialect: str, matched: Matched) -> Iterator[str]:
    """The statements that keep a table's groups from now on."""
    return (_sqlite if dialect == "sqlite" else _postgresql)(matched)


def removal(dialect: str, matched: Matched) -> Iterator[str]:
    """The statements that take its triggers away."""
    if dialect == "sqlite":
        for sign in matched.signs:
            for event in ("insert", "update", "delete"):
                yield f"DROP TRIGGER {_named(matched, sign, event)}"
        return
    for event in matched.events():
        yield f"DROP TRIGGER match_{matched.table}_{event} ON {matched.table}"
        yield f"DROP FUNCTION {matched.function}_{event}()"
    yield f"DROP FUNCTION {matched.function}_of(uuid, uuid[])"
    yield f"DROP FUNCTION {matched.function}_count(uuid, text, integer)"


def backfill(matched: Matched) -> Iterator[str]:
    """The statements that count the records there are, of the organization `:organization`, which has no groups yet."""
    for sign in matched.signs:
        yield (
            "INSERT INTO match_groups (org_id, kind, key, sign, size)"
            f" SELECT t.org_id, '{matched.kind}', {sign.key('t')}, '{sign.letter}', count(*) FROM {matched.table} AS t"
            f" WHERE t.org_id = :organization AND {sign.wanted.format('t')} GROUP BY t.org_id, {_of('t', sign)}"
            " HAVING count(*) > 1"
        )


def _named(matched: Matched, sign: Sign, event: str) -> str:
    return f"match_{matched.table}_{event}_{sign.letter}"


def _sqlite(matched: Matched) -> Iterator[str]:
    """A trigger for each sign and event: what a statement does not write takes none of its time."""
    for sign in matched.signs:
        wanted = sign.wanted.format("NEW")
        other = f"SELECT 1 FROM {matched.table} AS r WHERE {sign.alike('r', 'NEW')} AND r.id <> NEW.id"
        joins = f"{wanted} AND EXISTS ({other})"
        of_old = f"org_id = OLD.org_id AND kind = '{matched.kind}' AND key = {sign.key('OLD')}"
        leave = (
            f"UPDATE match_groups SET size = size - 1 WHERE {of_old};"
            f" DELETE FROM match_groups WHERE {of_old} AND size <= 1;"
        )
        join = (
            "INSERT INTO match_groups (org_id, kind, key, sign, size)"
            f" SELECT NEW.org_id, '{matched.kind}', {sign.key('NEW')}, '{sign.letter}', 2 WHERE {{}}"
            " ON CONFLICT (org_id, kind, key) DO UPDATE SET size = match_groups.size + 1;"
        )
        yield (
            f"CREATE TRIGGER {_named(matched, sign, 'insert')} AFTER INSERT ON {matched.table}"
            f" WHEN {joins} BEGIN {join.format('true')} END"
        )
        yield (
            f"CREATE TRIGGER {_named(matched, sign, 'update')} AFTER UPDATE OF {', '.join(sign.written)}"
            f" ON {matched.table} WHEN {sign.differs('IS NOT')} BEGIN {leave} {join.format(joins)} END"
        )
        yield (
            f"CREATE TRIGGER {_named(matched, sign, 'delete')} AFTER DELETE ON {matched.table}"
            f" WHEN {sign.wanted.format('OLD')} BEGIN {leave} END"
        )


def _postgresql(matched: Matched) -> Iterator[str]:
    yield _count(matched)
    yield _of_many(matched)
    every, parts = matched.signs, matched.parts()
    others = [_others(matched, part[0]) for part in parts]
    unless_later = f" WHEN (current_setting('{LATER}', true) IS DISTINCT FROM 'on')"
    yield from _trigger(matched, "insert", every, others, f"INSERT ON {matched.table}", unless_later)
    yield from _trigger(matched, "delete", every, [_groups(matched, every)], f"DELETE ON {matched.table}")
    for part, other in zip(parts, others, strict=True):
        timing = f"UPDATE OF {', '.join(part[0].written)} ON {matched.table}"
        yield from _trigger(matched, f"update_{part[0].letter}", part, [_groups(matched, part), other], timing)


_SETTINGS = "SET enable_seqscan = off SET plan_cache_mode = force_generic_plan"
"""One plan for all calls, by indexes: the first one may find the tables empty, and its connection fill them."""
_TRANSACTION = "pg_current_xact_id()::text || ' ' || extract(epoch FROM now())::text"
"""The mark of a transaction. The number alone may come again on a server that the rows are brought to."""


def _others(matched: Matched, sign: Sign) -> str:
    """Selects something where another record has what the new one has in the sign's first column."""
    return (
        f"SELECT 1 FROM {matched.table} AS r WHERE r.org_id = NEW.org_id"
        f" AND r.{sign.columns[0]} = NEW.{sign.columns[0]} AND r.id <> NEW.id"
    )


def _groups(matched: Matched, signs: Sequence[Sign]) -> str:
    """Selects something where the old record had a key that is counted."""
    keys = ", ".join(sign.key("OLD") for sign in signs)
    return f"SELECT 1 FROM match_groups WHERE org_id = OLD.org_id AND kind = '{matched.kind}' AND key IN ({keys})"


def _trigger(
    matched: Matched, event: str, signs: Sequence[Sign], looks: Sequence[str], timing: str, when: str = ""
) -> Iterator[str]:
    """Counts what a change of a record does to some of its keys, at the end of the transaction.

    Most keys are one record's alone. One statement finds that out, and nothing else is worked out then: on a single
    write each expression of a function takes longer than what it says.
    """
    name = f"{matched.function}_{event}"
    changes = " ".join(
        f"IF {sign.differs('IS DISTINCT FROM')} THEN"
        f" IF {sign.wanted.format('OLD')} THEN PERFORM {matched.function}_count(OLD.org_id, {sign.key('OLD')}, -1);"
        f" END IF; IF {sign.wanted.format('NEW')} THEN"
        f" PERFORM {matched.function}_count(NEW.org_id, {sign.key('NEW')}, 1); END IF; END IF;"
        for sign in signs
    )
    yield f"""
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql {_SETTINGS} AS $$
BEGIN
  PERFORM {" UNION ALL ".join(looks).removeprefix("SELECT ")} LIMIT 1;
  IF FOUND THEN {changes} END IF;
  RETURN NULL;
END $$"""
    yield (
        f"CREATE CONSTRAINT TRIGGER match_{matched.table}_{event} AFTER {timing}"
        f" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW{when} EXECUTE FUNCTION {name}()"
    )


def _count(matched: Matched) -> str:
    """Counts one record more or less that has a key, at the end of a transaction, of which each change is told once.

    By then the table has all of the transaction, so whatever is counted from it is right for good: it is marked, and
    what else the transaction tells of the key is passed over (decision 1191). A group that was there needs no count of
    its records: what is told comes on top of it. What a set of new records counted before the end (`-`) is counted
    again.
    """
    kind = f"'{matched.kind}'"
    own = f"org_id = organization AND kind = {kind} AND key = counted"
    numbers = " ".join(
        f"WHEN '{sign.letter}' THEN SELECT count(*) INTO number FROM {matched.table} AS r"
        f" WHERE r.org_id = organization AND {_has(sign, 'r', 'counted')};"
        for sign in matched.signs
    )
    return f"""
CREATE FUNCTION {matched.function}_count(organization uuid, counted text, change integer) RETURNS void
LANGUAGE plpgsql {_SETTINGS} AS $$
DECLARE mine text := {_TRANSACTION}; was record; number integer;
BEGIN
  SELECT size, counted_by INTO was FROM match_groups WHERE {own};
  IF was.counted_by = mine OR (was.size IS NULL AND change < 0) THEN RETURN; END IF;
  IF was.size IS NULL OR was.counted_by = '-' || mine THEN CASE substr(counted, 1, 1) {numbers} END CASE;
  ELSE number := was.size + change; mine := NULL; END IF;
  IF number > 1 THEN
    INSERT INTO match_groups (org_id, kind, key, sign, size, counted_by)
    VALUES (organization, {kind}, counted, substr(counted, 1, 1), number, mine)
    ON CONFLICT (org_id, kind, key) DO UPDATE SET size = EXCLUDED.size, counted_by = EXCLUDED.counted_by;
  ELSE
    DELETE FROM match_groups WHERE {own};
  END IF;
END $$"""


def _has(sign: Sign, row: str, key: str) -> str:
    """The condition that a row of PostgreSQL has this key, by the index of the sign's columns."""
    if len(sign.columns) == 1:
        return f"{row}.{sign.columns[0]} = substr({key}, 2)"
    [name, identifier] = sign.columns
    first = f"CAST(substr({key}, 2, {IDENTIFIER}) AS uuid)"
    return f"{row}.{identifier} = {first} AND {row}.{name} = substr({key}, {3 + IDENTIFIER})"


def _of_many(matched: Matched) -> str:
    """Counts the keys of new records as a set. It is no count for good: the transaction's end may tell more of them.

    It is planned each time: a plan from when there were few records would look for these among all of the organization.
    """
    columns = ", ".join(f"t.{name}" for name in dict.fromkeys(n for sign in matched.signs for n in sign.columns))
    counts = " UNION ALL ".join(
        f"SELECT {sign.key('k')} AS key, '{sign.letter}' AS sign, (SELECT count(*) FROM {matched.table} AS r"
        f" WHERE {sign.alike('r', 'k')}) AS size FROM (SELECT DISTINCT t.org_id, {_of('t', sign)} FROM made AS t"
        f" WHERE {sign.wanted.format('t')}) AS k"
        for sign in matched.signs
    )
    return f"""
CREATE FUNCTION {matched.function}_of(organization uuid, records uuid[]) RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  WITH made AS MATERIALIZED (SELECT t.org_id, {columns} FROM {matched.table} AS t
    WHERE t.org_id = organization AND t.id = ANY (records))
  INSERT INTO match_groups (org_id, kind, key, sign, size, counted_by)
  SELECT organization, '{matched.kind}', c.key, c.sign, c.size, '-' || {_TRANSACTION}
  FROM ({counts}) AS c WHERE c.size > 1
  ON CONFLICT (org_id, kind, key) DO UPDATE SET size = EXCLUDED.size, counted_by = EXCLUDED.counted_by;
  RETURN true;
END $$"""


def _of(row: str, sign: Sign) -> str:
    """Lists the sign's columns of a row."""
    return ", ".join(f"{row}.{name}" for name in sign.columns)
