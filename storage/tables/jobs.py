"""Jobs: what an organization asked to be done later; and the queue, which says what is due without saying more."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, text
from sqlmodel import Field

from contract.vocabulary import JobStatus
from storage.base import Directory, Identifier, JsonDict, Record, new_id, now
from storage.columns import LINE, MADE_AT, MOMENT, NUMBER, OBJECT, WHOLE, column
from storage.indexes import partial_index

_UNFINISHED = "key IS NOT NULL AND status IN ('queued', 'running')"


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
        partial_index("ux_jobs_unfinished", "org_id", "kind", "key", where=_UNFINISHED, unique=True),
    )

    kind: str = column(LINE, "What is to be done.", example="cx_report_render")
    key: str | None = column(LINE, "What is to be done once at a time.", default=None)
    status: str = column(JobStatus, "What has become of it.", default="queued", example="succeeded")
    attempts: int = column(WHOLE, "How many attempts were begun.", default=0, example=1)
    error: str | None = column(
        LINE, "What went wrong in the last attempt that failed, in words for people.", default=None
    )
    progress: float = column(NUMBER, "How much is done, from 0 to 1.", default=0.0, least=0, most=1, example=1.0)
    arguments: JsonDict = column(OBJECT, "What the work is told.")
    repeat_seconds: int | None = column(WHOLE, "How long after its end it is queued again.", default=None)
    created_at: datetime = column(MOMENT, "When it was asked for.", default_factory=now, example=MADE_AT)
    started_at: datetime | None = column(
        MOMENT, "When its first attempt began.", default=None, example="2026-11-20T09:30:00.480000Z"
    )
    finished_at: datetime | None = column(
        MOMENT, "When it succeeded, failed or was superseded.", default=None, example="2026-11-20T09:30:02.310000Z"
    )


class QueuedJob(Directory, table=True):
    """An unfinished job's place in the queue of all organizations (decision 33): identifiers, a time and nothing else.

    It is due at `due_at`, or held by the run `holder` until then; a worker renews that while it works. With `again` it
    is due at once when the run lets go of it: it was hastened meanwhile. With `is_long` it waits for a place for work
    that takes long.
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
    again: bool = Field(default=False, sa_column_kwargs={"server_default": text("false")})
    is_long: bool = Field(default=False, sa_column_kwargs={"server_default": text("false")})


class JobWorker(Directory, table=True):
    """A process that runs jobs, and when it last said so."""

    __tablename__ = "job_workers"

    id: str = Field(default_factory=new_id, sa_type=Identifier, primary_key=True)
    started_at: datetime = Field(default_factory=now)
    beat_at: datetime = Field(default_factory=now)
