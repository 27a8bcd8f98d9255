"""Webhooks, what came of their deliveries, and where the workers have to look."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON()

TENANT_TABLES = ("webhooks", "webhook_deliveries")


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("types", DOCUMENT, nullable=False),
        sa.Column("areas", DOCUMENT, nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("cursor", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("created_by", TEXT),
        sa.CheckConstraint("failures >= 0", name=op.f("ck_webhooks_failures")),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f("fk_webhooks_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_webhooks")),
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("webhook_id", ID, nullable=False),
        sa.Column("event_id", ID, nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("status_code", sa.Integer()),
        sa.Column("error", TEXT),
        sa.Column("at", TIME, nullable=False),
        sa.Column("delivered", sa.Boolean(), nullable=False),
        _key("webhook_deliveries"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_webhook_deliveries")),
    )
    op.create_index(
        op.f("ix_webhook_deliveries_org_id_webhook_id_id"), "webhook_deliveries", ["org_id", "webhook_id", "id"]
    )
    op.create_table(
        "webhook_watches",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("webhook_id", ID, nullable=False),
        _key("webhook_watches"),
        sa.PrimaryKeyConstraint("org_id", "webhook_id", name=op.f("pk_webhook_watches")),
    )
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        for table in TENANT_TABLES:
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # which binds the owner too
            op.execute(f"CREATE POLICY {table}_own ON {table} USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    for table in ("webhook_watches", "webhook_deliveries", "webhooks"):
        op.drop_table(table)


def _key(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["org_id", "webhook_id"],
        ["webhooks.org_id", "webhooks.id"],
        name=op.f(f"fk_{table}_org_id_webhook_id"),
        ondelete="CASCADE",
    )
