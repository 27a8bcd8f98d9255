"""Pipeline stages: the columns of the board, in their order."""

from collections.abc import Sequence

from contract.errors import Conflict, NotFound, Problem, Problems
from contract.scopes import ScopeGroup
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, Input
from resolvers.shared.lists import by_id
from resolvers.shared.record_inputs import fields_of
from resolvers.shared.writing import change_record
from storage.base import as_uuid
from storage.columns import CREATE, UPDATE
from storage.new_rows import new_row
from storage.queries import deals, history, listables, records
from storage.rows import PipelineStageRow
from storage.tables import PipelineStage, StageChange
from storage.tenancy.sessions import TenantSession


@fields_of(PipelineStage, CREATE)
class StageInput(Input):
    """A new stage; `probability` is a percentage."""


@fields_of(PipelineStage, UPDATE)
class StageUpdate(Input):
    """Changes to a stage; null clears the probability."""


@requires(ScopeGroup.CRM_READ)
async def list_stages(ctx: Context) -> Sequence[PipelineStageRow]:
    """All stages in the board's order."""
    async with ctx.reading() as session:
        return await _stages(session)


@requires(ScopeGroup.CRM_READ, finds=(listables.STAGES,))
async def get_stage(ctx: Context, stage_id: str | None) -> PipelineStageRow | None:
    """The stage, or None."""
    return await by_id(ctx, listables.STAGES, stage_id)


async def _stages(session: TenantSession) -> Sequence[PipelineStageRow]:
    return await records.all_of(session, listables.STAGES)


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def create_stage(ctx: Context, input: StageInput) -> PipelineStage:
    """Add a stage at the end of the board."""
    async with ctx.writing() as session:
        await records.lock_organization(session)
        position = len(await _stages(session))
        [stage] = await session.insert(new_row(PipelineStage, **input.given(), position=position))
        await changes.append_event(
            ctx, session, "pipeline_stage_created", {"pipeline_stage_id": stage.id, "name": stage.name}
        )
    ctx.forget()
    return stage


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def update_stage(ctx: Context, stage_id: str, input: StageUpdate) -> PipelineStage:
    """Change a stage; its deals take a changed type as their status (decision 4). Raises NotFound or Problems."""

    async def follow(session: TenantSession, stage: PipelineStage, before: Given) -> PipelineStage:
        if "type" in before:
            event = changes.event_draft(ctx, "pipeline_stage_updated", {})
            await history.tell_of_status(session, event, stage.id, stage.type)
            await deals.follow_stage_type(session, stage.id, stage.type)
        return stage

    return await change_record(ctx, PipelineStage, stage_id, input, then=follow)


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def reorder_stages(ctx: Context, ids: Sequence[str]) -> Sequence[PipelineStageRow]:
    """Put the stages in this order. Raises Problems unless the list names each stage exactly once."""
    async with ctx.writing() as session:
        await deals.lock_stages(session)
        await records.lock_organization(session)
        current = [stage.id for stage in await _stages(session)]
        wanted = [as_uuid(i) or i for i in ids]
        if sorted(wanted) != sorted(current):
            raise Problems([Problem(("ids",), "must name every stage of the organization exactly once", "permutation")])
        if wanted != current:
            await deals.place_stages(session, wanted)
            await changes.append_event(ctx, session, "pipeline_stages_reordered", {"pipeline_stage_ids": wanted})
        stages = await _stages(session)
    ctx.forget()
    return stages


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def delete_stage(ctx: Context, stage_id: str) -> str:
    """Delete an empty stage; past moves through it stay in the history without its name. Raises Conflict."""
    async with ctx.writing() as session:
        await deals.lock_stages(session)
        stage = await records.lock_for_update(session, PipelineStage, stage_id)
        if stage is None:
            raise NotFound(field=("id",))
        if await deals.any_in_stage(session, stage.id):
            raise Conflict("The stage still holds deals; move them first", field=("id",))
        await records.null_references(session, StageChange.from_stage_id, StageChange.to_stage_id, value=stage.id)
        await session.delete(stage)
        await records.lock_organization(session)
        await deals.place_stages(session, [other.id for other in await _stages(session)])
        await changes.append_event(ctx, session, "pipeline_stage_deleted", {"pipeline_stage_id": stage.id})
    ctx.forget()
    return stage.id
