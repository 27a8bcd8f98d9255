"""How long the guard of ad-hoc SQL takes for a statement that it has not met, and for one that it has.

Part of `./run bench aggregates`: processor time, so that what else the machine does changes little.
"""

from __future__ import annotations

import statistics
import time
from typing import Final

from contract.catalog_tables import SQL_TABLES
from storage.analytics import guard as guarding

_STATEMENTS: Final = (
    "SELECT COUNT(*) AS deals FROM deals WHERE status = 'open'",
    "SELECT source, COUNT(*) AS meetings FROM activities WHERE type = 'meeting' GROUP BY source ORDER BY meetings DESC",
    "SELECT s.name AS stage, d.currency, SUM(d.value) AS amount, COUNT(*) AS deals FROM deals d JOIN pipeline_stages s "
    "ON s.id = d.stage_id WHERE d.status = 'open' GROUP BY s.name, s.position, d.currency ORDER BY s.position",
    "SELECT a.name FROM accounts a WHERE NOT EXISTS (SELECT 1 AS x FROM deals d WHERE d.account_id = a.id AND "
    "d.status = 'open') ORDER BY a.name",
    "SELECT a.name, MAX(m.due_at) AS last FROM accounts a LEFT JOIN activities m ON m.account_id = a.id "
    "AND m.type = 'meeting' GROUP BY a.id, a.name HAVING MAX(m.due_at) < '2026-09-23' ORDER BY last",
    "WITH latest AS (SELECT account_id, score, trend, ROW_NUMBER() OVER (PARTITION BY account_id ORDER BY snapshot_at "
    "DESC, id DESC) AS n FROM health_snapshots) SELECT a.name, l.score, l.trend FROM latest l JOIN accounts a "
    "ON a.id = l.account_id WHERE l.n = 1 ORDER BY l.score, a.name LIMIT 10",
    "SELECT owner_id, COUNT(*) FILTER (WHERE status = 'won') AS won, ROUND(100.0 * COUNT(*) FILTER (WHERE status = "
    "'won') / NULLIF(COUNT(*), 0), 1) AS rate FROM deals WHERE status IN ('won', 'lost') GROUP BY owner_id",
)
_AGAIN: Final = 100
"""How often a known statement is asked about in one measurement: the clock is too coarse for one time."""


def measure(dialect: str, rounds: int) -> None:
    """Print the figures."""
    tables = frozenset(SQL_TABLES)
    for text in _STATEMENTS:  # what the parser makes for itself the first time
        guarding.guard(text, dialect, tables)
    new, known = [], []
    for number in range(rounds):
        for text in (f"{text}{' ' * (number + 1)}" for text in _STATEMENTS):  # one that was not met
            new.append(_spent(text, dialect, tables))
            before = time.process_time()
            for _ in range(_AGAIN):
                guarding.known(text, dialect, tables)
            known.append((time.process_time() - before) * 1_000 / _AGAIN)
    for name, times, goal in (("new", new, 40), ("known", known, 0.2)):
        figures = f"{statistics.median(times):8.4f} {max(times):8.4f}"
        print(f"  {f'the guard, for a {name} statement: median, longest':48} {figures}   (goal {goal})", flush=True)


def _spent(text: str, dialect: str, tables: frozenset[str]) -> float:
    before = time.process_time()
    guarding.guard(text, dialect, tables)
    return (time.process_time() - before) * 1_000
