"""Files of the organization, what they are attached to, and what they take up; their bytes lie in the store."""

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, ForeignKeyConstraint, Index, text
from sqlmodel import Field

from contract.limits import FILE_NAME_MAX
from storage.base import Directory, Identifier, PlainText, Record, Tenant, new_id, now, tenant_key
from storage.columns import (
    FILTER,
    LARGE,
    LINE,
    MOMENT,
    REFERENCE,
    SORT,
    column,
    created,
    folds,
    reference,
    updated,
    versioned,
)
from storage.columns import NONE as NO_USE
from storage.indexes import index_of_given


class File(Record, table=True):
    """A file, whose bytes never change. `trash_root` is what it went into the trash with: itself, or a folder above.

    An empty one has no `storage_name`: there is nothing to be stored. One that holds what a narrower group reads names
    that group as what it `needs`, and is shown to nobody else on any way (decision 850).
    """

    __tablename__ = "files"
    __events__ = {"file": "uploaded updated attached detached deleted restored purged"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("folders", "folder_id"),
        CheckConstraint("(trashed_at IS NULL) = (trash_root IS NULL)", name="trash"),
        CheckConstraint("(bytes = 0) = (storage_name = '')", name="stored"),
        Index(None, "org_id", "created_at", "id"),
        Index(None, "org_id", "folder_id", "created_at", "id"),
        Index(None, "org_id", "name", "created_at", "id"),
        Index(None, "org_id", "folded_name"),
        Index(None, "org_id", "bytes", "created_at", "id"),
        index_of_given("org_id", "trashed_at", name="ix_files_trashed"),
    )

    name: str = column(
        LINE,
        "The name without a path, 1 to 255 characters.",
        FILTER | SORT,
        least=1,
        most=FILE_NAME_MAX,
        short="the name",
        example="offer.pdf",
    )
    content_type: str = column(
        LINE,
        "What the bytes are found to be, not what the sender said.",
        FILTER,
        short="the content type",
        example="application/pdf",
    )
    bytes: int = column(LARGE, "The size.", SORT, example=52_311)
    sha256: str = column(
        LINE,
        "The SHA-256 of the bytes, in hexadecimal.",
        example="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    )
    folder_id: str | None = reference("folders", "The folder; null at the top.", FILTER, short="the folder")
    uploaded_by: str | None = column(LINE, "The subject of who uploaded it.", default=None, example="user_2mF7")
    trashed_at: datetime | None = column(MOMENT, "When it was put into the trash.", default=None)
    created_at: datetime = created()
    updated_at: datetime = updated(NO_USE)
    version: int = versioned()
    storage_name: str = column(LINE, "Where the bytes lie in the store.", default="")
    trash_root: str | None = column(REFERENCE, "What it went into the trash with.", default=None)
    needs: str | None = column(LINE, "The group that its readers need beside that of files.", default=None)
    folded_name: str = folds("name", default="")
    folded_content_type: str = folds("content_type", default="")


class FileLink(Tenant, table=True):
    """A file that is attached to a record of any kind but campaigns, by whom and when."""

    __tablename__ = "file_links"
    __table_args__ = (
        tenant_key("files", "file_id", ondelete="CASCADE"),
        CheckConstraint("kind IN ('account', 'contact', 'deal', 'lead', 'activity')", name="kind"),
        Index("ix_file_links_record", "org_id", "record_id", text("attached_at DESC"), "id"),  # as a timeline reads it
        Index(None, "org_id", "file_id"),
    )

    record_id: str = Field(sa_type=Identifier, primary_key=True)
    file_id: str = Field(sa_type=Identifier, primary_key=True)
    id: str = Field(default_factory=new_id, sa_type=Identifier)
    kind: str = Field(sa_type=PlainText)
    attached_at: datetime = Field(default_factory=now)
    attached_by: str | None = Field(default=None, sa_type=PlainText)


class FileUsage(Tenant, table=True):
    """The bytes that the organization's files have and that uploads have reserved. Who changes files locks it first."""

    __tablename__ = "file_usage"
    __table_args__ = (ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),)

    bytes: int = Field(default=0, sa_type=BigInteger)
    reserved: int = Field(default=0, sa_type=BigInteger)
    files: int = 0


class Leftover(Directory, table=True):
    """Bytes in the store that are to be removed after a moment: no row names them yet, or none does any more.

    They are noted before they are written. Who makes a row that names them takes the note back in its transaction
    (decision 398).
    """

    __tablename__ = "file_leftovers"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        Index(None, "gone_after"),
    )

    org_id: str = Field(sa_type=Identifier, primary_key=True)
    storage_name: str = Field(sa_type=PlainText, primary_key=True)
    gone_after: datetime


ATTACHABLE = {
    "accounts": "account",
    "contacts": "contact",
    "deals": "deal",
    "leads": "lead",
    "activities": "activity",
}
"""The tables whose records have files, each with the kind that the links have."""
