"""A meeting that stays though no calendar shows it any more says whose connection was the last to show it."""

import sqlalchemy as sa
from alembic import op

revision = "0060"
down_revision = "0059"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("synced_meetings", sa.Column("shown_by", TEXT))


def downgrade() -> None:
    op.drop_column("synced_meetings", "shown_by")
