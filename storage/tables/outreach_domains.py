"""Outreach domains: what mailboxes are made on."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, UniqueConstraint

from contract.outreach_vocabulary import DomainStatus
from storage.base import Record, now
from storage.columns import FLAG, LINE, MADE_AT, MOMENT, column


class OutreachDomain(Record, table=True):
    """A domain by its name in ASCII, lower case; once per organization. A null mark is not known yet."""

    __tablename__ = "outreach_domains"
    __events__ = {"domain": "ordered updated"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        UniqueConstraint("org_id", "name"),
        CheckConstraint("status IN ('pending', 'verifying', 'active', 'failed')", name="status"),
    )

    name: str = column(LINE, "The domain's name in ASCII.", example="example.com")
    status: str = column(DomainStatus, "Where it stands.", default="pending", example="active")
    spf: bool | None = column(
        FLAG, "Whether its SPF record is right; null while that is not known.", default=None, example=True
    )
    dkim: bool | None = column(
        FLAG, "Whether its DKIM record is right; null while that is not known.", default=None, example=True
    )
    dmarc: bool | None = column(FLAG, "Whether its DMARC record is right; null while that is not known.", default=None)
    created_at: datetime = column(MOMENT, "When it was ordered.", default_factory=now, example=MADE_AT)
