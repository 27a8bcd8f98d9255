"""Health snapshots on the GraphQL surface (specification 2.3)."""

from datetime import datetime
from typing import Any

import strawberry

from contract.vocabulary import HealthFactorKey, HealthTrend
from resolvers import health
from schema.connections import Node
from schema.declare import Info, enum, resolved, shown

enum(
    HealthTrend,
    "The movement of a score against the snapshot before it.",
    IMPROVING="Five points up or more.",
    DECLINING="Five points down or more.",
    STABLE="In between.",
)
enum(
    HealthFactorKey,
    "The nine factors of a health score, in their order.",
    MEETING_RECENCY="How long ago the last meeting was held.",
    MEETING_CADENCE="In how many of the past weeks a meeting was held.",
    STAKEHOLDER_BREADTH="How many of the account's contacts were met.",
    CHAMPION_PRESENCE="How many of the open deals have a champion.",
    PIPELINE_MOMENTUM="How many of the open deals are moving.",
    DEAL_OUTCOMES="How many of the closed deals were won.",
    OUTREACH_ENGAGEMENT="How many of the enrolled contacts replied.",
    FOLLOW_THROUGH="How many of the meetings that were due were held.",
    DATA_COMPLETENESS="How much of what the records can say is filled in.",
)


FACTORS = "factors"
"""Among the selected columns of a snapshot: its factors, which can come along with it."""


@strawberry.type(description="One of the nine inputs of a health score.")
class HealthFactor(Node):
    org_id: strawberry.ID = shown("The owning organization.")
    account_id: strawberry.ID = shown("The account.")
    health_score_id: strawberry.ID = shown("The snapshot that the factor is part of.")
    snapshot_at: datetime = shown("When the snapshot was made.")
    key: HealthFactorKey = shown("Which of the nine it is.")
    label: str = shown("Its name, for people.")
    score: int = shown("0 to 100.")
    weight: float = shown("The factor's share of the score; the nine sum to 1.")
    value: float | None = shown("The measured input, in the unit that the explanation names; null without data.")
    explanation: str = shown("What was measured, in a sentence.")
    sample_size: int = shown("How many records the measurement rests on.")


@strawberry.type(description="The health of an account at one moment.")
class HealthSnapshot(Node):
    org_id: strawberry.ID = shown("The owning organization.")
    account_id: strawberry.ID = shown("The account.")
    score: int = shown("0 to 100.")
    trend: HealthTrend | None = shown("Against the snapshot before; null for the first.")
    data_points: int | None = shown("How many factors the snapshot has: always nine.")
    snapshot_at: datetime = shown("When the snapshot was made.")
    formula_version: str = shown(
        "The version of the formula that made the score: the same inputs and version give the same score."
    )

    @resolved("The nine factors, oldest-inserted first.", "id", FACTORS)
    async def factors(root: strawberry.Parent[Any], info: Info) -> list[HealthFactor]:
        return await health.factors_of(info.context, root.id)
