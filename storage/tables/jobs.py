"""Jobs: what an organization asked to be done later; and the queue, which says what is due without saying more."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Column, ForeignKeyConstraint, Index, text
from sqlmodel import Field

from storage.base import Directory, Document, Identifier, PlainText, Record, new_id, now

_UNFINISHED = text("key IS NOT NULL AND status IN ('queued', 'running')")


class Job(Record, table=True):
    """A piece of work and what has become of it.

    `key` names what is to be done once at a time: of a kind and key there is at most one unfinished job. A job with
    `repeat_seconds` is queued again whenever a run of it has ended.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("status IN ('queued', 'running', 'succeeded', 'failed', 'superseded')", name="status"),
        CheckConstraint("progress BETWEEN 0 AND 1", name="progress"),
        CheckConstraint("repeat_seconds > 0", name="repeat_seconds"),
        Index(
            "ux_jobs_unfinished",
            "org_id",
            "kind",
            "key",
            unique=True,
            sqlite_where=_UNFINISHED,
            postgresql_where=_UNFINISHED,
        ),
    )

    kind: str = Field(sa_type=PlainText)
    key: str | None = Field(default=None, sa_type=PlainText)
    status: str = Field(default="queued", sa_type=PlainText)
    attempts: int = 0
    error: str | None = Field(default=None, sa_type=PlainText)
    progress: float = 0.0
    arguments: dict[str, Any] = Field(sa_column=Column(Document, nullable=False))
    repeat_seconds: int | None = None
    created_at: datetime = Field(default_factory=now)
    started_at: datetime | None = None
    finished_at: datetime | None = None


class QueuedJob(Directory, table=True):
    """An unfinished job's place in the queue of all organizations (decision 33): identifiers, a time and nothing else.

    It is due at `due_at`, or held by the run `holder` until then; a worker renews that while it works.
    """

    __tablename__ = "job_queue"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "job_id"], ["jobs.org_id", "jobs.id"], ondelete="CASCADE"),
        Index(None, "due_at"),
    )

    org_id: str = Field(sa_type=Identifier, primary_key=True)
    job_id: str = Field(sa_type=Identifier, primary_key=True)
    due_at: datetime
    holder: str | None = Field(default=None, sa_type=Identifier)


class JobWorker(Directory, table=True):
    """A process that runs jobs, and when it last said so."""

    __tablename__ = "job_workers"

    id: str = Field(default_factory=new_id, sa_type=Identifier, primary_key=True)
    started_at: datetime = Field(default_factory=now)
    beat_at: datetime = Field(default_factory=now)
