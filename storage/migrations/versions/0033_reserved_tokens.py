"""A run says which tokens its open question has reserved; what was kept of them by the day goes."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("chat_runs", sa.Column("reserved", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
    op.drop_column("model_usage", "reserved")


def downgrade() -> None:
    op.add_column("model_usage", sa.Column("reserved", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
    op.drop_column("chat_runs", "reserved")
