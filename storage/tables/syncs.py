"""Says what connections to accounts elsewhere follow, and what came of it.

Apart from the connections, so that who asks how these are loads nothing else (decision 1183).
"""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, LargeBinary, UniqueConstraint, text
from sqlmodel import Field

from storage.base import Directory, Document, Identifier, JsonDict, PlainText, Record, Tenant, now, tenant_key
from storage.columns import folds


class SyncStream(Record, table=True):
    """One thing that a connection follows. `cursor` is sealed: where the provider's changes go on from.

    Each full pass is a `generation`; what it did not meet has an older one. `doubted` is the generation of a pass that
    would have removed more than half, which another has to confirm. `confirmed_at` is when the window was last moved.
    `noticed_at` is when the provider last told of a change.
    """

    __tablename__ = "sync_streams"
    __table_args__ = (
        tenant_key("integrations", "integration_id", ondelete="CASCADE"),
        UniqueConstraint("org_id", "integration_id", "kind", "external_id"),
        CheckConstraint("kind IN ('calendar', 'mail', 'recordings', 'channel')", name="kind"),
    )

    integration_id: str = Field(sa_type=Identifier)
    kind: str = Field(default="calendar", sa_type=PlainText)
    external_id: str = Field(default="", sa_type=PlainText)
    name: str = Field(sa_type=PlainText)
    enabled: bool = True
    cursor: bytes | None = Field(default=None, sa_type=LargeBinary)
    generation: int = 0
    doubted: int | None = None
    wants_full: bool = True
    window_from: datetime | None = None
    window_until: datetime | None = None
    synced_at: datetime | None = None
    confirmed_at: datetime | None = None
    noticed_at: datetime | None = None


class StreamLink(Tenant, table=True):
    """The account or the deal that a chat channel is about."""

    __tablename__ = "stream_links"
    __table_args__ = (
        tenant_key("sync_streams", "stream_id", ondelete="CASCADE"),
        tenant_key("accounts", "account_id", ondelete="CASCADE"),
        tenant_key("deals", "deal_id", ondelete="CASCADE"),
        CheckConstraint("(account_id IS NULL) <> (deal_id IS NULL)", name="target"),
        Index(None, "org_id", "account_id"),
        Index(None, "org_id", "deal_id"),
    )

    stream_id: str = Field(sa_type=Identifier, primary_key=True)
    account_id: str | None = Field(default=None, sa_type=Identifier)
    deal_id: str | None = Field(default=None, sa_type=Identifier)


class StreamWatch(Record, table=True):
    """A channel by which a provider tells of changes to a stream; its `id` is what the provider calls it.

    `sealed` is what the provider calls the thing that is watched, to stop it by; without it the provider declined, and
    is asked again at `renews_at`. `ends_at` is when a channel that another one has replaced is stopped.
    """

    __tablename__ = "stream_watches"
    __table_args__ = (
        tenant_key("sync_streams", "stream_id", ondelete="CASCADE"),
        tenant_key("integrations", "integration_id", ondelete="CASCADE"),
        Index(None, "org_id", "integration_id"),
        Index(None, "org_id", "stream_id"),
    )

    integration_id: str = Field(sa_type=Identifier)
    stream_id: str = Field(sa_type=Identifier)
    sealed: bytes | None = Field(default=None, sa_type=LargeBinary)
    expires_at: datetime
    renews_at: datetime
    ends_at: datetime | None = None


class IntegrationAccount(Directory, table=True):
    """Leads a provider's notice, which names an account there, to the connections of it: keyed hashes alone."""

    __tablename__ = "integration_accounts"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        Index(None, "provider", "account_key"),
    )

    org_id: str = Field(sa_type=Identifier, primary_key=True)
    integration_id: str = Field(sa_type=Identifier, primary_key=True)
    provider: str = Field(sa_type=PlainText)
    account_key: str = Field(sa_type=PlainText)


class FeedContent(Tenant, table=True):
    """The content of a feed that was uploaded, sealed."""

    __tablename__ = "feed_contents"
    __table_args__ = (tenant_key("sync_streams", "stream_id", ondelete="CASCADE"),)

    stream_id: str = Field(sa_type=Identifier, primary_key=True)
    sealed: bytes = Field(sa_type=LargeBinary)


class SyncItem(Record, table=True):
    """An event or a series as the provider showed it, as far as the visibility lets it be kept.

    `body` has what was said of it and, by their recurrences, what was said of single occurrences otherwise. `hash`
    stands for all that was shown. `sequence` and `changed_at` order its states.
    """

    __tablename__ = "sync_items"
    __table_args__ = (
        tenant_key("sync_streams", "stream_id", ondelete="CASCADE"),
        UniqueConstraint("org_id", "stream_id", "external_id"),
        Index(None, "org_id", "stream_id", "generation", "id"),
    )

    stream_id: str = Field(sa_type=Identifier)
    external_id: str = Field(sa_type=PlainText)
    uid: str = Field(sa_type=PlainText)
    body: JsonDict = Field(sa_type=Document)
    hash: str = Field(sa_type=PlainText)
    sequence: int = 0
    changed_at: datetime | None = None
    generation: int = 0
    seen_at: datetime = Field(default_factory=now)


