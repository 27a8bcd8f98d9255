"""Files, folders, and uploads in parts."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
TENANT_TABLES = ("folders", "files", "file_links", "file_usage", "file_uploads", "file_pieces")


def upgrade() -> None:
    _folders()
    _files()
    _links_and_usage()
    _uploads()
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        for table in TENANT_TABLES:
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # which binds the owner too
            op.execute(f"CREATE POLICY {table}_own ON {table} USING ({own}) WITH CHECK ({own})")


def _folders() -> None:
    op.create_table(
        "folders",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("parent_id", ID),
        sa.Column("trashed_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("trash_root", ID),
        sa.Column("folded_name", TEXT, nullable=False),
        sa.CheckConstraint("(trashed_at IS NULL) = (trash_root IS NULL)", name=op.f("ck_folders_trash")),
        _of_organization("folders"),
        _to("folders", "folders", "parent_id"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_folders")),
    )
    _index("folders", "org_id", "parent_id", "name", "id")
    _partial(
        "uq_folders_siblings", "folders", "trashed_at IS NULL AND parent_id IS NOT NULL", "parent_id", "folded_name"
    )
    _partial("uq_folders_top", "folders", "trashed_at IS NULL AND parent_id IS NULL", "folded_name")
    _partial("ix_folders_trashed", "folders", "trashed_at IS NOT NULL", "trashed_at", unique=False)


def _files() -> None:
    op.create_table(
        "files",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("content_type", TEXT, nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", TEXT, nullable=False),
        sa.Column("folder_id", ID),
        sa.Column("uploaded_by", TEXT),
        sa.Column("trashed_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("storage_name", TEXT, nullable=False),
        sa.Column("trash_root", ID),
        sa.Column("folded_name", TEXT, nullable=False),
        sa.Column("folded_content_type", TEXT, nullable=False),
        sa.CheckConstraint("(trashed_at IS NULL) = (trash_root IS NULL)", name=op.f("ck_files_trash")),
        sa.CheckConstraint("(bytes = 0) = (storage_name = '')", name=op.f("ck_files_stored")),
        _of_organization("files"),
        _to("files", "folders", "folder_id"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_files")),
    )
    _index("files", "org_id", "created_at", "id")
    _index("files", "org_id", "folder_id", "created_at", "id")
    _index("files", "org_id", "name", "created_at", "id")
    _index("files", "org_id", "folded_name")
    _index("files", "org_id", "bytes", "created_at", "id")
    _partial("ix_files_trashed", "files", "trashed_at IS NOT NULL", "trashed_at", unique=False)


def _links_and_usage() -> None:
    op.create_table(
        "file_links",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("record_id", ID, nullable=False),
        sa.Column("file_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("attached_at", TIME, nullable=False),
        sa.Column("attached_by", TEXT),
        sa.CheckConstraint(
            "kind IN ('account', 'contact', 'deal', 'lead', 'activity')", name=op.f("ck_file_links_kind")
        ),
        _to("file_links", "files", "file_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "record_id", "file_id", name=op.f("pk_file_links")),
    )
    op.create_index("ix_file_links_record", "file_links", ["org_id", "record_id", sa.text("attached_at DESC"), "id"])
    _index("file_links", "org_id", "file_id")
    op.create_table(
        "file_usage",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("files", sa.Integer(), nullable=False),
        _of_organization("file_usage"),
        sa.PrimaryKeyConstraint("org_id", name=op.f("pk_file_usage")),
    )
    op.create_table(
        "file_leftovers",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("storage_name", TEXT, nullable=False),
        sa.Column("gone_after", TIME, nullable=False),
        _of_organization("file_leftovers"),
        sa.PrimaryKeyConstraint("org_id", "storage_name", name=op.f("pk_file_leftovers")),
    )
    _index("file_leftovers", "gone_after")


def _uploads() -> None:
    op.create_table(
        "file_uploads",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("declared_type", TEXT),
        sa.Column("sha256", TEXT),
        sa.Column("folder_id", ID),
        sa.Column("attach_to", sa.JSON(), nullable=False),
        sa.Column("details", TEXT, nullable=False),
        sa.Column("uploaded_by", TEXT),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("file_id", ID),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("holder", ID),
        sa.Column("held_until", TIME),
        sa.CheckConstraint("state IN ('open', 'done', 'expired')", name=op.f("ck_file_uploads_state")),
        _of_organization("file_uploads"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_file_uploads")),
    )
    _index("file_uploads", "org_id", "expires_at")
    op.create_table(
        "file_pieces",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("upload_id", ID, nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("storage_name", TEXT, nullable=False),
        _to("file_pieces", "file_uploads", "upload_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "upload_id", "start", name=op.f("pk_file_pieces")),
    )


def _of_organization(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_org_id")
    return sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=name, ondelete="CASCADE")


def _to(table: str, target: str, column: str, ondelete: str | None = None) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["org_id", column],
        [f"{target}.org_id", f"{target}.id"],
        name=op.f(f"fk_{table}_org_id_{column}"),
        ondelete=ondelete,
    )


def _index(table: str, *columns: str) -> None:
    op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, list(columns))


def _partial(name: str, table: str, condition: str, *columns: str, unique: bool = True) -> None:
    where = sa.text(condition)
    op.create_index(op.f(name), table, ["org_id", *columns], unique=unique, sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    for table in ("file_pieces", "file_uploads", "file_leftovers", "file_usage", "file_links", "files", "folders"):
        op.drop_table(table)
