"""A match key is written with less: it refers to nothing, and is looked for by its own key alone.

The table is made anew: on SQLite nothing else takes a reference away.
"""

from collections.abc import Callable, Iterable

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from storage.migrations.match_keys import MATCHED, Matched, removal, triggers

revision = "0054"
down_revision = "0052"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
BY_RECORD = op.f("ix_match_keys_org_id_record_id_kind")
TO_ORGANIZATION = op.f("fk_match_keys_org_id")


def upgrade() -> None:
    dialect = op.get_bind().dialect.name
    _change_triggers(removal)
    op.drop_index(BY_RECORD, "match_keys")
    if dialect == "postgresql":
        op.drop_constraint(TO_ORGANIZATION, "match_keys", type_="foreignkey")
    else:
        _make_anew()
    _change_triggers(triggers)


def downgrade() -> None:
    _change_triggers(removal)
    reference = sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=TO_ORGANIZATION, ondelete="CASCADE")
    if op.get_bind().dialect.name == "postgresql":
        op.create_foreign_key(TO_ORGANIZATION, "match_keys", "organizations", ["org_id"], ["id"], ondelete="CASCADE")
    else:
        _make_anew(reference)
    op.create_index(BY_RECORD, "match_keys", ["org_id", "record_id", "kind"])
    _change_triggers(triggers)


def _change_triggers(statements: Callable[[str, Matched], Iterable[str]]) -> None:
    for matched in MATCHED:
        for statement in statements(op.get_bind().dialect.name, matched):
            op.execute(sa.text(statement.replace(":", r"\:")))


def _make_anew(*constraints: sa.Constraint) -> None:
    """Make SQLite's table again with these constraints besides."""
    op.create_table(
        "new_match_keys",
        *(sa.Column("org_id", ID, nullable=False), sa.Column("kind", TEXT, nullable=False)),
        *(sa.Column("key", TEXT, nullable=False), sa.Column("record_id", ID, nullable=False)),
        sa.CheckConstraint("kind IN ('account', 'contact')", name=op.f("ck_match_keys_kind")),
        *constraints,
        sa.PrimaryKeyConstraint("org_id", "kind", "key", "record_id", name=op.f("pk_match_keys")),
    )
    op.execute("INSERT INTO new_match_keys SELECT org_id, kind, key, record_id FROM match_keys")
    op.drop_table("match_keys")
    op.rename_table("new_match_keys", "match_keys")
