"""Files of an organization, and the addresses under which anybody may read them (decision 59)."""

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, ForeignKeyConstraint, Index
from sqlmodel import Field

from storage.base import Directory, Identifier, PlainText, Record, now, tenant_key


class Artifact(Record, table=True):
    """A file of one revision of something; its bytes lie in the artifact store under `storage_name`."""

    __tablename__ = "artifacts"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("kind IN ('PDF', 'SPREADSHEET', 'DECK')", name="kind"),
        Index(None, "org_id", "subject_id", "revision"),
    )

    subject_id: str = Field(sa_type=Identifier)
    """The record that it is a file of: a CX report."""
    kind: str = Field(sa_type=PlainText)
    revision: int
    storage_name: str = Field(sa_type=PlainText)
    file_name: str = Field(sa_type=PlainText)
    content_type: str = Field(sa_type=PlainText)
    bytes: int = Field(sa_type=BigInteger)
    sha256: str = Field(sa_type=PlainText)
    rendered_at: datetime = Field(default_factory=now)


class Medium(Directory, table=True):
    """A file that whoever knows its key may read: found without an organization, written by the file's own.

    The file is public as long as it has a row here.
    """

    __tablename__ = "media"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("artifacts", "artifact_id", ondelete="CASCADE"),
        Index(None, "org_id", "artifact_id"),
    )

    key: str = Field(sa_type=PlainText, primary_key=True)
    org_id: str = Field(sa_type=Identifier)
    artifact_id: str = Field(sa_type=Identifier)
    storage_name: str = Field(sa_type=PlainText)
    file_name: str = Field(sa_type=PlainText)
    content_type: str = Field(sa_type=PlainText)
    bytes: int = Field(sa_type=BigInteger)
    sha256: str = Field(sa_type=PlainText)
