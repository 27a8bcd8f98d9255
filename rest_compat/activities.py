"""Serves the paths of activities of every type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from pydantic import Field, create_model

from contract.criteria import Condition, Op, Order, Selection
from contract.errors import NotFound, Problem, Problems
from contract.vocabulary import ActivityType, SortDirection, TaskState
from resolvers.activities import article, delete_activity, get_activity, in_states, list_activities, state_of
from resolvers.calls import CallLog, CallUpdate, log_call, update_call
from resolvers.emails import EmailLog, EmailUpdate, log_email, update_email
from resolvers.meetings import MeetingCompletion, MeetingUpdate, complete_meeting, update_meeting
from resolvers.notes import NoteCreate, NoteUpdate, create_note, update_note
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, Input, parse
from resolvers.shared.inputs import Moment as At
from resolvers.tasks import TaskCompletion, TaskCreate, TaskUpdate, complete_task, create_task, reopen_task, update_task
from rest_compat.activity_documents import ACTIVITY
from rest_compat.documents import AnyRow
from rest_compat.etags import versions_in
from rest_compat.operations import HIDDEN, Resolver, RestRequest, RestResponse
from rest_compat.parameters import Exactly, ListParameters, Moment, Repeatable, Tagged, Where
from rest_compat.resources import Resource


@dataclass(frozen=True, slots=True)
class _Writer:
    """Has the input of a type and the resolver that takes it."""

    input: type[Input]
    resolver: Resolver


_CREATED: Final[Mapping[ActivityType, _Writer]] = {
    ActivityType.TASK: _Writer(TaskCreate, create_task),
    ActivityType.NOTE: _Writer(NoteCreate, create_note),
    ActivityType.CALL: _Writer(CallLog, log_call),
    ActivityType.EMAIL: _Writer(EmailLog, log_email),
}
_UPDATED: Final[Mapping[ActivityType, _Writer]] = {
    ActivityType.MEETING: _Writer(MeetingUpdate, update_meeting),
    ActivityType.TASK: _Writer(TaskUpdate, update_task),
    ActivityType.NOTE: _Writer(NoteUpdate, update_note),
    ActivityType.CALL: _Writer(CallUpdate, update_call),
    ActivityType.EMAIL: _Writer(EmailUpdate, update_email),
}


class ActivityQuery(ListParameters):
    """Has the query parameters of GET /activities."""

    type: Annotated[list[ActivityType] | None, Repeatable(), Where(Op.IN)] = Field(
        default=None, description="Only activities of these types: several times, or by commas."
    )
    owner_id: Exactly = Field(default=None, description="Only activities owned by this user.")
    account_id: Exactly = Field(default=None, description="Only activities linked to this account.")
    deal_id: Exactly = Field(default=None, description="Only activities linked to this deal.")
    contact_id: Exactly = Field(default=None, description="Only activities linked to this contact.")
    lead_id: Exactly = Field(default=None, description="Only activities linked to this lead.")
    task_state: TaskState | None = Field(default=None, description="Only tasks in this state.")
    from_: Annotated[Moment | None, Where(Op.GTE, "occurred_at")] = Field(
        default=None, alias="from", description="Only activities that occur at or after this time."
    )
    to: Annotated[Moment | None, Where(Op.LTE, "occurred_at")] = Field(
        default=None, description="Only activities that occur at or before this time."
    )
    updated_since: Annotated[Moment | None, Where(Op.GTE, "updated_at")] = Field(
        default=None, description="Only activities that changed at or after this time."
    )
    tag: Tagged = Field(default=None, description="Only activities with this tag, letter case aside.")
    order: Literal["asc", "desc"] = Field(default="desc", description="The direction, by occurred_at.")

    def sorting(self) -> Order:
        """Returns the order by occurred_at, in the requested direction."""
        return Order("occurred_at", SortDirection(self.order))

    def conditions(self) -> Iterator[Condition]:
        """Yields the conditions of the parameters, and that of the task's state."""
        yield from super().conditions()
        if self.task_state is not None:
            yield in_states([self.task_state])


def _any_of(writers: Mapping[ActivityType, _Writer]) -> dict[str, Any]:  # Any: pydantic's pairs
    """Returns the fields of all these inputs, none of which is needed: the type's own input has the last word."""
    found: dict[str, Any] = {}  # Any: the same
    for writer in writers.values():
        for name, info in writer.input.model_fields.items():
            if name not in HIDDEN:
                found.setdefault(name, (info.rebuild_annotation() | None, None))
    return found


class _New(Input):
    """Has the type of a new activity."""

    type: Literal["task", "note", "call", "email"]


