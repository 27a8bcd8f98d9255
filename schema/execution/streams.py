"""Runs subscriptions: an answer for each event of the source, each charged as a request is."""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from graphql import located_error

from contract.costs import LEAST
from contract.errors import RateLimited
from identity.pairs import Drawn
from resolvers.shared.context import Context
from schema.errors import refusal
from schema.execution.admission import Admitted
from schema.execution.answers import answered, without_cost
from schema.execution.fallback import source_of_events
from schema.execution.metering import Metering
from schema.execution.requests import Answer, Request
from schema.execution.sources import Row
from storage.database_time import DatabaseTime, measured

Executed = Callable[[Admitted, Request, Context, Row], Awaitable[Answer]]


async def stream(
    executed: Executed, metering: Metering, admitted: Admitted, request: Request, context: Context
) -> AsyncIterator[Answer] | Answer:
    """Begins a subscription: its answers, or the one that says why there are none. Raises RateLimited."""
    await metering.budget.charge(context.caller, LEAST)
    document = admitted.operation.document
    source = await source_of_events(document.schema, document.outline.document, request, context)
    if isinstance(source, list):
        return without_cost(answered(None, source, context))
    return _answers(source, executed, metering, admitted, request, context)


async def _answers(
    source: AsyncIterable[Row],
    executed: Executed,
    metering: Metering,
    admitted: Admitted,
    request: Request,
    context: Context,
) -> AsyncIterator[Answer]:
    """Gives an answer for each event of the source; what breaks the source is the last answer's error."""
    taken: Drawn | None = None
    time = DatabaseTime()
    async with aclosing(source):  # type: ignore[type-var]  # the service's sources are generators
        try:
            async for event in source:
                context.forget()
                taken = await metering.budget.charge(context.caller, admitted.requested)
                with measured() as time, context.services.deadlines.one():
                    answer = await executed(admitted, request, context, event)
                settled, taken = taken, None
                yield await metering.settle(answer, admitted, settled, time, context)
        except RateLimited as error:  # the stream can be taken up again from where it ended
            yield Answer(refusal(error, context.request_id), executed=False)
        except Exception as error:
            broken = located_error(error, list(admitted.operation.node.selection_set.selections), [])
            answer = answered(None, [broken], context)
            if taken is None:
                yield without_cost(answer)
            else:
                yield await metering.settle(answer, admitted, taken, time, context)
