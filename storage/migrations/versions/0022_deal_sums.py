"""Deals by currency, so that the sums of sales targets are read from an index alone."""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

COLUMNS = ["org_id", "status", "currency", "closed_at", "close_date", "value"]
NAME = f"ix_deals_{'_'.join(COLUMNS)}"


def upgrade() -> None:
    op.create_index(op.f(NAME), "deals", COLUMNS)


def downgrade() -> None:
    op.drop_index(op.f(NAME), "deals")
