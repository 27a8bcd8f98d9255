"""Feedback on the platform (specification part 1)."""

from __future__ import annotations

from resolvers.feedback import FeedbackCreate, submit_feedback
from rest_compat.operations import Answer, Call


async def submit(call: Call) -> Answer:
    """Only the feedback's id."""
    body: FeedbackCreate = call.body
    return Answer({"id": await submit_feedback(call.ctx, body)})
