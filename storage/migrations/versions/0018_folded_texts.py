"""Texts that lists filter by get folded copies, deals the moment when they were closed, and changes are looked for.

Each organization is gone through by itself, as the policies show its rows alone, and a thousand rows at a time.
"""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0018"
down_revision = "0016"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON(none_as_null=True)
ROWS = 1_000

FOLDED: Mapping[str, Sequence[str]] = {
    "accounts": ("name", "domain", "industry", "owner_id"),
    "contacts": ("first_name", "last_name", "email", "phone", "title", "owner_id"),
    "deals": ("name", "currency", "source", "owner_id"),
    "leads": ("name", "company", "company_domain", "email", "owner_id"),
    "campaigns": ("name",),
    "activities": ("subject", "owner_id"),
}
INDEXES: Mapping[str, Sequence[Sequence[str]]] = {
    "accounts": (("updated_at",),),
    "contacts": (("updated_at",),),
    "deals": (("updated_at",), ("status", "closed_at"), ("owner_id", "status", "closed_at")),
    "leads": (("updated_at",),),
}


def upgrade() -> None:
    for table, columns in FOLDED.items():
        for column in columns:
            op.add_column(table, sa.Column(f"folded_{column}", TEXT))
    op.add_column("deals", sa.Column("folded_competitors", DOCUMENT, nullable=False, server_default="[]"))
    op.add_column("deals", sa.Column("closed_at", TIME))
    connection = op.get_bind()
    organizations = connection.execute(sa.select(sa.table("organizations", sa.column("id", ID)).c.id)).scalars().all()
    for organization in organizations:
        _act_for(connection, organization)
        for table, columns in FOLDED.items():
            _fold(connection, organization, table, columns)
        connection.execute(_CLOSED, {"organization": organization})
    _act_for(connection, "")
    for table, indexes in INDEXES.items():
        for columns in indexes:
            op.create_index(op.f(f"ix_{table}_org_id_{'_'.join(columns)}"), table, ["org_id", *columns])


def downgrade() -> None:
    for table, indexes in INDEXES.items():
        for columns in indexes:
            op.drop_index(op.f(f"ix_{table}_org_id_{'_'.join(columns)}"), table)
    op.drop_column("deals", "closed_at")
    op.drop_column("deals", "folded_competitors")
    for table, columns in FOLDED.items():
        for column in columns:
            op.drop_column(table, f"folded_{column}")


def _act_for(connection: sa.Connection, organization: str) -> None:
    if connection.dialect.name == "postgresql":
        own = sa.text("SELECT set_config('crm.org_id', :organization, true)")
        connection.execute(own, {"organization": organization})


def _fold(connection: sa.Connection, organization: str, name: str, columns: Sequence[str]) -> None:
    table = sa.table(name, sa.column("org_id", ID), sa.column("id", ID))
    texts = [sa.column(column, TEXT) for column in columns]
    lists = [sa.cast(sa.column("competitors"), sa.Text).label("competitors")] if name == "deals" else []
    own = table.c.org_id == organization
    copies = [f"folded_{column}" for column in columns] + ["folded_competitors"] * len(lists)
    written = sa.table(name, sa.column("org_id", ID), sa.column("id", ID), *(sa.column(c, TEXT) for c in copies))
    given: dict[str, object] = {copy: sa.bindparam(f"new_{copy}", type_=TEXT) for copy in copies}
    if lists and connection.dialect.name == "postgresql":
        given["folded_competitors"] = sa.cast(given["folded_competitors"], sa.JSON)
    change = sa.update(written).where(written.c.org_id == organization, written.c.id == sa.bindparam("row", type_=ID))
    last: list[sa.ColumnElement[bool]] = []
    while rows := connection.execute(
        sa.select(table.c.id, *texts, *lists).select_from(table).where(own, *last).order_by(table.c.id).limit(ROWS)
    ).all():
        connection.execute(change.values(given), [_copies(row, columns, has_list=bool(lists)) for row in rows])
        last = [table.c.id > rows[-1].id]


def _copies(row: Any, columns: Sequence[str], *, has_list: bool) -> dict[str, object]:  # Any: a row of the statement
    copies: dict[str, object] = {f"new_folded_{c}": _folded(getattr(row, c)) for c in columns}
    if has_list:
        copies["new_folded_competitors"] = json.dumps([_folded(name) for name in json.loads(row.competitors)])
    return {"row": row.id, **copies}


def _folded(text: str | None) -> str | None:
    return text and unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


_CLOSED = sa.text(
    """
    UPDATE deals SET closed_at = coalesce(
        (SELECT max(moved.at) FROM stage_changes AS moved
         JOIN pipeline_stages AS reached ON reached.org_id = moved.org_id AND reached.id = moved.to_stage_id
         LEFT JOIN pipeline_stages AS left_one
             ON left_one.org_id = moved.org_id AND left_one.id = moved.from_stage_id
         WHERE moved.org_id = deals.org_id AND moved.deal_id = deals.id AND reached.type = deals.status
             AND (left_one.type IS NULL OR left_one.type <> reached.type)),
        updated_at)
    WHERE org_id = :organization AND status IN ('won', 'lost')
    """
).bindparams(sa.bindparam("organization", type_=ID))
"""When it came into a stage of its present type, as its history tells; where that tells nothing, its last change."""
