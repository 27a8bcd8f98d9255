"""On SQLite a match key is written once: its table is its primary key, and has no rows beside it."""

from collections.abc import Callable, Iterable

import sqlalchemy as sa
from alembic import op

from storage.migrations.match_keys import MATCHED, Matched, removal, triggers

revision = "0059"
down_revision = "0058"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _make_anew(with_rowid=False)


def downgrade() -> None:
    _make_anew(with_rowid=True)


def _make_anew(*, with_rowid: bool) -> None:
    """Make SQLite's table again, with rows of its own or none."""
    if op.get_bind().dialect.name != "sqlite":
        return
    _change_triggers(removal)
    op.create_table(
        "new_match_keys",
        *(sa.Column("org_id", sa.String(36), nullable=False), sa.Column("kind", sa.Text(), nullable=False)),
        *(sa.Column("key", sa.Text(), nullable=False), sa.Column("record_id", sa.String(36), nullable=False)),
        sa.CheckConstraint("kind IN ('account', 'contact')", name=op.f("ck_match_keys_kind")),
        sa.PrimaryKeyConstraint("org_id", "kind", "key", "record_id", name=op.f("pk_match_keys")),
        sqlite_with_rowid=with_rowid,
    )
    op.execute("INSERT INTO new_match_keys SELECT org_id, kind, key, record_id FROM match_keys")
    op.drop_table("match_keys")
    op.rename_table("new_match_keys", "match_keys")
    _change_triggers(triggers)


def _change_triggers(statements: Callable[[str, Matched], Iterable[str]]) -> None:
    for matched in MATCHED:
        for statement in statements("sqlite", matched):
            op.execute(sa.text(statement.replace(":", r"\:")))
