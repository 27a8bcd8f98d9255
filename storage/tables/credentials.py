"""Organization keys and user tokens (specification 2.4 and part 5)."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index
from sqlmodel import Field

from storage.base import Directory, Identifier, PlainText, new_id, now


class Credential(Directory, table=True):
    """A key or token by its public part; of the secret only a keyed hash is here (specification 5.4).

    `made_by` is the credential that it was made with, and ends with (decision 154); null where a session made it.
    """

    __tablename__ = "credentials"
    __events__ = {"organization_key": "created renamed revoked"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["owner_subject"], ["members.subject"], ondelete="CASCADE"),
        CheckConstraint("(kind = 'organization_key') = (org_id IS NOT NULL)", name="binding"),
        CheckConstraint("kind IN ('organization_key', 'user_token')", name="kind"),
        Index(None, "org_id", "owner_subject"),
        Index(None, "owner_subject"),
        Index(None, "made_by"),
    )

    id: str = Field(default_factory=new_id, sa_type=Identifier, primary_key=True)
    kind: str = Field(sa_type=PlainText)
    key_id: str = Field(sa_type=PlainText, unique=True)
    secret_hash: str = Field(sa_type=PlainText)
    hint: str = Field(sa_type=PlainText)
    name: str = Field(sa_type=PlainText)
    org_id: str | None = Field(default=None, sa_type=Identifier)
    owner_subject: str = Field(sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)
    last_used_at: datetime | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    made_by: str | None = Field(default=None, sa_type=Identifier)
