"""Questions that were asked, what became of each, and the steps of the answers."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
STATUSES = "'running', 'succeeded', 'declined', 'failed', 'cancelled', 'timed_out', 'interrupted'"
TENANTS = ("analytics_conversations", "analytics_runs", "analytics_events")


def upgrade() -> None:
    _conversations()
    _runs()
    op.create_table(
        "analytics_events",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "run_id"],
            ["analytics_runs.org_id", "analytics_runs.id"],
            name=op.f("fk_analytics_events_org_id_run_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("org_id", "run_id", "sequence", name=op.f("pk_analytics_events")),
    )
    op.create_table(
        "analytics_watches",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("next_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_analytics_watches_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", name=op.f("pk_analytics_watches")),
    )
    op.create_index(op.f("ix_analytics_watches_next_at"), "analytics_watches", ["next_at"])
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        for table in TENANTS:
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # which binds the owner too
            op.execute(f"CREATE POLICY {table}_own ON {table} USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    for table in ("analytics_watches", *reversed(TENANTS)):
        op.drop_table(table)


def _conversations() -> None:
    op.create_table(
        "analytics_conversations",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_analytics_conversations_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_analytics_conversations")),
    )
    _index("analytics_conversations", "org_id", "subject", "updated_at")


def _runs() -> None:
    op.create_table(
        "analytics_runs",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("conversation_id", ID, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("key_hash", TEXT),
        sa.Column("fingerprint", TEXT, nullable=False),
        sa.Column("question", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("planner", TEXT),
        sa.Column("plan", sa.JSON()),
        sa.Column("assumptions", sa.JSON()),
        sa.Column("follows_run_id", ID),
        sa.Column("sql", sa.JSON()),
        sa.Column("parameters", sa.JSON()),
        sa.Column("columns", sa.JSON()),
        sa.Column("chart", sa.JSON()),
        sa.Column("explanation", TEXT, nullable=False),
        sa.Column("row_count", sa.Integer(), nullable=False),
        sa.Column("truncated", sa.Boolean(), nullable=False),
        sa.Column("statement_ms", sa.Integer()),
        sa.Column("unread", sa.JSON()),
        sa.Column("suggestions", sa.JSON()),
        sa.Column("error_code", TEXT),
        sa.Column("error", sa.JSON()),
        sa.Column("holder", ID, nullable=False),
        sa.Column("leased_until", TIME, nullable=False),
        sa.Column("cancel_requested_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("finished_at", TIME),
        sa.CheckConstraint(f"status IN ({STATUSES})", name=op.f("ck_analytics_runs_status")),
        sa.ForeignKeyConstraint(
            ["org_id", "conversation_id"],
            ["analytics_conversations.org_id", "analytics_conversations.id"],
            name=op.f("fk_analytics_runs_org_id_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_analytics_runs")),
        sa.UniqueConstraint("org_id", "subject", "key_hash", name=op.f("uq_analytics_runs_org_id_subject_key_hash")),
    )
    _index("analytics_runs", "org_id", "subject", "created_at")
    _index("analytics_runs", "org_id", "conversation_id", "created_at")
    _index("analytics_runs", "org_id", "status", "leased_until")


def _index(table: str, *columns: str) -> None:
    op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, list(columns))
