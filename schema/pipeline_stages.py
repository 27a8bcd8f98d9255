"""Pipeline stages on the GraphQL surface."""

from typing import Annotated

import strawberry

from contract.vocabulary import StageType
from resolvers import pipeline_stages
from schema.connections import Node
from schema.declare import Info, argument, enum, field, operation_field
from schema.errors import UserError
from schema.inputs import DeletePayload, change, deletion
from schema.records import record, record_input
from storage import tables as t
from storage.columns import CREATE, UPDATE

enum(
    StageType,
    "What reaching a stage means for a deal.",
    OPEN="The deal goes on.",
    WON="The deal is won.",
    LOST="The deal is lost.",
)


@record(t.PipelineStage, "A column of the deal board.", hidden=("created_at",))
class PipelineStage(Node):
    """A stage; a list of them is in the board's order."""


@record_input(t.PipelineStage, CREATE, "A new pipeline stage.")
class PipelineStageInput:
    """Creates a stage."""

    type: StageType = field("What reaching it means.", default=StageType.OPEN)


@record_input(
    t.PipelineStage, UPDATE, "Changes to a stage; an explicit null clears the probability, an omitted field stays."
)
class PipelineStageUpdateInput:
    """Changes a stage."""


@strawberry.type(description="What became of a change to a stage.")
class PipelineStagePayload:
    stage: PipelineStage | None = field("The stage after the change.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type(description="What became of a new order of the stages.")
class PipelineStagesPayload:
    stages: list[PipelineStage] = field("All stages in their order; empty when it did not work.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


StageId = Annotated[strawberry.ID, argument("The stage's identifier.")]


@strawberry.type
class PipelineStageQueries:
    @operation_field(pipeline_stages.list_stages, "All stages in the board's order.")
    async def pipeline_stages(self, info: Info) -> list[PipelineStage]:
        return await pipeline_stages.list_stages(info.context)


@strawberry.type
class PipelineStageMutations:
    @operation_field(pipeline_stages.create_stage, "Adds a stage at the end of the board.")
    async def pipeline_stage_create(
        self, info: Info, input: Annotated[PipelineStageInput, argument("The stage.")]
    ) -> PipelineStagePayload:
        made, problems = await change(info, pipeline_stages.create_stage, model=pipeline_stages.StageInput, input=input)
        return PipelineStagePayload(stage=made, user_errors=problems)

    @operation_field(pipeline_stages.update_stage, "Changes a stage; its deals take a changed type as their status.")
    async def pipeline_stage_update(
        self, info: Info, id: StageId, input: Annotated[PipelineStageUpdateInput, argument("The changes.")]
    ) -> PipelineStagePayload:
        changed, problems = await change(
            info, pipeline_stages.update_stage, id, model=pipeline_stages.StageUpdate, input=input
        )
        return PipelineStagePayload(stage=changed, user_errors=problems)

    @operation_field(pipeline_stages.reorder_stages, "Puts all stages into this order.")
    async def pipeline_stage_reorder(
        self, info: Info, ids: Annotated[list[strawberry.ID], argument("Every stage of the organization, once.")]
    ) -> PipelineStagesPayload:
        stages, problems = await change(info, pipeline_stages.reorder_stages, ids)
        return PipelineStagesPayload(stages=stages or [], user_errors=problems)

    @operation_field(pipeline_stages.delete_stage, "Deletes a stage that no deal is in.")
    async def pipeline_stage_delete(self, info: Info, id: StageId) -> DeletePayload:
        return await deletion(info, pipeline_stages.delete_stage, id)


QUERIES, MUTATIONS = PipelineStageQueries, PipelineStageMutations
