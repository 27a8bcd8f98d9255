"""Full text: how texts become words, and the triggers that keep a table's words in step with its rows (decision 46).

PostgreSQL and SQLite index the same words: letters and digits in runs, in lower case, Latin
letters without accents. On PostgreSQL a
word is stored behind a mark of its organization, so that the part of the index that a search looks at is its own
organization's; on SQLite the organization is a column of the index, and part of every question to it.
"""

# ruff: noqa: S608  # no value stands in these texts, only names of our own tables and columns

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

from contract.normal_form import normal_form

INDEXED_CHARACTERS = 100_000
"""The number of characters that are indexed of a record's texts beside its name."""

FULL_TEXT_TABLE, ENTRIES = "search_words", "search_entries"
"""SQLite's index, and the table with an entry per record; the migration makes both."""

_WORD = re.compile(r"[^\W_]+")
_ACCENTS = re.compile("(?<=[a-z])[\u0300-\u036f]+")


def fold(text: str) -> str:
    """Turns it into lower case, without the accents of Latin letters."""
    lower = text.lower()
    if text.isascii():
        return lower
    plain = _ACCENTS.sub("", normal_form("NFD", lower))
    return normal_form("NFC", plain).replace("ς", "σ")


def words_of(text: str) -> list[str]:
    """The words in their order, folded; signs such as ², ½ and ① are in none of them, as on PostgreSQL."""
    folded = fold(text)
    return _WORD.findall(folded if folded.isascii() else _signs().sub(" ", folded))


@cache
def _signs() -> re.Pattern[str]:
    """The characters that are numbers and no digits, which Python takes for parts of a word."""
    found = (c for c in map(chr, range(0x80, 0x20000)) if unicodedata.category(c) == "No")
    return re.compile(f"[{''.join(found)}]")


def triggers(
    dialect: str,
    table: str,
    kind: int | str,
    name: Sequence[str],
    rest: Sequence[str],
    only: str = "",
    unless: str = "",
) -> list[str]:
    """The statements that make a table's rows searchable from now on.

    `name` and `rest` are its columns, `column.key` for a text in a JSON object; `only` is a condition on `NEW.` that
    never changes for a row, and `kind` may be an expression of `NEW.` that never does. A row whose column `unless` has
    a value is found by no word.
    """
    columns = ", ".join(dict.fromkeys(c.partition(".")[0] for c in (*name, *rest, *([unless] if unless else []))))
    title, texts = _texts(dialect, name, rest, unless)
    make = _sqlite if dialect == "sqlite" else _postgresql
    return list(make(table, kind, columns, title, texts, only))


def removal(dialect: str, table: str) -> list[str]:
    """The statements that take a table out of the search, its entries aside."""
    if dialect == "sqlite":
        return [f"DROP TRIGGER search_{table}_{event}" for event in ("insert", "update", "delete")]
    return [
        *(f"DROP TRIGGER search_{table}_{event} ON {table}" for event in ("insert", "update", "delete")),
        f"DROP FUNCTION crm_search_{table}()",
    ]


def backfill(
    dialect: str,
    table: str,
    kind: int | str,
    name: Sequence[str],
    rest: Sequence[str],
    only: str = "",
    unless: str = "",
) -> list[str]:
    """The statements that make the rows searchable that are there already; on PostgreSQL by a role that sees them."""
    kind = str(kind).replace("NEW.", "t.")
    title, texts = (part.replace("NEW.", "t.") for part in _texts(dialect, name, rest, unless))
    where = f" WHERE {only.replace('NEW.', 't.')}" if only else ""
    columns = f"INSERT INTO {ENTRIES} (org_id, kind, id, created_at, size, words)"
    row = f"t.org_id, {kind}, t.id, t.created_at, length({title})"
    if dialect == "sqlite":
        number = f"(SELECT coalesce(max(words), 0) FROM {ENTRIES}) + row_number() OVER (ORDER BY t.org_id, t.id)"
        texts_of = f"SELECT e.words, substr(t.org_id, -12), {title}, {texts} FROM {table} t JOIN {ENTRIES} e"
        return [
            f"{columns} SELECT {row}, {number} FROM {table} t{where}",
            f"INSERT INTO {FULL_TEXT_TABLE} (rowid, org, name, rest) {texts_of}"
            f" ON e.org_id = t.org_id AND e.kind = {kind} AND e.id = t.id{where}",
        ]
    return [f"{columns} SELECT {row}, crm_words(t.org_id, {title}, {texts}) FROM {table} t{where}"]


