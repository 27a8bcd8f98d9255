"""Pipeline stages, and the history of deals through them."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index
from sqlmodel import Field

from storage.base import Identifier, PlainText, Record, now, tenant_key


class PipelineStage(Record, table=True):
    """A column of the board; `position` counts from 0, `probability` is a percentage."""

    __tablename__ = "pipeline_stages"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("type IN ('open', 'won', 'lost')", name="type"),
        CheckConstraint("probability BETWEEN 0 AND 100", name="probability"),
        Index(None, "org_id", "position"),
    )

    name: str = Field(sa_type=PlainText)
    position: int = 0
    type: str = Field(default="open", sa_type=PlainText)
    probability: int | None = None
    created_at: datetime = Field(default_factory=now)


class StageChange(Record, table=True):
    """A deal moved from one stage to another; null is «no stage», or a stage that was deleted since."""

    __tablename__ = "stage_changes"
    __table_args__ = (
        tenant_key("deals", "deal_id", ondelete="CASCADE"),
        tenant_key("pipeline_stages", "from_stage_id"),
        tenant_key("pipeline_stages", "to_stage_id"),
        Index(None, "org_id", "deal_id", "at"),
        Index(None, "org_id", "from_stage_id"),
        Index(None, "org_id", "to_stage_id"),
    )

    deal_id: str = Field(sa_type=Identifier)
    from_stage_id: str | None = Field(default=None, sa_type=Identifier)
    to_stage_id: str | None = Field(default=None, sa_type=Identifier)
    at: datetime = Field(default_factory=now)
    by: str | None = Field(default=None, sa_type=PlainText)
