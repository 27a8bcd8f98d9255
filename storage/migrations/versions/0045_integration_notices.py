"""Notices of providers: what they are told of by, where they lead, and the record that a chat channel is about."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def _key(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    target = [f"{to}.org_id", f"{to}.id"]
    name = op.f(f"fk_{table}_org_id_{column}")
    return sa.ForeignKeyConstraint(["org_id", column], target, name=name, ondelete="CASCADE")


def upgrade() -> None:
    op.add_column("sync_streams", sa.Column("noticed_at", TIME))
    name = "stream_links"
    op.create_table(
        name,
        sa.Column("org_id", ID, nullable=False),
        sa.Column("stream_id", ID, nullable=False),
        sa.Column("account_id", ID),
        sa.Column("deal_id", ID),
        _key(name, "stream_id", "sync_streams"),
        _key(name, "account_id", "accounts"),
        _key(name, "deal_id", "deals"),
        sa.CheckConstraint("(account_id IS NULL) <> (deal_id IS NULL)", name=op.f(f"ck_{name}_target")),
        sa.PrimaryKeyConstraint("org_id", "stream_id", name=op.f(f"pk_{name}")),
    )
    for column in ("account_id", "deal_id"):
        op.create_index(op.f(f"ix_{name}_org_id_{column}"), name, ["org_id", column])
    name = "stream_watches"
    op.create_table(
        name,
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("integration_id", ID, nullable=False),
        sa.Column("stream_id", ID, nullable=False),
        sa.Column("sealed", sa.LargeBinary()),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("renews_at", TIME, nullable=False),
        sa.Column("ends_at", TIME),
        _key(name, "stream_id", "sync_streams"),
        _key(name, "integration_id", "integrations"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f(f"pk_{name}")),
    )
    for column in ("integration_id", "stream_id"):
        op.create_index(op.f(f"ix_{name}_org_id_{column}"), name, ["org_id", column])
    name = "integration_accounts"
    op.create_table(
        name,
        sa.Column("org_id", ID, nullable=False),
        sa.Column("integration_id", ID, nullable=False),
        sa.Column("provider", TEXT, nullable=False),
        sa.Column("account_key", TEXT, nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f(f"fk_{name}_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "integration_id", name=op.f(f"pk_{name}")),
    )
    op.create_index(op.f(f"ix_{name}_provider_account_key"), name, ["provider", "account_key"])
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        for table in ("stream_links", "stream_watches"):
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # which binds the owner too
            op.execute(f"CREATE POLICY {table}_own ON {table} USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    for table in ("integration_accounts", "stream_watches", "stream_links"):
        op.drop_table(table)
    op.drop_column("sync_streams", "noticed_at")
