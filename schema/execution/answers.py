"""Makes the answers to GraphQL requests of what came of them."""

from collections.abc import Sequence

from graphql import GraphQLError

from contract.errors import Unauthenticated
from resolvers.shared.context import Context
from schema.errors import formatted, refusal
from schema.execution.requests import Answer
from schema.execution.rows import Data
from schema.spending import costless


def answered(data: Data | None, errors: Sequence[GraphQLError], context: Context) -> Answer:
    """Answers an operation that was run; where a variable's value was wrong, it was not."""
    was_run = data is not None or all(error.path is not None for error in errors)
    body: dict[str, object] = {"data": data} if was_run else {}
    if errors:
        body["errors"] = formatted(errors, context.request_id, executed=True)
    return Answer(body, executed=was_run)


def refused(errors: Sequence[GraphQLError], context: Context) -> Answer:
    """Answers a request of which nothing may be run."""
    return without_cost(Answer({"errors": formatted(errors, context.request_id, executed=False)}, executed=False))


def needs_credential(error: Unauthenticated, context: Context) -> Answer:
    """Answers a caller who needs a credential and has shown none."""
    return without_cost(Answer(refusal(error, context.request_id), executed=False, needs_credential=True))


def without_cost(answer: Answer) -> Answer:
    """Says that the answer cost nothing, for which nobody's budget was looked at."""
    answer.body["extensions"] = costless()
    return answer
