"""Connections to accounts elsewhere, what they follow and what came of it; a job can be hastened."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
STATUSES = "status IN ('pending', 'active', 'paused', 'action_required', 'disconnecting')"
VISIBILITIES = "('everything', 'subject_only', 'nothing')"
TABLES = (
    *("integrations", "sync_streams", "feed_contents", "sync_items", "sync_occurrences", "synced_meetings"),
    *("sync_runs", "integration_policies"),
)


def _some(
    kind: sa.types.TypeEngine[Any],  # Any: of whichever type
    *names: str,
    null: bool = False,
) -> list[sa.Column[Any]]:  # Any: the same
    return [sa.Column(name, kind, nullable=null) for name in names]


def _table(name: str, *parts: sa.schema.SchemaItem, key: tuple[str, ...] = ("org_id", "id")) -> None:
    own = [sa.Column(column, ID, nullable=False) for column in key]
    op.create_table(name, *own, *parts, sa.PrimaryKeyConstraint(*key, name=op.f(f"pk_{name}")))


def _of_organization(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["org_id"], ["organizations.id"], name=op.f(f"fk_{table}_org_id"), ondelete="CASCADE"
    )


def _key(table: str, column: str, to: str, ondelete: str | None = "CASCADE") -> sa.ForeignKeyConstraint:
    target = [f"{to}.org_id", f"{to}.id"]
    name = op.f(f"fk_{table}_org_id_{column}")
    return sa.ForeignKeyConstraint(["org_id", column], target, name=name, ondelete=ondelete)


def _unique(table: str, *columns: str) -> sa.UniqueConstraint:
    return sa.UniqueConstraint(*columns, name=op.f(f"uq_{table}_{'_'.join(columns)}"))


def _check(table: str, name: str, text: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(text, name=op.f(f"ck_{table}_{name}"))


def upgrade() -> None:
    _connections()
    _items()
    _meetings()
    _runs_and_policies()
    op.add_column("job_queue", sa.Column("again", sa.Boolean(), nullable=False, server_default=sa.text("false")))
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        for table in TABLES:
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # which binds the owner too
            op.execute(f"CREATE POLICY {table}_own ON {table} USING ({own}) WITH CHECK ({own})")


def _connections() -> None:
    name = "integrations"
    _table(
        name,
        *_some(TEXT, "provider"),
        *_some(TEXT, "owner_id", null=True),
        *_some(TEXT, "name", "account_key"),
        *_some(sa.LargeBinary(), "sealed", null=True),
        *_some(TEXT, "status"),
        *_some(sa.Boolean(), "is_suspended"),
        *_some(TEXT, "problem_code", "problem_message", null=True),
        *_some(TIME, "problem_since", "retry_at", null=True),
        *_some(sa.Integer(), "failures"),
        *_some(TEXT, "visibility", "shown"),
        *_some(sa.Boolean(), "auto_create", "take_internal"),
        *_some(sa.Integer(), "poll_seconds"),
        *_some(TIME, "last_synced_at", "next_sync_at", null=True),
        *_some(TIME, "created_at", "updated_at"),
        *_some(sa.Integer(), "version"),
        *_some(TEXT, "folded_owner_id", null=True),
        _check(name, "provider", "provider IN ('google', 'microsoft', 'zoom', 'slack', 'ical')"),
        _check(name, "status", STATUSES),
        _check(name, "visibility", f"visibility IN {VISIBILITIES} AND shown IN {VISIBILITIES}"),
        _of_organization(name),
        _unique(name, "org_id", "provider", "account_key", "owner_id"),
    )
    newest = sa.text("created_at DESC")
    op.create_index(op.f("ix_integrations_owner"), name, ["org_id", "owner_id", newest, "id"])
    op.create_index(op.f("ix_integrations_created"), name, ["org_id", newest, "id"])
    name = "sync_streams"
    _table(
        name,
        *_some(ID, "integration_id"),
        *_some(TEXT, "kind", "external_id", "name"),
        *_some(sa.Boolean(), "enabled"),
        *_some(sa.LargeBinary(), "cursor", null=True),
        *_some(sa.Integer(), "generation"),
        *_some(sa.Integer(), "doubted", null=True),
        *_some(sa.Boolean(), "wants_full"),
        *_some(TIME, "window_from", "window_until", "synced_at", "confirmed_at", null=True),
        _check(name, "kind", "kind IN ('calendar', 'mail', 'recordings', 'channel')"),
        _key(name, "integration_id", "integrations"),
        _unique(name, "org_id", "integration_id", "kind", "external_id"),
    )
    _table(
        "feed_contents",
        *_some(sa.LargeBinary(), "sealed"),
        _key("feed_contents", "stream_id", "sync_streams"),
        key=("org_id", "stream_id"),
    )


def _items() -> None:
    name = "sync_items"
    _table(
        name,
        *_some(ID, "stream_id"),
        *_some(TEXT, "external_id", "uid"),
        *_some(sa.JSON(), "body"),
        *_some(TEXT, "hash"),
        *_some(sa.Integer(), "sequence"),
        *_some(TIME, "changed_at", null=True),
        *_some(sa.Integer(), "generation"),
        *_some(TIME, "seen_at"),
        _key(name, "stream_id", "sync_streams"),
        _unique(name, "org_id", "stream_id", "external_id"),
    )
    columns = ["org_id", "stream_id", "generation", "id"]
    op.create_index(op.f(f"ix_{name}_{'_'.join(columns)}"), name, columns)
    name = "sync_occurrences"
    _table(
        name,
        *_some(ID, "integration_id", "stream_id", "item_id"),
        *_some(TEXT, "kind", "recurrence"),
        *_some(TEXT, "subject", null=True),
        *_some(TIME, "starts_at", "ends_at", null=True),
        *_some(sa.Boolean(), "all_day", "is_recurring"),
        *_some(TEXT, "outcome"),
        *_some(TEXT, "reason", "explanation", "decision", null=True),
        *_some(ID, "meeting_id", null=True),
        *_some(TIME, "seen_at", "made_at"),
        *_some(TEXT, "folded_subject", null=True),
        _check(name, "outcome", "outcome IN ('taken', 'skipped')"),
        _check(name, "decision", "decision IN ('take', 'ignore')"),
        _key(name, "item_id", "sync_items"),
        _key(name, "integration_id", "integrations"),
        _key(name, "meeting_id", "activities", None),
        _unique(name, "org_id", "item_id", "recurrence"),
    )
    starts = sa.text("starts_at DESC")
    op.create_index(op.f("ix_sync_occurrences_start"), name, ["org_id", "integration_id", starts, "id"])
    for columns in (["org_id", "meeting_id"], ["org_id", "integration_id", "outcome", "reason"]):
        op.create_index(op.f(f"ix_{name}_{'_'.join(columns)}"), name, columns)


def _meetings() -> None:
    name = "synced_meetings"
    _table(
        name,
        *_some(TEXT, "uid", "uid_hash", "recurrence"),
        *_some(ID, "meeting_id", null=True),
        *_some(sa.Boolean(), "all_day"),
        *_some(TEXT, "time_zone", "conference_url", null=True),
        *_some(TIME, "cancelled_at", "pending_end", null=True),
        *_some(sa.JSON(), "overridden", "participants", "deal_candidates"),
        *_some(TIME, "made_at"),
        _of_organization(name),
        _key(name, "meeting_id", "activities", None),
        _unique(name, "org_id", "uid_hash", "recurrence"),
        _unique(name, "org_id", "meeting_id"),
    )
    op.create_index(op.f(f"ix_{name}_org_id_pending_end"), name, ["org_id", "pending_end"])


def _runs_and_policies() -> None:
    name = "sync_runs"
    _table(
        name,
        *_some(ID, "integration_id"),
        *_some(TEXT, "mode", "status"),
        *_some(TIME, "queued_at"),
        *_some(TIME, "started_at", "finished_at", null=True),
        *_some(sa.Integer(), "calls", "processed"),
        *_some(sa.Integer(), "expected", null=True),
        *_some(sa.Integer(), "created", "updated", "removed", "skipped"),
        *_some(TEXT, "problem", null=True),
        _check(name, "mode", "mode IN ('full', 'incremental')"),
        _check(name, "status", "status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')"),
        _key(name, "integration_id", "integrations"),
    )
    op.create_index(op.f("ix_sync_runs_newest"), name, ["org_id", "integration_id", sa.text("queued_at DESC"), "id"])
    name = "integration_policies"
    _table(
        name,
        *_some(sa.JSON(), "internal_domains", null=True),
        *_some(sa.JSON(), "allowed_providers"),
        *_some(TEXT, "default_visibility"),
        *_some(sa.Boolean(), "default_auto_create", "default_take_internal"),
        *_some(TEXT, "widest_visibility"),
        *_some(sa.Integer(), "version"),
        _of_organization(name),
        key=("org_id",),
    )


def downgrade() -> None:
    op.drop_column("job_queue", "again")
    for table in reversed(TABLES):
        op.drop_table(table)
