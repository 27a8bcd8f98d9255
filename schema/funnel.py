"""The funnel of deals on the GraphQL surface."""

from datetime import datetime
from typing import Annotated

import strawberry
from strawberry import UNSET

from resolvers import funnel
from schema.deals import DealFilter
from schema.declare import Info, argument, field, operation_field
from schema.filters import condition_of
from schema.pipeline_stages import PipelineStage


@strawberry.type(
    description="What happened in one stage. A stay begins when a deal comes into the stage and ends when it leaves."
)
class FunnelStage:
    stage: PipelineStage = field("The stage.")
    entered: int = field("Different deals that entered.")
    here: int = field("Those of them that are in it now.")
    advanced: int = field(
        "Those of them that went on: to an open stage of a higher position, or to a stage that means won."
    )
    lost: int = field("Those of them that are lost now.")
    conversion_rate: float | None = field(
        "`advanced` of `entered`, in percent, rounded half up to one decimal; null where none entered."
    )
    average_days: float | None = field(
        "Ended stays: days, on average, rounded half up to one decimal; null without one."
    )


@strawberry.type(description="How deals moved through the stages.")
class DealFunnel:
    stages: list[FunnelStage] = field("One item for each stage, by position.")


@strawberry.type
class FunnelQueries:
    @operation_field(
        funnel.funnel_of_deals,
        "How deals moved through the stages: who entered each one, what became of them, how long they stayed.",
    )
    async def deal_funnel(
        self,
        info: Info,
        filter: Annotated[DealFilter | None, argument("Which deals count; all unless given.")] = UNSET,
        entered_from: Annotated[datetime | None, argument("Only stays that began at this moment or later.")] = UNSET,
        entered_until: Annotated[datetime | None, argument("Only stays that began before this moment.")] = UNSET,
    ) -> DealFunnel:
        return await funnel.funnel_of_deals(
            info.context, condition_of(filter), entered_from or None, entered_until or None
        )


QUERIES = FunnelQueries
