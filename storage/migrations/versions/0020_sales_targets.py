"""Sales targets, and open deals by the day on which they are expected to close."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
MONEY = sa.Numeric(19, 4).with_variant(sa.String(20), "sqlite")


def upgrade() -> None:
    key = ["org_id", "owner_key", "metric", "currency_key", "starts_on", "ends_on"]
    op.create_table(
        "sales_targets",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("owner_id", TEXT),
        sa.Column("metric", TEXT, nullable=False),
        sa.Column("currency", TEXT),
        sa.Column("period", TEXT, nullable=False),
        sa.Column("starts_on", sa.Date(), nullable=False),
        sa.Column("ends_on", sa.Date(), nullable=False),
        sa.Column("time_zone", TEXT, nullable=False),
        sa.Column("amount", MONEY, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("owner_key", TEXT, nullable=False),
        sa.Column("currency_key", TEXT, nullable=False),
        sa.Column("begins_at", TIME, nullable=False),
        sa.Column("ends_before", TIME, nullable=False),
        sa.CheckConstraint("metric IN ('won_value', 'won_deals')", name=op.f("ck_sales_targets_metric")),
        sa.CheckConstraint("period IN ('month', 'quarter', 'year', 'custom')", name=op.f("ck_sales_targets_period")),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_sales_targets_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_sales_targets")),
        sa.UniqueConstraint(*key, name=op.f(f"uq_sales_targets_{'_'.join(key)}")),
    )
    op.create_index(
        op.f("ix_sales_targets_org_id_starts_on_owner_key_id"),
        "sales_targets",
        ["org_id", "starts_on", "owner_key", "id"],
    )
    op.create_index(op.f("ix_deals_org_id_status_close_date"), "deals", ["org_id", "status", "close_date"])
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        op.execute("ALTER TABLE sales_targets ENABLE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE sales_targets FORCE ROW LEVEL SECURITY")  # which binds the owner too
        op.execute(f"CREATE POLICY sales_targets_own ON sales_targets USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    op.drop_index(op.f("ix_deals_org_id_status_close_date"), "deals")
    op.drop_table("sales_targets")
