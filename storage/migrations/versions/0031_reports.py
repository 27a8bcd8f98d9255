"""Reports."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "reports",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("description", TEXT),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("owner_id", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('pipeline_by_stage', 'activity_by_owner', 'won_lost_by_month', 'target_attainment')",
            name=op.f("ck_reports_kind"),
        ),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f("fk_reports_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_reports")),
    )
    for columns in (["org_id", "name", "id"], ["org_id", "owner_id", "id"]):
        op.create_index(op.f(f"ix_reports_{'_'.join(columns)}"), "reports", columns)
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        op.execute("ALTER TABLE reports ENABLE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE reports FORCE ROW LEVEL SECURITY")  # which binds the owner too
        op.execute(f"CREATE POLICY reports_own ON reports USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    op.drop_table("reports")
