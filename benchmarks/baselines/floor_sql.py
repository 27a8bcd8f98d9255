"""The floor's statements, for PostgreSQL; `for_sqlite` says the same in SQLite's words."""

from __future__ import annotations

import re

_PAGE = """
FROM activities m
LEFT JOIN accounts a ON a.org_id = m.org_id AND a.id = m.account_id
LEFT JOIN deals d ON d.org_id = m.org_id AND d.id = m.deal_id
LEFT JOIN contacts c ON c.org_id = m.org_id AND c.id = m.contact_id
"""
_ORDER = """
WHERE m.org_id = $1 AND m.type = 'meeting'
ORDER BY m.due_at DESC NULLS LAST, m.created_at DESC, m.id LIMIT $3 OFFSET $2
"""

MEETINGS_200 = (
    "SELECT m.id, m.type, m.subject, m.body, m.due_at, m.completed_at, m.duration_minutes, m.metadata, m.account_id,"
    " m.deal_id, m.contact_id, m.owner_id, m.source, m.direction, m.created_at,"
    " a.id, a.name, a.domain, d.id, d.name, d.stage_id, c.id, c.first_name, c.last_name, c.email" + _PAGE + _ORDER
)

_BRIEF = "SELECT id, subject, due_at, duration_minutes, account_id FROM activities m"
MEETINGS_20 = _BRIEF + _ORDER

_WITH_ACCOUNT = """
SELECT m.id, m.subject, m.due_at, a.id, a.name FROM activities m
LEFT JOIN accounts a ON a.org_id = m.org_id AND a.id = m.account_id
"""
DASHBOARD_MEETINGS = _WITH_ACCOUNT + _ORDER
DASHBOARD_DEALS = """
SELECT d.id, d.name, d.value, d.currency, a.id, a.name, s.id, s.name FROM deals d
LEFT JOIN accounts a ON a.org_id = d.org_id AND a.id = d.account_id
LEFT JOIN pipeline_stages s ON s.org_id = d.org_id AND s.id = d.stage_id
WHERE d.org_id = $1 ORDER BY d.created_at DESC, d.id LIMIT $3 OFFSET $2
"""
_LISTED = "SELECT d.id, d.name, d.value, d.currency, d.status, d.close_date, d.created_at, a.id, a.name, s.id, s.name"
_DEALS = """ FROM deals d
LEFT JOIN accounts a ON a.org_id = d.org_id AND a.id = d.account_id
LEFT JOIN pipeline_stages s ON s.org_id = d.org_id AND s.id = d.stage_id
"""
_NEWEST = "WHERE d.org_id = $1 ORDER BY d.created_at DESC, d.id LIMIT $3 OFFSET $2"
DEALS_200 = _LISTED + _DEALS + _NEWEST
DEALS_200_OWNED = (
    f"{_LISTED}, o.subject, o.name, o.email{_DEALS}LEFT JOIN members o ON o.subject = d.owner_id\n{_NEWEST}"
)
DASHBOARD_ACCOUNTS = """
SELECT id, name, domain, industry FROM accounts
WHERE org_id = $1 ORDER BY created_at DESC, id LIMIT $3 OFFSET $2
"""

DEAL_DETAIL = """
SELECT d.id, d.name, d.value, d.currency, d.status, d.close_date, d.notes, d.created_at,
  a.id, a.name, a.domain, a.industry, h.id, h.score, h.trend, h.snapshot_at,
  (SELECT json_agg(json_build_object('key', f.key, 'label', f.label, 'score', f.score, 'weight', f.weight,
      'value', f.value, 'explanation', f.explanation, 'sampleSize', f.sample_size))
    FROM (SELECT * FROM health_factors WHERE org_id = d.org_id AND health_score_id = h.id ORDER BY position) f),
  (SELECT json_agg(json_build_object('id', c.id, 'firstName', c.first_name, 'lastName', c.last_name,
      'email', c.email, 'title', c.title))
    FROM (SELECT p.* FROM deal_contacts l JOIN contacts p ON p.org_id = l.org_id AND p.id = l.contact_id
      WHERE l.org_id = d.org_id AND l.deal_id = d.id ORDER BY l.linked_at, p.id) c)
FROM deals d
LEFT JOIN accounts a ON a.org_id = d.org_id AND a.id = d.account_id
LEFT JOIN health_snapshots h ON h.org_id = d.org_id AND h.id = (
  SELECT s.id FROM health_snapshots s WHERE s.org_id = d.org_id AND s.account_id = d.account_id
  ORDER BY s.snapshot_at DESC, s.id DESC LIMIT 1)
WHERE d.org_id = $1 AND d.id = $2
"""

