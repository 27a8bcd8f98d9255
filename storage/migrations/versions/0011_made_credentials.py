"""Notes which credential made a credential; of those that there are, nobody knows."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.add_column("credentials", sa.Column("made_by", ID))
    op.create_index(op.f("ix_credentials_made_by"), "credentials", ["made_by"])


def downgrade() -> None:
    op.drop_index(op.f("ix_credentials_made_by"), "credentials")
    op.drop_column("credentials", "made_by")
