"""Activities: meetings (specification 2.1), tasks, notes, calls and e-mails, in one table."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint, text

from contract.limits import DURATION_MAX, OUTCOME_MAX, PHONE_MAX
from contract.vocabulary import ActivitySource, ActivityType, TaskPriority
from storage.base import JsonDict, Record, tenant_key
from storage.columns import (
    FILTER,
    FLAG,
    JSON,
    LINE,
    MOMENT,
    NAMES,
    SORT,
    TEXT,
    UPDATE,
    WHOLE,
    WRITE,
    Use,
    column,
    columns_of,
    created,
    folds,
    owner,
    reference,
    updated,
    versioned,
)
from storage.indexes import partial_index

OCCURRED_AT = (
    "CASE type WHEN 'meeting' THEN coalesce(due_at, completed_at, created_at)"
    " WHEN 'task' THEN coalesce(completed_at, due_at, created_at)"
    " WHEN 'note' THEN created_at ELSE coalesce(due_at, created_at) END"
)
"""When an activity took or takes place (decision 227): `due_at` holds when a call began and a message was sent."""

_OPEN_REMINDERS = "remind_at IS NOT NULL AND completed_at IS NULL"


class Activity(Record, table=True):
    """An activity of any type; `COLUMNS` says which columns a type has.

    The column `metadata` is `details` in Python, where the name is taken. The database works `occurred_at` out, so that
    no writer can forget it.
    """

    __tablename__ = "activities"
    __events__ = {
        "meeting": "logged updated completed deleted",
        "task": "created updated completed reopened deleted reminded",
        "note": "created updated deleted",
        "call": "logged updated deleted",
        "email": "logged updated deleted",
    }
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("accounts", "account_id"),
        tenant_key("deals", "deal_id"),
        tenant_key("contacts", "contact_id"),
        tenant_key("leads", "lead_id"),
        CheckConstraint(
            "source IN ('manual', 'import', 'calendar', 'gmail', 'outlook', 'slack', 'zoom')", name="source"
        ),
        CheckConstraint("priority IN ('low', 'normal', 'high')", name="priority"),
        UniqueConstraint("org_id", "source", "external_id"),
        UniqueConstraint("org_id", "message_id"),
        Index(None, "org_id", "owner_id", "id"),
        Index(None, "org_id", "updated_at", "id"),
        Index("ix_activities_created", "org_id", "type", text("created_at DESC"), "id"),
        Index("ix_activities_occurred", "org_id", text("occurred_at DESC"), "id"),
        Index("ix_activities_type", "org_id", "type", text("occurred_at DESC"), "id"),
        Index("ix_activities_account", "org_id", "account_id", text("occurred_at DESC"), "id"),
        Index("ix_activities_deal", "org_id", "deal_id", text("occurred_at DESC"), "id"),
        Index("ix_activities_contact", "org_id", "contact_id", text("occurred_at DESC"), "id"),
        Index("ix_activities_lead", "org_id", "lead_id", text("occurred_at DESC"), "id"),
        Index("ix_activities_owner", "org_id", "owner_id", text("occurred_at DESC"), "id"),
        partial_index("ix_activities_reminders", "org_id", "remind_at", where=_OPEN_REMINDERS),
    )

    type: str = column(LINE, "What it is; of a meeting always `meeting`.", default="meeting", example="meeting")
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
    details: JsonDict | None = column(
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
    lead_id: str | None = reference("leads", "The lead's identifier.", WRITE | FILTER)
    owner_id: str | None = owner(UPDATE | FILTER)
    source: str = column(ActivitySource, "Where it came from.", FILTER, default="manual", example="manual")
    direction: str | None = column(LINE, "Not meaningful for meetings.", default=None)
    remind_at: datetime | None = column(
        MOMENT, "When the event task_reminded is due; once.", WRITE, default=None, example="2026-11-24T14:45:00Z"
    )
    priority: str = column(
        TaskPriority, "How pressing it is.", WRITE, default="normal", example="normal", stored="'normal'"
    )
    is_pinned: bool = column(
        FLAG, "Whether front ends show it above the others.", WRITE, default=False, example=False, stored="false"
    )
    phone: str | None = column(
        LINE, "The number, as it was given.", WRITE, default=None, most=PHONE_MAX, example="+49 30 1234567"
    )
    outcome: str | None = column(
        LINE,
        "What came of it, in a word of the organization's own.",
        WRITE,
        default=None,
        most=OUTCOME_MAX,
        example="left a message",
    )
    from_address: str | None = column(LINE, "The sender's address.", WRITE, default=None, example="max@example.com")
    to_addresses: list[str] = column(
        NAMES,
        "The addresses it went to, at most 500.",
        default_factory=list,
        example=("ada@example.com",),
        stored="'[]'",
    )
    cc_addresses: list[str] = column(
        NAMES,
        "The addresses that got a copy, at most 500.",
        default_factory=list,
        example=(),
        stored="'[]'",
    )
    message_id: str | None = column(LINE, "The Message-ID header; a message is kept once.", default=None)
    thread_id: str | None = column(
        LINE, "The conversation that it belongs to, in the provider's terms.", default=None, example="thread-7"
    )
    external_id: str | None = column(LINE, "What the source calls it.", default=None)
    created_at: datetime = created()
    updated_at: datetime = updated(FILTER | SORT, stored="CURRENT_TIMESTAMP")
    version: int = versioned(stored="1")
    occurred_at: datetime = column(
        MOMENT,
        "When it took or takes place: see each type. Orders timelines.",
        FILTER | SORT,
        default=None,
        computed=OCCURRED_AT,
        short="when it took or takes place",
        example="2026-11-24T15:00:00Z",
    )
    folded_subject: str | None = folds("subject")
    folded_owner_id: str | None = folds("owner_id")


LINKS = ("account_id", "deal_id", "contact_id", "lead_id")
"""The columns that link an activity to records; a feed of each of these has it."""

SHARED = (*("subject", "body", "occurred_at", *LINKS, "owner_id", "source", "created_at", "updated_at", "version"),)
COLUMNS: Mapping[ActivityType, tuple[str, ...]] = MappingProxyType(
    {
        ActivityType.MEETING: (
            *("type", *SHARED, "due_at", "completed_at", "duration_minutes", "metadata", "direction"),
        ),
        ActivityType.TASK: (*SHARED, "due_at", "completed_at", "remind_at", "priority"),
        ActivityType.NOTE: (*SHARED, "is_pinned"),
        ActivityType.CALL: (*SHARED, "duration_minutes", "phone", "outcome"),
        ActivityType.EMAIL: (*(*SHARED, "from_address", "to_addresses", "cc_addresses", "message_id", "thread_id"),),
    }
)
"""The columns that the surfaces show of each type. Calls and e-mails have `direction`, and their time, in words of
their own."""


def writable(kind: ActivityType, use: Use) -> tuple[str, ...]:
    """The columns of a type that a caller may write so."""
    return tuple(c.name for c in columns_of(Activity) if use in c.uses and c.name in COLUMNS[kind])


LISTING_INDEXES = {
    "ix_meetings_due_desc": ("org_id", "due_at DESC NULLS LAST", "created_at DESC", "id"),
    "ix_meetings_due_asc": ("org_id", "due_at", "created_at DESC", "id"),
    "ix_meetings_account": ("org_id", "account_id", "due_at DESC NULLS LAST", "created_at DESC", "id"),
    "ix_meetings_deal": ("org_id", "deal_id", "due_at DESC NULLS LAST", "created_at DESC", "id"),
    "ix_meetings_contact": ("org_id", "contact_id", "due_at DESC NULLS LAST", "created_at DESC", "id"),
    "ix_meetings_owner": ("org_id", "owner_id", "due_at DESC NULLS LAST", "created_at DESC", "id"),
}
"""The orders of the listing of meetings, whole and below each of its filters; the migration makes them in the dialect's
words."""

UNCOMPARED_INDEXES = frozenset(LISTING_INDEXES) | {
    f"ix_activities_{name}"
    for name in ("created", "occurred", "type", "account", "deal", "contact", "lead", "owner", "reminders")
}
UNCOMPARED_INDEXES |= {"ix_integrations_owner", "ix_integrations_created", "ix_sync_occurrences_start"}
UNCOMPARED_INDEXES |= {"ix_sync_runs_newest"}
UNCOMPARED_INDEXES |= {"ix_record_changes_subject", "ix_record_changes_owners", "ix_stage_changes_account"}
UNCOMPARED_INDEXES |= {"ix_match_groups_shared", "ix_file_links_record", "ix_tag_links_in_order"}
"""The indexes that Alembic cannot compare with the tables: not said there, or by an expression."""
