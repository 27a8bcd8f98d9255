"""Research runs, their results, and the CX reports with their revisions."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON()

TENANT_TABLES = ("research_runs", "research_results", "cx_reports", "cx_report_revisions")


def upgrade() -> None:
    _create_research()
    _create_reports()
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        for table in TENANT_TABLES:
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # which binds the owner too
            op.execute(f"CREATE POLICY {table}_own ON {table} USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    for table in reversed(TENANT_TABLES):
        op.drop_table(table)


def _create_research() -> None:
    op.create_table(
        "research_runs",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("result_count", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("completed_at", TIME),
        sa.Column("created_by", TEXT),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'completed', 'partial', 'failed', 'cancelled')",
            name=op.f("ck_research_runs_status"),
        ),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_research_runs_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_research_runs")),
    )
    op.create_index(op.f("ix_research_runs_org_id_created_at"), "research_runs", ["org_id", "created_at"])
    op.create_table(
        "research_results",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("company_name", TEXT, nullable=False),
        sa.Column("domain", TEXT),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("score", sa.Integer()),
        sa.Column("factors", DOCUMENT),
        sa.Column("error", TEXT),
        sa.Column("job_id", ID),
        sa.CheckConstraint("score BETWEEN 0 AND 100", name=op.f("ck_research_results_score")),
        sa.CheckConstraint("status IN ('pending', 'scored', 'failed')", name=op.f("ck_research_results_status")),
        _key("research_results", "run_id", "research_runs"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_research_results")),
        sa.UniqueConstraint("org_id", "run_id", "position", name=op.f("uq_research_results_org_id_run_id_position")),
    )


def _create_reports() -> None:
    op.create_table(
        "cx_reports",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("result_id", ID, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("published_revision", sa.Integer(), nullable=False),
        sa.Column("render_job_id", ID),
        sa.Column("updated_at", TIME, nullable=False),
        sa.CheckConstraint("published_revision <= revision", name=op.f("ck_cx_reports_published_revision")),
        sa.CheckConstraint("revision > 0", name=op.f("ck_cx_reports_revision")),
        _key("cx_reports", "result_id", "research_results"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_cx_reports")),
        sa.UniqueConstraint("org_id", "result_id", name=op.f("uq_cx_reports_org_id_result_id")),
    )
    op.create_table(
        "cx_report_revisions",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("report_id", ID, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("copy_blobs", DOCUMENT, nullable=False),
        sa.Column("analysis", DOCUMENT, nullable=False),
        sa.Column("brand", DOCUMENT, nullable=False),
        sa.Column("bpo_prefix", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("created_by", TEXT),
        _key("cx_report_revisions", "report_id", "cx_reports"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_cx_report_revisions")),
        sa.UniqueConstraint(
            "org_id", "report_id", "revision", name=op.f("uq_cx_report_revisions_org_id_report_id_revision")
        ),
    )


def _key(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["org_id", column],
        [f"{target}.org_id", f"{target}.id"],
        name=op.f(f"fk_{table}_org_id_{column}"),
        ondelete="CASCADE",
    )
