"""Uploads in parts: what has come for good of files that are not whole yet."""

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, ForeignKeyConstraint, Index
from sqlmodel import Field

from storage.base import Document, Identifier, PlainText, Record, Tenant, now, tenant_key


class FileUpload(Record, table=True):
    """An upload. The request that sends a part is its `holder` until `held_until`, unless more has come by then.

    `state` is open; done, with the file that it became; or expired. Its place is reserved while it is open.
    """

    __tablename__ = "file_uploads"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("state IN ('open', 'done', 'expired')", name="state"),
        Index(None, "org_id", "expires_at"),
    )

    name: str = Field(sa_type=PlainText)
    bytes: int = Field(sa_type=BigInteger)
    received: int = Field(default=0, sa_type=BigInteger)
    declared_type: str | None = Field(default=None, sa_type=PlainText)
    sha256: str | None = Field(default=None, sa_type=PlainText)
    folder_id: str | None = Field(default=None, sa_type=Identifier)
    attach_to: list[str] = Field(default_factory=list, sa_type=Document)
    details: str = Field(default="", sa_type=PlainText)
    """The metadata as the client wrote it."""
    uploaded_by: str | None = Field(default=None, sa_type=PlainText)
    state: str = Field(default="open", sa_type=PlainText)
    file_id: str | None = Field(default=None, sa_type=Identifier)
    created_at: datetime = Field(default_factory=now)
    expires_at: datetime
    holder: str | None = Field(default=None, sa_type=Identifier)
    held_until: datetime | None = None


class FilePiece(Tenant, table=True):
    """A piece of an upload, which lies in the store."""

    __tablename__ = "file_pieces"
    __table_args__ = (tenant_key("file_uploads", "upload_id", ondelete="CASCADE"),)

    upload_id: str = Field(sa_type=Identifier, primary_key=True)
    start: int = Field(sa_type=BigInteger, primary_key=True)
    bytes: int = Field(sa_type=BigInteger)
    storage_name: str = Field(sa_type=PlainText)
