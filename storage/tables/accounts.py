"""Accounts: the companies that the organization sells to."""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, Index
from sqlmodel import Field

from storage.base import PlainText, Record, now


class Account(Record, table=True):
    """A company."""

    __tablename__ = "accounts"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        Index(None, "org_id", "created_at"),
        Index(None, "org_id", "domain"),
    )

    name: str = Field(sa_type=PlainText)
    domain: str | None = Field(default=None, sa_type=PlainText)
    industry: str | None = Field(default=None, sa_type=PlainText)
    owner_id: str | None = Field(default=None, sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)
    updated_at: datetime = Field(default_factory=now)
    version: int = 1
