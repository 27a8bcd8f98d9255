"""Histories of records; and the account that a deal had when it moved, as far as it is known: the one it has now."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
HANDED_OVER = sa.text("former_owner IS NOT NULL")
ACCOUNT_KEY = op.f("fk_stage_changes_org_id_account_id")


def upgrade() -> None:
    op.create_table(
        "record_changes",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("subject_kind", TEXT, nullable=False),
        sa.Column("subject_id", ID, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("actor", TEXT, nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.Column("former_owner", TEXT, sa.Computed("fields -> 'owner_id' ->> 0", persisted=True)),
        sa.CheckConstraint(
            "subject_kind IN ('account', 'contact', 'deal', 'lead', 'campaign')",
            name=op.f("ck_record_changes_subject_kind"),
        ),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_record_changes_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_record_changes")),
    )
    subject = ["org_id", "subject_kind", "subject_id"]
    op.create_index("ix_record_changes_subject", "record_changes", [*subject, sa.text("at DESC"), "id"])
    op.create_index(
        "ix_record_changes_owners",
        "record_changes",
        [*subject, "at"],
        sqlite_where=HANDED_OVER,
        postgresql_where=HANDED_OVER,
    )
    columns = ["org_id", "account_id"], ["org_id", "id"]
    with op.batch_alter_table("stage_changes") as moves:
        moves.add_column(sa.Column("account_id", ID))
        moves.create_foreign_key(ACCOUNT_KEY, "accounts", *columns)
    _fill()
    op.create_index("ix_stage_changes_account", "stage_changes", ["org_id", "account_id", sa.text("at DESC"), "id"])
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        op.execute("ALTER TABLE record_changes ENABLE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE record_changes FORCE ROW LEVEL SECURITY")  # which binds the owner too
        op.execute(f"CREATE POLICY record_changes_own ON record_changes USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    op.drop_index("ix_stage_changes_account", "stage_changes")
    with op.batch_alter_table("stage_changes") as moves:
        moves.drop_constraint(ACCOUNT_KEY, type_="foreignkey")
        moves.drop_column("account_id")
    op.drop_table("record_changes")


def _fill() -> None:
    """Of all organizations, past the policies, which bind the owner of the tables too."""
    tables = ("stage_changes", "deals") if op.get_context().dialect.name == "postgresql" else ()
    for table in tables:
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    op.execute(
        "UPDATE stage_changes SET account_id = (SELECT d.account_id FROM deals AS d"
        " WHERE d.org_id = stage_changes.org_id AND d.id = stage_changes.deal_id)"
    )
    for table in tables:
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
