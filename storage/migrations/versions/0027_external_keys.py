"""Records have keys of other systems; contacts and leads are found by their addresses."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TABLES = ("accounts", "contacts", "deals", "leads")
BY_ADDRESS = ("contacts", "leads")


def upgrade() -> None:
    for table in TABLES:
        op.add_column(table, sa.Column("external_key", TEXT))
        op.add_column(table, sa.Column("folded_external_key", TEXT))
        name = op.f(f"uq_{table}_org_id_external_key")
        op.create_index(name, table, ["org_id", "external_key"], unique=True)
    for table in BY_ADDRESS:
        op.create_index(op.f(f"ix_{table}_org_id_folded_email"), table, ["org_id", "folded_email"])
    op.create_table(
        "external_keys",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("record_id", ID, nullable=False),
        sa.CheckConstraint("kind IN ('account', 'contact', 'deal', 'lead')", name=op.f("ck_external_keys_kind")),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_external_keys_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "kind", "key", name=op.f("pk_external_keys")),
    )
    key = ["org_id", "kind", "record_id"]
    op.create_index(op.f(f"ix_external_keys_{'_'.join(key)}"), "external_keys", key)
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        op.execute("ALTER TABLE external_keys ENABLE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE external_keys FORCE ROW LEVEL SECURITY")  # which binds the owner too
        op.execute(f"CREATE POLICY external_keys_own ON external_keys USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    op.drop_table("external_keys")
    for table in BY_ADDRESS:
        op.drop_index(op.f(f"ix_{table}_org_id_folded_email"), table)
    for table in TABLES:
        op.drop_index(op.f(f"uq_{table}_org_id_external_key"), table)
        op.drop_column(table, "folded_external_key")
        op.drop_column(table, "external_key")
