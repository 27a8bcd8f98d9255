"""Activities; a meeting is an activity of type `meeting` (specification 2.1)."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, text

from contract.limits import DURATION_MAX
from contract.vocabulary import ActivitySource
from storage.base import Record, tenant_key
from storage.columns import (
    FILTER,
    JSON,
    LINE,
    MOMENT,
    SORT,
    TEXT,
    WHOLE,
    WRITE,
    column,
    created,
    owner,
    reference,
)


class Activity(Record, table=True):
    """An activity. The column `metadata` is `details` in Python, where the name is taken."""

    __tablename__ = "activities"
    __events__ = {"meeting": "logged updated completed deleted"}
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

    type: str = column(LINE, "Always `meeting`.", default="meeting", example="meeting")
    subject: str | None = column(
        LINE, "The title.", WRITE | FILTER, default=None, least=1, short="the title", example="Quarterly review"
    )
    body: str | None = column(TEXT, "Free-text notes.", WRITE, default=None, example="Bring the usage figures.")
    due_at: datetime | None = column(
        MOMENT,
        "The scheduled time.",
        WRITE | FILTER | SORT,
        default=None,
        words={SORT: "The scheduled time; meetings without one come last in either direction."},
        example="2026-11-24T15:00:00Z",
    )
    completed_at: datetime | None = column(
        MOMENT,
        "When it was marked done.",
        WRITE | FILTER,
        default=None,
        words={WRITE: "When it was done."},
    )
    duration_minutes: int | None = column(
        WHOLE, "How long it takes, in minutes.", WRITE, default=None, least=0, most=DURATION_MAX, example=45
    )
    details: dict[str, Any] | None = column(
        JSON,
        "Free-form: transcript, recording_url, attendees, location, provider and the like.",
        WRITE,
        name="metadata",
        default=None,
        example={"location": "Room 4", "attendees": [{"name": "Ada Park", "email": "ada@example.com"}]},
    )
    account_id: str | None = reference("accounts", "The account's identifier.", WRITE | FILTER)
    deal_id: str | None = reference("deals", "The deal's identifier.", WRITE | FILTER)
    contact_id: str | None = reference("contacts", "The contact's identifier.", WRITE | FILTER)
    owner_id: str | None = owner(FILTER)
    source: str = column(ActivitySource, "Where it came from.", FILTER, default="manual", example="manual")
    direction: str | None = column(LINE, "Not meaningful for meetings.", default=None)
    created_at: datetime = created()


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
"""The indexes that Alembic cannot compare with the tables: not said there, or by an expression."""
