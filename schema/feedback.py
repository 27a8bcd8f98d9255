"""Feedback on the GraphQL surface."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.vocabulary import FeedbackKind
from resolvers import feedback
from schema.declare import Info, argument, enum, field, operation_field
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
    kind: FeedbackKind = field("What kind it is.")
    message: str = field("What there is to say, 1 to 10,000 characters.")
    page: str | None = field("The page or path that it is about.", default=UNSET)
    request_id: str | None = field("The X-Request-Id of a request that it is about.", default=UNSET)


@strawberry.type(description="What became of the feedback.")
class FeedbackPayload:
    id: strawberry.ID | None = field("The feedback's identifier, to refer to it.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type
class FeedbackMutations:
    @operation_field(feedback.submit_feedback, "Says something about the platform; no organization is needed.")
    async def feedback_submit(
        self, info: Info, input: Annotated[FeedbackInput, argument("The feedback.")]
    ) -> FeedbackPayload:
        kept, problems = await change(info, feedback.submit_feedback, model=feedback.FeedbackCreate, input=input)
        return FeedbackPayload(id=None if kept is None else strawberry.ID(kept), user_errors=problems)


MUTATIONS = FeedbackMutations
