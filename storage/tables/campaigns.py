"""Campaigns: what is sent to whom from which mailboxes, and what the sequencing provider knows of it."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index
from sqlmodel import Field

from contract.outreach_vocabulary import CampaignStatus, ProviderSync
from storage.base import Identifier, JsonDict, Record, Tenant, tenant_key
from storage.columns import (
    FILTER,
    FLAG,
    LINE,
    MOMENT,
    OBJECTS,
    SORT,
    WHOLE,
    column,
    created,
    folds,
    updated,
    versioned,
)


class Campaign(Record, table=True):
    """A campaign. `steps` are objects with `delay_days`, `subject` and `body`, in the order they are sent.

    `version` counts what people change. `revision` counts what the provider has to be told: a run that told it
    something else than the current revision has to look again (decision 50).
    """

    __tablename__ = "campaigns"
    __events__ = {"campaign": "created updated launched paused resumed archived deleted blocked completed"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("status IN ('draft', 'active', 'paused', 'blocked', 'completed', 'archived')", name="status"),
        CheckConstraint("provider_sync IN ('synced', 'pending', 'failed')", name="provider_sync"),
        CheckConstraint("daily_limit > 0", name="daily_limit"),
        Index(None, "org_id", "created_at"),
    )

    name: str = column(
        LINE, "The campaign's name.", FILTER | SORT, least=1, short="the name", example="Spring outreach"
    )
    status: str = column(CampaignStatus, "Where it stands.", FILTER, default="draft", example="paused")
    status_reason: str | None = column(LINE, "Why it stands there, where that needs saying.", default=None)
    steps: list[JsonDict] = column(OBJECTS, "The messages, in the order they are sent.", default_factory=list)
    daily_limit: int = column(WHOLE, "How many messages are sent a day at most.", default=50, example=50)
    timezone: str = column(LINE, "The time zone of its days, by its IANA name.", default="UTC", example="Europe/Paris")
    stop_on_reply: bool = column(
        FLAG, "Whether a recipient who answers gets no further messages.", default=True, example=True
    )
    provider: str = column(LINE, "The sequencing provider; `local` sends nothing.", example="local")
    provider_campaign_id: str | None = column(
        LINE,
        "What the provider calls it; null while it is not there.",
        default=None,
        example="local-01993f5e-8c00-7a11-9d52-6f0f3f1c2b20",
    )
    provider_sync: str = column(
        ProviderSync, "Whether the provider knows what the campaign is now.", default="synced", example="pending"
    )
    provider_synced_at: datetime | None = column(MOMENT, "When it last did.", default=None)
    revision: int = column(WHOLE, "Counts what the provider has to be told.", default=0)
    created_at: datetime = created()
    updated_at: datetime = updated()
    version: int = versioned()
    folded_name: str | None = folds("name")


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
