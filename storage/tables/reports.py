"""Reports: saved questions with a fixed shape, and what each is narrowed to."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index

from contract.vocabulary import ReportKind
from storage.base import JsonDict, Record
from storage.columns import LINE, NONE, OBJECT, TEXT, column, created, owner, updated, versioned


class Report(Record, table=True):
    """A report. `parameters` has every name that there is, null where nothing was given (reports/narrowing.py)."""

    __tablename__ = "reports"
    __events__ = {"report": "created updated deleted"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint(
            "kind IN ('pipeline_by_stage', 'activity_by_owner', 'won_lost_by_month', 'target_attainment')", name="kind"
        ),
        Index(None, "org_id", "name", "id"),
        Index(None, "org_id", "owner_id", "id"),
    )

    name: str = column(LINE, "The name, 1 to 200 characters.", least=1, example="Pipeline by stage")
    description: str | None = column(
        TEXT, "What it is for, at most 2,000 characters.", default=None, example="For the Monday meeting."
    )
    kind: str = column(ReportKind, "What it is.", example="pipeline_by_stage")
    parameters: JsonDict = column(OBJECT, "What the question is narrowed to.", default_factory=dict)
    owner_id: str | None = owner()
    created_at: datetime = created(NONE)
    updated_at: datetime = updated(NONE)
    version: int = versioned()
