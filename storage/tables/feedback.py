"""Feedback on the platform, from anybody with a valid credential."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index
from sqlmodel import Field

from storage.base import Directory, Identifier, PlainText, new_id, now


class Feedback(Directory, table=True):
    """The feedback of a caller; `org_id` is the organization that was active, if one was (decision 42)."""

    __tablename__ = "feedback"
    __events__ = {"feedback": "submitted"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("kind IN ('bug', 'idea', 'question', 'praise')", name="kind"),
        Index(None, "org_id", "created_at"),
    )

    id: str = Field(default_factory=new_id, sa_type=Identifier, primary_key=True)
    org_id: str | None = Field(default=None, sa_type=Identifier)
    subject: str = Field(sa_type=PlainText)
    kind: str = Field(sa_type=PlainText)
    message: str = Field(sa_type=PlainText)
    page: str | None = Field(default=None, sa_type=PlainText)
    request_id: str | None = Field(default=None, sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)
