"""The change log is read by time."""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(op.f("ix_events_occurred"), "events", ["org_id", "occurred_at", "sequence"])


def downgrade() -> None:
    op.drop_index(op.f("ix_events_occurred"), table_name="events")
