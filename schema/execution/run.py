"""One request through the schema: prepare, execute, and put the errors into words."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, cast

from graphql import ExecutionResult, GraphQLError, GraphQLSchema, located_error
from graphql.execution import create_source_event_stream
from graphql.execution.values import get_variable_values

from contract.errors import Unauthenticated
from resolvers.context import Context
from schema.errors import formatted, refusal
from schema.execution.documents import Documents, Operation, Prepared
from schema.execution.executor import CompiledExecutor
from schema.execution.plans import Outcomes, Unplanned


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked: a text, and what goes with it."""

    query: str
    variables: dict[str, Any] | None = None
    operation_name: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer's body, and what its transport needs to know: did it run, and was a credential wanting."""

    body: dict[str, Any]
    executed: bool
    needs_credential: bool = False


class Executor:
    """Runs requests against one schema."""

    def __init__(self, schema: GraphQLSchema, *, introspection: bool = True) -> None:
        self.schema = schema
        self.documents = Documents(schema, introspection=introspection)

    def is_query(self, request: Request) -> bool:
        """Whether the request can only read; true also for what cannot be run at all."""
        operation = self.documents.prepare(request.query).operation(request.operation_name)
        return operation is None or operation.is_query

    def is_subscription(self, request: Request) -> bool:
        """Whether the request asks for a stream."""
        operation = self.documents.prepare(request.query).operation(request.operation_name)
        return operation is not None and operation.is_subscription

    def accepts(self, text: str) -> bool:
        """Whether the document can be read and holds against the schema."""
        return not self.documents.prepare(text).errors

    async def run(self, request: Request, context: Context) -> Answer:
        """Execute the request. Never raises for what a client sent or a resolver did."""
        prepared = self.documents.prepare(request.query)
        operation = prepared.operation(request.operation_name)
        if operation is None:
            return _refused(prepared.errors or _unknown_operation(request), context)
        if context.principal is None and not operation.is_public:
            return Answer(refusal(Unauthenticated(), context.request_id), executed=False, needs_credential=True)
        context.worked_out = prepared.worked_out
        try:
            return await self._planned(prepared, operation, request, context)
        except Unplanned as unplanned:
            return await self._executed(prepared, operation, request, context, unplanned.outcomes)

    async def stream(self, request: Request, context: Context) -> AsyncIterator[Answer] | Answer:
        """Begin a subscription: its answers, one for each event, or the one that says why there are none.

        The iterator is to be closed by whoever stops early.
        """
        prepared = self.documents.prepare(request.query)
        operation = prepared.operation(request.operation_name)
        if operation is None:
            return _refused(prepared.errors or _unknown_operation(request), context)
        if context.principal is None:
            return Answer(refusal(Unauthenticated(), context.request_id), executed=False, needs_credential=True)
        built = self._built(prepared, request, context, {})
        if isinstance(built, list):
            return _answer(ExecutionResult(None, built), context)
        source = create_source_event_stream(built)
        source = await source if isawaitable(source) else source
        if isinstance(source, ExecutionResult):
            return _answer(source, context)
        return self._answers(built, source, context)

    async def _answers(self, built: CompiledExecutor, source: Any, context: Context) -> AsyncIterator[Answer]:
        """An answer for each event of the source; what breaks the source is the last answer's error."""
        async with aclosing(source):
            try:
                async for event in source:
                    context.forget()
                    result = built.build_per_event_executor(event).execute_operation()
                    yield _answer(await result if isawaitable(result) else result, context)
            except Exception as error:
                broken = located_error(error, built.operation.selection_set.selections, [])
                yield _answer(ExecutionResult(None, [broken]), context)

    async def _planned(self, prepared: Prepared, operation: Operation, request: Request, context: Context) -> Answer:
        """The answer by the operation's plan. Raises Unplanned where there is none, or it does not hold."""
        if not operation.plans:
            raise Unplanned
        values = get_variable_values(self.schema, operation.node.variable_definitions or (), request.variables or {})
        if isinstance(values, list):
            return _answer(ExecutionResult(None, values), context)
        plan = operation.plans.get(prepared.variant(values.coerced))
        if plan is None:
            raise Unplanned
        return Answer({"data": await plan.run(context, values.coerced)}, executed=True)

    async def _executed(
        self, prepared: Prepared, operation: Operation, request: Request, context: Context, outcomes: Outcomes
    ) -> Answer:
        """The answer by the library's executor, which is told what root fields gave already."""
        built = self._built(prepared, request, context, outcomes)
        if isinstance(built, list):
            return _answer(ExecutionResult(None, built), context)
        result = built.execute_operation()
        answer = _answer(await result if isawaitable(result) else result, context)
        operation.plans.learn(built.variant, built.plan)
        return answer

    def _built(
        self, prepared: Prepared, request: Request, context: Context, outcomes: Outcomes
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


def _unknown_operation(request: Request) -> Sequence[GraphQLError]:
    if request.operation_name is None:
        return (GraphQLError("operationName is needed where a document has none or several operations."),)
    return (GraphQLError("The document has no operation of the name in operationName."),)


def _refused(errors: Sequence[GraphQLError], context: Context) -> Answer:
    return Answer({"errors": _formatted(errors, context, executed=False)}, executed=False)


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