ActivityBody: Final = create_model(
    "ActivityBody",
    __base__=_New,
    __doc__="A new activity: its type, then the fields of that type. Meetings are logged through GraphQL.",
    **_any_of(_CREATED),
)
ActivityPatch: Final = create_model(
    "ActivityPatch",
    __base__=Input,
    __doc__="Changes to an activity: fields of its own type; an explicit null clears one that may be empty.",
    **_any_of(_UPDATED),
)
ActivityBody.of_table = ActivityPatch.of_table = TaskCreate.of_table
ActivityPatch.is_change = True


class Completion(Input):
    """Has the moment at which a task or a meeting was done; now unless told."""

    at: At | None = None


def _input(kind: ActivityType, model: type[Input], given: Given) -> Input:
    """Returns the fields as the type's resolver takes them. Raises Problems for those of another type."""
    foreign = [name for name in given if name not in model.model_fields]
    if foreign:
        words = f"is no field of {article(kind)}"
        raise Problems([Problem(("input", name), words, "activity_type") for name in foreign])
    return parse(model, given, at=("input",))


async def create(call: RestRequest) -> RestResponse:
    """Makes an activity of the type that the body names."""
    given = call.body.given()
    kind = ActivityType(given.pop("type"))
    writer = _CREATED[kind]
    made = await writer.resolver(call.ctx, _input(kind, writer.input, given))
    return RestResponse({"id": made.id}, {"Location": f"{call.root_path}/activities/{made.id}"})


async def update(call: RestRequest) -> RestResponse:
    """Changes the activity by the resolver of its type."""
    kind = await _kind(call.ctx, call.path)
    writer = _UPDATED[kind]
    changes = _input(kind, writer.input, call.body.given())
    seen = versions_in(call.headers.get("if-match"))
    return await _answer(call, await writer.resolver(call.ctx, call.path["activity_id"], changes, seen=seen))


async def complete(call: RestRequest) -> RestResponse:
    """Marks a task or a meeting done."""
    kind, given, activity_id = await _kind(call.ctx, call.path), call.body.given(), call.path["activity_id"]
    if kind is ActivityType.MEETING:
        return await _answer(call, await complete_meeting(call.ctx, activity_id, parse(MeetingCompletion, given)))
    return await _answer(call, await complete_task(call.ctx, activity_id, parse(TaskCompletion, given)))


async def _kept_as(ctx: Context, path: Mapping[str, str]) -> type[Input]:
    try:
        return _UPDATED[await _kind(ctx, path)].input
    except NotFound:  # which is told once the body is in order
        return ActivityPatch


async def _kind(ctx: Context, path: Mapping[str, str]) -> ActivityType:
    found = await get_activity(ctx, path["activity_id"], Selection(frozenset(("type",))))
    if found is None:
        raise NotFound()
    return ActivityType(str(found.type))


async def _answer(call: RestRequest, row: Any) -> RestResponse:  # Any: the row, whose columns are those of its type
    [document] = await ACTIVITY.shown(call.ctx, [row])
    return RestResponse(document, {"ETag": f'"{row.version}"'})


def _is_in_time(row: AnyRow) -> bool:
    """Tells that the row is no overdue task, which becomes one by the clock alone (decision 1105)."""
    return row.type != ActivityType.TASK.value or state_of(row) is not TaskState.OVERDUE


_ACTIVITIES: Final = Resource("/activities/{activity_id}", ACTIVITY, says_as_before=_is_in_time)
OPERATIONS: Final = (
    _ACTIVITIES.listing(list_activities, ActivityQuery, description="By occurred_at, the newest first unless told."),
    _ACTIVITIES.detail(get_activity),
    replace(
        _ACTIVITIES.create(
            create_task,
            ActivityBody,
            only_id=True,
            description="The type, then the fields of the type. A message with the message_id of one that is there "
            "already is that record.",
        ),
        handler=create,
        example={"type": "task", "subject": "Send the offer", "due_at": "2026-11-24T15:00:00Z"},
        graphql_field="Mutation.taskCreate",
        operation_id="activities_create",
    ),
    replace(
        _ACTIVITIES.change(
            update_task,
            ActivityPatch,
            example={"subject": "Send the revised offer"},
            description="Fields of the activity's own type: one of another type is 422. A field that is left out "
            "stays, an explicit null clears it. What was synced keeps its content.",
        ),
        handler=update,
        kept_as=_kept_as,
        graphql_field="Mutation.taskUpdate",
        operation_id="activities_change",
    ),
    _ACTIVITIES.delete(delete_activity),
    replace(
        _ACTIVITIES.action("complete", complete_task, description="A task or a meeting; done twice keeps its time."),
        handler=complete,
        body=Completion,
        body_required=False,
        example={"at": "2026-11-24T15:00:00Z"},
        graphql_field="Mutation.taskComplete",
        response_headers=("ETag", "X-Ignored-Fields"),
        operation_id="activities_complete",
    ),
    replace(
        _ACTIVITIES.action("reopen", reopen_task, description="A task; an open one stays as it is."),
        graphql_field="Mutation.taskReopen",
        operation_id="activities_reopen",
    ),
)
