"""The organization's catalogue of competitors (specification 2.2, 4.11)."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKeyConstraint, UniqueConstraint
from sqlmodel import Field

from storage.base import Document, PlainText, Record, now


class Competitor(Record, table=True):
    """A company that sells the same; `folded_name` is the name without regard to letter case, once per organization."""

    __tablename__ = "competitors"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        UniqueConstraint("org_id", "folded_name"),
    )

    name: str = Field(sa_type=PlainText)
    folded_name: str = Field(sa_type=PlainText)
    aliases: list[Any] = Field(default_factory=list, sa_type=Document)
    domains: list[Any] = Field(default_factory=list, sa_type=Document)
    created_at: datetime = Field(default_factory=now)
