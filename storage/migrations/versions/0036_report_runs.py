"""Runs of reports."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "report_runs",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("report_id", ID),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("error", TEXT),
        sa.Column("requested_by", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("finished_at", TIME),
        sa.Column("formats", sa.JSON(), nullable=False),
        sa.Column("job_id", ID, nullable=False),
        sa.Column("file_ids", sa.JSON(), nullable=False),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'succeeded', 'failed', 'superseded')", name=op.f("ck_report_runs_status")
        ),
        sa.CheckConstraint("(status = 'queued') = (finished_at IS NULL)", name=op.f("ck_report_runs_finished")),
        sa.ForeignKeyConstraint(
            ["org_id", "report_id"], ["reports.org_id", "reports.id"], name=op.f("fk_report_runs_org_id_report_id")
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_report_runs")),
    )
    for columns in (["org_id", "report_id", "created_at", "id"], ["org_id", "created_at"]):
        op.create_index(op.f(f"ix_report_runs_{'_'.join(columns)}"), "report_runs", columns)
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        op.execute("ALTER TABLE report_runs ENABLE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE report_runs FORCE ROW LEVEL SECURITY")  # which binds the owner too
        op.execute(f"CREATE POLICY report_runs_own ON report_runs USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    op.drop_table("report_runs")
