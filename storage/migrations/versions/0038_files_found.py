"""Files are found by the search, by their names and as long as they are not in the trash."""

import sqlalchemy as sa
from alembic import op

from storage.search_index import backfill, removal, triggers

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

KIND, NAME, TRASHED = 10, ("name",), "trashed_at"
FORGOTTEN = "DELETE FROM search_entries WHERE kind = 10"


def upgrade() -> None:
    dialect = op.get_context().dialect.name
    _for_all_organizations(
        *backfill(dialect, "files", KIND, NAME, (), unless=TRASHED),
        *triggers(dialect, "files", KIND, NAME, (), unless=TRASHED),
    )


def downgrade() -> None:
    _for_all_organizations(*removal(op.get_context().dialect.name, "files"), FORGOTTEN)


def _for_all_organizations(*statements: str) -> None:
    """Runs them past the policies, which bind the owner of the tables too."""
    tables = ("files", "search_entries") if op.get_context().dialect.name == "postgresql" else ()
    _run(*(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY" for table in tables))
    _run(*statements)
    _run(*(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY" for table in tables))


def _run(*statements: str) -> None:
    for statement in statements:
        op.execute(sa.text(statement.replace(":", r"\:")))