class SyncOccurrence(Record, table=True):
    """One meeting to be: an occurrence of an item, which has one or, where it is a series, several.

    `recurrence` is the start that it had at first, or empty. `subject` is empty for what is private. `meeting_id` is
    the meeting that it is, or that it is a duplicate of; of the kind `mail` the e-mail.

    `seen_at` is when it was settled last. Nobody is told that but who asks of an item that goes in this moment: when
    the provider showed it last is read from its item and its stream (decision 1012, storage/queries/sync_shown.py).
    """

    __tablename__ = "sync_occurrences"
    __table_args__ = (
        tenant_key("sync_items", "item_id", ondelete="CASCADE"),
        tenant_key("integrations", "integration_id", ondelete="CASCADE"),
        tenant_key("activities", "meeting_id"),
        UniqueConstraint("org_id", "item_id", "recurrence"),
        CheckConstraint("outcome IN ('taken', 'skipped')", name="outcome"),
        CheckConstraint("decision IN ('take', 'ignore')", name="decision"),
        Index("ix_sync_occurrences_start", "org_id", "integration_id", text("starts_at DESC"), "id"),
        Index(None, "org_id", "meeting_id"),
        Index(None, "org_id", "integration_id", "outcome", "reason"),
    )

    integration_id: str = Field(sa_type=Identifier)
    stream_id: str = Field(sa_type=Identifier)
    item_id: str = Field(sa_type=Identifier)
    kind: str = Field(default="calendar", sa_type=PlainText)
    recurrence: str = Field(default="", sa_type=PlainText)
    subject: str | None = Field(default=None, sa_type=PlainText)
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    all_day: bool = False
    is_recurring: bool = False
    outcome: str = Field(sa_type=PlainText)
    reason: str | None = Field(default=None, sa_type=PlainText)
    explanation: str | None = Field(default=None, sa_type=PlainText)
    decision: str | None = Field(default=None, sa_type=PlainText)
    meeting_id: str | None = Field(default=None, sa_type=Identifier)
    seen_at: datetime = Field(default_factory=now)
    made_at: datetime = Field(default_factory=now)
    folded_subject: str | None = folds("subject")


class SyncedMeeting(Record, table=True):
    """The facts that synchronisation knows of a meeting: its identity in all calendars, and whose its fields are.

    Without `meeting_id` a member deleted the meeting here. `overridden` are the fields that members changed.
    `pending_end` is the end of a meeting that does not count as held yet. `shown_by` is whose connection was the last
    to show one that stays cancelled (decision 1165).
    """

    __tablename__ = "synced_meetings"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("activities", "meeting_id"),
        UniqueConstraint("org_id", "uid_hash", "recurrence"),
        UniqueConstraint("org_id", "meeting_id"),
        Index(None, "org_id", "pending_end"),
    )

    uid: str = Field(sa_type=PlainText)
    uid_hash: str = Field(sa_type=PlainText)
    recurrence: str = Field(default="", sa_type=PlainText)
    meeting_id: str | None = Field(default=None, sa_type=Identifier)
    all_day: bool = False
    time_zone: str | None = Field(default=None, sa_type=PlainText)
    conference_url: str | None = Field(default=None, sa_type=PlainText)
    cancelled_at: datetime | None = None
    shown_by: str | None = Field(default=None, sa_type=PlainText)
    pending_end: datetime | None = None
    overridden: list[str] = Field(default_factory=list, sa_type=Document)
    participants: list[JsonDict] = Field(default_factory=list, sa_type=Document)
    deal_candidates: list[str] = Field(default_factory=list, sa_type=Document)
    made_at: datetime = Field(default_factory=now)


class SyncRun(Record, table=True):
    """One run of the synchronisation of a connection."""

    __tablename__ = "sync_runs"
    __table_args__ = (
        tenant_key("integrations", "integration_id", ondelete="CASCADE"),
        CheckConstraint("mode IN ('full', 'incremental')", name="mode"),
        CheckConstraint("status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')", name="status"),
        Index("ix_sync_runs_newest", "org_id", "integration_id", text("queued_at DESC"), "id"),
    )

    integration_id: str = Field(sa_type=Identifier)
    mode: str = Field(sa_type=PlainText)
    status: str = Field(default="queued", sa_type=PlainText)
    queued_at: datetime = Field(default_factory=now)
    started_at: datetime | None = None
    finished_at: datetime | None = None
    calls: int = 0
    processed: int = 0
    expected: int | None = None
    created: int = 0
    updated: int = 0
    removed: int = 0
    skipped: int = 0
    problem: str | None = Field(default=None, sa_type=PlainText)
