"""Duplicates are found by columns of the records' own: match keys are stored no more, and what is shared is counted.

The table of keys stays, empty, for processes of the version before.
On PostgreSQL the table of contacts is written anew once, by the statement that adds the column with the whole name.
Indexes that keys are looked up by have no rows without a value: on an empty table PostgreSQL prefers such an index to
any other that begins with the organization, and a connection may keep that plan until the table is full.
"""

from collections.abc import Iterable

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from storage import match_triggers as now
from storage.migrations import match_keys as before

revision = "0061"
down_revision = "0060"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
ORGANIZATIONS = sa.table("organizations", sa.column("id", ID))
FULL_NAME = "nullif(trim(coalesce(match_first_name, '') || ' ' || coalesce(match_last_name, '')), '')"
INDEXES = (
    ("accounts", ("match_name",), "match_name IS NOT NULL"),
    ("contacts", ("match_phone",), "match_phone IS NOT NULL"),
    ("contacts", ("match_name", "account_id"), "match_name IS NOT NULL"),
)
GIVEN = (("accounts", "domain"), ("contacts", "folded_email"))
"""Indexes that had rows without a value, too."""


def upgrade() -> None:
    _lock("match_groups", "match_keys")
    dialect = op.get_bind().dialect.name
    for matched in before.MATCHED:
        _execute(before.removal(dialect, matched))
    op.execute("DELETE FROM match_keys" if dialect == "sqlite" else "TRUNCATE match_keys")
    stored = "STORED" if dialect == "postgresql" else "VIRTUAL"
    kind = 'text COLLATE "C"' if dialect == "postgresql" else "TEXT"
    op.execute(f"ALTER TABLE contacts ADD COLUMN match_name {kind} GENERATED ALWAYS AS ({FULL_NAME}) {stored}")
    for table, columns, where in INDEXES:
        condition = sa.text(where)
        names = ["org_id", *columns]
        op.create_index(_name(table, columns), table, names, sqlite_where=condition, postgresql_where=condition)
    _index_anew(of_given=True)
    op.add_column("match_groups", sa.Column("counted_by", TEXT))
    _count_anew([statement for matched in now.MATCHED for statement in now.backfill(matched)])
    for each in now.MATCHED:
        _execute(now.triggers(dialect, each))


def downgrade() -> None:
    _lock("match_groups", "match_keys")
    dialect = op.get_bind().dialect.name
    for each in now.MATCHED:
        _execute(now.removal(dialect, each))
    op.drop_column("match_groups", "counted_by")
    for table, columns, _ in reversed(INDEXES):
        op.drop_index(_name(table, columns), table)
    op.drop_column("contacts", "match_name")
    _index_anew(of_given=False)
    _count_anew([statement for matched in before.MATCHED for statement in before.backfill(matched)])
    for matched in before.MATCHED:
        _execute(before.triggers(dialect, matched))


def _name(table: str, columns: Iterable[str]) -> str:
    return op.f(f"ix_{table}_org_id_{'_'.join(columns)}")


def _lock(*tables: str) -> None:
    """Wait for whoever writes or reads such a record: nobody waits for what is made here then, and is waited for."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"LOCK TABLE {', '.join(('accounts', 'contacts', *tables))} IN ACCESS EXCLUSIVE MODE")


def _index_anew(*, of_given: bool) -> None:
    for table, column in GIVEN:
        condition = sa.text(f"{column} IS NOT NULL") if of_given else None
        name = _name(table, (column,))
        op.drop_index(name, table)
        op.create_index(name, table, ["org_id", column], sqlite_where=condition, postgresql_where=condition)


def _count_anew(statements: Iterable[str]) -> None:
    """Replace the groups of every organization by itself, as the policies show its rows alone."""
    connection = op.get_bind()
    counted = ("DELETE FROM match_groups WHERE org_id = :organization", *statements)
    for organization in connection.execute(sa.select(ORGANIZATIONS.c.id)).scalars().all():
        _act_for(connection, organization)
        for statement in counted:
            its = sa.bindparam("organization", type_=ID)
            connection.execute(sa.text(statement).bindparams(its), {"organization": organization})
    _act_for(connection, "")


def _act_for(connection: sa.Connection, organization: str) -> None:
    if connection.dialect.name == "postgresql":
        own = sa.text("SELECT set_config('crm.org_id', :organization, true)")
        connection.execute(own, {"organization": organization})


def _execute(statements: Iterable[str]) -> None:
    for statement in statements:
        op.execute(sa.text(statement.replace(":", r"\:")))
