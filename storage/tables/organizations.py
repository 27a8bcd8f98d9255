"""The directory: organizations, members, who belongs where, and the sequence of each organization's change log."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKeyConstraint, Index
from sqlmodel import Field

from storage.base import Directory, Document, Identifier, PlainText, Tenant, new_id, now


class Organization(Directory, table=True):
    """A tenant. `external_id` is the identity provider's name for it, the value of X-Service-Org (decision 5).

    The names are compared as they are, and `id` is allotted: two of one sound never share a row's key. While it is
    suspended nobody is let in, and nothing else changes (decision 622).

    `cluster` names the server that its rows lie on, None the directory's own, since `moved_at` (decision 1080). Each
    server that an organization lies on, or did, has a row of it too, for the rows that refer to it.
    """

    __tablename__ = "organizations"

    id: str = Field(default_factory=new_id, sa_type=Identifier, primary_key=True)
    external_id: str = Field(sa_type=PlainText, unique=True)
    name: str = Field(sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)
    suspended_at: datetime | None = None
    cluster: str | None = Field(default=None, sa_type=PlainText)
    moved_at: datetime | None = Field(default=None, index=True)


class Member(Directory, table=True):
    """A person, by the subject of the identity provider."""

    __tablename__ = "members"

    subject: str = Field(sa_type=PlainText, primary_key=True)
    email: str | None = Field(default=None, sa_type=PlainText)
    name: str | None = Field(default=None, sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)


class Membership(Directory, table=True):
    """A member in an organization, with the scopes that hold now.

    `token_issued_at` is the `iat` (seconds) of the newest session token that said so; null in the embedded directory.
    A membership that ended stays as a row with `ended_at`, so that a token of before does not begin it anew; one that
    was suspended has its scopes, one that was removed has none (decision 153).
    """

    __tablename__ = "memberships"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["subject"], ["members.subject"], ondelete="CASCADE"),
        Index(None, "subject"),
    )

    org_id: str = Field(sa_type=Identifier, primary_key=True)
    subject: str = Field(sa_type=PlainText, primary_key=True)
    role: str | None = Field(default=None, sa_type=PlainText)
    scopes: list[str] = Field(default_factory=list, sa_type=Document)
    token_issued_at: int | None = Field(default=None, sa_type=BigInteger)
    created_at: datetime = Field(default_factory=now)
    ended_at: datetime | None = None


class EventCounter(Tenant, table=True):
    """The last sequence number of an organization's change log; its row lock puts the log in commit order.

    Events up to `forgotten`, the newest of which was at `forgotten_at`, are kept no more (decision 1005).
    """

    __tablename__ = "event_counters"
    __table_args__ = (ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),)

    last: int = Field(default=0, sa_type=BigInteger)
    forgotten: int | None = Field(default=None, sa_type=BigInteger)
    forgotten_at: datetime | None = None
