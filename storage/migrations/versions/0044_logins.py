"""Signing in at the embedded identity provider. What a member signed in with ends with the last membership."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)

TABLES = ("passwords", "login_sessions", "login_grants", "login_tickets")
# Whatever ends the membership, a version from before among it: memberships are written within organizations, which see
# nothing of these tables.
ENDING = (
    "UPDATE login_sessions SET ended_at = NEW.ended_at WHERE subject = NEW.subject AND ended_at IS NULL{alone};",
    "UPDATE login_grants SET ended_at = NEW.ended_at WHERE subject = NEW.subject AND ended_at IS NULL{alone};",
    "UPDATE login_tickets SET used_at = NEW.ended_at WHERE subject = NEW.subject AND used_at IS NULL{alone};",
)
ELSEWHERE = "SELECT 1 FROM memberships AS m WHERE m.subject = NEW.subject AND m.ended_at IS NULL"
ENDS = "OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL"


def upgrade() -> None:
    op.create_table(
        "passwords",
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("changed_at", TIME, nullable=False),
        _of_member("passwords"),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_passwords")),
    )
    op.create_table(
        "login_sessions",
        sa.Column("id", ID, nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("ended_at", TIME),
        _of_member("login_sessions"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_sessions")),
        sa.UniqueConstraint("hash", name=op.f("uq_login_sessions_hash")),
    )
    op.create_table(
        "login_grants",
        sa.Column("id", ID, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("session_id", ID, nullable=False),
        sa.Column("client_id", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("ended_at", TIME),
        _of_member("login_grants"),
        _reference("login_grants", "session_id", "login_sessions"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_grants")),
    )
    _tickets()
    for table, column in (
        ("login_sessions", "subject"),
        ("login_sessions", "expires_at"),
        ("login_grants", "subject"),
        ("login_grants", "session_id"),
        ("login_tickets", "subject"),
        ("login_tickets", "grant_id"),
        ("login_tickets", "expires_at"),
    ):
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column])
    for statement in _postgresql() if op.get_context().dialect.name == "postgresql" else _sqlite():
        op.execute(statement)


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute("DROP TRIGGER memberships_logins ON memberships")
        op.execute("DROP FUNCTION crm_logins_end()")
    else:
        op.execute("DROP TRIGGER memberships_logins")
    for table in reversed(TABLES):
        op.drop_table(table)


def _tickets() -> None:
    op.create_table(
        "login_tickets",
        sa.Column("hash", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("grant_id", ID),
        sa.Column("redirect_uri", TEXT),
        sa.Column("challenge", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("used_at", TIME),
        _of_member("login_tickets"),
        _reference("login_tickets", "grant_id", "login_grants"),
        sa.CheckConstraint(
            "kind IN ('login_link', 'password_link', 'code', 'refresh_token')", name=op.f("ck_login_tickets_kind")
        ),
        sa.CheckConstraint(
            "(kind IN ('code', 'refresh_token')) = (grant_id IS NOT NULL)", name=op.f("ck_login_tickets_grant")
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_login_tickets")),
    )


def _of_member(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_subject")
    return sa.ForeignKeyConstraint(["subject"], ["members.subject"], name=name, ondelete="CASCADE")


def _reference(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.id"], name=op.f(f"fk_{table}_{column}"), ondelete="CASCADE")


def _postgresql() -> tuple[str, ...]:
    ending = " ".join(one.format(alone="") for one in ENDING)
    return (
        "CREATE FUNCTION crm_logins_end() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF NOT EXISTS ({ELSEWHERE}) THEN {ending} END IF; RETURN NULL; END $$",
        "CREATE TRIGGER memberships_logins AFTER UPDATE OF ended_at ON memberships FOR EACH ROW"
        f" WHEN ({ENDS}) EXECUTE FUNCTION crm_logins_end()",
    )


def _sqlite() -> tuple[str, ...]:
    ending = " ".join(one.format(alone=f" AND NOT EXISTS ({ELSEWHERE})") for one in ENDING)
    return (
        f"CREATE TRIGGER memberships_logins AFTER UPDATE OF ended_at ON memberships WHEN {ENDS} BEGIN {ending} END",
    )
