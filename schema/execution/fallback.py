"""The library's own way to run an operation, for what is not planned and for what does not go as planned.

It is given what root fields gave already (`Context.outcomes`), which their guards find (schema/declare.py): so nothing
is done twice, and the answer is the library's to the last byte (decision 190).
"""

from collections.abc import AsyncIterable
from inspect import isawaitable

from graphql import DocumentNode, ExecutionResult, GraphQLError, GraphQLSchema, execute
from graphql.execution import Executor, create_source_event_stream

from resolvers.shared.context import Context
from schema.execution.requests import Request
from schema.execution.sources import Row


async def executed(
    schema: GraphQLSchema, document: DocumentNode, request: Request, context: Context, event: Row = None
) -> ExecutionResult:
    """Runs the request's operation; for a subscription, one event of it."""
    result = execute(
        schema,
        document,
        event,
        context,
        request.variables,
        request.operation_name,
        executor_class=Executor,
        hide_suggestions=context.principal is None,
    )
    return await result if isawaitable(result) else result


async def source_of_events(
    schema: GraphQLSchema, document: DocumentNode, request: Request, context: Context
) -> AsyncIterable[object] | list[GraphQLError]:
    """Begins a subscription: its events, or why there are none."""
    built = Executor.build(
        schema,
        document,
        context_value=context,
        raw_variable_values=request.variables,
        operation_name=request.operation_name,
    )
    if isinstance(built, list):
        return built
    source = create_source_event_stream(built)
    found = await source if isawaitable(source) else source
    return list(found.errors or ()) if isinstance(found, ExecutionResult) else found