def _texts(dialect: str, name: Sequence[str], rest: Sequence[str], unless: str) -> tuple[str, str]:
    """The name of the row `NEW.`, and its other texts."""
    title = _joined(dialect, name)
    texts = f"substr({_joined(dialect, rest)}, 1, {INDEXED_CHARACTERS})" if rest else "''"
    if unless:
        title, texts = (f"CASE WHEN NEW.{unless} IS NULL THEN {part} ELSE '' END" for part in (title, texts))
    return title, texts


def _joined(dialect: str, columns: Sequence[str]) -> str:
    return "trim(" + " || ' ' || ".join(f"coalesce({_text(dialect, c)}, '')" for c in columns) + ")"


def _text(dialect: str, column: str) -> str:
    own, _, key = column.partition(".")
    if not key:
        return f"CAST(NEW.{own} AS text)"  # a list of texts is JSON
    return f"json_extract(NEW.{own}, '$.{key}')" if dialect == "sqlite" else f"(NEW.{own} ->> '{key}')"


def _of_old(expression: int | str) -> str:
    return str(expression).replace("NEW.", "OLD.")


def _sqlite(table: str, kind: int | str, columns: str, title: str, texts: str, only: str) -> Iterator[str]:
    when = f" WHEN {only}" if only else ""
    entry = f"(SELECT words FROM {ENTRIES} WHERE org_id = NEW.org_id AND kind = {kind} AND id = NEW.id)"
    yield (
        f"CREATE TRIGGER search_{table}_insert AFTER INSERT ON {table}{when} BEGIN"
        f" INSERT INTO {FULL_TEXT_TABLE} (org, name, rest) VALUES (substr(NEW.org_id, -12), {title}, {texts});"
        f" INSERT INTO {ENTRIES} (org_id, kind, id, created_at, size, words)"
        f" VALUES (NEW.org_id, {kind}, NEW.id, NEW.created_at, length({title}), last_insert_rowid()); END"
    )
    yield (
        f"CREATE TRIGGER search_{table}_update AFTER UPDATE OF {columns} ON {table}{when} BEGIN"
        f" UPDATE {FULL_TEXT_TABLE} SET name = {title}, rest = {texts} WHERE rowid = {entry};"
        f" UPDATE {ENTRIES} SET size = length({title})"
        f" WHERE org_id = NEW.org_id AND kind = {kind} AND id = NEW.id; END"
    )
    yield (
        f"CREATE TRIGGER search_{table}_delete AFTER DELETE ON {table} BEGIN"
        f" DELETE FROM {ENTRIES} WHERE org_id = OLD.org_id AND kind = {_of_old(kind)} AND id = OLD.id; END"
    )


def _postgresql(table: str, kind: int | str, columns: str, title: str, texts: str, only: str) -> Iterator[str]:
    when = f" WHEN ({only})" if only else ""
    # Entries are found by their key: without bitmap scans, by which alone PostgreSQL reads the index of the words.
    mine = f"org_id = %s.org_id AND kind = {kind} AND id = %s.id"
    yield f"""
CREATE FUNCTION crm_search_{table}() RETURNS trigger LANGUAGE plpgsql SET enable_bitmapscan = off AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO {ENTRIES} (org_id, kind, id, created_at, size, words)
    VALUES (NEW.org_id, {kind}, NEW.id, NEW.created_at, length({title}), crm_words(NEW.org_id, {title}, {texts}));
  ELSIF TG_OP = 'UPDATE' THEN
    UPDATE {ENTRIES} SET size = length({title}), words = crm_words(NEW.org_id, {title}, {texts})
    WHERE {mine.replace("%s", "NEW")};
  ELSE
    DELETE FROM {ENTRIES} WHERE {_of_old(mine.replace("%s", "OLD"))};
  END IF;
  RETURN NULL;
END $$"""
    for event, timing in (("insert", "INSERT"), ("update", f"UPDATE OF {columns}"), ("delete", "DELETE")):
        condition = when if event != "delete" else ""
        yield (
            f"CREATE TRIGGER search_{table}_{event} AFTER {timing} ON {table}"
            f" FOR EACH ROW{condition} EXECUTE FUNCTION crm_search_{table}()"
        )
