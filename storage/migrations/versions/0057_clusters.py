"""Organizations may lie on another server than the directory's, and move while they are used."""

import sqlalchemy as sa
from alembic import op

revision = "0057"
down_revision = "0054"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("organizations", sa.Column("cluster", TEXT))
    op.add_column("organizations", sa.Column("moved_at", TIME))
    op.create_index("ix_organizations_moved_at", "organizations", ["moved_at"])
    if op.get_context().dialect.name == "postgresql":
        # Called in the message that begins a write: whoever moves the organization has the lock for itself, and the row
        # is looked at under the lock, so that a write either is copied or is refused.
        op.execute(
            "CREATE FUNCTION crm_enter(org uuid, place text) RETURNS void LANGUAGE plpgsql AS $$"
            " DECLARE lies text; BEGIN"
            " IF pg_try_advisory_xact_lock_shared(hashtextextended(org::text, 57)) THEN"
            " SELECT coalesce(cluster, '') INTO lies FROM organizations WHERE id = org;"
            " IF lies IS NULL OR lies = place THEN RETURN; END IF; END IF;"
            " RAISE EXCEPTION 'the organization is being moved' USING ERRCODE = 'CRM57'; END $$"
        )
        # Their keys do not begin with the organization, by which the rows that are copied are chosen.
        for table in ("media", "idempotency_keys"):
            op.execute(f"ALTER TABLE {table} REPLICA IDENTITY FULL")


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        for table in ("media", "idempotency_keys"):
            op.execute(f"ALTER TABLE {table} REPLICA IDENTITY DEFAULT")
        op.execute("DROP FUNCTION crm_enter(uuid, text)")
    op.drop_index("ix_organizations_moved_at", "organizations")
    op.drop_column("organizations", "moved_at")
    op.drop_column("organizations", "cluster")
