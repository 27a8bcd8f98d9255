"""Account health: snapshots and their nine factors (specification 2.3)."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, UniqueConstraint
from sqlmodel import Field

from storage.base import Identifier, PlainText, Record, now, tenant_key


class HealthSnapshot(Record, table=True):
    """The score of an account at one moment."""

    __tablename__ = "health_snapshots"
    __table_args__ = (
        tenant_key("accounts", "account_id", ondelete="CASCADE"),
        CheckConstraint("score BETWEEN 0 AND 100", name="score"),
        CheckConstraint("trend IN ('improving', 'declining', 'stable')", name="trend"),
        Index(None, "org_id", "account_id", "snapshot_at", "id"),
    )

    account_id: str = Field(sa_type=Identifier)
    score: int
    trend: str | None = Field(default=None, sa_type=PlainText)
    data_points: int | None = None
    snapshot_at: datetime = Field(default_factory=now)
    formula_version: str = Field(sa_type=PlainText)


class HealthFactor(Record, table=True):
    """One of the nine; `position` is the order of insertion, from 0."""

    __tablename__ = "health_factors"
    __table_args__ = (
        tenant_key("health_snapshots", "health_score_id", ondelete="CASCADE"),
        tenant_key("accounts", "account_id", ondelete="CASCADE"),
        UniqueConstraint("org_id", "health_score_id", "position"),
        CheckConstraint("score BETWEEN 0 AND 100", name="score"),
        Index(None, "org_id", "account_id"),
    )

    account_id: str = Field(sa_type=Identifier)
    health_score_id: str = Field(sa_type=Identifier)
    snapshot_at: datetime = Field(default_factory=now)
    position: int
    key: str = Field(sa_type=PlainText)
    label: str = Field(sa_type=PlainText)
    score: int
    weight: float
    value: float | None = None
    explanation: str = Field(sa_type=PlainText)
    sample_size: int
