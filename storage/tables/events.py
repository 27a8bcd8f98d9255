"""The organization's change log (specification part 6)."""

from datetime import datetime

from sqlalchemy import BigInteger, Column, ForeignKeyConstraint, Index, UniqueConstraint
from sqlmodel import Field

from storage.base import JsonDict, Opaque, PlainText, Record, now
from storage.columns import LINE, MADE_AT, MOMENT, column


class Event(Record, table=True):
    """Something that happened, in the organization's order: `sequence` starts at 1 and has no gaps."""

    __tablename__ = "events"
    __events__ = {"sql_query": "run", "notification": "emitted"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        UniqueConstraint("org_id", "sequence"),
        Index("ix_events_occurred", "org_id", "occurred_at", "sequence"),
    )

    sequence: int = Field(sa_type=BigInteger)
    type: str = column(LINE, "What happened.", example="deal_created")
    area: str = Field(sa_type=PlainText)
    actor: str = column(LINE, "The subject of who did it.", example="user_2mF7")
    occurred_at: datetime = column(MOMENT, "When it happened.", default_factory=now, example=MADE_AT)
    request_id: str | None = column(LINE, "The request that did it.", default=None)
    data: JsonDict = Field(sa_column=Column(Opaque, nullable=False))
