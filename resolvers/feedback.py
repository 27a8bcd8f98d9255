"""Feedback on the platform: anybody with a valid credential may say something (decision 42)."""

from typing import Annotated

from pydantic import AfterValidator

from contract.limits import FEEDBACK_MAX, PAGE_ADDRESS_MAX, REQUEST_ID_MAX
from contract.vocabulary import FeedbackKind
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, bounded, storable, trimmed
from storage.tables import Feedback


class FeedbackCreate(Input):
    """A message to the platform, with the page and the request that it is about."""

    kind: FeedbackKind
    message: Annotated[str, trimmed(FEEDBACK_MAX), AfterValidator(storable)]
    page: Annotated[str, bounded(PAGE_ADDRESS_MAX), AfterValidator(storable)] | None = None
    request_id: Annotated[str, bounded(REQUEST_ID_MAX), AfterValidator(storable)] | None = None


@requires(None, organization=False, writes=True)
async def submit_feedback(ctx: Context, input: FeedbackCreate) -> str:
    """Keep the feedback; its identifier. In an organization the change log tells its administrators that it was sent.

    The event carries no words of it: those are for the platform.
    """
    organization = ctx.caller.organization
    feedback = Feedback(
        **{**input.given(), "kind": input.kind.value},
        subject=ctx.caller.subject,
        org_id=None if organization is None else organization.id,
    )
    if organization is None:
        async with ctx.directory() as session:
            await session.insert(feedback)
        return feedback.id
    async with ctx.writing() as session:
        await session.insert(feedback)
        data = {"feedback_id": feedback.id, "kind": feedback.kind}
        await changes.append_event(ctx, session, "feedback_submitted", data, area="admin")
    return feedback.id
