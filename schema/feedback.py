"""Feedback on the GraphQL surface."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.vocabulary import FeedbackKind
from resolvers import feedback
from schema.declare import Info, argument, enum, operation, shown
from schema.errors import UserError
from schema.inputs import change

enum(
    FeedbackKind,
    "What kind of feedback it is.",
    BUG="Something does not work as it should.",
    IDEA="Something could be better.",
    QUESTION="Something is not clear.",
    PRAISE="Something is good as it is.",
)


@strawberry.input(description="Feedback on the platform.")
class FeedbackInput:
    kind: FeedbackKind = shown("What kind it is.")
    message: str = shown("What there is to say, 1 to 10,000 characters.")
    page: str | None = shown("The page or path that it is about.", default=UNSET)
    request_id: str | None = shown("The X-Request-Id of a request that it is about.", default=UNSET)


@strawberry.type(description="What became of the feedback.")
class FeedbackPayload:
    id: strawberry.ID | None = shown("The feedback's identifier, to refer to it.")
    user_errors: list[UserError] = shown("What stood in the way; empty when it worked.")


@strawberry.type
class FeedbackMutations:
    @operation(feedback.submit_feedback, "Says something about the platform; no organization is needed.")
    async def feedback_submit(
        self, info: Info, input: Annotated[FeedbackInput, argument("The feedback.")]
    ) -> FeedbackPayload:
        kept, problems = await change(info, feedback.submit_feedback, model=feedback.FeedbackCreate, input=input)
        return FeedbackPayload(id=None if kept is None else strawberry.ID(kept), user_errors=problems)


MUTATIONS = FeedbackMutations
