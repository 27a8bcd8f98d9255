"""Says when processes are to look after what an organization has due: a table for each kind of work, in the directory.

Apart from the records that they are of, so that who asks what is due loads no table of these (decision 1183).
"""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, Index
from sqlmodel import Field

from storage.base import Directory, Identifier


class AnalyticsWatch(Directory, table=True):
    """Says when workers are to look whether an organization's runs still have their processes: a moment, no more."""

    __tablename__ = "analytics_watches"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        Index(None, "next_at"),
    )

    org_id: str = Field(sa_type=Identifier, primary_key=True)
    next_at: datetime


class ChatWatch(Directory, table=True):
    """Says when processes are to look whether an organization's runs still have theirs: a moment, no more."""

    __tablename__ = "chat_watches"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        Index(None, "next_at"),
    )

    org_id: str = Field(sa_type=Identifier, primary_key=True)
    next_at: datetime


class ReminderWatch(Directory, table=True):
    """Says when an organization's next reminder is due, for workers to look: a moment, nothing of the task."""

    __tablename__ = "reminder_watches"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        Index(None, "next_at"),
    )

    org_id: str = Field(sa_type=Identifier, primary_key=True)
    next_at: datetime


class ReportWatch(Directory, table=True):
    """Says when an organization's next schedule is due, for workers to look: a moment, nothing of the report."""

    __tablename__ = "report_watches"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        Index(None, "next_at"),
    )

    org_id: str = Field(sa_type=Identifier, primary_key=True)
    next_at: datetime


class WebhookWatch(Directory, table=True):
    """Says that an organization has an active webhook, for workers to look at its log: identifiers, nothing else."""

    __tablename__ = "webhook_watches"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "webhook_id"], ["webhooks.org_id", "webhooks.id"], ondelete="CASCADE"),
    )

    org_id: str = Field(sa_type=Identifier, primary_key=True)
    webhook_id: str = Field(sa_type=Identifier, primary_key=True)
