"""Tasks: what is to be done, by whom and until when, with a reminder."""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import ClassVar

from contract.errors import InvalidState
from contract.scopes import ScopeGroup
from contract.vocabulary import ActivityType
from resolvers import activities
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, Line, Moment, RequiredLine
from resolvers.shared.record_inputs import fields_of
from resolvers.shared.tagging import Names
from storage.base import now
from storage.columns import CREATE, UPDATE
from storage.queries import listables, records
from storage.rows import ActivityRow
from storage.tables import Activity
from storage.tables.activities import writable


def _own(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Says whether it is done, operations of their own say."""
    return tuple(name for name in fields if name != "completed_at")


@fields_of(Activity, CREATE, only=_own(writable(ActivityType.TASK, CREATE)))
class TaskCreate(Input):
    """A new task; the caller owns it unless another member is named."""

    subject: RequiredLine
    owner_id: Line | None = None
    tags: Names | None = None


@fields_of(Activity, UPDATE, only=_own(writable(ActivityType.TASK, UPDATE)))
class TaskUpdate(Input):
    """Changes to a task; null clears a field that may be empty."""

    filled: ClassVar[tuple[str, ...]] = ("subject",)


class TaskCompletion(Input):
    """Says when a task was done."""

    at: Moment | None = None


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_task(ctx: Context, input: TaskCreate) -> ActivityRow | None:
    """Create a task."""
    return await activities.create(ctx, ActivityType.TASK, "created", input.given())


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_task(
    ctx: Context, task_id: str, input: TaskUpdate, *, seen: Collection[int] | None = None
) -> ActivityRow | None:
    """Change a task; `activities.change` says what `seen` is and raises."""
    return await activities.change(ctx, ActivityType.TASK, task_id, input.given(), filled=input.filled, seen=seen)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def complete_task(ctx: Context, task_id: str, input: TaskCompletion) -> ActivityRow | None:
    """Mark a task done, at this time or now; one that is done keeps its time unless told one (decision 19)."""
    return await _turn(ctx, task_id, "completed", lambda task: input.at or task.completed_at or now())


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def reopen_task(ctx: Context, task_id: str) -> ActivityRow | None:
    """Take a task up again; an open one stays as it is."""
    return await _turn(ctx, task_id, "reopened", lambda _: None)


async def _turn(
    ctx: Context, task_id: str, verb: str, completed_at: Callable[[Activity], datetime | None]
) -> ActivityRow | None:
    """Give the task this time of completion. Raises NotFound, or InvalidState for what is no task."""
    async with ctx.writing() as session:
        task = await activities.to_change(session, task_id)
        if task.type != ActivityType.TASK:
            raise InvalidState(f"This is no task but {activities.article(task.type)}", field=("id",))
        task, changed = await changes.apply(session, task, {"completed_at": completed_at(task)})
        if changed:
            await activities.tell(ctx, session, task, verb, {})
        row = await records.one(session, listables.TASKS, task.id)
    ctx.forget()
    return row
