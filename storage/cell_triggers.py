"""The triggers that append what a write changes of the roll-ups, in its own transaction (storage/tables/cells.py).

A row that is made adds itself to its cell, one that goes takes itself away, and one that changes does both; a change of
other columns costs nothing. Migrations run these, and fill the cells with what is there by the same expressions.
"""

# ruff: noqa: S608  # no value stands in these texts, only names of our own tables and columns

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Texts = Mapping[str, tuple[str, str]]
"""Expressions of a row `{0}`, by the name of a column: on PostgreSQL, and on SQLite."""

_DAY = "CASE {0}.%s WHEN 'infinity' THEN '9999-12-31' WHEN '-infinity' THEN '0001-01-01' ELSE {0}.%s END"
"""A date: PostgreSQL's driver writes the last and the first one as infinities (decision 120)."""
_IS_TIMED = "({0}.status = 'won' AND {0}.closed_at IS NOT NULL)"


def _as_is(*names: str) -> Texts:
    return {name: (f"{{0}}.{name}", f"{{0}}.{name}") for name in names}


@dataclass(frozen=True, slots=True)
class Rollup:
    """Says how the rows of a table are rolled up: by which keys, and with which sums.

    `read` are the columns that these are made of; `only` is a condition on a row that never changes for it.
    """

    table: str
    cells: str
    keys: Texts
    sums: Texts
    read: tuple[str, ...]
    only: str = ""

    @property
    def deltas(self) -> str:
        """The table that changes are appended to."""
        return f"{self.cells.removesuffix('s')}_deltas"


DEALS = Rollup(
    "deals",
    "deal_cells",
    {
        **_as_is("stage_id", "status", "owner_id", "currency"),
        "close_month": (
            f"date_trunc('month', ({_DAY % ('close_date', 'close_date')})::timestamp)::date",
            "date({0}.close_date, 'start of month')",
        ),
    },
    {
        "deals": ("1", "1"),
        "valued": ("({0}.value IS NOT NULL)::int", "({0}.value IS NOT NULL)"),
        "high": ("coalesce({0}.value, 0)", "coalesce(CAST(substr({0}.value, 1, 10) AS INTEGER), 0)"),
        "low": (
            "0",
            "coalesce(CAST(substr({0}.value, 11, 5) || substr({0}.value, 17, 4) AS INTEGER), 0)",
        ),
        "timed": (f"{_IS_TIMED}::int", _IS_TIMED),
        "seconds": (
            f"CASE WHEN {_IS_TIMED} THEN extract(epoch FROM {{0}}.closed_at - {{0}}.created_at) ELSE 0 END",
            f"CASE WHEN {_IS_TIMED} THEN CAST(strftime('%s', substr({{0}}.closed_at, 1, 19)) AS INTEGER)"
            " - CAST(strftime('%s', substr({0}.created_at, 1, 19)) AS INTEGER) ELSE 0 END",
        ),
        "micros": (
            "0",
            f"CASE WHEN {_IS_TIMED} THEN CAST(substr({{0}}.closed_at, 21, 6) AS INTEGER)"
            " - CAST(substr({0}.created_at, 21, 6) AS INTEGER) ELSE 0 END",
        ),
    },
    ("stage_id", "status", "owner_id", "currency", "close_date", "value", "closed_at", "created_at"),
)
MEETINGS = Rollup(
    "activities",
    "meeting_cells",
    {
        **_as_is("owner_id", "source"),
        "due_day": ("timezone('UTC', {0}.due_at)::date", "date({0}.due_at)"),
        "is_completed": ("({0}.completed_at IS NOT NULL)", "({0}.completed_at IS NOT NULL)"),
    },
    {
        "meetings": ("1", "1"),
        "minutes": ("coalesce({0}.duration_minutes, 0)", "coalesce({0}.duration_minutes, 0)"),
        "timed": ("({0}.duration_minutes IS NOT NULL)::int", "({0}.duration_minutes IS NOT NULL)"),
    },
    ("owner_id", "source", "due_at", "completed_at", "duration_minutes"),
    only="{0}.type = 'meeting'",
)
ROLLUPS = (DEALS, MEETINGS)


def triggers(dialect: str, rollup: Rollup) -> Iterator[str]:
    """The statements that keep a table's roll-up from now on."""
    return (_sqlite if dialect == "sqlite" else _postgresql)(rollup)


def removal(dialect: str, rollup: Rollup) -> Iterator[str]:
    """The statements that take its triggers away."""
    on = "" if dialect == "sqlite" else f" ON {rollup.table}"
    for event in ("insert", "update", "delete"):
        yield f"DROP TRIGGER {rollup.cells}_{event}{on}"
    if dialect == "postgresql":
        yield f"DROP FUNCTION crm_{rollup.cells}()"


