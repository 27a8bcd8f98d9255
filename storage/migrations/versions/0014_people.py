"""Members as their organization sees them, made of the memberships that there are; and owners are looked for."""

import json
import unicodedata
import uuid
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)

OWNED = ("accounts", "contacts", "deals", "leads", "activities")
BATCH = 1_000


def upgrade() -> None:
    people = op.create_table(
        "people",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", TEXT, nullable=False),
        sa.Column("name", TEXT),
        sa.Column("email", TEXT),
        sa.Column("role", TEXT),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("joined_at", TIME, nullable=False),
        sa.Column("left_at", TIME),
        sa.Column("folded_name", TEXT, nullable=False),
        sa.Column("folded_email", TEXT, nullable=False),
        sa.CheckConstraint("role IN ('viewer', 'member', 'admin')", name=op.f("ck_people_role")),
        sa.CheckConstraint("state IN ('active', 'deactivated', 'left')", name=op.f("ck_people_state")),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f("fk_people_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_people")),
    )
    op.create_index(op.f("ix_people_org_id_folded_name_id"), "people", ["org_id", "folded_name", "id"])
    for table in OWNED:
        op.create_index(op.f(f"ix_{table}_org_id_owner_id_id"), table, ["org_id", "owner_id", "id"])
    _fill(people)
    if op.get_context().dialect.name == "postgresql":  # last, since the policy would refuse the rows above
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        op.execute("ALTER TABLE people ENABLE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE people FORCE ROW LEVEL SECURITY")  # which binds the owner too
        op.execute(f"CREATE POLICY people_own ON people USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    for table in OWNED:
        op.drop_index(op.f(f"ix_{table}_org_id_owner_id_id"), table)
    op.drop_table("people")


def _fill(people: sa.Table) -> None:
    """Writes a person for each membership, a batch at a time, each from where the one before ended."""
    connection = op.get_bind()
    memberships = sa.table(
        "memberships",
        sa.column("org_id", ID),
        sa.column("subject", TEXT),
        sa.column("role", TEXT),
        sa.column("scopes", sa.Text()),
        sa.column("created_at", TIME),
        sa.column("ended_at", TIME),
    )
    members = sa.table("members", sa.column("subject", TEXT), sa.column("name", TEXT), sa.column("email", TEXT))
    own, subject = memberships.c.org_id, memberships.c.subject
    wanted = (
        sa.select(own, subject, memberships.c.role, sa.cast(memberships.c.scopes, sa.Text).label("scopes"))
        .add_columns(memberships.c.created_at, memberships.c.ended_at, members.c.name, members.c.email)
        .join(members, members.c.subject == subject)
        .order_by(own, subject)
        .limit(BATCH)
    )
    behind: sa.ColumnElement[bool] = sa.true()
    while rows := connection.execute(wanted.where(behind)).all():
        connection.execute(people.insert(), [_person(row) for row in rows])
        last = rows[-1]
        behind = sa.or_(own > last.org_id, sa.and_(own == last.org_id, subject > last.subject))


def _person(row: Any) -> dict[str, object]:  # Any: a row of the statement
    ended = row.ended_at is not None
    state = "active" if not ended else "deactivated" if json.loads(row.scopes) else "left"
    return {
        "org_id": str(uuid.UUID(str(row.org_id))),
        "id": row.subject,
        "name": row.name,
        "email": row.email,
        "role": row.role if row.role in ("viewer", "member", "admin") else None,
        "state": state,
        "joined_at": row.created_at,
        "left_at": row.ended_at if state == "left" else None,
        "folded_name": _folded(row.name),
        "folded_email": _folded(row.email),
    }


def _folded(text: str | None) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text or "").casefold())
