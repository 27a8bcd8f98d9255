"""Deals, and their links to contacts (specification 2.2)."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index
from sqlmodel import Field

from storage.base import Document, Identifier, Money, PlainLongText, PlainText, Record, Tenant, now, tenant_key


class Deal(Record, table=True):
    """A deal; `status` follows the type of its stage (decision 4)."""

    __tablename__ = "deals"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("accounts", "account_id"),
        tenant_key("pipeline_stages", "stage_id"),
        tenant_key("contacts", "champion_id"),
        tenant_key("deals", "parent_deal_id"),
        CheckConstraint("status IN ('open', 'won', 'lost')", name="status"),
        CheckConstraint("geo_scope IN ('local', 'regional', 'international')", name="geo_scope"),
        Index(None, "org_id", "created_at"),
        Index(None, "org_id", "account_id", "created_at"),
        Index(None, "org_id", "stage_id", "created_at"),
        Index(None, "org_id", "champion_id"),
        Index(None, "org_id", "parent_deal_id"),
    )

    name: str = Field(sa_type=PlainText)
    account_id: str | None = Field(default=None, sa_type=Identifier)
    value: Decimal | None = Field(default=None, sa_type=Money)
    currency: str = Field(default="USD", sa_type=PlainText)
    stage_id: str | None = Field(default=None, sa_type=Identifier)
    status: str = Field(default="open", sa_type=PlainText)
    close_date: date | None = None
    geo_scope: str | None = Field(default=None, sa_type=PlainText)
    source: str | None = Field(default=None, sa_type=PlainText)
    champion_id: str | None = Field(default=None, sa_type=Identifier)
    notes: str | None = Field(default=None, sa_type=PlainLongText)
    parent_deal_id: str | None = Field(default=None, sa_type=Identifier)
    competitors: list[Any] = Field(default_factory=list, sa_type=Document)
    owner_id: str | None = Field(default=None, sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)
    updated_at: datetime = Field(default_factory=now)
    version: int = 1


class DealContact(Tenant, table=True):
    """A contact on a deal."""

    __tablename__ = "deal_contacts"
    __table_args__ = (
        tenant_key("deals", "deal_id", ondelete="CASCADE"),
        tenant_key("contacts", "contact_id", ondelete="CASCADE"),
        Index(None, "org_id", "contact_id"),
    )

    deal_id: str = Field(sa_type=Identifier, primary_key=True)
    contact_id: str = Field(sa_type=Identifier, primary_key=True)
    role: str | None = Field(default=None, sa_type=PlainText)
    is_primary: bool = False
    linked_at: datetime = Field(default_factory=now)
