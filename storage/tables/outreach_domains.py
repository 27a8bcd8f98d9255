"""Outreach domains: what mailboxes are made on."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, UniqueConstraint
from sqlmodel import Field

from storage.base import PlainText, Record, now


class OutreachDomain(Record, table=True):
    """A domain by its name in ASCII, lower case; once per organization. A null mark is not known yet."""

    __tablename__ = "outreach_domains"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        UniqueConstraint("org_id", "name"),
        CheckConstraint("status IN ('pending', 'verifying', 'active', 'failed')", name="status"),
    )

    name: str = Field(sa_type=PlainText)
    status: str = Field(default="pending", sa_type=PlainText)
    spf: bool | None = None
    dkim: bool | None = None
    dmarc: bool | None = None
    created_at: datetime = Field(default_factory=now)
