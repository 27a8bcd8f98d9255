"""A span for each GraphQL document that is run, and for each event that a subscription answers."""

from collections.abc import AsyncIterator
from typing import Final

from contract.tracing import Facts, SpanKind, Tracer, current
from resolvers.shared.context import Context
from schema.execution import Answer, Executor, Request
from schema.execution.admission import Admitted
from schema.execution.sources import Row

_NAME_MAX: Final = 100


class TracedExecutor(Executor):
    """The executor of a process that traces, whichever door a document comes through."""

    tracer: Tracer

    async def run(self, request: Request, context: Context) -> Answer:
        """Executes the request. Raises as the executor does."""
        around = current()
        if around is None:
            return await super().run(request, context)
        with around.child(_name(request), facts=_facts(request)) as span:
            answer = await super().run(request, context)
            span.note(_ended(answer))
            return answer

    async def stream(self, request: Request, context: Context) -> AsyncIterator[Answer] | Answer:
        """Begins a subscription. Raises as the executor does."""
        around = current()
        if around is None:
            return await super().stream(request, context)
        with around.child(_name(request), facts=_facts(request)):
            return await super().stream(request, context)

    async def _executed(self, admitted: Admitted, request: Request, context: Context, event: Row = None) -> Answer:
        """Answers an operation; each event is a trace of its own, for a subscription lasts for hours (decision 883)."""
        around = current()
        if around is None or not admitted.operation.is_subscription:
            return await super()._executed(admitted, request, context, event)
        name = f"event {admitted.operation.label}"
        with self.tracer.root(name, SpanKind.WITHIN, _facts(request), linked=around.traceparent) as span:
            answer = await super()._executed(admitted, request, context, event)
            span.note(_ended(answer))
            return answer


def note_fallback(reason: str) -> None:
    """Note that the library runs the operation."""
    if (span := current()) is not None:
        span.note({"crm.graphql.fallback": reason})


def _name(request: Request) -> str:
    return "document" if request.operation is None else request.operation.label


def _facts(request: Request) -> Facts:
    operation = request.operation
    if operation is None:
        return {}
    name = operation.node.name.value[:_NAME_MAX] if operation.node.name else None
    return {"graphql.operation.type": operation.node.operation.value, "graphql.operation.name": name}


def _ended(answer: Answer) -> Facts:
    errors = answer.body.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    code = first["extensions"]["code"] if isinstance(first, dict) else None
    return {"error.type": code if isinstance(code, str) else None}
