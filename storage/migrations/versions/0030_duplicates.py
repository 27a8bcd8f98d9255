"""Match keys, by which duplicates of accounts and contacts are found, and merges.

Names and telephone numbers are folded a thousand records at a time, each organization by itself, as the policies show
its rows alone.
"""

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from contract.matching import company_match, name_match, phone_match
from storage.migrations.match_keys import MATCHED, backfill, removal, triggers

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
ROWS = 1_000

FOLDED: Mapping[str, Mapping[str, Callable[[str], str]]] = {
    "accounts": {"name": company_match},
    "contacts": {"first_name": name_match, "last_name": name_match, "phone": phone_match},
}
TABLES = ("match_keys", "match_groups", "not_duplicates", "merges", "merged_ids")
ORGANIZATIONS = sa.table("organizations", sa.column("id", ID))


def upgrade() -> None:
    for table, columns in FOLDED.items():
        for column in columns:
            op.add_column(table, sa.Column(f"match_{column}", TEXT))
    op.add_column("record_changes", sa.Column("merged_from", ID))
    _make_tables()
    connection = op.get_bind()
    dialect = connection.dialect.name
    for organization in connection.execute(sa.select(ORGANIZATIONS.c.id)).scalars().all():
        _act_for(connection, organization)
        for table, columns in FOLDED.items():
            _fold(connection, organization, table, columns)
        for matched in MATCHED:
            for statement in backfill(matched):
                its = sa.bindparam("organization", type_=ID)
                connection.execute(sa.text(statement).bindparams(its), {"organization": organization})
    _act_for(connection, "")
    for matched in MATCHED:
        for statement in triggers(dialect, matched):
            op.execute(sa.text(statement.replace(":", r"\:")))
    if dialect == "postgresql":  # last, since the policies would refuse the rows above
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        for table in TABLES:
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # which binds the owner too
            op.execute(f"CREATE POLICY {table}_own ON {table} USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    dialect = op.get_bind().dialect.name
    for matched in MATCHED:
        for statement in removal(dialect, matched):
            op.execute(statement)
    for table in reversed(TABLES):
        op.drop_table(table)
    op.drop_column("record_changes", "merged_from")
    for table, columns in FOLDED.items():
        for column in columns:
            op.drop_column(table, f"match_{column}")


def _kind(table: str) -> sa.CheckConstraint:
    return sa.CheckConstraint("kind IN ('account', 'contact')", name=op.f(f"ck_{table}_kind"))


def _own(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_org_id")
    return sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=name, ondelete="CASCADE")


def _key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint("org_id", *columns, name=op.f(f"pk_{table}"))


def _index(table: str, *columns: str) -> None:
    op.create_index(op.f(f"ix_{table}_org_id_{'_'.join(columns)}"), table, ["org_id", *columns])


def _column(name: str, of: Any, *, nullable: bool = False) -> sa.Column:  # type: ignore[type-arg]  # of any type
    return sa.Column(name, of, nullable=nullable)


def _make_tables() -> None:
    op.create_table(
        "match_keys",
        *(_column("org_id", ID), _column("kind", TEXT), _column("key", TEXT), _column("record_id", ID)),
        *(_kind("match_keys"), _own("match_keys"), _key("match_keys", "kind", "key", "record_id")),
    )
    _index("match_keys", "kind", "record_id")
    op.create_table(
        "match_groups",
        *(_column("org_id", ID), _column("kind", TEXT), _column("key", TEXT), _column("sign", TEXT)),
        _column("size", sa.Integer()),
        *(_kind("match_groups"), _own("match_groups"), _key("match_groups", "kind", "key")),
    )
    op.create_index(
        "ix_match_groups_shared",
        "match_groups",
        ["org_id", "kind", "sign", sa.text("size DESC"), "key"],
        sqlite_where=sa.text("size > 1"),
        postgresql_where=sa.text("size > 1"),
    )
    op.create_table(
        "not_duplicates",
        *(_column("org_id", ID), _column("kind", TEXT), _column("low_id", ID), _column("high_id", ID)),
        sa.CheckConstraint("low_id < high_id", name=op.f("ck_not_duplicates_order")),
        *(_kind("not_duplicates"), _own("not_duplicates"), _key("not_duplicates", "kind", "low_id", "high_id")),
    )
    _index("not_duplicates", "kind", "high_id")
    op.create_table(
        "merges",
        *(_column("org_id", ID), _column("id", ID), _column("kind", TEXT), _column("into_id", ID)),
        *(_column("from_ids", sa.JSON()), _column("links", sa.JSON()), _column("merged_by", TEXT)),
        *(_column("merged_at", TIME), _column("undo_until", TIME), _column("undone_at", TIME, nullable=True)),
        *(_column("choice", sa.JSON()), _column("moved", TEXT), _column("before", TEXT)),
        *(_kind("merges"), _own("merges"), _key("merges", "id")),
    )
    for columns in (("merged_at", "id"), ("into_id",), ("undo_until",)):
        _index("merges", *columns)
    op.create_table(
        "merged_ids",
        *(_column("org_id", ID), _column("kind", TEXT), _column("from_id", ID), _column("into_id", ID)),
        _column("merge_id", ID),
        *(_kind("merged_ids"), _own("merged_ids"), _key("merged_ids", "kind", "from_id")),
    )
    _index("merged_ids", "kind", "into_id")


def _act_for(connection: sa.Connection, organization: str) -> None:
    if connection.dialect.name == "postgresql":
        own = sa.text("SELECT set_config('crm.org_id', :organization, true)")
        connection.execute(own, {"organization": organization})


def _fold(connection: sa.Connection, organization: str, name: str, columns: Mapping[str, Callable[[str], str]]) -> None:
    copies = [f"match_{column}" for column in columns]
    table = sa.table(
        name, sa.column("org_id", ID), sa.column("id", ID), *(sa.column(c, TEXT) for c in (*columns, *copies))
    )
    own = table.c.org_id == organization
    change = sa.update(table).where(own, table.c.id == sa.bindparam("row", type_=ID))
    change = change.values({copy: sa.bindparam(f"new_{copy}", type_=TEXT) for copy in copies})
    wanted = sa.select(table.c.id, *(table.c[column] for column in columns)).where(own)
    last: list[sa.ColumnElement[bool]] = []
    while rows := connection.execute(wanted.where(*last).order_by(table.c.id).limit(ROWS)).all():
        connection.execute(change, [_copies(row, columns) for row in rows])
        last = [table.c.id > rows[-1].id]


def _copies(row: Any, columns: Mapping[str, Callable[[str], str]]) -> dict[str, str | None]:  # Any: a row
    texts = {column: getattr(row, column) for column in columns}
    return {"row": row.id, **{f"new_match_{c}": text and columns[c](text) for c, text in texts.items()}}
