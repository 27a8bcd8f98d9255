"""Exports as jobs, and files that need a group of their own to be read."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
UNFINISHED = sa.text("status IN ('queued', 'running')")
KINDS = "kind IN ('account', 'contact', 'deal', 'lead', 'meeting', 'activity', 'campaign')"


def upgrade() -> None:
    op.add_column("files", sa.Column("needs", TEXT))
    _exports()
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        op.execute("ALTER TABLE exports ENABLE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE exports FORCE ROW LEVEL SECURITY")  # which binds the owner too
        op.execute(f"CREATE POLICY exports_own ON exports USING ({own}) WITH CHECK ({own})")


def _check(name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_exports_{name}"))


def _exports() -> None:
    op.create_table(
        "exports",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("format", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("file_id", ID),
        sa.Column("job_id", ID, nullable=False),
        sa.Column("error", TEXT),
        sa.Column("requested_by", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("finished_at", TIME),
        sa.Column("needs", TEXT),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("last_id", ID),
        sa.Column("after_id", ID, nullable=False),
        sa.Column("total", sa.Integer()),
        sa.Column("pieces", sa.JSON(), nullable=False),
        _check("kind", KINDS),
        _check("format", "format IN ('csv', 'jsonl')"),
        _check("status", "status IN ('queued', 'running', 'succeeded', 'failed', 'superseded')"),
        _check("complete", "complete = (status = 'succeeded')"),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f("fk_exports_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_exports")),
    )
    op.create_index(op.f("ix_exports_org_id_created_at"), "exports", ["org_id", "created_at"])
    op.create_index(
        op.f("ix_exports_unfinished"),
        "exports",
        ["org_id", "id"],
        sqlite_where=UNFINISHED,
        postgresql_where=UNFINISHED,
    )


def downgrade() -> None:
    op.drop_table("exports")
    op.drop_column("files", "needs")
