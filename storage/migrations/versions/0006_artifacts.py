"""Files that were made, and the addresses under which anybody may read them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "artifacts",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("subject_id", ID, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("storage_name", TEXT, nullable=False),
        sa.Column("file_name", TEXT, nullable=False),
        sa.Column("content_type", TEXT, nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", TEXT, nullable=False),
        sa.Column("rendered_at", TIME, nullable=False),
        sa.CheckConstraint("kind IN ('PDF', 'SPREADSHEET', 'DECK')", name=op.f("ck_artifacts_kind")),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f("fk_artifacts_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_artifacts")),
    )
    op.create_index(op.f("ix_artifacts_org_id_subject_id_revision"), "artifacts", ["org_id", "subject_id", "revision"])
    op.create_table(
        "media",
        sa.Column("key", TEXT, nullable=False),
        sa.Column("org_id", ID, nullable=False),
        sa.Column("artifact_id", ID, nullable=False),
        sa.Column("storage_name", TEXT, nullable=False),
        sa.Column("file_name", TEXT, nullable=False),
        sa.Column("content_type", TEXT, nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "artifact_id"],
            ["artifacts.org_id", "artifacts.id"],
            name=op.f("fk_media_org_id_artifact_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f("fk_media_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_media")),
    )
    op.create_index(op.f("ix_media_org_id_artifact_id"), "media", ["org_id", "artifact_id"])
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        op.execute("ALTER TABLE artifacts ENABLE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE artifacts FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY artifacts_own ON artifacts USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    op.drop_table("media")
    op.drop_table("artifacts")
