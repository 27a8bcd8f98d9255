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
    " a.name, a.domain, d.name, d.stage_id, c.first_name, c.last_name, c.email" + _PAGE + _ORDER
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

DEAL_CREATE = """
INSERT INTO deals (org_id, id, name, account_id, value, currency, status, competitors, created_at, updated_at, version)
VALUES ($1, $2, $3, $4, $5, $6, 'open', '[]', $7, $7, 1)
"""


def for_sqlite(statement: str) -> str:
    """The same statement: other names for making JSON, and its own for parameters."""
    plain = statement.replace("json_agg", "json_group_array").replace("json_build_object", "json_object")
    return re.sub(r"\$(\d)", r"?\1", plain)
