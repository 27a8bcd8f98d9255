"""Writes that runs of chats proposed, each of which waits for its member's decision."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Column, Index, UniqueConstraint
from sqlmodel import Field

from contract.chat import ChatApprovalStatus
from storage.base import Document, Identifier, JsonDict, PlainText, Record, now, tenant_key

_STATUSES = ", ".join(f"'{status.value}'" for status in ChatApprovalStatus)


class ChatApproval(Record, table=True):
    """One proposed write: what will be done, what was shown of it, and what became of it.

    `record_kind` and `record_id` name the record that was shown, `record_version` its version then; none where one is
    created. `decided_by` says whose decision it is as a run says whom it acts for: by a credential, with its scopes.
    """

    __tablename__ = "chat_approvals"
    __table_args__ = (
        tenant_key("chat_runs", "run_id", ondelete="CASCADE"),
        UniqueConstraint("org_id", "run_id", "call_id"),
        CheckConstraint(f"status IN ({_STATUSES})", name="status"),
        Index(None, "org_id", "subject", "created_at", "id"),
        Index(None, "org_id", "subject", "status", "created_at", "id"),
    )

    thread_id: str = Field(sa_type=Identifier)
    run_id: str = Field(sa_type=Identifier)
    call_id: str = Field(sa_type=PlainText)
    subject: str = Field(sa_type=PlainText)
    tool: str = Field(sa_type=PlainText)
    operation: str = Field(sa_type=PlainText)
    arguments: JsonDict = Field(sa_column=Column(Document, nullable=False))
    arguments_sha256: str = Field(sa_type=PlainText)
    record_kind: str | None = Field(default=None, sa_type=PlainText)
    record_id: str | None = Field(default=None, sa_type=Identifier)
    record_version: int | None = Field(default=None)
    preview: JsonDict = Field(sa_column=Column(Document, nullable=False))
    status: str = Field(default=ChatApprovalStatus.PENDING.value, sa_type=PlainText)
    expires_at: datetime
    decided_at: datetime | None = Field(default=None)
    decided_by: JsonDict | None = Field(default=None, sa_column=Column(Document))
    result_kind: str | None = Field(default=None, sa_type=PlainText)
    result_id: str | None = Field(default=None, sa_type=Identifier)
    created_at: datetime = Field(default_factory=now)
