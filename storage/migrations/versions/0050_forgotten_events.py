"""An organization's counter says up to where its change log is kept no more."""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("event_counters", sa.Column("forgotten", sa.BigInteger))
    op.add_column("event_counters", sa.Column("forgotten_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    op.drop_column("event_counters", "forgotten_at")
    op.drop_column("event_counters", "forgotten")
