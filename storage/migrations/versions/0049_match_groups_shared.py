"""Only keys that several records share are counted, and the triggers that write match keys do less.

The way back leaves them as they are: what is counted of a key that one record has is read by nobody.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from storage.match_triggers import MATCHED, removal, triggers

revision = "0049"
down_revision = "0047"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
ORGANIZATIONS = sa.table("organizations", sa.column("id", ID))
_ACT_FOR = "SELECT set_config('crm.org_id', :organization, true)"
_ALONE = "DELETE FROM match_groups WHERE org_id = :organization AND size <= 1"


def upgrade() -> None:
    connection = op.get_bind()
    dialect = connection.dialect.name
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


def downgrade() -> None:
    """Leave everything: see above."""
