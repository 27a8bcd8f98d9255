"""Saved queries."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    key = ["org_id", "owner_id", "name_key"]
    op.create_table(
        "saved_queries",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("description", TEXT),
        sa.Column("question", TEXT),
        sa.Column("query", sa.JSON()),
        sa.Column("sql", TEXT),
        sa.Column("dialect", TEXT),
        sa.Column("owner_id", TEXT, nullable=False),
        sa.Column("is_shared", sa.Boolean(), nullable=False),
        sa.Column("is_verified", sa.Boolean(), nullable=False),
        sa.Column("verified_by", TEXT),
        sa.Column("verified_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("name_key", TEXT, nullable=False),
        sa.Column("question_key", TEXT),
        sa.CheckConstraint("dialect IN ('sqlite', 'postgresql')", name=op.f("ck_saved_queries_dialect")),
        sa.CheckConstraint("(sql IS NULL) = (dialect IS NULL)", name=op.f("ck_saved_queries_statement")),
        sa.CheckConstraint("(sql IS NULL) <> (question IS NULL AND query IS NULL)", name=op.f("ck_saved_queries_one")),
        sa.CheckConstraint(
            "is_verified = (verified_at IS NOT NULL) AND (is_shared OR NOT is_verified)",
            name=op.f("ck_saved_queries_verified"),
        ),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_saved_queries_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_saved_queries")),
        sa.UniqueConstraint(*key, name=op.f(f"uq_saved_queries_{'_'.join(key)}")),
    )
    op.create_index(
        op.f("uq_saved_queries_verified"),
        "saved_queries",
        ["org_id", "question_key"],
        unique=True,
        sqlite_where=sa.text("is_verified = 1"),
        postgresql_where=sa.text("is_verified"),
    )
    op.create_index(op.f("ix_saved_queries_org_id_is_shared"), "saved_queries", ["org_id", "is_shared"])
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        op.execute("ALTER TABLE saved_queries ENABLE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE saved_queries FORCE ROW LEVEL SECURITY")  # which binds the owner too
        op.execute(f"CREATE POLICY saved_queries_own ON saved_queries USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    op.drop_table("saved_queries")
