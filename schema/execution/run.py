"""One request through the schema: prepare, execute, and put the errors into words."""

from asyncio import CancelledError
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from inspect import isawaitable
from typing import Any, NamedTuple, cast

import orjson
from graphql import ExecutionResult, GraphQLError, GraphQLSchema, located_error
from graphql.execution import create_source_event_stream

from contract.costs import LEAST, CostReport
from contract.errors import CostExceeded, GatewayError, LimitExceeded, Problem, Problems, RateLimited, Unauthenticated
from contract.limits import COST_MAX, DOCUMENT_CACHE_BYTES, ERRORS_MAX, HEAVIEST_SHOWN, OPERATION_NODES_MAX
from identity.budget import Budget, Unmetered
from identity.pairs import Drawn
from identity.principal import Principal
from identity.strangers import Strangers
from resolvers.context import Context, Key
from resolvers.idempotency import ask, same_answer
from schema.errors import formatted, refusal
from schema.execution.costs import Sum
from schema.execution.documents import Documents, Operation, Prepared
from schema.execution.executor import CompiledExecutor
from schema.execution.known import refuse_unsupported
from schema.execution.plans import NotPlanned, Outcomes, Plan, Unplanned
from schema.execution.requests import Answer, Request
from schema.execution.strangers import PublicDocuments
from schema.spending import costless, spent
from storage.database_time import DatabaseTime, measured
from transport.request_log import RequestLog as Record


class _Admitted(NamedTuple):
    """An operation that may run, with the coerced values of its variables, and what it asks for: `requested` points."""

    prepared: Prepared
    operation: Operation
    values: dict[str, Any]
    variant: tuple[Any, ...]
    asked: Sum
    requested: int


