"""The organization's change log (specification part 6)."""

from datetime import datetime

from sqlalchemy import BigInteger, Column, ForeignKeyConstraint, UniqueConstraint
from sqlmodel import Field

from storage.base import JsonDict, Opaque, PlainText, Record, now


class Event(Record, table=True):
    """Something that happened, in the organization's order: `sequence` starts at 1 and has no gaps."""

    __tablename__ = "events"
    __events__ = {"sql_query": "run"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        UniqueConstraint("org_id", "sequence"),
    )

    sequence: int = Field(sa_type=BigInteger)
    type: str = Field(sa_type=PlainText)
    area: str = Field(sa_type=PlainText)
    actor: str = Field(sa_type=PlainText)
    occurred_at: datetime = Field(default_factory=now)
    request_id: str | None = Field(default=None, sa_type=PlainText)
    data: JsonDict = Field(sa_column=Column(Opaque, nullable=False))
