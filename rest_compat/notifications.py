"""Serves the path of callers' notifications."""

from __future__ import annotations

from typing import Final

from resolvers.notifications import NotificationEmit, emit_notification
from rest_compat.operations import RestOperation, RestRequest, RestResponse


async def emit(call: RestRequest) -> RestResponse:
    """Records the event and hands it over; answers with the event of the change log."""
    body: NotificationEmit = call.body
    return RestResponse({"event_id": await emit_notification(call.ctx, body)})


OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/notifications",
        emit,
        "Emit a notification event",
        resolver=emit_notification,
        status=202,
        body=NotificationEmit,
        answer="NotificationEmitted",
        graphql_field="Mutation.notificationEmit",
        description="Recorded in the change log and handed to the organization's workflow actor, at best: it gets "
        "id, type, occurred_at, organization_id and data, with record_id in data where one is given.",
        response_headers=("X-Ignored-Fields",),
    ),
)
