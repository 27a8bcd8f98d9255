"""Idempotency keys."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("org_id", ID),
        sa.Column("fingerprint", TEXT, nullable=False),
        sa.Column("holder", ID, nullable=False),
        sa.Column("leased_until", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("result", sa.LargeBinary()),
        sa.Column("answer", sa.LargeBinary()),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_idempotency_keys_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(op.f("ix_idempotency_keys_org_id"), "idempotency_keys", ["org_id"])
    op.create_index(op.f("ix_idempotency_keys_expires_at"), "idempotency_keys", ["expires_at"])


def downgrade() -> None:
    op.drop_table("idempotency_keys")
