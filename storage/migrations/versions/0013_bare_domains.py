"""Domains of accounts and leads get the spelling in which they are kept from now on (decision 215).

Each organization is gone through by itself, as the policies show its rows alone, and a thousand rows at a time.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from contract.domains import kept_domain

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
ROWS = 1_000


def upgrade() -> None:
    connection = op.get_bind()
    organizations = connection.execute(sa.select(sa.table("organizations", sa.column("id", ID)).c.id)).scalars().all()
    for organization in organizations:
        _act_for(connection, organization)
        _rewrite(connection, organization, "accounts", "domain")
        _rewrite(connection, organization, "leads", "company_domain")
    _act_for(connection, "")


def downgrade() -> None:
    """The spellings before are not known any more, and the version before reads these."""


def _act_for(connection: sa.Connection, organization: str) -> None:
    if connection.dialect.name == "postgresql":
        own = sa.text("SELECT set_config('crm.org_id', :organization, true)")
        connection.execute(own, {"organization": organization})


def _rewrite(connection: sa.Connection, organization: str, name: str, column: str) -> None:
    table = sa.table(name, sa.column("org_id", ID), sa.column("id", ID), sa.column(column, sa.Text()))
    own, domain = table.c.org_id == organization, table.c[column]
    change = sa.update(table).where(own, table.c.id == sa.bindparam("row")).values({column: sa.bindparam("kept")})
    last: list[sa.ColumnElement[bool]] = []
    while rows := connection.execute(
        sa.select(table.c.id, domain).where(own, domain.is_not(None), *last).order_by(table.c.id).limit(ROWS)
    ).all():
        changed = [{"row": row, "kept": kept} for row, text in rows if (kept := kept_domain(text)) != text]
        if changed:
            connection.execute(change, changed)
        last = [table.c.id > rows[-1][0]]
