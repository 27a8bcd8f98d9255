"""Questions that were asked, what became of each, and the steps of the answers."""

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKeyConstraint, Index, UniqueConstraint
from sqlmodel import Field

from contract.analytics_events import AnalyticsRunStatus
from storage.base import Document, Identifier, JsonDict, PlainText, Record, Tenant, now, tenant_key

_STATUSES = ", ".join(f"'{status.value}'" for status in AnalyticsRunStatus)


class AnalyticsConversation(Record, table=True):
    """Questions of one person that follow each other. It is nobody else's: every statement names the subject."""

    __tablename__ = "analytics_conversations"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        Index(None, "org_id", "subject", "updated_at"),
    )

    subject: str = Field(sa_type=PlainText)
    title: str = Field(sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)
    updated_at: datetime = Field(default_factory=now)


class AnalyticsRun(Record, table=True):
    """One question of one person, and what became of it. Every statement for a caller names the subject.

    While it is running, the process in `holder` works on it, as long as `leased_until` is not over. `fingerprint`
    stands for what was asked under the key that `key_hash` stands for. `sql` has the statement without its parameters;
    `unread`, `suggestions` and `error` are what a declined or failed one ends with. The rows are in its events alone.
    """

    __tablename__ = "analytics_runs"
    __table_args__ = (
        tenant_key("analytics_conversations", "conversation_id", ondelete="CASCADE"),
        UniqueConstraint("org_id", "subject", "key_hash"),
        CheckConstraint(f"status IN ({_STATUSES})", name="status"),
        Index(None, "org_id", "subject", "created_at"),
        Index(None, "org_id", "conversation_id", "created_at"),
        Index(None, "org_id", "status", "leased_until"),
    )

    conversation_id: str = Field(sa_type=Identifier)
    subject: str = Field(sa_type=PlainText)
    key_hash: str | None = Field(default=None, sa_type=PlainText)
    fingerprint: str = Field(sa_type=PlainText)
    question: str = Field(sa_type=PlainText)
    status: str = Field(default=AnalyticsRunStatus.RUNNING.value, sa_type=PlainText)
    planner: str | None = Field(default=None, sa_type=PlainText)
    plan: JsonDict | None = Field(default=None, sa_column=Column(Document))
    assumptions: list[str] | None = Field(default=None, sa_column=Column(Document))
    follows_run_id: str | None = Field(default=None, sa_type=Identifier)
    sql: JsonDict | None = Field(default=None, sa_column=Column(Document))
    parameters: list[str | int | float | bool | None] | None = Field(default=None, sa_column=Column(Document))
    columns: list[JsonDict] | None = Field(default=None, sa_column=Column(Document))
    chart: JsonDict | None = Field(default=None, sa_column=Column(Document))
    explanation: str = Field(default="", sa_type=PlainText)
    row_count: int = Field(default=0)
    truncated: bool = Field(default=False)
    statement_ms: int | None = Field(default=None)
    unread: list[str] | None = Field(default=None, sa_column=Column(Document))
    suggestions: list[str] | None = Field(default=None, sa_column=Column(Document))
    error_code: str | None = Field(default=None, sa_type=PlainText)
    error: JsonDict | None = Field(default=None, sa_column=Column(Document))
    holder: str = Field(sa_type=Identifier)
    leased_until: datetime
    cancel_requested_at: datetime | None = Field(default=None)
    created_at: datetime = Field(default_factory=now)
    finished_at: datetime | None = Field(default=None)


class AnalyticsEvent(Tenant, table=True):
    """One step of an answer, as the clients' streams have it. It is its run's: who may see that may see it."""

    __tablename__ = "analytics_events"
    __table_args__ = (tenant_key("analytics_runs", "run_id", ondelete="CASCADE"),)

    run_id: str = Field(sa_type=Identifier, primary_key=True)
    sequence: int = Field(sa_type=BigInteger, primary_key=True)
    type: str = Field(sa_type=PlainText)
    data: JsonDict = Field(sa_column=Column(Document, nullable=False))
    at: datetime = Field(default_factory=now)
