"""Chats: threads, messages, runs with their events and steps, and what was asked of models."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
STATUSES = "'queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled'"
TENANTS = ("chat_threads", "chat_messages", "chat_runs", "chat_events", "chat_steps", "model_usage")


def upgrade() -> None:
    _threads()
    _messages()
    _runs()
    _events()
    _usage()
    op.create_table(
        "chat_watches",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("next_at", TIME, nullable=False),
        _of_organization("chat_watches"),
        sa.PrimaryKeyConstraint("org_id", name=op.f("pk_chat_watches")),
    )
    op.create_index(op.f("ix_chat_watches_next_at"), "chat_watches", ["next_at"])
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        for table in TENANTS:
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # which binds the owner too
            op.execute(f"CREATE POLICY {table}_own ON {table} USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    for table in ("chat_watches", *reversed(TENANTS)):
        op.drop_table(table)


def _threads() -> None:
    op.create_table(
        "chat_threads",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("title", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        _of_organization("chat_threads"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_chat_threads")),
    )
    _index("chat_threads", "org_id", "subject", "updated_at", "id")
    _index("chat_threads", "org_id", "updated_at")


def _messages() -> None:
    op.create_table(
        "chat_messages",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("thread_id", ID, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("run_id", ID),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("citations", sa.JSON(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint("role IN ('user', 'assistant')", name=op.f("ck_chat_messages_role")),
        _of("chat_messages", "chat_threads", "thread_id"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_chat_messages")),
        sa.UniqueConstraint("org_id", "thread_id", "position", name=op.f("uq_chat_messages_org_id_thread_id_position")),
    )


def _runs() -> None:
    op.create_table(
        "chat_runs",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("thread_id", ID, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("answer_id", ID, nullable=False),
        sa.Column("request_id", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("provider", TEXT, nullable=False),
        sa.Column("model", TEXT),
        sa.Column("time_zone", TEXT, nullable=False),
        sa.Column("credential_kind", TEXT, nullable=False),
        sa.Column("credential_id", ID),
        sa.Column("granted_scopes", sa.JSON(), nullable=False),
        sa.Column("session_ends_at", TIME),
        sa.Column("holder", ID),
        sa.Column("leased_until", TIME),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("tool_calls", sa.Integer(), nullable=False),
        sa.Column("worked_ms", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("is_estimated", sa.Boolean(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("error_code", TEXT),
        sa.Column("cancel_requested_at", TIME),
        sa.Column("last_sequence", sa.BigInteger(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("finished_at", TIME),
        sa.CheckConstraint(f"status IN ({STATUSES})", name=op.f("ck_chat_runs_status")),
        _of("chat_runs", "chat_threads", "thread_id"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_chat_runs")),
    )
    for name, column, unique in (("uq", "thread_id", True), ("ix", "subject", False)):
        op.create_index(
            op.f(f"{name}_chat_runs_unfinished"),
            "chat_runs",
            ["org_id", column],
            unique=unique,
            sqlite_where=sa.text("finished_at IS NULL"),
            postgresql_where=sa.text("finished_at IS NULL"),
        )
    _index("chat_runs", "org_id", "thread_id", "created_at")
    _index("chat_runs", "org_id", "finished_at")


def _events() -> None:
    op.create_table(
        "chat_events",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        _of("chat_events", "chat_runs", "run_id"),
        sa.PrimaryKeyConstraint("org_id", "run_id", "sequence", name=op.f("pk_chat_events")),
    )
    op.create_table(
        "chat_steps",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        _of("chat_steps", "chat_runs", "run_id"),
        sa.PrimaryKeyConstraint("org_id", "run_id", "position", name=op.f("pk_chat_steps")),
    )


def _usage() -> None:
    op.create_table(
        "model_usage",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("day", TEXT, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("provider", TEXT, nullable=False),
        sa.Column("model", TEXT, nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("is_estimated", sa.Boolean(), nullable=False),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        _of_organization("model_usage"),
        sa.PrimaryKeyConstraint("org_id", "day", "subject", "provider", "model", name=op.f("pk_model_usage")),
    )


def _of_organization(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["org_id"], ["organizations.id"], name=op.f(f"fk_{table}_org_id"), ondelete="CASCADE"
    )


def _of(table: str, other: str, column: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_org_id_{column}")
    return sa.ForeignKeyConstraint(
        ["org_id", column], [f"{other}.org_id", f"{other}.id"], name=name, ondelete="CASCADE"
    )


def _index(table: str, *columns: str) -> None:
    op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, list(columns))
