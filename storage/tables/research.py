"""Research runs and their results: companies that were looked at (specification 4.3)."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint

from contract.vocabulary import ResearchResultStatus, ResearchRunStatus
from storage.base import JsonDict, Record, now, tenant_key
from storage.columns import LINE, MADE_AT, MOMENT, OBJECTS, REFERENCE, WHOLE, column, reference


class ResearchRun(Record, table=True):
    """A list of companies to look at; `result_count` of them, each with a result from the start."""

    __tablename__ = "research_runs"
    __events__ = {"research_run": "created cancelled completed"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint(
            "status IN ('queued', 'running', 'completed', 'partial', 'failed', 'cancelled')", name="status"
        ),
        Index(None, "org_id", "created_at"),
    )

    name: str = column(LINE, "What the run is called.")
    status: str = column(ResearchRunStatus, "How far it has come.", default="queued")
    created_at: datetime = column(MOMENT, "When it was begun.", default_factory=now, example=MADE_AT)
    completed_at: datetime | None = column(MOMENT, "When it ended.", default=None)
    created_by: str | None = column(LINE, "The subject of who began it.", default=None)
    result_count: int = column(WHOLE, "How many companies it has.")


class ResearchResult(Record, table=True):
    """The result for one company: `factors` and `score` once it is scored, `error` for clients where it failed."""

    __tablename__ = "research_results"
    __table_args__ = (
        tenant_key("research_runs", "run_id", ondelete="CASCADE"),
        UniqueConstraint("org_id", "run_id", "position"),
        CheckConstraint("status IN ('pending', 'scored', 'failed')", name="status"),
        CheckConstraint("score BETWEEN 0 AND 100", name="score"),
    )

    run_id: str = column(REFERENCE, "The run's identifier.", to="research_runs")
    position: int = column(WHOLE, "Its place among the targets, counted from 0.")
    company_name: str = column(LINE, "The company, as the run names it.")
    domain: str | None = column(LINE, "Where its web site is.", default=None)
    status: str = column(ResearchResultStatus, "What has become of it.", default="pending")
    score: int | None = column(WHOLE, "0 to 100; null until it is scored.", default=None)
    factors: list[JsonDict] | None = column(
        OBJECTS,
        "What the score is made of: a list of key, name, weight, score, value, unit, finding and evidence_url.",
        default=None,
    )
    error: str | None = column(LINE, "Why the company could not be looked at.", default=None)
    job_id: str | None = reference("jobs", "The job that looks at the company.")
