"""Only keys that several records share are counted, and the triggers that write match keys do less.

The way back leaves them as they are: what is counted of a key that one record has is read by nobody.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from storage.migrations.match_keys import MATCHED, removal, triggers

revision = "0049"
down_revision = "0047"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
ORGANIZATIONS = sa.table("organizations", sa.column("id", ID))
_ACT_FOR = "SELECT set_config('crm.org_id', :organization, true)"
_BEFORE, _AFTER = ("org_id", "kind", "record_id"), ("org_id", "record_id", "kind")
_ALONE = "DELETE FROM match_groups WHERE org_id = :organization AND size <= 1"


def upgrade() -> None:
    connection = op.get_bind()
    dialect = connection.dialect.name
    if dialect == "postgresql":  # a writer who waits here cannot wait for what is deleted below
        op.execute("LOCK TABLE accounts, contacts IN SHARE ROW EXCLUSIVE MODE")
    for organization in connection.execute(sa.select(ORGANIZATIONS.c.id)).scalars().all():
        if dialect == "postgresql":
            connection.execute(sa.text(_ACT_FOR), {"organization": organization})
        connection.execute(
            sa.text(_ALONE).bindparams(sa.bindparam("organization", type_=ID)), {"organization": organization}
        )
    if dialect == "postgresql":
        connection.execute(sa.text(_ACT_FOR), {"organization": ""})
    for matched in MATCHED:
        for statement in (*removal(dialect, matched), *triggers(dialect, matched)):
            op.execute(sa.text(statement.replace(":", r"\:")))

    _index(_AFTER, _BEFORE)


def downgrade() -> None:
    """Leave all but the index: see above."""
    _index(_BEFORE, _AFTER)


def _index(new: tuple[str, ...], old: tuple[str, ...]) -> None:
    """Look for the keys of a record by another index, in which the kind comes last or does not."""
    op.create_index(op.f(f"ix_match_keys_{'_'.join(new)}"), "match_keys", list(new))
    op.drop_index(op.f(f"ix_match_keys_{'_'.join(old)}"), table_name="match_keys")
