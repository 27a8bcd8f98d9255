"""Campaigns: what is sent to whom from which mailboxes, and what the sequencing provider knows of it."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index
from sqlmodel import Field

from storage.base import Document, Identifier, PlainText, Record, Tenant, now, tenant_key


class Campaign(Record, table=True):
    """A campaign. `steps` are objects with `delay_days`, `subject` and `body`, in the order they are sent.

    `version` counts what people change. `revision` counts what the provider has to be told: a run that told it
    something else than the current revision has to look again (decision 50).
    """

    __tablename__ = "campaigns"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("status IN ('draft', 'active', 'paused', 'blocked', 'completed', 'archived')", name="status"),
        CheckConstraint("provider_sync IN ('synced', 'pending', 'failed')", name="provider_sync"),
        CheckConstraint("daily_limit > 0", name="daily_limit"),
        Index(None, "org_id", "created_at"),
    )

    name: str = Field(sa_type=PlainText)
    status: str = Field(default="draft", sa_type=PlainText)
    status_reason: str | None = Field(default=None, sa_type=PlainText)
    steps: list[Any] = Field(default_factory=list, sa_type=Document)
    daily_limit: int = 50
    timezone: str = Field(default="UTC", sa_type=PlainText)
    stop_on_reply: bool = True
    provider: str = Field(sa_type=PlainText)
    provider_campaign_id: str | None = Field(default=None, sa_type=PlainText)
    provider_sync: str = Field(default="synced", sa_type=PlainText)
    provider_synced_at: datetime | None = None
    revision: int = 0
    created_at: datetime = Field(default_factory=now)
    updated_at: datetime = Field(default_factory=now)
    version: int = 1


class CampaignMailbox(Tenant, table=True):
    """A mailbox that a campaign sends from."""

    __tablename__ = "campaign_mailboxes"
    __table_args__ = (
        tenant_key("campaigns", "campaign_id", ondelete="CASCADE"),
        tenant_key("mailboxes", "mailbox_id", ondelete="CASCADE"),
        Index(None, "org_id", "mailbox_id"),
    )

    campaign_id: str = Field(sa_type=Identifier, primary_key=True)
    mailbox_id: str = Field(sa_type=Identifier, primary_key=True)
