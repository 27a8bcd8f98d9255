"""Mailboxes: what campaigns are sent from."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint

from contract.limits import MAILBOX_DAILY_LIMIT
from contract.outreach_vocabulary import MailboxStatus
from storage.base import Record, now, tenant_key
from storage.columns import EMAIL, LINE, MADE_AT, MOMENT, REFERENCE, WHOLE, column


class Mailbox(Record, table=True):
    """A mailbox by its address in lower case; once per organization."""

    __tablename__ = "mailboxes"
    __events__ = {"mailbox": "ordered updated"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("outreach_domains", "domain_id"),
        UniqueConstraint("org_id", "email"),
        CheckConstraint("status IN ('pending', 'active', 'paused', 'error')", name="status"),
        CheckConstraint("daily_limit > 0", name="daily_limit"),
        Index(None, "org_id", "domain_id"),
    )

    domain_id: str = column(REFERENCE, "The domain that it is on.", to="outreach_domains")
    email: str = column(EMAIL, "The address.", example="ada@example.com")
    display_name: str | None = column(LINE, "The name beside the address.", default=None, example="Ada Park")
    status: str = column(MailboxStatus, "Where it stands.", default="pending", example="active")
    daily_limit: int = column(
        WHOLE, "How many messages it sends a day at most.", default=MAILBOX_DAILY_LIMIT, example=MAILBOX_DAILY_LIMIT
    )
    created_at: datetime = column(MOMENT, "When it was ordered.", default_factory=now, example=MADE_AT)
