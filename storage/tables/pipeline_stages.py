"""Pipeline stages, and the history of deals through them."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, text
from sqlmodel import Field

from contract.vocabulary import StageType
from storage.base import Identifier, PlainText, Record, now, tenant_key
from storage.columns import LINE, UPDATE, WHOLE, WRITE, column, created


class PipelineStage(Record, table=True):
    """A column of the board; `position` counts from 0, `probability` is a percentage."""

    __tablename__ = "pipeline_stages"
    __events__ = {"pipeline_stage": "created updated deleted", "pipeline_stages": "reordered"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("type IN ('open', 'won', 'lost')", name="type"),
        CheckConstraint("probability BETWEEN 0 AND 100", name="probability"),
        Index(None, "org_id", "position"),
    )

    name: str = column(
        LINE,
        "The stage's name.",
        WRITE,
        least=1,
        words={UPDATE: "The stage's name, not empty; it cannot be cleared."},
        example="Negotiation",
    )
    position: int = column(WHOLE, "Its place on the board, counted from 0.", default=0, example=2)
    type: str = column(
        StageType,
        "What reaching it means.",
        WRITE,
        default="open",
        words={UPDATE: "What reaching it means; it cannot be cleared."},
        example="open",
    )
    probability: int | None = column(
        WHOLE,
        "The chance of winning a deal here, in percent.",
        WRITE,
        default=None,
        least=0,
        most=100,
        words={WRITE: "The chance of winning a deal here, in percent from 0 to 100."},
        example=60,
    )
    created_at: datetime = created()


class StageChange(Record, table=True):
    """A deal moved from one stage to another; null is «no stage», or a stage that was deleted since.

    `account_id` is the account that the deal had then, in whose timeline the move is, too.
    """

    __tablename__ = "stage_changes"
    __table_args__ = (
        tenant_key("deals", "deal_id", ondelete="CASCADE"),
        tenant_key("pipeline_stages", "from_stage_id"),
        tenant_key("pipeline_stages", "to_stage_id"),
        tenant_key("accounts", "account_id"),
        Index(None, "org_id", "deal_id", "at"),
        Index(None, "org_id", "from_stage_id"),
        Index(None, "org_id", "to_stage_id"),
        Index("ix_stage_changes_account", "org_id", "account_id", text("at DESC"), "id"),
    )

    deal_id: str = Field(sa_type=Identifier)
    from_stage_id: str | None = Field(default=None, sa_type=Identifier)
    to_stage_id: str | None = Field(default=None, sa_type=Identifier)
    at: datetime = Field(default_factory=now)
    by: str | None = Field(default=None, sa_type=PlainText)
    account_id: str | None = Field(default=None, sa_type=Identifier)
