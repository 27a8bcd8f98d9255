"""Messages that the service sends by mail."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "mails",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("recipients", sa.JSON(), nullable=False),
        sa.Column("body", TEXT, nullable=False),
        sa.Column("file_ids", sa.JSON(), nullable=False),
        sa.Column("asked_by", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", TEXT),
        sa.Column("reached", sa.JSON(), nullable=False),
        sa.Column("refused", sa.JSON(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("sent_at", TIME),
        sa.CheckConstraint("status IN ('queued', 'sent', 'failed')", name=op.f("ck_mails_status")),
        sa.CheckConstraint("(status = 'sent') = (sent_at IS NOT NULL)", name=op.f("ck_mails_sent")),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f("fk_mails_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_mails")),
    )
    op.create_index(op.f("ix_mails_org_id_created_at_id"), "mails", ["org_id", "created_at", "id"])
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        op.execute("ALTER TABLE mails ENABLE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE mails FORCE ROW LEVEL SECURITY")  # which binds the owner too
        op.execute(f"CREATE POLICY mails_own ON mails USING ({own}) WITH CHECK ({own})")
    op.add_column("report_runs", sa.Column("mail_id", ID))


def downgrade() -> None:
    op.drop_column("report_runs", "mail_id")
    op.drop_table("mails")
