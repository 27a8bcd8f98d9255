"""Folders of files: a tree whose siblings have different names, as long as they are not in the trash."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index

from contract.limits import FILE_NAME_MAX
from storage.base import Record, tenant_key
from storage.columns import LINE, MOMENT, NONE, REFERENCE, WHOLE, column, created, folds, reference, updated, versioned
from storage.indexes import index_of_given, partial_index


class Folder(Record, table=True):
    """A folder. `depth` is 1 at the top. `trash_root` is what it went into the trash with, itself or a folder above."""

    __tablename__ = "folders"
    __events__ = {"folder": "created updated deleted restored"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("folders", "parent_id"),
        CheckConstraint("(trashed_at IS NULL) = (trash_root IS NULL)", name="trash"),
        partial_index(
            "uq_folders_siblings",
            "org_id",
            "parent_id",
            "folded_name",
            where="trashed_at IS NULL AND parent_id IS NOT NULL",
            unique=True,
        ),
        partial_index(
            "uq_folders_top", "org_id", "folded_name", where="trashed_at IS NULL AND parent_id IS NULL", unique=True
        ),
        Index(None, "org_id", "parent_id", "name", "id"),
        index_of_given("org_id", "trashed_at", name="ix_folders_trashed"),
    )

    name: str = column(
        LINE, "Unique among its siblings, letter case aside.", least=1, most=FILE_NAME_MAX, example="Offers"
    )
    parent_id: str | None = reference("folders", "The folder above; null at the top.")
    trashed_at: datetime | None = column(MOMENT, "When it was put into the trash.", default=None)
    created_at: datetime = created(NONE)
    updated_at: datetime = updated(NONE)
    version: int = versioned()
    depth: int = column(WHOLE, "How many folders lead to it, itself counted.", default=1)
    trash_root: str | None = column(REFERENCE, "What it went into the trash with.", default=None)
    folded_name: str = folds("name", default="")
