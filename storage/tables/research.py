"""Research runs and their results: companies that were looked at (specification 4.3)."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint
from sqlmodel import Field

from storage.base import Document, Identifier, PlainText, Record, now, tenant_key


class ResearchRun(Record, table=True):
    """A list of companies to look at; `result_count` of them, each with a result from the start."""

    __tablename__ = "research_runs"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint(
            "status IN ('queued', 'running', 'completed', 'partial', 'failed', 'cancelled')", name="status"
        ),
        Index(None, "org_id", "created_at"),
    )

    name: str = Field(sa_type=PlainText)
    status: str = Field(default="queued", sa_type=PlainText)
    result_count: int
    created_at: datetime = Field(default_factory=now)
    completed_at: datetime | None = None
    created_by: str | None = Field(default=None, sa_type=PlainText)


class ResearchResult(Record, table=True):
    """What was found of one company: `factors` and `score` once it is scored, `error` for clients where it failed."""

    __tablename__ = "research_results"
    __table_args__ = (
        tenant_key("research_runs", "run_id", ondelete="CASCADE"),
        UniqueConstraint("org_id", "run_id", "position"),
        CheckConstraint("status IN ('pending', 'scored', 'failed')", name="status"),
        CheckConstraint("score BETWEEN 0 AND 100", name="score"),
    )

    run_id: str = Field(sa_type=Identifier)
    position: int
    company_name: str = Field(sa_type=PlainText)
    domain: str | None = Field(default=None, sa_type=PlainText)
    status: str = Field(default="pending", sa_type=PlainText)
    score: int | None = None
    factors: list[Any] | None = Field(default=None, sa_type=Document)
    error: str | None = Field(default=None, sa_type=PlainText)
    job_id: str | None = Field(default=None, sa_type=Identifier)
    """The job that looks at the company."""
