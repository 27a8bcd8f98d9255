"""Reports: saved questions with a fixed shape, what each is narrowed to, and the files that were made of them."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index

from contract.vocabulary import JobStatus, ReportKind
from storage.base import JsonDict, Record, tenant_key
from storage.columns import (
    LINE,
    MOMENT,
    NAMES,
    NONE,
    OBJECT,
    REFERENCE,
    TEXT,
    column,
    created,
    owner,
    reference,
    updated,
    versioned,
)
from storage.indexes import index_of_given


class Report(Record, table=True):
    """A report. `parameters` has every name that there is, null where nothing was given (reports/narrowing.py)."""

    __tablename__ = "reports"
    __events__ = {"report": "created updated deleted run emailed schedule_paused"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint(
            "kind IN ('pipeline_by_stage', 'activity_by_owner', 'won_lost_by_month', 'target_attainment')", name="kind"
        ),
        Index(None, "org_id", "name", "id"),
        Index(None, "org_id", "owner_id", "id"),
        index_of_given("org_id", "next_at", name="ix_reports_scheduled"),
    )

    name: str = column(LINE, "The name, 1 to 200 characters.", least=1, example="Pipeline by stage")
    description: str | None = column(
        TEXT, "What it is for, at most 2,000 characters.", default=None, example="For the Monday meeting."
    )
    kind: str = column(ReportKind, "What it is.", example="pipeline_by_stage")
    parameters: JsonDict = column(OBJECT, "What the question is narrowed to.", default_factory=dict)
    schedule: JsonDict | None = column(OBJECT, "When it is mailed by itself; null for never.", default=None)
    next_at: datetime | None = column(MOMENT, "When it is mailed next.", default=None)
    scheduled_by: str | None = column(LINE, "The subject of who set the schedule.", default=None)
    owner_id: str | None = owner()
    created_at: datetime = created(NONE)
    updated_at: datetime = updated(NONE)
    version: int = versioned()


class ReportRun(Record, table=True):
    """One rendering of a report. What it came to is written at its end; until then its job says where it stands.

    Files are named and not referred to: each goes its own way, and may be gone before the run.
    """

    __tablename__ = "report_runs"
    __table_args__ = (
        tenant_key("reports", "report_id"),
        CheckConstraint("status IN ('queued', 'running', 'succeeded', 'failed', 'superseded')", name="status"),
        CheckConstraint("(status = 'queued') = (finished_at IS NULL)", name="finished"),
        Index(None, "org_id", "report_id", "created_at", "id"),
        Index(None, "org_id", "created_at"),
        Index("ux_report_runs_occurrence", "org_id", "report_id", "occurrence", unique=True),
    )

    report_id: str | None = reference("reports", "The report; null where it is gone.")
    status: str = column(JobStatus, "Where it stands.", default="queued", example="succeeded")
    error: str | None = column(LINE, "Why it failed, in words.", default=None)
    requested_by: str = column(LINE, "Who asked; system for a schedule.", example="user_2mF7")
    created_at: datetime = created(NONE)
    finished_at: datetime | None = column(MOMENT, "When it ended.", default=None, example="2026-11-20T09:30:02.310000Z")
    formats: list[str] = column(NAMES, "Which files, each once.")
    job_id: str = column(REFERENCE, "The job that does it, which is forgotten before the run is.")
    file_ids: list[str] = column(NAMES, "The files, once it has succeeded.", default_factory=list)
    occurrence: datetime | None = column(MOMENT, "The moment of the schedule that it is for.", default=None)
    mail_id: str | None = column(
        REFERENCE, "The message that carries them, which is forgotten when the run is.", default=None
    )
