"""Notifications of callers on the GraphQL surface."""

from typing import Annotated

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from resolvers import notifications
from schema.declare import Info, argument, field, operation_field
from schema.errors import UserError
from schema.inputs import change


@strawberry.input(description="An event for the organization's workflow actor.")
class NotificationInput:
    type: str = field("1 to 64 of a-z, 0-9 and _; none of the service's own event types.")
    data: JSON | None = field("An object of at most 32 KiB.", default=UNSET)
    record_id: strawberry.ID | None = field("The record that it is about.", default=UNSET)


@strawberry.type(description="The notification was recorded and handed over; delivery is best effort.")
class NotificationPayload:
    event_id: strawberry.ID | None = field("The event notification_emitted in the change log.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


@strawberry.type
class NotificationMutations:
    @operation_field(notifications.emit_notification, "Best effort; recorded in the change log.")
    async def notification_emit(
        self, info: Info, input: Annotated[NotificationInput, argument("The event.")]
    ) -> NotificationPayload:
        emitted, problems = await change(
            info, notifications.emit_notification, model=notifications.NotificationEmit, input=input
        )
        return NotificationPayload(event_id=None if emitted is None else strawberry.ID(emitted), user_errors=problems)


MUTATIONS = NotificationMutations
