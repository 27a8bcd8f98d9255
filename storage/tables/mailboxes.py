"""Mailboxes: what campaigns are sent from."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint
from sqlmodel import Field

from contract.limits import MAILBOX_DAILY_LIMIT
from storage.base import Identifier, PlainText, Record, now, tenant_key


class Mailbox(Record, table=True):
    """A mailbox by its address in lower case; once per organization."""

    __tablename__ = "mailboxes"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("outreach_domains", "domain_id"),
        UniqueConstraint("org_id", "email"),
        CheckConstraint("status IN ('pending', 'active', 'paused', 'error')", name="status"),
        CheckConstraint("daily_limit > 0", name="daily_limit"),
        Index(None, "org_id", "domain_id"),
    )

    domain_id: str = Field(sa_type=Identifier)
    email: str = Field(sa_type=PlainText)
    display_name: str | None = Field(default=None, sa_type=PlainText)
    status: str = Field(default="pending", sa_type=PlainText)
    daily_limit: int = MAILBOX_DAILY_LIMIT
    created_at: datetime = Field(default_factory=now)
