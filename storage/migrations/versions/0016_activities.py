"""Activities of every type: what tasks, notes, calls and e-mails have beside meetings, found by the search.

On PostgreSQL the table is written anew once, by the statement that adds the computed column; on SQLite it is made anew,
since no foreign key can be added there. Rows that are there were last changed when they were made, as far as is known.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from storage.search_index import backfill, removal, triggers

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)

OCCURRED_AT = (
    "CASE type WHEN 'meeting' THEN coalesce(due_at, completed_at, created_at)"
    " WHEN 'task' THEN coalesce(completed_at, due_at, created_at)"
    " WHEN 'note' THEN created_at ELSE coalesce(due_at, created_at) END"
)
LINKED = ("account", "contact", "deal")
FEEDS = (*LINKED, "lead", "owner")
OPEN_REMINDERS = sa.text("remind_at IS NOT NULL AND completed_at IS NULL")

# The kinds of the search's entries, and which activities are searched, before and after.
NAME, REST = ("subject",), ("body", "metadata.transcript")
KINDS = "CASE NEW.type WHEN 'meeting' THEN 5 WHEN 'task' THEN 6 WHEN 'note' THEN 7 WHEN 'call' THEN 8 ELSE 9 END"
ADDED = "'task', 'note', 'call', 'email'"


def upgrade() -> None:
    dialect = op.get_context().dialect.name
    _run(*removal(dialect, "activities"))
    if dialect == "postgresql":
        _add_columns()
    else:
        _rebuild(_new_columns(), _new_constraints())
    for name in FEEDS:
        op.create_index(
            f"ix_activities_{name}", "activities", ["org_id", f"{name}_id", sa.text("occurred_at DESC"), "id"]
        )
    op.create_index("ix_activities_occurred", "activities", ["org_id", sa.text("occurred_at DESC"), "id"])
    op.create_index("ix_activities_type", "activities", ["org_id", "type", sa.text("occurred_at DESC"), "id"])
    op.create_index(op.f("ix_activities_org_id_updated_at_id"), "activities", ["org_id", "updated_at", "id"])
    op.create_index(
        "ix_activities_reminders",
        "activities",
        ["org_id", "remind_at"],
        sqlite_where=OPEN_REMINDERS,
        postgresql_where=OPEN_REMINDERS,
    )
    op.create_table(
        "reminder_watches",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("next_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_reminder_watches_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", name=op.f("pk_reminder_watches")),
    )
    op.create_index(op.f("ix_reminder_watches_next_at"), "reminder_watches", ["next_at"])
    _for_all_organizations(
        "UPDATE activities SET direction = 'outbound' WHERE type IN ('call', 'email') AND direction IS NULL",
        *backfill(dialect, "activities", KINDS, NAME, REST, f"NEW.type IN ({ADDED})"),
        *triggers(dialect, "activities", KINDS, NAME, REST, f"NEW.type IN ('meeting', {ADDED})"),
    )


def downgrade() -> None:
    dialect = op.get_context().dialect.name
    _run(*removal(dialect, "activities"))
    op.drop_table("reminder_watches")
    for name in ("occurred", "type", "reminders", "org_id_updated_at_id", *FEEDS):
        op.drop_index(op.f(f"ix_activities_{name}"), "activities")
    if dialect == "postgresql":
        for column in reversed(_new_columns()):
            op.drop_column("activities", column.name)
    else:
        _rebuild([], [])
    _for_all_organizations(
        "DELETE FROM search_entries WHERE kind BETWEEN 6 AND 9",
        *triggers(dialect, "activities", 5, NAME, REST, "NEW.type = 'meeting'"),
    )


def _new_columns() -> list[sa.Column[Any]]:  # Any: of whichever type
    return [
        sa.Column("lead_id", ID),
        sa.Column("remind_at", TIME),
        sa.Column("priority", TEXT, nullable=False, server_default=sa.text("'normal'")),
        sa.Column("is_pinned", sa.Boolean(), nullable=False, server_default=sa.text("false")),
        *(sa.Column(name, TEXT) for name in ("phone", "outcome", "from_address")),
        sa.Column("to_addresses", sa.JSON(), nullable=False, server_default=sa.text("'[]'")),
        sa.Column("cc_addresses", sa.JSON(), nullable=False, server_default=sa.text("'[]'")),
        *(sa.Column(name, TEXT) for name in ("message_id", "thread_id", "external_id")),
        sa.Column("updated_at", TIME, nullable=False, server_default=sa.text("CURRENT_TIMESTAMP")),
        sa.Column("version", sa.Integer(), nullable=False, server_default=sa.text("1")),
        sa.Column("occurred_at", TIME, sa.Computed(OCCURRED_AT, persisted=True), nullable=False),
    ]


def _new_constraints() -> list[sa.Constraint]:
    return [
        sa.CheckConstraint("priority IN ('low', 'normal', 'high')", name=op.f("ck_activities_priority")),
        _linked("lead"),
        sa.UniqueConstraint("org_id", "source", "external_id", name=op.f("uq_activities_org_id_source_external_id")),
        sa.UniqueConstraint("org_id", "message_id", name=op.f("uq_activities_org_id_message_id")),
    ]


def _linked(name: str) -> sa.ForeignKeyConstraint:
    columns, target = ["org_id", f"{name}_id"], [f"{name}s.org_id", f"{name}s.id"]
    return sa.ForeignKeyConstraint(columns, target, name=op.f(f"fk_activities_org_id_{name}_id"))


def _add_columns() -> None:
    """Adds the columns, those that take writing the table anew in one statement."""
    for column in _new_columns():
        if column.name not in ("updated_at", "occurred_at"):
            op.add_column("activities", column)
    op.execute("ALTER TABLE activities ADD COLUMN updated_at timestamptz")
    op.execute(
        "ALTER TABLE activities ALTER COLUMN updated_at TYPE timestamptz USING created_at,"
        " ALTER COLUMN updated_at SET DEFAULT CURRENT_TIMESTAMP, ALTER COLUMN updated_at SET NOT NULL,"
        f" ADD COLUMN occurred_at timestamptz GENERATED ALWAYS AS ({OCCURRED_AT}) STORED NOT NULL"
    )
    op.create_check_constraint(op.f("ck_activities_priority"), "activities", "priority IN ('low', 'normal', 'high')")
    op.create_foreign_key(
        op.f("fk_activities_org_id_lead_id"), "activities", "leads", ["org_id", "lead_id"], ["org_id", "id"]
    )
    for columns in (["org_id", "source", "external_id"], ["org_id", "message_id"]):
        op.create_unique_constraint(op.f(f"uq_activities_{'_'.join(columns)}"), "activities", columns)


def _rebuild(columns: list[sa.Column[Any]], constraints: list[sa.Constraint]) -> None:  # Any: the same
    """Makes SQLite's table anew with these columns beside those of before, its other indexes with it."""
    connection = op.get_bind()
    wanted = "SELECT sql FROM sqlite_master WHERE tbl_name = 'activities' AND type = 'index' AND sql IS NOT NULL"
    indexes = connection.execute(sa.text(wanted)).scalars().all()
    kept: list[sa.Column[Any]] = [  # Any: the same
        *(sa.Column(name, ID, nullable=False) for name in ("org_id", "id")),
        sa.Column("type", TEXT, nullable=False),
        *(sa.Column(name, TEXT) for name in ("subject", "body")),
        *(sa.Column(name, TIME) for name in ("due_at", "completed_at")),
        sa.Column("duration_minutes", sa.Integer()),
        sa.Column("metadata", sa.JSON()),
        *(sa.Column(f"{name}_id", ID) for name in LINKED),
        sa.Column("owner_id", TEXT),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("direction", TEXT),
        sa.Column("created_at", TIME, nullable=False),
    ]
    names = ", ".join(column.name for column in kept)
    sources = "'manual', 'import', 'calendar', 'gmail', 'outlook', 'slack', 'zoom'"
    op.create_table(
        "activities_made_anew",
        *kept,
        *columns,
        sa.CheckConstraint(f"source IN ({sources})", name=op.f("ck_activities_source")),
        *map(_linked, LINKED),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_activities_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_activities")),
        *constraints,
    )
    into, taken = (f"{names}, updated_at", f"{names}, created_at") if columns else (names, names)
    _run(
        f"INSERT INTO activities_made_anew ({into}) SELECT {taken} FROM activities",  # noqa: S608  # our own names
        "DROP TABLE activities",
        "ALTER TABLE activities_made_anew RENAME TO activities",
        *indexes,
    )


def _for_all_organizations(*statements: str) -> None:
    """Runs them past the policies, which bind the owner of the tables too."""
    tables = ("activities", "search_entries") if op.get_context().dialect.name == "postgresql" else ()
    _run(*(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY" for table in tables))
    _run(*statements)
    _run(*(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY" for table in tables))


def _run(*statements: str) -> None:
    for statement in statements:
        op.execute(sa.text(statement.replace(":", r"\:")))
