"""Runs requests through the schema: admits, charges, executes and settles each."""

from asyncio import CancelledError
from collections.abc import AsyncIterator, Callable, Iterable

import orjson
from graphql import GraphQLSchema

from contract.errors import GatewayError
from contract.limits import DOCUMENT_CACHE_BYTES
from identity.anonymous_budget import AnonymousBudget
from identity.budget import Budget, Unmetered
from resolvers.shared.context import Context, Key
from resolvers.shared.idempotency import ask, same_answer
from schema.execution.admission import Admission, Admitted
from schema.execution.answers import answered, without_cost
from schema.execution.documents import Document, Documents
from schema.execution.fallback import executed
from schema.execution.known import refuse_unsupported
from schema.execution.metering import Metering
from schema.execution.public_documents import PublicDocuments
from schema.execution.requests import Answer, Request
from schema.execution.sources import Reason, Row
from schema.execution.steps import Unplanned
from schema.execution.streams import stream
from storage.database_time import measured
from transport.request_log import RequestLog


class Executor:
    """Runs requests against one schema; `budget` says who has how much to spend on them.

    `fallen_back` is called with the reason whenever the library has to run an operation.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        *,
        introspection: bool = True,
        budget: Budget | None = None,
        anonymous_budget: AnonymousBudget | None = None,
        document_bytes: int = DOCUMENT_CACHE_BYTES,
        registered: Iterable[str] = (),
        fallen_back: Callable[[str], None] = lambda _: None,
    ) -> None:
        refuse_unsupported(schema)
        self.schema = schema
        self.documents = Documents(schema, introspection=introspection, most=document_bytes, registered=registered)
        self.public = PublicDocuments(self.documents, anonymous_budget)
        self._admission = Admission(self.documents, self.public)
        self._metering = Metering(budget or Unmetered())
        self._fallen_back = fallen_back

    async def open(self, request: Request, record: RequestLog) -> None:
        """Reads the request's document, and notes what it asks for.

        Raises Unauthenticated or AnonymousLimited for a caller without a credential.
        """
        await self._admission.open(request, record, is_member=request.anonymous_address is None)

    def is_query(self, request: Request) -> bool:
        """Says whether an open request can only read; true also for what cannot be run at all."""
        return request.operation is None or request.operation.is_query

    def shows_secret(self, request: Request) -> bool:
        """Says whether an open request asks for a new secret."""
        return request.operation is not None and request.operation.shows_secret

    def is_subscription(self, request: Request) -> bool:
        """Says whether an open request asks for a stream."""
        return request.operation is not None and request.operation.is_subscription

    def accepts(self, text: str) -> bool:
        """Says whether the document can be read and holds against the schema."""
        return isinstance(self.documents.prepare(text), Document)

    async def run(self, request: Request, context: Context) -> Answer:
        """Executes the request. Raises TimedOut, and what the budget refuses with."""
        admitted = await self._admission.admit(request, context)
        if isinstance(admitted, Answer):
            return admitted
        if context.principal is None:  # it asks for the schema alone, which costs nothing
            return without_cost(await self._run_public(admitted, request, context))
        if context.key is not None:
            ask(context, context.key, _question(admitted, request), is_shared=admitted.operation.is_shared)
        taken = await self._metering.budget.charge(context.principal, admitted.requested)
        with measured() as time:
            try:
                answer = await self._run(admitted, request, context)
            except (GatewayError, CancelledError) as error:  # nothing is left to be counted
                extensions = await self._metering.spent(admitted, admitted.requested, taken, time, context)
                if isinstance(error, GatewayError):
                    error.extensions = extensions
                raise
        answer = await self._metering.settle(answer, admitted, taken, time, context)
        return answer if context.key is None else await _as_before(answer, context, context.key)

    async def stream(self, request: Request, context: Context) -> AsyncIterator[Answer] | Answer:
        """Begins a subscription: its answers, one for each event, or the one that says why there are none.

        The iterator is to be closed by whoever stops early. Raises RateLimited.
        """
        admitted = await self._admission.admit(request, context)
        if isinstance(admitted, Answer):
            return admitted
        context.estimate, context.tree = self._admission.estimate, admitted.compiled.tree
        return await stream(self._executed, self._metering, admitted, request, context)

    async def _run_public(self, admitted: Admitted, request: Request, context: Context) -> Answer:
        """Answers who shows no credential: what the schema says of itself, written once."""
        answer = await self._run(admitted, request, context)
        if request.anonymous_address is None or "errors" in answer.body or not admitted.operation.is_query:
            return answer
        data = orjson.dumps(answer.body["data"], option=orjson.OPT_UTC_Z)
        self.public.keep(request, data)
        return Answer({"data": orjson.Fragment(data)}, executed=True)

    async def _run(self, admitted: Admitted, request: Request, context: Context) -> Answer:
        context.estimate, context.tree = self._admission.estimate, admitted.compiled.tree
        points = admitted.requested if admitted.operation.is_query else 0
        with context.services.deadlines.one():
            async with context.reads(points):
                try:
                    return await self._executed(admitted, request, context)
                finally:
                    context.forget()

    async def _executed(self, admitted: Admitted, request: Request, context: Context, event: Row = None) -> Answer:
        """Answers an operation by its steps, or by the library where there are none or they do not hold."""
        steps = admitted.compiled.steps
        try:
            if isinstance(steps, Reason):
                raise Unplanned(steps.kind)
            data, errors = await steps.run(context, admitted.values, request.variables or {}, event)
        except Unplanned as unplanned:
            self._fallen_back(unplanned.reason)
            document = admitted.operation.document.outline.document
            result = await executed(self.schema, document, request, context, event)
            data, errors = result.data, result.errors or []
        return answered(data, errors, context)


def _question(admitted: Admitted, request: Request) -> list[object]:
    """Identifies what the request asks: document and operation, and what it says of the variables that there are."""
    names = (d.variable.name.value for d in admitted.operation.node.variable_definitions or ())
    said = request.variables or {}
    return [request.query, {name: said[name] for name in names if name in said}, request.operation_name]


async def _as_before(answer: Answer, context: Context, key: Key) -> Answer:
    """Returns the answer with the data of when its writes were made; one with errors is always as it is now."""
    if "errors" in answer.body:
        return answer
    data = await same_answer(context, key, orjson.dumps(answer.body["data"], option=orjson.OPT_UTC_Z))
    return Answer(answer.body | {"data": orjson.Fragment(data)}, executed=True)
