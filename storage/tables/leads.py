"""Leads: people met, as confirmed captures of their cards or badges tell of them (specification 4.2)."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Column, ForeignKeyConstraint, Index, UniqueConstraint
from sqlmodel import Field

from storage.base import Document, Identifier, Opaque, PlainLongText, PlainText, Record, now, tenant_key


class Lead(Record, table=True):
    """A lead. One card makes one lead; `account_id`, `contact_id` and `deal_id` are what it was converted into."""

    __tablename__ = "leads"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("accounts", "account_id"),
        tenant_key("contacts", "contact_id"),
        tenant_key("deals", "deal_id"),
        CheckConstraint("status IN ('new', 'working', 'qualified', 'converted', 'disqualified')", name="status"),
        CheckConstraint("source IN ('scan_badge', 'scan_card', 'manual')", name="source"),
        UniqueConstraint("org_id", "card_id"),
        Index(None, "org_id", "created_at"),
        Index(None, "org_id", "status", "created_at"),
        Index(None, "org_id", "account_id"),
        Index(None, "org_id", "contact_id"),
        Index(None, "org_id", "deal_id"),
    )

    status: str = Field(default="new", sa_type=PlainText)
    card_id: str | None = Field(default=None, sa_type=PlainText)
    name: str = Field(sa_type=PlainText)
    title: str | None = Field(default=None, sa_type=PlainText)
    company: str | None = Field(default=None, sa_type=PlainText)
    company_domain: str | None = Field(default=None, sa_type=PlainText)
    email: str | None = Field(default=None, sa_type=PlainText)
    phone: str | None = Field(default=None, sa_type=PlainText)
    linkedin: str | None = Field(default=None, sa_type=PlainText)
    notes: str | None = Field(default=None, sa_type=PlainLongText)
    tags: list[Any] = Field(default_factory=list, sa_type=Document)
    source: str = Field(default="scan_card", sa_type=PlainText)
    capture_payload: Any = Field(default=None, sa_column=Column(Opaque(none_as_null=True)))
    owner_id: str | None = Field(default=None, sa_type=PlainText)
    disqualified_reason: str | None = Field(default=None, sa_type=PlainText)
    converted_at: datetime | None = None
    account_id: str | None = Field(default=None, sa_type=Identifier)
    contact_id: str | None = Field(default=None, sa_type=Identifier)
    deal_id: str | None = Field(default=None, sa_type=Identifier)
    created_at: datetime = Field(default_factory=now)
    updated_at: datetime = Field(default_factory=now)
    version: int = 1
