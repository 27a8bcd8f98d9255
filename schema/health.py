"""Health snapshots on the GraphQL surface (specification 2.3)."""

import strawberry

from contract.vocabulary import HealthFactorKey, HealthTrend
from resolvers import health
from schema.connections import Node
from schema.declare import Info, computed_field, enum, field
from schema.execution.selections import selected
from schema.records import record
from storage import tables as t
from storage.rows import HealthSnapshotRow

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


@record(t.HealthFactor, "One of the nine inputs of a health score.", hidden=("position",))
class HealthFactor(Node):
    org_id: strawberry.ID = field("The owning organization.")


@record(t.HealthSnapshot, "The health of an account at one moment.")
class HealthSnapshot(Node):
    org_id: strawberry.ID = field("The owning organization.")

    @computed_field("The nine factors, oldest-inserted first.", "id", along="factors")
    async def factors(root: strawberry.Parent[HealthSnapshotRow], info: Info) -> list[HealthFactor]:
        return await health.factors_of(info.context, root.id, selected(info))
