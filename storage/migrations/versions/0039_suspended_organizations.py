"""Organizations can be suspended: nobody is let in until that is undone."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("organizations", sa.Column("suspended_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    op.drop_column("organizations", "suspended_at")
