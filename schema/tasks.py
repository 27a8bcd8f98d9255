"""Tasks on the GraphQL surface."""

from datetime import datetime
from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.vocabulary import ActivityType, TaskPriority, TaskState
from resolvers import activities, tasks
from schema.activities import Activity
from schema.connections import Node
from schema.declare import Info, argument, computed_field, enum, field, operation_field
from schema.errors import UserError
from schema.inputs import change
from schema.records import record, record_input
from schema.tags import first_tags
from storage import tables as t
from storage.columns import CREATE, UPDATE
from storage.rows import ActivityRow
from storage.tables.activities import COLUMNS

enum(
    TaskPriority,
    "How pressing a task is.",
    LOW="It can wait.",
    NORMAL="In its turn.",
    HIGH="Before the others.",
)
_COLUMNS = tuple(name for name in COLUMNS[ActivityType.TASK] if name != "completed_at")


@record(
    t.Activity,
    "Something to be done. Occurs when it is done, else when it is due, else when it was made.",
    only=COLUMNS[ActivityType.TASK],
)
class Task(Activity, Node):
    @computed_field("What its times say at the moment of asking.", "due_at", "completed_at")
    def state(root: strawberry.Parent[ActivityRow]) -> TaskState:
        return activities.state_of(root)


@record_input(t.Activity, CREATE, "A new task. The caller owns it unless ownerId names another member.", only=_COLUMNS)
class TaskCreateInput:
    """Creates a task."""

    subject: str = field("The title, not empty.")
    owner_id: str | None = field("The subject of the owning member.", default=UNSET)
    priority: TaskPriority = field("How pressing it is.", default=TaskPriority.NORMAL)
    tags: list[str] | None = first_tags()


@record_input(
    t.Activity, UPDATE, "Changes to a task; an explicit null clears a field, an omitted one stays.", only=_COLUMNS
)
class TaskUpdateInput:
    """Changes a task."""


@strawberry.type(description="What became of a change to a task.")
class TaskPayload:
    task: Task | None = field("The task; null where nothing was done.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


TaskId = Annotated[strawberry.ID, argument("The task's identifier.")]


@strawberry.type
class TaskMutations:
    @operation_field(tasks.create_task, "The caller, or the member that ownerId names, is the assignee.")
    async def task_create(self, info: Info, input: Annotated[TaskCreateInput, argument("The task.")]) -> TaskPayload:
        made, problems = await change(info, tasks.create_task, model=tasks.TaskCreate, input=input)
        return TaskPayload(task=made, user_errors=problems)

    @operation_field(tasks.update_task, "Changes what is named; null clears what may be empty.")
    async def task_update(
        self, info: Info, id: TaskId, input: Annotated[TaskUpdateInput, argument("The changes.")]
    ) -> TaskPayload:
        changed, problems = await change(info, tasks.update_task, id, model=tasks.TaskUpdate, input=input)
        return TaskPayload(task=changed, user_errors=problems)

    @operation_field(tasks.complete_task, "Marks a task done; twice keeps the first time unless another is given.")
    async def task_complete(
        self,
        info: Info,
        id: TaskId,
        at: Annotated[datetime | None, argument("When it was done; now unless told.")] = UNSET,
    ) -> TaskPayload:
        given = {"at": at or None}
        done, problems = await change(info, tasks.complete_task, id, model=tasks.TaskCompletion, input=given, at=())
        return TaskPayload(task=done, user_errors=problems)

    @operation_field(tasks.reopen_task, "Takes a task up again; an open one stays as it is.")
    async def task_reopen(self, info: Info, id: TaskId) -> TaskPayload:
        opened, problems = await change(info, tasks.reopen_task, id)
        return TaskPayload(task=opened, user_errors=problems)


MUTATIONS = TaskMutations
