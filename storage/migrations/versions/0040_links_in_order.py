"""Links of tags know when their records were made, so that lists by tags are read in their order.

What is there is filled in by kind, ten thousand links at a time, each organization by itself, as the policies show its
rows alone.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from storage.link_triggers import OF_KINDS, moment_of, removal, triggers

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
ROWS = 10_000
BEFORE = "ix_tag_links_org_id_tag_id_kind_record_id"
INDEX = "ix_tag_links_in_order"
LINKS = sa.table("tag_links", *(sa.column(name, ID) for name in ("org_id", "tag_id", "record_id")), sa.column("kind"))


def upgrade() -> None:
    op.add_column("tag_links", sa.Column("record_created_at", TIME))
    connection = op.get_bind()
    for statement in triggers(connection.dialect.name):
        op.execute(sa.text(statement.replace(":", r"\:")))
    organizations = connection.execute(sa.select(sa.table("organizations", sa.column("id", ID)).c.id)).scalars().all()
    for organization in organizations:
        _act_for(connection, organization)
        for kind in OF_KINDS:
            _fill(connection, organization, kind)
    _act_for(connection, "")
    op.create_index(INDEX, "tag_links", ["org_id", "tag_id", "kind", sa.text("record_created_at DESC"), "record_id"])
    op.drop_index(op.f(BEFORE), table_name="tag_links")
    if connection.dialect.name == "postgresql":
        # The moment follows from the record: two links that are of one record differ in it no more, which the planner
        # cannot know, and takes a list by two tags to have no row.
        op.execute("ALTER TABLE tag_links ALTER COLUMN record_created_at SET STATISTICS 1")
        op.execute("ALTER TABLE tag_links ALTER COLUMN record_created_at SET (n_distinct = 1)")


def downgrade() -> None:
    op.create_index(op.f(BEFORE), "tag_links", ["org_id", "tag_id", "kind", "record_id"])
    op.drop_index(INDEX, table_name="tag_links")
    for statement in removal(op.get_bind().dialect.name):
        op.execute(statement)
    op.drop_column("tag_links", "record_created_at")


def _fill(connection: sa.Connection, organization: str, kind: str) -> None:
    """Write the moments of the links there are, a part of the records at a time, in the order of the key."""
    own = [LINKS.c.org_id == organization, LINKS.c.kind == kind]
    change = sa.text(
        f"UPDATE tag_links SET record_created_at = {moment_of('tag_links', kind)}"  # noqa: S608  # our own names
        " WHERE org_id = :organization AND kind = :kind AND record_id >= :first AND record_id <= :last"
    ).bindparams(*(sa.bindparam(name, type_=ID) for name in ("organization", "first", "last")))
    behind: list[sa.ColumnElement[bool]] = []
    # A part at a time: the records of one statement are read by their order, and no list of them is sent.
    while True:
        part = sa.select(LINKS.c.record_id).where(*own, *behind).order_by(LINKS.c.record_id).limit(ROWS)
        ids = connection.execute(part).scalars().all()
        if not ids:
            return
        bounds = {"first": str(ids[0]), "last": str(ids[-1])}
        connection.execute(change, {"organization": organization, "kind": kind, **bounds})
        behind = [LINKS.c.record_id > ids[-1]]


def _act_for(connection: sa.Connection, organization: str) -> None:
    if connection.dialect.name == "postgresql":
        own = sa.text("SELECT set_config('crm.org_id', :organization, true)")
        connection.execute(own, {"organization": organization})
