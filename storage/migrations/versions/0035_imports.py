"""Imports, and the rows of them that were refused."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
UNFINISHED = sa.text("status IN ('queued', 'running')")
TABLES = ("imports", "import_refusals")


def upgrade() -> None:
    _imports()
    _refusals()
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        for table in TABLES:
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # which binds the owner too
            op.execute(f"CREATE POLICY {table}_own ON {table} USING ({own}) WITH CHECK ({own})")


def _check(table: str, name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_{table}_{name}"))


def _counts() -> list[sa.Column[int]]:
    names = ("rows", "created", "updated", "unchanged", "refused")
    return [sa.Column(name, sa.Integer(), nullable=False) for name in names]


def _imports() -> None:
    op.create_table(
        "imports",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("dry_run", sa.Boolean(), nullable=False),
        sa.Column("file_id", ID, nullable=False),
        sa.Column("job_id", ID, nullable=False),
        *_counts(),
        sa.Column("refused_file_id", ID),
        sa.Column("error", TEXT),
        sa.Column("requested_by", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("finished_at", TIME),
        sa.Column("total", sa.Integer()),
        sa.Column("widest", sa.Integer(), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        _check("imports", "kind", "kind IN ('account', 'contact', 'deal', 'lead')"),
        _check("imports", "status", "status IN ('queued', 'running', 'completed', 'failed', 'cancelled')"),
        _check("imports", "rows", "rows = created + updated + unchanged + refused"),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f("fk_imports_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_imports")),
    )
    op.create_index(op.f("ix_imports_org_id_created_at_id"), "imports", ["org_id", "created_at", "id"])
    op.create_index(
        op.f("ix_imports_unfinished"),
        "imports",
        ["org_id", "id"],
        sqlite_where=UNFINISHED,
        postgresql_where=UNFINISHED,
    )


def _refusals() -> None:
    op.create_table(
        "import_refusals",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("import_id", ID, nullable=False),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("cells", sa.JSON(), nullable=False),
        sa.Column("errors", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "import_id"],
            ["imports.org_id", "imports.id"],
            name=op.f("fk_import_refusals_org_id_import_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_import_refusals")),
        sa.UniqueConstraint("org_id", "import_id", "line", name=op.f("uq_import_refusals_org_id_import_id_line")),
    )


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)
