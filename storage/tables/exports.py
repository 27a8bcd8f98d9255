"""Exports: lists that become files."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index

from contract.bulk_vocabulary import ExportFormat, ExportKind
from contract.vocabulary import JobStatus
from storage.base import FIRST_ID, JsonDict, Record
from storage.columns import (
    FLAG,
    LINE,
    MOMENT,
    NONE,
    OBJECT,
    OBJECTS,
    REFERENCE,
    TEXT,
    WHOLE,
    column,
    created,
)
from storage.indexes import partial_index

_UNFINISHED = "status IN ('queued', 'running')"


class DataExport(Record, table=True):
    """An export. `definition` has its columns and its condition (resolvers/export_forms.py).

    It goes up to `last_id`, the last record that there was when it was asked for, and stands behind `after_id`. What is
    written so far lies in `pieces`, each counted in the transaction that moved it on.
    """

    __tablename__ = "exports"
    __events__ = {"export": "completed"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint(
            "kind IN ('account', 'contact', 'deal', 'lead', 'meeting', 'activity', 'campaign')", name="kind"
        ),
        CheckConstraint("format IN ('csv', 'jsonl')", name="format"),
        CheckConstraint("status IN ('queued', 'running', 'succeeded', 'failed', 'superseded')", name="status"),
        CheckConstraint("complete = (status = 'succeeded')", name="complete"),
        Index(None, "org_id", "created_at"),
        partial_index("ix_exports_unfinished", "org_id", "id", where=_UNFINISHED),
    )

    kind: str = column(ExportKind, "What it is.", example="deal")
    format: str = column(ExportFormat, "The kind of file.", example="csv")
    status: str = column(JobStatus, "Where it stands.", default="queued", example="succeeded")
    rows: int = column(WHOLE, "Rows written so far.", default=0, example=3)
    complete: bool = column(
        FLAG,
        "Whether every record that there was at the start, and is still there, is in the file.",
        default=False,
        example=True,
    )
    file_id: str | None = column(REFERENCE, "The file, once it is complete; kept for seven days.", default=None)
    job_id: str = column(REFERENCE, "The job that does it.")
    error: str | None = column(TEXT, "Why it failed, in words.", default=None, example=None)
    requested_by: str = column(LINE, "The subject of who asked.", example="user_2mF7")
    created_at: datetime = created(NONE)
    finished_at: datetime | None = column(MOMENT, "When it ended.", default=None, example="2026-11-20T09:30:02.310000Z")
    needs: str | None = column(LINE, "The group that reads its list, where that is not CRM_READ.", default=None)
    definition: JsonDict = column(OBJECT, "Which records, and which columns.", default_factory=dict)
    last_id: str | None = column(REFERENCE, "The last record that there was at the start.", default=None)
    after_id: str = column(REFERENCE, "The record that it stands behind.", default=FIRST_ID)
    total: int | None = column(WHOLE, "How many records were meant when it began.", default=None)
    pieces: list[JsonDict] = column(OBJECTS, "What is written so far, by names and sizes.", default_factory=list)
