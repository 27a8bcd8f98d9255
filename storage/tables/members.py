"""Members as their organization sees them: who belongs to it, or did."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index
from sqlmodel import Field

from contract.scopes import Role
from contract.vocabulary import MemberState
from storage.base import PlainText, Record, now
from storage.columns import EMAIL, LINE, MADE_AT, MOMENT, column


class Person(Record, table=True):
    """Somebody who belongs to the organization, or did; `id` is the subject, the value of every `owner_id`.

    The membership in the directory says who may call. This is its copy among the organization's own rows, written in
    the transaction that writes the membership (decision 220). Who left stays, so that records can name their owner.
    """

    __tablename__ = "people"
    __events__ = {"member": "added updated deactivated reactivated removed", "ownership": "transferred"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("role IN ('viewer', 'member', 'admin')", name="role"),
        CheckConstraint("state IN ('active', 'deactivated', 'left')", name="state"),
        Index(None, "org_id", "folded_name", "id"),
    )

    id: str = Field(sa_type=PlainText, primary_key=True)
    name: str | None = column(
        LINE, "The name that the identity provider or an administrator gave.", default=None, example="Ada Park"
    )
    email: str | None = column(EMAIL, "The e-mail address.", default=None, example="ada@example.com")
    role: str | None = column(
        Role, "The role in the embedded directory; null with an external identity provider.", default=None
    )
    state: str = column(MemberState, "Whether the member may call.", default="active", example="active")
    joined_at: datetime = column(
        MOMENT, "When the service first knew of the membership.", default_factory=now, example=MADE_AT
    )
    left_at: datetime | None = column(MOMENT, "When the membership ended.", default=None)
    folded_name: str = column(LINE, "The name without letter case, to search and sort by.", default="")
    folded_email: str = column(LINE, "The e-mail address without letter case.", default="")
