"""Account health: snapshots and their nine factors (specification 2.3)."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, UniqueConstraint

from contract.vocabulary import HealthFactorKey, HealthTrend
from storage.base import Record, now, tenant_key
from storage.columns import LINE, MADE_AT, MOMENT, NUMBER, REFERENCE, WHOLE, column


class HealthSnapshot(Record, table=True):
    """The score of an account at one moment."""

    __tablename__ = "health_snapshots"
    __events__ = {"account_health": "refreshed"}
    __table_args__ = (
        tenant_key("accounts", "account_id", ondelete="CASCADE"),
        CheckConstraint("score BETWEEN 0 AND 100", name="score"),
        CheckConstraint("trend IN ('improving', 'declining', 'stable')", name="trend"),
        Index(None, "org_id", "account_id", "snapshot_at", "id"),
    )

    account_id: str = column(REFERENCE, "The account.", to="accounts")
    score: int = column(WHOLE, "0 to 100.", least=0, most=100, example=50)
    trend: str | None = column(
        HealthTrend, "Against the snapshot before; null for the first.", default=None, example="stable"
    )
    data_points: int | None = column(WHOLE, "How many factors the snapshot has: always nine.", default=None, example=9)
    snapshot_at: datetime = column(MOMENT, "When the snapshot was made.", default_factory=now, example=MADE_AT)
    formula_version: str = column(
        LINE, "The version of the formula that made the score: the same inputs and version give the same score."
    )


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

    account_id: str = column(REFERENCE, "The account.", to="accounts")
    health_score_id: str = column(REFERENCE, "The snapshot that the factor is part of.", to="health_snapshots")
    snapshot_at: datetime = column(MOMENT, "When the snapshot was made.", default_factory=now, example=MADE_AT)
    position: int = column(WHOLE, "The order of insertion, from 0.")
    key: str = column(HealthFactorKey, "Which of the nine it is.")
    label: str = column(LINE, "Its name, for people.")
    score: int = column(WHOLE, "0 to 100.", least=0, most=100, example=50)
    weight: float = column(NUMBER, "The factor's share of the score; the nine sum to 1.", example=0.1)
    value: float | None = column(
        NUMBER, "The measured input, in the unit that the explanation names; null without data.", default=None
    )
    explanation: str = column(LINE, "What was measured, in a sentence.", example="No data.")
    sample_size: int = column(WHOLE, "How many records the measurement rests on.", example=0)