def backfill(dialect: str, rollup: Rollup) -> str:
    """The statement that appends what is there, of all organizations; on PostgreSQL by a role that sees them."""
    where = f" WHERE {rollup.only.format('t')}" if rollup.only else ""
    keys = [f"{text} AS {name}" for name, text in _texts(dialect, rollup.keys, "t")]
    sums = [f"sum({text}) AS {name}" for name, text in _texts(dialect, rollup.sums, "t")]
    by = ", ".join(str(n) for n in range(1, len(keys) + 2))
    return (
        f"INSERT INTO {rollup.deltas} (id, org_id, {', '.join((*rollup.keys, *rollup.sums))})"
        f" SELECT {_IDS[dialect]}, counted.* FROM"
        f" (SELECT t.org_id, {', '.join((*keys, *sums))} FROM {rollup.table} AS t{where} GROUP BY {by}) AS counted"
    )


_IDS = {
    "postgresql": "gen_random_uuid()",
    "sqlite": "lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2)"
    " || '-8' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))",
}


def _texts(dialect: str, texts: Texts, row: str) -> Iterator[tuple[str, str]]:
    """The names of columns, each with its expression of the row."""
    for name, (postgresql, sqlite) in texts.items():
        yield name, (sqlite if dialect == "sqlite" else postgresql).format(row)


def _appended(dialect: str, rollup: Rollup, *rows: str) -> str:
    """The statement that appends what NEW adds and what OLD takes away."""
    columns = f"INSERT INTO {rollup.deltas} (id, org_id, {', '.join((*rollup.keys, *rollup.sums))})"
    values = []
    for row in rows:
        keys = [text for _, text in _texts(dialect, rollup.keys, row)]
        sums = [text if row == "NEW" else f"-({text})" for _, text in _texts(dialect, rollup.sums, row)]
        values.append(f"SELECT {', '.join((_IDS[dialect], f'{row}.org_id', *keys, *sums))}")
    return f"{columns} {' UNION ALL '.join(values)}"


_IS_THERE = "EXISTS (SELECT 1 FROM organizations AS o WHERE o.id = OLD.org_id)"
"""Of an organization that is deleted itself, nothing is kept."""


def _sqlite(rollup: Rollup) -> Iterator[str]:
    for event, timing, when, text in _events("sqlite", rollup):
        condition = f" WHEN {when}" if when else ""
        yield f"CREATE TRIGGER {rollup.cells}_{event} AFTER {timing} ON {rollup.table}{condition} BEGIN {text}; END"


def _postgresql(rollup: Rollup) -> Iterator[str]:
    events = list(_events("postgresql", rollup))
    bodies = [f"IF TG_OP = '{event.upper()}' THEN {text}; END IF;" for event, _, _, text in events]
    function = f"crm_{rollup.cells}()"
    yield (
        f"CREATE FUNCTION {function} RETURNS trigger LANGUAGE plpgsql AS $$"
        f" BEGIN {' '.join(bodies)} RETURN NULL; END $$"
    )
    for event, timing, when, _ in events:
        condition = f" WHEN ({when})" if when else ""
        yield (
            f"CREATE TRIGGER {rollup.cells}_{event} AFTER {timing} ON {rollup.table}"
            f" FOR EACH ROW{condition} EXECUTE FUNCTION {function}"
        )


def _events(dialect: str, rollup: Rollup) -> Iterator[tuple[str, str, str, str]]:
    """Each event: its name, when it is one, under which condition, and what is done."""
    differs = " OR ".join(
        f"OLD.{name} {'IS NOT' if dialect == 'sqlite' else 'IS DISTINCT FROM'} NEW.{name}" for name in rollup.read
    )
    of_new, of_old = rollup.only.format("NEW"), rollup.only.format("OLD")
    changed = f"({differs})" + (f" AND {of_new}" if of_new else "")
    there = _IS_THERE + (f" AND {of_old}" if of_old else "")
    yield "insert", "INSERT", of_new, _appended(dialect, rollup, "NEW")
    yield "update", f"UPDATE OF {', '.join(rollup.read)}", changed, _appended(dialect, rollup, "NEW", "OLD")
    if dialect == "sqlite":
        yield "delete", "DELETE", there, _appended(dialect, rollup, "OLD")
    else:  # whose conditions of triggers have no subqueries
        yield "delete", "DELETE", of_old, f"{_appended(dialect, rollup, 'OLD')} WHERE {there}"
