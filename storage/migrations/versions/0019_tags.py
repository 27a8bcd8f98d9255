"""Tags, and the records that have them; those of leads are made of the texts that leads have."""

import json
import logging
import unicodedata
import uuid
from collections import Counter
from datetime import datetime

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
ROWS = 1_000
_log = logging.getLogger("crm.migrations")


def upgrade() -> None:
    tags = op.create_table(
        "tags",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("color", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("folded_name", TEXT, nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f("fk_tags_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_tags")),
        sa.UniqueConstraint("org_id", "folded_name", name=op.f("uq_tags_org_id_folded_name")),
    )
    links = op.create_table(
        "tag_links",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("record_id", ID, nullable=False),
        sa.Column("tag_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('account', 'contact', 'deal', 'lead', 'activity', 'campaign')", name=op.f("ck_tag_links_kind")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "tag_id"],
            ["tags.org_id", "tags.id"],
            name=op.f("fk_tag_links_org_id_tag_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("org_id", "kind", "record_id", "tag_id", name=op.f("pk_tag_links")),
    )
    op.create_index(
        op.f("ix_tag_links_org_id_tag_id_kind_record_id"), "tag_links", ["org_id", "tag_id", "kind", "record_id"]
    )
    connection = op.get_bind()
    organizations = connection.execute(sa.select(sa.table("organizations", sa.column("id", ID)).c.id)).scalars().all()
    for organization in organizations:
        _act_for(connection, organization)
        _fill(connection, organization, tags, links)
    _act_for(connection, "")
    if connection.dialect.name == "postgresql":  # last, since the policies would refuse the rows above
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        for table in ("tags", "tag_links"):
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # which binds the owner too
            op.execute(f"CREATE POLICY {table}_own ON {table} USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    """Leads keep the texts that they have."""
    op.drop_table("tag_links")
    op.drop_table("tags")


def _act_for(connection: sa.Connection, organization: str) -> None:
    if connection.dialect.name == "postgresql":
        own = sa.text("SELECT set_config('crm.org_id', :organization, true)")
        connection.execute(own, {"organization": organization})


LEADS = sa.table(
    "leads",
    sa.column("org_id", ID),
    sa.column("id", ID),
    sa.column("tags", sa.JSON()),
    sa.column("created_at", TIME),
)


def _fill(connection: sa.Connection, organization: str, tags: sa.Table, links: sa.Table) -> None:
    """Make a tag of each name, in the spelling that most leads have, and link the leads to theirs."""
    spellings: Counter[str] = Counter()
    first: dict[str, datetime] = {}
    for rows in _leads(connection, organization):
        for row in rows:
            spellings.update(dict.fromkeys(_names(row), 1))
            for name in _names(row):
                first[_folded(name)] = min(row.created_at, first.get(_folded(name), row.created_at))
    chosen: dict[str, str] = {}
    for name in sorted(spellings, key=lambda name: (-spellings[name], name)):
        chosen.setdefault(_folded(name), name)
    if len(chosen) < len(spellings):
        _log.info("%d spellings of tags were folded in organization %s", len(spellings) - len(chosen), organization)
    ids = {folded: str(uuid.uuid4()) for folded in chosen}
    if chosen:
        made = [
            {"org_id": organization, "id": ids[f], "name": name, "folded_name": f, "created_at": first[f]}
            for f, name in chosen.items()
        ]
        connection.execute(tags.insert(), made)
    change = sa.update(LEADS).where(LEADS.c.org_id == organization, LEADS.c.id == sa.bindparam("row", type_=ID))
    for rows in _leads(connection, organization):
        linked = []
        respelt = []
        for row in rows:
            own = list(dict.fromkeys(map(_folded, _names(row))))
            linked += [
                {"org_id": organization, "kind": "lead", "record_id": row.id, "tag_id": ids[f], "position": position}
                for position, f in enumerate(own)
            ]
            if [chosen[f] for f in own] != row.tags:
                respelt.append({"row": row.id, "kept": [chosen[f] for f in own]})
        if linked:
            connection.execute(links.insert(), linked)
        if respelt:
            connection.execute(change.values(tags=sa.bindparam("kept", type_=sa.JSON())), respelt)


def _leads(connection: sa.Connection, organization: str):  # type: ignore[no-untyped-def]  # batches of rows
    last: list[sa.ColumnElement[bool]] = []
    wanted = sa.select(LEADS.c.id, LEADS.c.tags, LEADS.c.created_at).where(LEADS.c.org_id == organization)
    while rows := connection.execute(wanted.where(*last).order_by(LEADS.c.id).limit(ROWS)).all():
        yield rows
        last = [LEADS.c.id > rows[-1].id]


def _names(row: sa.Row) -> list[str]:  # type: ignore[type-arg]  # a lead's
    found = json.loads(row.tags) if isinstance(row.tags, str) else row.tags
    return [name for name in dict.fromkeys(found or ()) if name.strip()]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
