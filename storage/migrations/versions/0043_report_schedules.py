"""Schedules of reports, and the moments of their runs."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
SCHEDULED = sa.text("next_at IS NOT NULL")


def upgrade() -> None:
    op.add_column("reports", sa.Column("schedule", sa.JSON()))
    op.add_column("reports", sa.Column("next_at", TIME))
    op.add_column("reports", sa.Column("scheduled_by", TEXT))
    op.create_index(
        "ix_reports_scheduled",
        "reports",
        ["org_id", "next_at"],
        sqlite_where=SCHEDULED,
        postgresql_where=SCHEDULED,
    )
    op.add_column("report_runs", sa.Column("occurrence", TIME))
    op.create_index("ux_report_runs_occurrence", "report_runs", ["org_id", "report_id", "occurrence"], unique=True)
    op.create_table(
        "report_watches",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("next_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_report_watches_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", name=op.f("pk_report_watches")),
    )
    op.create_index(op.f("ix_report_watches_next_at"), "report_watches", ["next_at"])


def downgrade() -> None:
    op.drop_table("report_watches")
    op.drop_index("ux_report_runs_occurrence", "report_runs")
    op.drop_column("report_runs", "occurrence")
    op.drop_index("ix_reports_scheduled", "reports")
    for name in ("scheduled_by", "next_at", "schedule"):
        op.drop_column("reports", name)