class Executor:
    """Runs requests against one schema; `budget` says who has how much to spend on them.

    `fallen_back` is told why whenever the library has to run an operation.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        *,
        introspection: bool = True,
        budget: Budget | None = None,
        strangers: Strangers | None = None,
        document_bytes: int = DOCUMENT_CACHE_BYTES,
        registered: Iterable[str] = (),
        fallen_back: Callable[[str], None] = lambda _: None,
    ) -> None:
        refuse_unsupported(schema)
        self.schema = schema
        self.documents = Documents(schema, introspection=introspection, most=document_bytes, registered=registered)
        self.public = PublicDocuments(self.documents, strangers)
        self.budget: Budget = budget or Unmetered()
        self._fallen_back = fallen_back

    async def open(self, request: Request, record: Record) -> None:
        """Read the request's document, and note what it asks for.

        Raises Unauthenticated or StrangersLimited for a caller without a credential.
        """
        if request.stranger is None:
            request.prepared = self.documents.prepare(request.query)
        else:
            await self.public.open(request, record)
        operation = self._operation(request)
        if operation is not None:
            record.operation = operation.label
            record.name = operation.node.name.value if operation.node.name else None

    def is_query(self, request: Request) -> bool:
        """Whether an open request can only read; true also for what cannot be run at all."""
        operation = self._operation(request)
        return operation is None or operation.is_query

    def is_subscription(self, request: Request) -> bool:
        """Whether an open request asks for a stream."""
        operation = self._operation(request)
        return operation is not None and operation.is_subscription

    def _operation(self, request: Request) -> Operation | None:
        return None if request.prepared is None else request.prepared.operation(request.operation_name)

    def accepts(self, text: str) -> bool:
        """Whether the document can be read and holds against the schema."""
        return not self.documents.prepare(text).errors

    async def run(self, request: Request, context: Context) -> Answer:
        """Execute the request. Raises TimedOut, and what the budget refuses with."""
        admitted = await self._admitted(request, context)
        if isinstance(admitted, Answer):
            return admitted
        if context.principal is None:  # it asks for the schema alone, which costs nothing
            return _costless(await self._run_public(admitted, request, context))
        if context.key is not None:
            ask(context, context.key, _question(admitted, request), is_shared=admitted.operation.is_shared)
        taken = await self.budget.charge(context.principal, admitted.requested)
        with measured() as time:
            try:
                answer = await self._run(admitted, request, context)
            except (GatewayError, CancelledError) as error:  # nothing is left to be counted
                extensions = await self._spent(admitted.requested, admitted.requested, taken, time, context)
                if isinstance(error, GatewayError):
                    error.extensions = extensions
                raise
        answer = await self._settled(answer, admitted, taken, time, context)
        return answer if context.key is None else await _as_before(answer, context, context.key)

    async def _run_public(self, admitted: "_Admitted", request: Request, context: Context) -> Answer:
        """The answer to who shows no credential: what the schema says of itself, written once."""
        if request.answer is not None:
            return Answer({"data": orjson.Fragment(request.answer)}, executed=True)
        answer = await self._run(admitted, request, context)
        if request.stranger is None or "errors" in answer.body or not admitted.operation.is_query:
            return answer
        data = orjson.dumps(answer.body["data"], option=orjson.OPT_UTC_Z)
        self.public.keep(request, data)
        return Answer({"data": orjson.Fragment(data)}, executed=True)

    async def _run(self, admitted: "_Admitted", request: Request, context: Context) -> Answer:
        prepared = admitted.prepared
        is_kept = prepared.keeps(admitted.variant)
        context.worked_out = prepared.kept(is_kept)
        context.estimate = self.estimate
        points = admitted.requested if admitted.operation.is_query else 0
        async with context.services.deadlines.one(), context.reads(points):
            try:
                # A stranger's document is not kept itself.
                if not is_kept or context.principal is None:
                    raise Unplanned("not kept")
                return await self._planned(admitted, request, context)
            except Unplanned as unplanned:
                self._fallen_back(unplanned.reason)
                return await self._executed(admitted, request, context, unplanned.outcomes)

    async def _settled(
        self, answer: Answer, admitted: "_Admitted", taken: Drawn, time: DatabaseTime, context: Context
    ) -> Answer:
        """The answer with what it cost. Where an error left nothing to be counted, it cost what was asked for."""
        body, requested = answer.body, admitted.requested
        actual = requested
        if "errors" not in body and requested:
            # To find nothing is work as well.
            actual = max(admitted.operation.cost.actual(body["data"], admitted.values, admitted.asked), LEAST)
        body["extensions"] = await self._spent(requested, actual, taken, time, context)
        return answer

    async def _spent(
        self, requested: int, price: int, taken: Drawn, time: DatabaseTime, context: Context
    ) -> dict[str, Any]:
        """The extensions of an answer of this price, or of more where it took longer; with what its caller has left."""
        actual = await context.services.settling.cost(context.caller, price, time.seconds)
        return spent(requested, actual, await self.budget.settle(taken, actual))

    async def _admitted(self, request: Request, context: Context) -> "_Admitted | Answer":
        """The operation with its variables, or the answer that says why it may not run.

        Every way to run an operation leads through here: by a plan or by the library, once or for each event.
        """
        try:
            prepared = await self._document(request, context)
        except Unauthenticated as error:
            return _needs_credential(error, context)
        operation = prepared.operation(request.operation_name)
        if operation is None:
            return _refused(prepared.errors or _unknown_operation(request), context)
        if context.principal is None and not operation.is_public:
            return _needs_credential(Unauthenticated(), context)
        try:
            values = operation.variables.coerced(request.variables or {})
        except (LimitExceeded, Problems) as error:
            return _refused([GraphQLError(error.message, operation.node, original_error=error)], context)
        if isinstance(values, list):
            return _costless(_answer(ExecutionResult(None, values), context))
        asked = operation.cost.requested(values)
        requested = asked.points
        if requested > COST_MAX or asked.nodes > OPERATION_NODES_MAX:
            return _refused([_too_heavy(operation, values)], context)
        return _Admitted(prepared, operation, values, prepared.variant(values), asked, requested)

    async def _document(self, request: Request, context: Context) -> Prepared:
        """The document, read now where it was not opened before. Raises Unauthenticated or StrangersLimited."""
        if request.prepared is None and context.principal is None:
            await self.public.open(request, None)
        return request.prepared or self.documents.prepare(request.query)

    def estimate(self, document: str, variables: Any, operation_name: str | None) -> CostReport:
        """Says what an operation would cost. Raises Problems, or LimitExceeded."""
        if variables is not None and not isinstance(variables, dict):
            raise Problems([Problem(("variables",), "must be an object")])
        prepared = self.documents.prepare(document)
        operation = prepared.operation(operation_name)
        if operation is None:
            errors = prepared.errors or _unknown_operation(Request(document, None, operation_name))
            raise _problems("document" if prepared.errors else "operationName", errors)
        values = operation.variables.coerced(variables or {})
        if isinstance(values, list):
            raise _problems("variables", values)
        heaviest = operation.cost.heaviest(values, HEAVIEST_SHOWN)
        return CostReport(operation.cost.requested(values).points, COST_MAX, heaviest)

    async def stream(self, request: Request, context: Context) -> AsyncIterator[Answer] | Answer:
        """Begin a subscription: its answers, one for each event, or the one that says why there are none.

        The iterator is to be closed by whoever stops early. Raises RateLimited.
        """
        admitted = await self._admitted(request, context)
        if isinstance(admitted, Answer):
            return admitted
        await self.budget.charge(cast("Principal", context.principal), LEAST)
        context.estimate = self.estimate
        context.worked_out = admitted.prepared.kept(admitted.prepared.keeps(admitted.variant))
        built = self._built(admitted.prepared, request, context, {})
        if isinstance(built, list):
            return _answer(ExecutionResult(None, built), context)
        source = create_source_event_stream(built)
        source = await source if isawaitable(source) else source
        if isinstance(source, ExecutionResult):
            return _costless(_answer(source, context))
        return self._answers(built, source, admitted, context)

    async def _answers(
        self, built: CompiledExecutor, source: Any, admitted: "_Admitted", context: Context
    ) -> AsyncIterator[Answer]:
        """An answer for each event of the source; what breaks the source is the last answer's error."""
        taken: Drawn | None = None
        time = DatabaseTime()
        async with aclosing(source):
            try:
                async for event in source:
                    context.forget()
                    taken = await self.budget.charge(cast("Principal", context.principal), admitted.requested)
                    with measured() as time:
                        async with context.services.deadlines.one():
                            result = built.build_per_event_executor(event).execute_operation()
                            answer = _answer(await result if isawaitable(result) else result, context)
                    settled, taken = taken, None
                    yield await self._settled(answer, admitted, settled, time, context)
            except RateLimited as error:  # the stream can be taken up again from where it ended
                yield Answer(refusal(error, context.request_id), executed=False)
            except Exception as error:
                broken = located_error(error, built.operation.selection_set.selections, [])
                answer = _answer(ExecutionResult(None, [broken]), context)
                if taken is None:
                    yield _costless(answer)
                else:
                    yield await self._settled(answer, admitted, taken, time, context)

    async def _planned(self, admitted: "_Admitted", request: Request, context: Context) -> Answer:
        """The answer by the operation's plan. Raises Unplanned where there is none, or it does not hold."""
        plans = admitted.operation.plans
        plan = plans.get(admitted.variant)
        if plan is None:
            plan = plans[admitted.variant] = self.plan(admitted.prepared, request)
        if isinstance(plan, NotPlanned):
            raise Unplanned(plan.kind)
        data, errors = await plan.run(context, admitted.values)
        if errors:
            return _answer(ExecutionResult(data, list(errors)), context)
        return Answer({"data": data}, executed=True)

    def plan(self, prepared: Prepared, request: Request) -> Plan | NotPlanned:
        """The plan of a request's operation, or why it has none; it holds nothing of the request but its variant."""
        built = self._built(prepared, request, None, {})
        if isinstance(built, list):
            return NotPlanned("variable", built[0].message)
        try:
            return built.plan()
        except NotPlanned as error:
            return NotPlanned(error.kind, str(error))  # without the frames and causes of the one that was raised

    async def _executed(self, admitted: "_Admitted", request: Request, context: Context, outcomes: Outcomes) -> Answer:
        """The answer by the library's executor, which is told what root fields gave already."""
        built = self._built(admitted.prepared, request, context, outcomes)
        if isinstance(built, list):
            return _answer(ExecutionResult(None, built), context)
        result = built.execute_operation()
        return _answer(await result if isawaitable(result) else result, context)

    def _built(
        self, prepared: Prepared, request: Request, context: Context | None, outcomes: Outcomes
    ) -> CompiledExecutor | list[GraphQLError]:
        """The library's executor for the request, or what is wrong with its variables."""
        built: Any = CompiledExecutor.build(
            self.schema,
            prepared.document,  # type: ignore[arg-type]  # there is one, since it has the operation
            context_value=context,
            raw_variable_values=request.variables,
            operation_name=request.operation_name,
            prepared=prepared,
            outcomes=outcomes,
        )
        return cast("CompiledExecutor | list[GraphQLError]", built)


