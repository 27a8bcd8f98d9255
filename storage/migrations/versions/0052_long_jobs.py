"""A job's place in the queue says whether it waits for one of the places for work that takes long (decision 1030)."""

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job_queue", sa.Column("is_long", sa.Boolean(), nullable=False, server_default=sa.text("false")))


def downgrade() -> None:
    op.drop_column("job_queue", "is_long")
