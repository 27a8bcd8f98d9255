"""graphql-core below its documented surface: the executor's members, which fields are collected.

Its executor may be used, but its members are not promised; those that schema/execution/executor.py overrides or calls
are named here with their purpose. tests/adapters/test_graphql_core.py says what each has to look like.
"""

from typing import Any

from graphql import GraphQLSchema, is_input_object_type
from graphql.execution import Executor
from graphql.execution.collect_fields import FieldDetailsList, GroupedFieldSet, collect_fields

__all__ = ["Executor", "FieldDetailsList", "GroupedFieldSet", "collect_fields", "mend_is_one_of"]

EXECUTOR_MEMBERS = {
    "build": "makes an executor of a request, or says what is wrong with its variables",
    "build_per_event_executor": "makes the executor of one event of a subscription",
    "build_resolve_info": "makes what a resolver is told of its field",
    "collect_subfields": "collects the fields below a field",
    "complete_awaitable_value": "waits for a field's value and completes it",
    "complete_iterable_value": "completes a list; overridden for lists of compiled selections",
    "complete_object_value": "completes an object; overridden for compiled selections",
    "execute_field": "resolves and completes a field; overridden for guarded fields",
    "execute_fields": "resolves and completes the fields that no compiled selection covers",
    "execute_operation": "runs the operation",
    "fragment_definitions": "the document's fragments, by name",
    "fragments": "the same with their variables",
    "is_awaitable": "tells what has to be waited for",
    "operation": "the operation's node",
    "schema": "the schema",
    "variable_values": "the coerced variables",
}


def mend_is_one_of(schema: GraphQLSchema) -> None:
    """Have introspection answer `isOneOf` as the GraphQL specification says.

    Strawberry's own breaks on lists, and says so of what is no input at all. The type of types is the library's, and
    every schema of the process has the same one.
    """
    meta: Any = schema.type_map["__Type"]
    meta.fields["isOneOf"].resolve = _is_one_of


def _is_one_of(kind: Any, _info: Any) -> bool | None:
    return kind.is_one_of if is_input_object_type(kind) else None