def _question(admitted: "_Admitted", request: Request) -> list[Any]:
    """Identifies what the request asks: document and operation, and what it says of the variables that there are."""
    names = (d.variable.name.value for d in admitted.operation.node.variable_definitions or ())
    said = request.variables or {}
    return [request.query, {name: said[name] for name in names if name in said}, request.operation_name]


async def _as_before(answer: Answer, context: Context, key: Key) -> Answer:
    """The answer with the data that it had when its writes were made; one with errors is always as it is now."""
    if "errors" in answer.body:
        return answer
    data = await same_answer(context, key, orjson.dumps(answer.body["data"], option=orjson.OPT_UTC_Z))
    return Answer(answer.body | {"data": orjson.Fragment(data)}, executed=True)


def _unknown_operation(request: Request) -> Sequence[GraphQLError]:
    if request.operation_name is None:
        return (GraphQLError("operationName is needed where a document has none or several operations."),)
    return (GraphQLError("The document has no operation of the name in operationName."),)


def _refused(errors: Sequence[GraphQLError], context: Context) -> Answer:
    return _costless(Answer({"errors": _formatted(errors, context, executed=False)}, executed=False))


def _needs_credential(error: Unauthenticated, context: Context) -> Answer:
    return _costless(Answer(refusal(error, context.request_id), executed=False, needs_credential=True))


