"""Contacts: the people at the accounts."""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, Index
from sqlmodel import Field

from storage.base import Identifier, PlainText, Record, now, tenant_key


class Contact(Record, table=True):
    """A person, with or without an account."""

    __tablename__ = "contacts"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("accounts", "account_id"),
        Index(None, "org_id", "created_at"),
        Index(None, "org_id", "account_id", "created_at"),
    )

    first_name: str | None = Field(default=None, sa_type=PlainText)
    last_name: str | None = Field(default=None, sa_type=PlainText)
    email: str | None = Field(default=None, sa_type=PlainText)
    phone: str | None = Field(default=None, sa_type=PlainText)
    title: str | None = Field(default=None, sa_type=PlainText)
    linkedin: str | None = Field(default=None, sa_type=PlainText)
    account_id: str | None = Field(default=None, sa_type=Identifier)
    owner_id: str | None = Field(default=None, sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)
    updated_at: datetime = Field(default_factory=now)
    version: int = 1
