"""Signing in at the embedded identity provider: passwords, browsers, grants, and what is good once (decision 890)."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index
from sqlmodel import Field

from storage.base import Directory, Identifier, PlainText, new_id, now


class Password(Directory, table=True):
    """The password of a member, as argon2 stores it. Of two members with one address the older one signs in by it."""

    __tablename__ = "passwords"
    __table_args__ = (ForeignKeyConstraint(["subject"], ["members.subject"], ondelete="CASCADE"),)

    subject: str = Field(sa_type=PlainText, primary_key=True)
    hash: str = Field(sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)
    changed_at: datetime = Field(default_factory=now)


class LoginSession(Directory, table=True):
    """A browser in which a member is signed in; `hash` is that of what its cookie holds."""

    __tablename__ = "login_sessions"
    __table_args__ = (
        ForeignKeyConstraint(["subject"], ["members.subject"], ondelete="CASCADE"),
        Index(None, "subject"),
        Index(None, "expires_at"),
    )

    id: str = Field(default_factory=new_id, sa_type=Identifier, primary_key=True)
    hash: str = Field(sa_type=PlainText, unique=True)
    subject: str = Field(sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)
    expires_at: datetime
    ended_at: datetime | None = None


class LoginGrant(Directory, table=True):
    """Holds what one application got by one login: all its session and refresh tokens, which end together."""

    __tablename__ = "login_grants"
    __table_args__ = (
        ForeignKeyConstraint(["subject"], ["members.subject"], ondelete="CASCADE"),
        ForeignKeyConstraint(["session_id"], ["login_sessions.id"], ondelete="CASCADE"),
        Index(None, "subject"),
        Index(None, "session_id"),
    )

    id: str = Field(default_factory=new_id, sa_type=Identifier, primary_key=True)
    subject: str = Field(sa_type=PlainText)
    session_id: str = Field(sa_type=Identifier)
    client_id: str = Field(sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)
    expires_at: datetime
    ended_at: datetime | None = None


class LoginTicket(Directory, table=True):
    """Something secret that is good once: a link, a code or a refresh token, by its hash.

    Codes and refresh tokens belong to a grant. A code is bound to the redirect address and to the PKCE challenge that
    it was asked for with, and by its grant to the application.
    """

    __tablename__ = "login_tickets"
    __table_args__ = (
        ForeignKeyConstraint(["subject"], ["members.subject"], ondelete="CASCADE"),
        ForeignKeyConstraint(["grant_id"], ["login_grants.id"], ondelete="CASCADE"),
        CheckConstraint("kind IN ('login_link', 'password_link', 'code', 'refresh_token')", name="kind"),
        CheckConstraint("(kind IN ('code', 'refresh_token')) = (grant_id IS NOT NULL)", name="grant"),
        Index(None, "subject"),
        Index(None, "grant_id"),
        Index(None, "expires_at"),
    )

    hash: str = Field(sa_type=PlainText, primary_key=True)
    kind: str = Field(sa_type=PlainText)
    subject: str = Field(sa_type=PlainText)
    grant_id: str | None = Field(default=None, sa_type=Identifier)
    redirect_uri: str | None = Field(default=None, sa_type=PlainText)
    challenge: str | None = Field(default=None, sa_type=PlainText)
    created_at: datetime = Field(default_factory=now)
    expires_at: datetime
    used_at: datetime | None = None
