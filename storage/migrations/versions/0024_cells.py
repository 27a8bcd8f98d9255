"""Roll-ups of deals and meetings, kept by triggers; they begin with what is there."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from storage.cell_triggers import ROLLUPS, backfill, removal, triggers

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
EXACT = sa.Numeric().with_variant(sa.Integer(), "sqlite")


def _columns_of_deals() -> list[sa.Column[object]]:
    return [
        sa.Column("stage_id", ID),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("owner_id", TEXT),
        sa.Column("currency", TEXT, nullable=False),
        sa.Column("close_month", sa.Date()),
        sa.Column("deals", sa.BigInteger(), nullable=False),
        sa.Column("valued", sa.BigInteger(), nullable=False),
        sa.Column("high", EXACT, nullable=False),
        sa.Column("low", sa.BigInteger(), nullable=False),
        sa.Column("timed", sa.BigInteger(), nullable=False),
        sa.Column("seconds", EXACT, nullable=False),
        sa.Column("micros", sa.BigInteger(), nullable=False),
    ]


def _columns_of_meetings() -> list[sa.Column[object]]:
    return [
        sa.Column("owner_id", TEXT),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("due_day", sa.Date()),
        sa.Column("is_completed", sa.Boolean(), nullable=False),
        sa.Column("meetings", sa.BigInteger(), nullable=False),
        sa.Column("minutes", sa.BigInteger(), nullable=False),
        sa.Column("timed", sa.BigInteger(), nullable=False),
    ]


COLUMNS = {"deal": _columns_of_deals, "meeting": _columns_of_meetings}


def upgrade() -> None:
    tables = []
    for kind, columns in COLUMNS.items():
        for name, key in ((f"{kind}_cells", sa.Column("cell", TEXT)), (f"{kind}_cell_deltas", sa.Column("id", ID))):
            key.nullable = False
            op.create_table(
                name,
                sa.Column("org_id", ID, nullable=False),
                key,
                *columns(),
                sa.ForeignKeyConstraint(
                    ["org_id"], ["organizations.id"], name=op.f(f"fk_{name}_org_id"), ondelete="CASCADE"
                ),
                sa.PrimaryKeyConstraint("org_id", key.name, name=op.f(f"pk_{name}")),
            )
            tables.append(name)
    dialect = op.get_context().dialect.name
    for rollup in ROLLUPS:
        force = f"ALTER TABLE {rollup.table} %s ROW LEVEL SECURITY"
        if dialect == "postgresql":
            op.execute(force % "NO FORCE")  # for the owner to see all rows
        for statement in (backfill(dialect, rollup), *triggers(dialect, rollup)):
            op.execute(sa.text(statement.replace(":", r"\:")))
        if dialect == "postgresql":
            op.execute(force % "FORCE")
    if dialect == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        for table in tables:
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # which binds the owner too
            op.execute(f"CREATE POLICY {table}_own ON {table} USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    dialect = op.get_context().dialect.name
    for rollup in ROLLUPS:
        for statement in removal(dialect, rollup):
            op.execute(statement)
    for kind in COLUMNS:
        op.drop_table(f"{kind}_cell_deltas")
        op.drop_table(f"{kind}_cells")
