"""CX reports: the content that is edited, every revision of it, and the files of one of them (specification 4.3)."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Column, UniqueConstraint
from sqlmodel import Field

from storage.base import Document, Identifier, JsonDict, PlainText, Record, now, tenant_key


class CXReport(Record, table=True):
    """The report of one result: `revision` is the newest, `published_revision` the newest with files, or 0."""

    __tablename__ = "cx_reports"
    __events__ = {"cx_report": "edited"}
    __table_args__ = (
        tenant_key("research_results", "result_id", ondelete="CASCADE"),
        UniqueConstraint("org_id", "result_id"),
        CheckConstraint("revision > 0", name="revision"),
        CheckConstraint("published_revision <= revision", name="published_revision"),
    )

    result_id: str = Field(sa_type=Identifier)
    revision: int = 1
    published_revision: int = 0
    render_job_id: str | None = Field(default=None, sa_type=Identifier)
    """The job that renders the newest revision."""
    updated_at: datetime = Field(default_factory=now)


class CXReportRevision(Record, table=True):
    """The content of a report as it once was; never changed."""

    __tablename__ = "cx_report_revisions"
    __table_args__ = (
        tenant_key("cx_reports", "report_id", ondelete="CASCADE"),
        UniqueConstraint("org_id", "report_id", "revision"),
    )

    report_id: str = Field(sa_type=Identifier)
    revision: int
    copy_blobs: JsonDict = Field(sa_column=Column(Document, nullable=False))
    analysis: JsonDict = Field(sa_column=Column(Document, nullable=False))
    brand: JsonDict = Field(sa_column=Column(Document, nullable=False))
    bpo_prefix: str | None = Field(default=None, sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)
    created_by: str | None = Field(default=None, sa_type=PlainText)
