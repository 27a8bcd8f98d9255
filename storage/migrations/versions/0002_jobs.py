"""Jobs, their queue, and the workers that run them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    _create_jobs()
    _create_queue()
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        op.execute("ALTER TABLE jobs ENABLE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE jobs FORCE ROW LEVEL SECURITY")  # which binds the owner too
        op.execute(f"CREATE POLICY jobs_own ON jobs USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    for table in ("job_workers", "job_queue", "jobs"):
        op.drop_table(table)


def _create_jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("key", TEXT),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", TEXT),
        sa.Column("progress", sa.Float(), nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("repeat_seconds", sa.Integer()),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("started_at", TIME),
        sa.Column("finished_at", TIME),
        sa.CheckConstraint("progress BETWEEN 0 AND 1", name=op.f("ck_jobs_progress")),
        sa.CheckConstraint("repeat_seconds > 0", name=op.f("ck_jobs_repeat_seconds")),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'succeeded', 'failed', 'superseded')", name=op.f("ck_jobs_status")
        ),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f("fk_jobs_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_jobs")),
    )
    unfinished = sa.text("key IS NOT NULL AND status IN ('queued', 'running')")
    op.create_index(
        "ux_jobs_unfinished",
        "jobs",
        ["org_id", "kind", "key"],
        unique=True,
        sqlite_where=unfinished,
        postgresql_where=unfinished,
    )


def _create_queue() -> None:
    op.create_table(
        "job_queue",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("job_id", ID, nullable=False),
        sa.Column("due_at", TIME, nullable=False),
        sa.Column("holder", ID),
        sa.ForeignKeyConstraint(
            ["org_id", "job_id"],
            ["jobs.org_id", "jobs.id"],
            name=op.f("fk_job_queue_org_id_job_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("org_id", "job_id", name=op.f("pk_job_queue")),
    )
    op.create_index(op.f("ix_job_queue_due_at"), "job_queue", ["due_at"])
    op.create_table(
        "job_workers",
        sa.Column("id", ID, nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("beat_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_workers")),
    )
