"""Says how deals moved through the stages (docs/analytics.md, decision 260)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from contract.criteria import Condition
from contract.scopes import ScopeGroup
from resolvers.aggregates import average_days
from resolvers.pipeline_stages import list_stages
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from storage.queries.exact import percent
from storage.queries.funnel import PassedRow, passed
from storage.rows import PipelineStageRow


@dataclass(frozen=True, slots=True)
class FunnelStage:
    """The stays of deals in one stage: how many came, are here, went on and were lost, and how long they took."""

    stage: PipelineStageRow
    entered: int
    here: int
    advanced: int
    lost: int
    conversion_rate: float | None
    average_days: float | None


@dataclass(frozen=True, slots=True)
class Funnel:
    """Says how deals moved through the stages, by position."""

    stages: Sequence[FunnelStage]


@requires(ScopeGroup.CRM_READ)
async def funnel_of_deals(
    ctx: Context, condition: Condition, since: datetime | None = None, until: datetime | None = None
) -> Funnel:
    """Count the stays in each stage that began from the one moment on, before the other."""
    stages = await list_stages(ctx)
    async with ctx.reading() as session:
        found = {row.stage_id: row for row in await passed(session, condition, since, until)}
        dialect = session.dialect
    return Funnel([_shown(stage, found.get(stage.id), dialect) for stage in stages])


def _shown(stage: PipelineStageRow, row: PassedRow | None, dialect: str) -> FunnelStage:
    if row is None:
        return FunnelStage(stage, 0, 0, 0, 0, None, None)
    entered, here, advanced, lost = (int(number) for number in (row.entered, row.here, row.advanced, row.lost))
    rate, length = percent(advanced, entered), average_days([row], dialect)
    return FunnelStage(stage, entered, here, advanced, lost, rate, length)
