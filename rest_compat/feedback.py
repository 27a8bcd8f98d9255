"""Feedback on the platform (specification part 1)."""

from __future__ import annotations

from typing import Final

from resolvers.feedback import FeedbackCreate, submit_feedback
from rest_compat.operations import Answer, Call, Operation


async def submit(call: Call) -> Answer:
    """Answers with only the feedback's id."""
    body: FeedbackCreate = call.body
    return Answer({"id": await submit_feedback(call.ctx, body)})


OPERATIONS: Final = (
    Operation(
        "POST",
        "/feedback",
        submit,
        "Submit feedback on the platform",
        resolver=submit_feedback,
        status=201,
        body=FeedbackCreate,
        answer="FeedbackId",
        twin="Mutation.feedbackSubmit",
        description="Any valid credential will do, with an organization or without.",
        response_headers=("X-Ignored-Fields",),
    ),
)
