"""Statements of ad-hoc SQL for the tests: those that are refused, and those that answer."""

from __future__ import annotations

import re
from pathlib import Path

DIALECTS = ("sqlite", "postgresql")
_ESCAPED = re.compile(r"\\(u[0-9a-f]{4}|[nt0\\])")
_PLAIN = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\"}


def attacks() -> list[tuple[str, str, str]]:
    """Layer, dialect and text of each line of the file."""
    found = []
    for line in (Path(__file__).parent / "sql_attacks.txt").read_text().splitlines():
        if not line.startswith("#"):
            layer, dialect, text = line.split("\t", 2)
            plain = _ESCAPED.sub(lambda m: _PLAIN.get(m[1]) or chr(int(m[1][1:], 16)), text)
            found += [(layer, one, plain) for one in (DIALECTS if dialect == "both" else (dialect,))]
    return found


ANSWERED = (
    "SELECT COUNT(*) AS deals FROM deals WHERE status = 'open'",
    "SELECT s.name AS stage, d.currency, SUM(d.value) AS amount, COUNT(*) AS deals FROM deals d JOIN pipeline_stages s "
    "ON s.id = d.stage_id WHERE d.status = 'open' GROUP BY s.name, s.position, d.currency ORDER BY "
    "s.position, d.currency",
    "SELECT d.name, a.name AS account, d.value, d.currency FROM deals d LEFT JOIN accounts a ON a.id = d.account_id "
    "WHERE d.status = 'open' ORDER BY d.value DESC NULLS LAST, d.id LIMIT 10",
    "SELECT owner_id, COUNT(*) FILTER (WHERE status = 'won') AS won, ROUND(100.0 * COUNT(*) FILTER "
    "(WHERE status = 'won') "
    "/ NULLIF(COUNT(*), 0), 1) AS win_rate FROM deals WHERE status IN ('won', 'lost') GROUP BY owner_id "
    "ORDER BY win_rate DESC, owner_id",
    "SELECT a.name FROM accounts a WHERE NOT EXISTS (SELECT 1 AS x FROM deals d WHERE d.account_id = a.id AND "
    "d.status = 'open') ORDER BY a.name",
    "SELECT a.name, MAX(m.due_at) AS last_meeting FROM accounts a LEFT JOIN activities m ON m.account_id = a.id AND "
    "m.type = 'meeting' AND m.due_at < '2026-11-22' GROUP BY a.id, a.name HAVING MAX(m.due_at) IS NULL OR "
    "MAX(m.due_at) < '2026-09-23' ORDER BY last_meeting, a.name",
    "WITH latest AS (SELECT account_id, score, trend, ROW_NUMBER() OVER (PARTITION BY account_id ORDER BY snapshot_at "
    "DESC, id DESC) AS n FROM health_snapshots) SELECT a.name, l.score, l.trend FROM latest l JOIN accounts a ON "
    "a.id = l.account_id WHERE l.n = 1 ORDER BY l.score, a.name LIMIT 10",
    "SELECT CASE WHEN close_date >= '2026-10-01' THEN 'this' ELSE 'last' END AS quarter, currency, "
    "SUM(value) AS amount "
    "FROM deals WHERE status = 'won' AND close_date >= '2026-07-01' GROUP BY 1, currency ORDER BY 1, currency",
    "SELECT d.currency, SUM(d.value * s.probability / 100) AS weighted FROM deals d JOIN pipeline_stages s "
    "ON s.id = d.stage_id GROUP BY d.currency ORDER BY weighted DESC, d.currency",
    "SELECT name FROM accounts UNION SELECT name FROM competitors ORDER BY name DESC",
    "SELECT x.name, x.value FROM (SELECT name, value, currency FROM deals WHERE value > 1000) x ORDER BY "
    "x.value, x.name",
    "SELECT UPPER(SUBSTR(name, 1, 3)) || '-' || COALESCE(source, 'none') AS code FROM deals ORDER BY code LIMIT 5",
    "SELECT DISTINCT currency FROM deals WHERE name LIKE 'Deal%' AND value BETWEEN 0.5 AND 99999 ORDER BY currency",
    "SELECT d.name, (SELECT COUNT(*) FROM deal_contacts c WHERE c.deal_id = d.id) AS people FROM deals d ORDER BY 2, 1",
    "SELECT (SELECT COUNT(*) FROM deals) AS deals, (SELECT COUNT(*) FROM accounts) AS accounts",
    "SELECT status, RANK() OVER (ORDER BY SUM(value) DESC) AS place, AVG(value) AS average FROM deals GROUP BY status "
    "ORDER BY place, status",
)
"""Statements that both databases answer alike."""
OWN = {
    "sqlite": (
        "SELECT strftime('%Y-%m', due_at) AS month, COUNT(*) AS meetings FROM activities WHERE type = "
        "'meeting' AND due_at "
        "IS NOT NULL GROUP BY strftime('%Y-%m', due_at) ORDER BY month",
        "WITH moves AS (SELECT deal_id, to_stage_id, at, LEAD(at) OVER (PARTITION BY deal_id ORDER BY at, id) AS until "
        "FROM stage_changes) SELECT s.name AS stage, ROUND(AVG(JULIANDAY(m.until) - JULIANDAY(m.at)), 1) AS days FROM "
        "moves m JOIN pipeline_stages s ON s.id = m.to_stage_id WHERE m.until IS NOT NULL GROUP BY s.name, s.position "
        "ORDER BY s.position",
    ),
    "postgresql": (
        "SELECT to_char(due_at, 'YYYY-MM') AS month, COUNT(*) AS meetings FROM activities WHERE type = "
        "'meeting' AND due_at "
        "IS NOT NULL GROUP BY to_char(due_at, 'YYYY-MM') ORDER BY month",
        "WITH moves AS (SELECT deal_id, to_stage_id, at, LEAD(at) OVER (PARTITION BY deal_id ORDER BY at, id) AS until "
        "FROM stage_changes) SELECT s.name AS stage, ROUND(AVG(EXTRACT(EPOCH FROM (m.until - m.at)) / "
        "86400), 1) AS days "
        "FROM moves m JOIN pipeline_stages s ON s.id = m.to_stage_id WHERE m.until IS NOT NULL GROUP BY s.name, "
        "s.position ORDER BY s.position",
    ),
}
"""The same questions in the SQL of each."""
FUNCTIONS = {
    "abs": "ABS(value)",
    "avg": "AVG(value)",
    "coalesce": "COALESCE(source, name)",
    "count": "COUNT(DISTINCT name)",
    "date": "date(created_at, 'start of month', '+1 month')",
    "date_part": "DATE_PART('year', created_at)",
    "date_trunc": "DATE_TRUNC('month', created_at)",
    "dense_rank": "DENSE_RANK() OVER (ORDER BY name)",
    "extract": "EXTRACT(QUARTER FROM close_date)",
    "ifnull": "IFNULL(source, name)",
    "iif": "IIF(status = 'open', 1, 0)",
    "julianday": "JULIANDAY('now') - JULIANDAY(close_date)",
    "local_date": "local_date(created_at, 'Europe/Berlin')",
    "lag": "LAG(value) OVER (ORDER BY name)",
    "lead": "LEAD(name, 2) OVER (PARTITION BY status ORDER BY name)",
    "length": "LENGTH(name)",
    "likelihood": "LIKELIHOOD(name = 'x', 0.5)",
    "lower": "LOWER(name)",
    "max": "MAX(value * 2)",
    "min": "MIN(close_date)",
    "now": "NOW() - created_at > INTERVAL '7 days'",
    "nullif": "NULLIF(status, 'open')",
    "rank": "RANK() OVER (ORDER BY value DESC)",
    "round": "ROUND(value / 3, 2)",
    "row_number": "ROW_NUMBER() OVER (ORDER BY id)",
    "strftime": "STRFTIME('%Y-%m', created_at)",
    "substr": "SUBSTR(name, 2)",
    "substring": "SUBSTRING(name FROM 1 FOR 2)",
    "sum": "SUM(value)",
    "to_char": "TO_CHAR(created_at, 'IYYY-IW')",
    "trim": "TRIM(name)",
    "upper": "UPPER(name)",
}
"""Each function of the catalogue in use over deals."""
