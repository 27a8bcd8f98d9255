"""Serves the path of feedback on the platform (specification part 1)."""

from __future__ import annotations

from typing import Final

from resolvers.feedback import FeedbackCreate, submit_feedback
from rest_compat.operations import RestOperation, RestRequest, RestResponse


async def submit(call: RestRequest) -> RestResponse:
    """Stores the feedback; answers with its id alone."""
    body: FeedbackCreate = call.body
    return RestResponse({"id": await submit_feedback(call.ctx, body)})


OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/feedback",
        submit,
        "Submit feedback on the platform",
        resolver=submit_feedback,
        status=201,
        body=FeedbackCreate,
        answer="FeedbackId",
        graphql_field="Mutation.feedbackSubmit",
        description="Any valid credential will do, with an organization or without.",
        response_headers=("X-Ignored-Fields",),
    ),
)
