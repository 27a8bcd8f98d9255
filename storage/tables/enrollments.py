"""Enrollments: the recipients of a campaign, and the messages that the embedded provider noted for them."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint
from sqlmodel import Field

from contract.outreach_vocabulary import EnrollmentStatus
from storage.base import Identifier, JsonDict, PlainText, Record, now, tenant_key
from storage.columns import LINE, MOMENT, OBJECT, REFERENCE, WHOLE, column, reference


class Enrollment(Record, table=True):
    """A recipient of a campaign, once per address (`email_key`, case-folded) and once per contact.

    `step` is the index of the next step, due at `next_at`; both belong to the embedded provider. `told_at` is when the
    provider took the recipient on.
    """

    __tablename__ = "enrollments"
    __events__ = {"enrollment": "removed", "enrollments": "created"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("campaigns", "campaign_id", ondelete="CASCADE"),
        tenant_key("contacts", "contact_id"),
        UniqueConstraint("org_id", "campaign_id", "email_key"),
        UniqueConstraint("org_id", "campaign_id", "contact_id"),
        CheckConstraint(
            "status IN ('pending', 'active', 'paused', 'replied', 'bounced', 'unsubscribed', 'completed', 'failed')",
            name="status",
        ),
        Index(None, "org_id", "campaign_id", "enrolled_at"),
        Index(None, "org_id", "campaign_id", "next_at"),
        Index(None, "org_id", "contact_id"),
    )

    campaign_id: str = column(REFERENCE, "The campaign.", to="campaigns")
    contact_id: str | None = reference("contacts", "The contact, where one was named.")
    email: str = column(LINE, "The address, as it was given.")
    email_key: str = column(LINE, "The address, case-folded.")
    variables: JsonDict = column(OBJECT, "What the placeholders stand for.", default_factory=dict)
    status: str = column(EnrollmentStatus, "How far the campaign has come with this recipient.", default="pending")
    step: int = column(WHOLE, "The index of the next step.", default=0)
    next_at: datetime | None = column(MOMENT, "When the next step is due.", default=None)
    told_at: datetime | None = column(MOMENT, "When the provider took the recipient on.", default=None)
    enrolled_at: datetime = column(MOMENT, "When the recipient was enrolled.", default_factory=now)


class OutreachMessage(Record, table=True):
    """A message that the embedded provider would have sent, had it sent any; once per enrollment and step."""

    __tablename__ = "outreach_messages"
    __table_args__ = (
        tenant_key("enrollments", "enrollment_id", ondelete="CASCADE"),
        UniqueConstraint("org_id", "enrollment_id", "step"),
        Index(None, "org_id", "campaign_id", "noted_at"),
    )

    campaign_id: str = Field(sa_type=Identifier)
    enrollment_id: str = Field(sa_type=Identifier)
    step: int
    sender: str = Field(sa_type=PlainText)
    recipient: str = Field(sa_type=PlainText)
    subject: str = Field(sa_type=PlainText)
    body: str = Field(sa_type=PlainText)
    noted_at: datetime = Field(default_factory=now)
