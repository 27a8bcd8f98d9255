"""Writes that runs of chats proposed, with what was decided on them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
TABLE = "chat_approvals"
STATUSES = "'pending', 'approved', 'executed', 'failed', 'rejected', 'stale', 'expired'"


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("thread_id", ID, nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("call_id", TEXT, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("tool", TEXT, nullable=False),
        sa.Column("operation", TEXT, nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("arguments_sha256", TEXT, nullable=False),
        sa.Column("record_kind", TEXT),
        sa.Column("record_id", ID),
        sa.Column("record_version", sa.Integer()),
        sa.Column("preview", sa.JSON(), nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("decided_at", TIME),
        sa.Column("decided_by", sa.JSON()),
        sa.Column("result_kind", TEXT),
        sa.Column("result_id", ID),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(f"status IN ({STATUSES})", name=op.f("ck_chat_approvals_status")),
        sa.ForeignKeyConstraint(
            ["org_id", "run_id"],
            ["chat_runs.org_id", "chat_runs.id"],
            name=op.f("fk_chat_approvals_org_id_run_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_chat_approvals")),
        sa.UniqueConstraint("org_id", "run_id", "call_id", name=op.f("uq_chat_approvals_org_id_run_id_call_id")),
    )
    for columns in (("created_at", "id"), ("status", "created_at", "id")):
        names = ["org_id", "subject", *columns]
        op.create_index(op.f(f"ix_{TABLE}_{'_'.join(names)}"), TABLE, names)
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        op.execute(f"ALTER TABLE {TABLE} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {TABLE} FORCE ROW LEVEL SECURITY")  # which binds the owner too
        op.execute(f"CREATE POLICY {TABLE}_own ON {TABLE} USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    op.drop_table(TABLE)
