"""Webhooks: who is told of the organization's events, how far they have been told, and what came of it."""

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, ForeignKeyConstraint, Index
from sqlmodel import Field

from storage.base import Document, Identifier, PlainText, Record, now


class Webhook(Record, table=True):
    """A receiver of events after `cursor`, the sequence of the last one that it has; its secret is not stored.

    Without `types` it is told of all. `areas` are those of the change log that its maker could see. `failures` are the
    attempts at the next event, all of them since `failing_since`.
    """

    __tablename__ = "webhooks"
    __events__ = {"webhook": "created deleted tested disabled"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("failures >= 0", name="failures"),
    )

    url: str = Field(sa_type=PlainText)
    types: list[str] = Field(default_factory=list, sa_type=Document)
    areas: list[str] = Field(default_factory=list, sa_type=Document)
    active: bool = True
    cursor: int = Field(sa_type=BigInteger)
    failures: int = 0
    failing_since: datetime | None = None
    created_at: datetime = Field(default_factory=now)
    created_by: str | None = Field(default=None, sa_type=PlainText)


class WebhookDelivery(Record, table=True):
    """One attempt to hand an event to a webhook's receiver; `error` is in words for people."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "webhook_id"], ["webhooks.org_id", "webhooks.id"], ondelete="CASCADE"),
        Index(None, "org_id", "webhook_id", "id"),
    )

    webhook_id: str = Field(sa_type=Identifier)
    event_id: str = Field(sa_type=Identifier)
    sequence: int = Field(sa_type=BigInteger)
    attempt: int
    status_code: int | None = None
    error: str | None = Field(default=None, sa_type=PlainText)
    at: datetime = Field(default_factory=now)
    delivered: bool