_CREATE = """
INSERT INTO deals (org_id, id, name, account_id, value, currency, status, competitors, created_at, updated_at, version,
  stage_id)
VALUES ($1, $2, $3, $4, $5, $6, 'open', '[]', $7, $7, 1, $8)
"""
_CHANGED = """
RETURNING id, name, value, currency, status,
  (SELECT json_build_object('id', a.id, 'name', a.name) FROM accounts a
    WHERE a.org_id = deals.org_id AND a.id = deals.account_id),
  (SELECT json_build_object('id', s.id, 'name', s.name) FROM pipeline_stages s
    WHERE s.org_id = deals.org_id AND s.id = deals.stage_id)
"""
DEAL_CREATE_STAGED = _CREATE + _CHANGED
DEAL_CREATE = _CREATE + "RETURNING id, name, value, currency, account_id, status"
REST_DEAL_CREATE = _CREATE + "RETURNING id"
_OF_DEAL = " WHERE org_id = $1 AND id = $2" + _CHANGED + ", close_date, notes"
_MOVED = """
UPDATE deals SET updated_at = $3, version = version + 1, stage_id = $4,
  status = (SELECT s.type FROM pipeline_stages s WHERE s.org_id = $1 AND s.id = $4)
"""
_UPDATED = """
UPDATE deals SET updated_at = $3, version = version + 1, value = $4, close_date = $5, notes = $6
"""
DEAL_MOVE, DEAL_UPDATE = _MOVED + _OF_DEAL, _UPDATED + _OF_DEAL

MEETINGS_BEFORE = (
    _BRIEF
    + """
WHERE org_id = $1 AND type = 'meeting' AND due_at < $2
ORDER BY due_at DESC NULLS LAST, created_at DESC, id LIMIT 20
"""
)

BOARD = """
SELECT s.id, s.name,
  (SELECT json_agg(json_build_object('currency', t.currency, 'amount', CAST(t.amount AS text), 'count', t.deals))
    FROM (SELECT currency, coalesce(sum(value), 0) AS amount, count(*) AS deals FROM deals
      WHERE org_id = s.org_id AND stage_id = s.id GROUP BY currency ORDER BY currency) t),
  (SELECT json_agg(json_build_object('id', d.id, 'name', d.name, 'value', d.value, 'currency', d.currency, 'account',
      (SELECT json_build_object('id', a.id, 'name', a.name) FROM accounts a
        WHERE a.org_id = d.org_id AND a.id = d.account_id)))
    FROM (SELECT * FROM deals WHERE org_id = s.org_id AND stage_id = s.id ORDER BY created_at DESC, id LIMIT 20) d)
FROM pipeline_stages s WHERE s.org_id = $1 ORDER BY s.position
"""

HITS = 20
_NAMES = """
SELECT e.kind, e.id, coalesce(a.name, d.name), c.first_name, c.last_name FROM ({}
  ORDER BY far, kind, created_at DESC, id LIMIT 20) e
LEFT JOIN accounts a ON e.kind = 1 AND a.org_id = e.org_id AND a.id = e.id
LEFT JOIN contacts c ON e.kind = 2 AND c.org_id = e.org_id AND c.id = e.id
LEFT JOIN deals d ON e.kind = 4 AND d.org_id = e.org_id AND d.id = e.id
ORDER BY e.far, e.kind, e.created_at DESC, e.id
"""
SEARCH = _NAMES.format(
    "SELECT org_id, kind, id, size <> $3 AS far, created_at FROM search_entries"
    " WHERE org_id = $1 AND kind IN (1, 2, 4) AND words @@ CAST($2 AS tsquery)"
)
SEARCH_SQLITE = _NAMES.format(
    "SELECT s.org_id, s.kind, s.id, s.size <> ?3 AS far, s.created_at"
    " FROM search_words w JOIN search_entries s ON s.words = w.rowid"
    " WHERE w.search_words MATCH ?2 AND s.org_id = ?1 AND s.kind IN (1, 2, 4)"
)


def sought(organization: str, query: str, *, in_name: bool) -> str:
    """PostgreSQL's question for the words: they are stored behind a mark of the organization and of their place."""
    mark = organization.replace("-", "")[-8:]
    places = "n" if in_name else "no"
    return " & ".join(f"({' | '.join(f'{mark}{place}{word}:*' for place in places)})" for word in query.split())


def sought_by_sqlite(organization: str, query: str, *, in_name: bool) -> str:
    """SQLite's question for the words."""
    mark = organization.replace("-", "")[-12:]
    words = " AND ".join(f'"{word}" *' for word in query.split())
    return f'org : "{mark}" AND {{{"name" if in_name else "name rest"}}} : ({words})'


def for_sqlite(statement: str) -> str:
    """The same statement: other names for making JSON, and its own for parameters."""
    plain = statement.replace("json_agg", "json_group_array").replace("json_build_object", "json_object")
    plain = plain.replace("sum(value)", "sum(CAST(replace(value, '.', '') AS INTEGER)) / 10000.0")
    return re.sub(r"\$(\d)", r"?\1", plain)
