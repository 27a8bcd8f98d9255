"""The indexes of what few records have hold those records alone: what a record has not costs a write nothing."""

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "0058"
down_revision = "0057"
branch_labels = None
depends_on = None

KEYED = ("accounts", "contacts", "deals", "leads")
REFERENCES = {"deals": ("champion_id", "parent_deal_id"), "leads": ("account_id", "contact_id", "deal_id")}


def upgrade() -> None:
    for name, table, columns, unique in _indexes():
        given = sa.text(f"{columns[-1]} IS NOT NULL")
        op.drop_index(name, table)
        op.create_index(name, table, columns, unique=unique, sqlite_where=given, postgresql_where=given)


def downgrade() -> None:
    for name, table, columns, unique in _indexes():
        op.drop_index(name, table)
        op.create_index(name, table, columns, unique=unique)


def _indexes() -> Iterator[tuple[str, str, list[str], bool]]:
    for table in KEYED:
        yield f"uq_{table}_org_id_external_key", table, ["org_id", "external_key"], True
    for table, columns in REFERENCES.items():
        for column in columns:
            yield op.f(f"ix_{table}_org_id_{column}"), table, ["org_id", column], False
    yield op.f("ix_deals_org_id_status_closed_at"), "deals", ["org_id", "status", "closed_at"], False
