"""Activities; a meeting is an activity of type `meeting` (specification 2.1)."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Column, ForeignKeyConstraint, Index, text
from sqlmodel import Field

from storage.base import Identifier, Opaque, PlainLongText, PlainText, Record, now, tenant_key


class Activity(Record, table=True):
    """An activity. The column `metadata` is `details` in Python, where the name is taken."""

    __tablename__ = "activities"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("accounts", "account_id"),
        tenant_key("deals", "deal_id"),
        tenant_key("contacts", "contact_id"),
        CheckConstraint(
            "source IN ('manual', 'import', 'calendar', 'gmail', 'outlook', 'slack', 'zoom')", name="source"
        ),
        Index("ix_activities_created", "org_id", "type", text("created_at DESC"), "id"),
    )

    type: str = Field(default="meeting", sa_type=PlainText)
    subject: str | None = Field(default=None, sa_type=PlainText)
    body: str | None = Field(default=None, sa_type=PlainLongText)
    due_at: datetime | None = None
    completed_at: datetime | None = None
    duration_minutes: int | None = None
    details: dict[str, Any] | None = Field(default=None, sa_column=Column("metadata", Opaque(none_as_null=True)))
    account_id: str | None = Field(default=None, sa_type=Identifier)
    deal_id: str | None = Field(default=None, sa_type=Identifier)
    contact_id: str | None = Field(default=None, sa_type=Identifier)
    owner_id: str | None = Field(default=None, sa_type=PlainText)
    source: str = Field(default="manual", sa_type=PlainText)
    direction: str | None = Field(default=None, sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)


LISTING_INDEXES = {
    "ix_meetings_due_desc": ("org_id", "due_at DESC NULLS LAST", "created_at DESC", "id"),
    "ix_meetings_due_asc": ("org_id", "due_at", "created_at DESC", "id"),
    "ix_meetings_account": ("org_id", "account_id", "due_at DESC NULLS LAST", "created_at DESC", "id"),
    "ix_meetings_deal": ("org_id", "deal_id", "due_at DESC NULLS LAST", "created_at DESC", "id"),
    "ix_meetings_contact": ("org_id", "contact_id", "due_at DESC NULLS LAST", "created_at DESC", "id"),
    "ix_meetings_owner": ("org_id", "owner_id", "due_at DESC NULLS LAST", "created_at DESC", "id"),
}
"""The orders of the listing, whole and below each of its filters; the migration makes them in the dialect's words."""

UNCOMPARED_INDEXES = frozenset(LISTING_INDEXES) | {"ix_activities_created"}
"""Those that Alembic cannot compare with the tables: not said there, or by an expression."""
