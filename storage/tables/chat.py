"""Chats: threads of one person, their messages, the runs that answer, and what these did step by step."""

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKeyConstraint, Index, UniqueConstraint, text
from sqlmodel import Field

from contract.chat import ChatRole, ChatRunStatus
from storage.base import Document, Identifier, JsonDict, PlainText, Record, Tenant, now, tenant_key
from storage.indexes import partial_index

_STATUSES = ", ".join(f"'{status.value}'" for status in ChatRunStatus)
_ROLES = ", ".join(f"'{role.value}'" for role in ChatRole)
_UNFINISHED = "finished_at IS NULL"


class ChatThread(Record, table=True):
    """A conversation of one person. It is nobody else's: every statement for a caller names the subject.

    `updated_at` is when its newest message was written.
    """

    __tablename__ = "chat_threads"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        Index(None, "org_id", "subject", "updated_at", "id"),
        Index(None, "org_id", "updated_at"),
    )

    subject: str = Field(sa_type=PlainText)
    title: str | None = Field(default=None, sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)
    updated_at: datetime = Field(default_factory=now)


class ChatMessage(Record, table=True):
    """One message, at its place in the thread."""

    __tablename__ = "chat_messages"
    __table_args__ = (
        tenant_key("chat_threads", "thread_id", ondelete="CASCADE"),
        UniqueConstraint("org_id", "thread_id", "position"),
        CheckConstraint(f"role IN ({_ROLES})", name="role"),
    )

    thread_id: str = Field(sa_type=Identifier)
    subject: str = Field(sa_type=PlainText)
    position: int
    run_id: str | None = Field(default=None, sa_type=Identifier)
    role: str = Field(sa_type=PlainText)
    text: str = Field(sa_type=PlainText)
    citations: list[JsonDict] = Field(default_factory=list, sa_column=Column(Document, nullable=False))
    created_at: datetime = Field(default_factory=now)


class ChatRun(Record, table=True):
    """The answer to one message. While it is worked on, `holder` does, as long as `leased_until` is not over.

    Whom it acts for is looked up before each step: the credential, with the scopes that it had when it began.
    `reserved` are the tokens of the question that the model is answering.
    """

    __tablename__ = "chat_runs"
    __table_args__ = (
        tenant_key("chat_threads", "thread_id", ondelete="CASCADE"),
        CheckConstraint(f"status IN ({_STATUSES})", name="status"),
        partial_index("uq_chat_runs_unfinished", "org_id", "thread_id", where=_UNFINISHED, unique=True),
        partial_index("ix_chat_runs_unfinished", "org_id", "subject", where=_UNFINISHED),
        Index(None, "org_id", "thread_id", "created_at"),
        Index(None, "org_id", "finished_at"),
    )

    thread_id: str = Field(sa_type=Identifier)
    subject: str = Field(sa_type=PlainText)
    message_id: str = Field(sa_type=Identifier)
    answer_id: str = Field(sa_type=Identifier)
    request_id: str = Field(sa_type=PlainText)
    status: str = Field(default=ChatRunStatus.QUEUED.value, sa_type=PlainText)
    provider: str = Field(sa_type=PlainText)
    model: str | None = Field(default=None, sa_type=PlainText)
    time_zone: str = Field(sa_type=PlainText)
    credential_kind: str = Field(sa_type=PlainText)
    credential_id: str | None = Field(default=None, sa_type=Identifier)
    granted_scopes: list[str] = Field(sa_column=Column(Document, nullable=False))
    session_ends_at: datetime | None = Field(default=None)
    holder: str | None = Field(default=None, sa_type=Identifier)
    leased_until: datetime | None = Field(default=None)
    attempts: int = Field(default=1)
    steps: int = Field(default=0)
    tool_calls: int = Field(default=0)
    worked_ms: int = Field(default=0)
    input_tokens: int = Field(default=0)
    output_tokens: int = Field(default=0)
    is_estimated: bool = Field(default=False)
    reserved: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs={"server_default": text("0")})
    points: int = Field(default=0)
    error_code: str | None = Field(default=None, sa_type=PlainText)
    cancel_requested_at: datetime | None = Field(default=None)
    last_sequence: int = Field(default=0, sa_type=BigInteger)
    created_at: datetime = Field(default_factory=now)
    finished_at: datetime | None = Field(default=None)


class ChatEvent(Tenant, table=True):
    """One event of a run, as the clients' streams have it."""

    __tablename__ = "chat_events"
    __table_args__ = (tenant_key("chat_runs", "run_id", ondelete="CASCADE"),)

    run_id: str = Field(sa_type=Identifier, primary_key=True)
    sequence: int = Field(sa_type=BigInteger, primary_key=True)
    subject: str = Field(sa_type=PlainText)
    type: str = Field(sa_type=PlainText)
    data: JsonDict = Field(sa_column=Column(Document, nullable=False))
    at: datetime = Field(default_factory=now)


class ChatStep(Tenant, table=True):
    """A step of a run, said by the model or given by a tool: what another process needs to go on with the run."""

    __tablename__ = "chat_steps"
    __table_args__ = (tenant_key("chat_runs", "run_id", ondelete="CASCADE"),)

    run_id: str = Field(sa_type=Identifier, primary_key=True)
    position: int = Field(primary_key=True)
    subject: str = Field(sa_type=PlainText)
    content: JsonDict = Field(sa_column=Column(Document, nullable=False))


class ModelUsage(Tenant, table=True):
    """The use that one person's runs made of a model on one day of UTC; an empty model is the embedded answerer's.

    `day` is written as ISO 8601 has it. Runs that have not ended count in their own rows.
    """

    __tablename__ = "model_usage"
    __table_args__ = (ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),)

    day: str = Field(sa_type=PlainText, primary_key=True)
    subject: str = Field(sa_type=PlainText, primary_key=True)
    provider: str = Field(sa_type=PlainText, primary_key=True)
    model: str = Field(sa_type=PlainText, primary_key=True)
    runs: int = Field(default=0)
    input_tokens: int = Field(default=0, sa_type=BigInteger)
    output_tokens: int = Field(default=0, sa_type=BigInteger)
    is_estimated: bool = Field(default=False)
