"""Connections to accounts elsewhere, and what the organization allows of them; `syncs` has what they follow."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, LargeBinary, UniqueConstraint, text
from sqlmodel import Field

from storage.base import Document, PlainText, Record, Tenant, now
from storage.columns import folds

_STATUSES = "('pending', 'active', 'paused', 'action_required', 'disconnecting')"
_VISIBILITIES = "('everything', 'subject_only', 'nothing')"


class Integration(Record, table=True):
    """A connection. `sealed` holds what is secret of it: tokens, the account's label, a feed's address.

    `account_key` is a keyed hash of the account. `is_suspended` says that the service paused it, since its owner may
    not write at present, and goes on by itself. `shown` is the visibility that what is stored has. `failures` counts
    the runs that failed in a row.

    `token_version` counts the tokens; `refreshing_until` is how long one process may renew them and no other does.
    `grant_state` and `grant_code` are keyed hashes of what a consent under way is known by, first at the provider and
    then by the member; `grant_sealed` holds its secrets.
    """

    __tablename__ = "integrations"
    __events__ = {
        "integration": "connected updated paused resumed disconnected failed synced progressed policy_updated",
        "meetings": "synced held",
        "emails": "synced",
    }
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        UniqueConstraint("org_id", "provider", "account_key", "owner_id"),
        CheckConstraint("provider IN ('google', 'microsoft', 'zoom', 'slack', 'ical')", name="provider"),
        CheckConstraint(f"status IN {_STATUSES}", name="status"),
        CheckConstraint(f"visibility IN {_VISIBILITIES} AND shown IN {_VISIBILITIES}", name="visibility"),
        Index("ix_integrations_owner", "org_id", "owner_id", text("created_at DESC"), "id"),
        Index("ix_integrations_created", "org_id", text("created_at DESC"), "id"),
    )

    provider: str = Field(sa_type=PlainText)
    owner_id: str | None = Field(default=None, sa_type=PlainText)
    name: str = Field(sa_type=PlainText)
    account_key: str = Field(sa_type=PlainText)
    sealed: bytes | None = Field(default=None, sa_type=LargeBinary)
    token_version: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})
    refreshing_until: datetime | None = None
    grant_sealed: bytes | None = Field(default=None, sa_type=LargeBinary)
    grant_state: str | None = Field(default=None, sa_type=PlainText)
    grant_code: str | None = Field(default=None, sa_type=PlainText)
    grant_expires_at: datetime | None = None
    status: str = Field(default="active", sa_type=PlainText)
    is_suspended: bool = False
    problem_code: str | None = Field(default=None, sa_type=PlainText)
    problem_message: str | None = Field(default=None, sa_type=PlainText)
    problem_since: datetime | None = None
    retry_at: datetime | None = None
    failures: int = 0
    visibility: str = Field(default="everything", sa_type=PlainText)
    shown: str = Field(default="everything", sa_type=PlainText)
    auto_create: bool = False
    take_internal: bool = False
    poll_seconds: int
    last_synced_at: datetime | None = None
    next_sync_at: datetime | None = None
    created_at: datetime = Field(default_factory=now)
    updated_at: datetime = Field(default_factory=now)
    version: int = 1
    folded_owner_id: str | None = folds("owner_id")


class IntegrationPolicy(Tenant, table=True):
    """The policy for all connections of the organization; without `internal_domains` the members' addresses say."""

    __tablename__ = "integration_policies"
    __table_args__ = (ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),)

    internal_domains: list[str] | None = Field(default=None, sa_type=Document)
    allowed_providers: list[str] = Field(default_factory=list, sa_type=Document)
    default_visibility: str = Field(default="everything", sa_type=PlainText)
    default_auto_create: bool = False
    default_take_internal: bool = False
    widest_visibility: str = Field(default="everything", sa_type=PlainText)
    version: int = 1
