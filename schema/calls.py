"""Calls on the GraphQL surface."""

from datetime import datetime
from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.vocabulary import ActivityDirection, ActivityType
from resolvers import calls
from schema.activities import Activity
from schema.connections import Node
from schema.declare import Info, argument, computed_field, field, operation_field
from schema.errors import UserError
from schema.inputs import change
from schema.records import record, record_input
from schema.tags import first_tags
from storage import tables as t
from storage.columns import CREATE, UPDATE
from storage.rows import ActivityRow
from storage.tables.activities import COLUMNS

_COLUMNS = COLUMNS[ActivityType.CALL]


@record(
    t.Activity, "A telephone call. Occurs when it started, else when it was logged.", only=COLUMNS[ActivityType.CALL]
)
class Call(Activity, Node):
    @computed_field("Who called whom.", "direction")
    def direction(root: strawberry.Parent[ActivityRow]) -> ActivityDirection:
        return ActivityDirection(str(root.direction))

    @computed_field("When it started.", "due_at")
    def started_at(root: strawberry.Parent[ActivityRow]) -> datetime | None:
        return root.due_at


@record_input(t.Activity, CREATE, "A call that took place or is planned.", only=_COLUMNS)
class CallLogInput:
    """Logs a call."""

    subject: str = field("The title, not empty.")
    direction: ActivityDirection = field("Who called whom.", default=ActivityDirection.OUTBOUND)
    started_at: datetime | None = field("When it started.", default=UNSET)
    tags: list[str] | None = first_tags()


@record_input(
    t.Activity, UPDATE, "Changes to a call; an explicit null clears a field, an omitted one stays.", only=_COLUMNS
)
class CallUpdateInput:
    """Changes a call."""

    direction: ActivityDirection | None = field("Who called whom.", default=UNSET)
    started_at: datetime | None = field("When it started.", default=UNSET)


@strawberry.type(description="What became of a change to a call.")
class CallPayload:
    call: Call | None = field("The call; null where nothing was done.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


CallId = Annotated[strawberry.ID, argument("The call's identifier.")]


@strawberry.type
class CallMutations:
    @operation_field(calls.log_call, "Logs a call with source MANUAL.")
    async def call_log(self, info: Info, input: Annotated[CallLogInput, argument("The call.")]) -> CallPayload:
        made, problems = await change(info, calls.log_call, model=calls.CallLog, input=input)
        return CallPayload(call=made, user_errors=problems)

    @operation_field(calls.update_call, "Changes what is named; null clears what may be empty.")
    async def call_update(
        self, info: Info, id: CallId, input: Annotated[CallUpdateInput, argument("The changes.")]
    ) -> CallPayload:
        changed, problems = await change(info, calls.update_call, id, model=calls.CallUpdate, input=input)
        return CallPayload(call=changed, user_errors=problems)


MUTATIONS = CallMutations
