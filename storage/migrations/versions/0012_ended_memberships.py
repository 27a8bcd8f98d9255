"""A membership that ended stays as a row that says so; the version before would take it for one that holds."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("memberships", sa.Column("ended_at", TIME))


def downgrade() -> None:
    op.execute("DELETE FROM memberships WHERE ended_at IS NOT NULL")
    op.drop_column("memberships", "ended_at")
