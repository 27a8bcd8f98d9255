"""The variables of a request: coerced, once their lists and depths are seen to be such as anyone may send."""

from collections.abc import Mapping, Sequence
from typing import Any

from graphql import (
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    VariableDefinitionNode,
)
from graphql.execution.values import get_variable_values
from graphql.utilities import type_from_ast

from contract.errors import LimitExceeded
from contract.limits import ERRORS_MAX, INPUT_DEPTH_MAX, INPUT_LIST_MAX


def coerced(
    schema: GraphQLSchema, definitions: Sequence[VariableDefinitionNode], given: Mapping[str, Any]
) -> dict[str, Any] | list[GraphQLError]:
    """The values with their defaults, or what is wrong with them. Raises LimitExceeded before any work is done."""
    for definition in definitions:
        value = given.get(definition.variable.name.value)
        if isinstance(value, dict | list):
            _measure(type_from_ast(schema, definition.type), value, 0)
    found = get_variable_values(schema, definitions, dict(given), max_errors=ERRORS_MAX)
    return found if isinstance(found, list) else found.coerced


def _measure(kind: Any, value: Any, depth: int) -> None:
    """Look at a value as deep as its type does; of what a scalar such as JSON holds, the scalar has its own rules."""
    if isinstance(kind, GraphQLNonNull):
        kind = kind.of_type
    if depth > INPUT_DEPTH_MAX:
        raise LimitExceeded(
            "input depth", INPUT_DEPTH_MAX, f"A variable has more than {INPUT_DEPTH_MAX} values in one another"
        )
    if isinstance(kind, GraphQLList) and isinstance(value, list):
        if len(value) > INPUT_LIST_MAX:
            raise LimitExceeded(
                "list length", INPUT_LIST_MAX, f"A list in a variable has more than {INPUT_LIST_MAX} items"
            )
        for item in value:
            if isinstance(item, dict | list):
                _measure(kind.of_type, item, depth + 1)
    elif isinstance(kind, GraphQLList):
        _measure(kind.of_type, value, depth)
    elif isinstance(kind, GraphQLInputObjectType) and isinstance(value, dict):
        for name, field in kind.fields.items():
            item = value.get(name)
            if isinstance(item, dict | list):
                _measure(field.type, item, depth + 1)
