"""Connections by consent: the tokens' version and their renewal, and the consent that is under way."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    for column in (
        sa.Column("token_version", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("refreshing_until", TIME),
        sa.Column("grant_sealed", sa.LargeBinary()),
        sa.Column("grant_state", TEXT),
        sa.Column("grant_code", TEXT),
        sa.Column("grant_expires_at", TIME),
    ):
        op.add_column("integrations", column)


def downgrade() -> None:
    names = ("grant_expires_at", "grant_code", "grant_state", "grant_sealed", "refreshing_until", "token_version")
    for name in names:
        op.drop_column("integrations", name)