def _costless(answer: Answer) -> Answer:
    """An answer that cost nothing, for which nobody's budget was looked at."""
    answer.body["extensions"] = costless()
    return answer


def _too_heavy(operation: Operation, values: Mapping[str, Any]) -> GraphQLError:
    """CostExceeded as the library's error, with the places that are to be made smaller."""
    asked = operation.cost.requested(values)
    by_nodes = asked.points <= COST_MAX
    number, limit = (asked.nodes, OPERATION_NODES_MAX) if by_nodes else (asked.points, COST_MAX)
    what = f"give {number} nodes" if by_nodes else f"cost {number} points"
    heaviest = operation.cost.heaviest(values, HEAVIEST_SHOWN, by_nodes=by_nodes)
    shown = ", ".join(f"{line.path} {line.cost}" for line in heaviest)
    error = CostExceeded(f"The operation may {what}; the limit is {limit}. Heaviest: {shown}", number, limit, heaviest)
    return GraphQLError(error.message, operation.node, original_error=error)


def _problems(name: str, errors: Sequence[GraphQLError]) -> GatewayError:
    """Says what is wrong with an argument of costEstimate."""
    cause = errors[0].original_error
    if isinstance(cause, GatewayError):
        return cause
    return Problems([Problem((name,), error.message[:_PROBLEM_SHOWN]) for error in errors[:ERRORS_MAX]])


_PROBLEM_SHOWN = 200


def _formatted(errors: Sequence[GraphQLError], context: Context, *, executed: bool) -> list[dict[str, Any]]:
    """The errors; who shows no credential is not told what names there are (decision 85)."""
    return formatted(errors, context.request_id, executed=executed, suggesting=context.principal is not None)


def _answer(result: Any, context: Context) -> Answer:
    errors = result.errors or []
    coercion = result.data is None and any(error.path is None for error in errors)
    body: dict[str, Any] = {} if coercion else {"data": result.data}
    if errors:
        body["errors"] = _formatted(errors, context, executed=True)
    return Answer(body, executed=not coercion)
