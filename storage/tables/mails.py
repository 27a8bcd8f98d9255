"""Messages that the service sends by mail, and what became of each of their recipients."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index

from contract.vocabulary import MailStatus
from storage.base import JsonDict, Record
from storage.columns import LINE, MOMENT, NAMES, NONE, OBJECT, TEXT, WHOLE, column, created


class Mail(Record, table=True):
    """A message. Until it is sent or given up its job tries, for those recipients that are neither reached nor refused.

    Files are named and not referred to, like those of a run. `asked_by` is whose scopes say who may be written to.
    """

    __tablename__ = "mails"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("status IN ('queued', 'sent', 'failed')", name="status"),
        CheckConstraint("(status = 'sent') = (sent_at IS NOT NULL)", name="sent"),
        Index(None, "org_id", "created_at", "id"),
    )

    subject: str = column(LINE, "The title, one line.", example="Pipeline by stage")
    recipients: list[str] = column(NAMES, "The addresses.")
    body: str = column(TEXT, "The text.", default="")
    file_ids: list[str] = column(NAMES, "The files that it carries, once there are any.", default_factory=list)
    asked_by: str = column(LINE, "The subject of who had it sent.")
    status: str = column(MailStatus, "Where it stands.", default="queued", example="sent")
    attempts: int = column(WHOLE, "How often it was tried.", default=0, example=1)
    error: str | None = column(LINE, "The mail server's refusal, without its internals.", default=None)
    reached: list[str] = column(NAMES, "The addresses for which the mail server took it.", default_factory=list)
    refused: JsonDict = column(OBJECT, "Why an address will not get it, by address.", default_factory=dict)
    created_at: datetime = created(NONE)
    sent_at: datetime | None = column(MOMENT, "When it was sent.", default=None, example="2026-11-20T09:30:02.310000Z")
