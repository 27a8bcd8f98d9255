"""The variables of a request: coerced, once their lists, depths and sizes are seen to be such as anyone may send."""

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
from contract.limits import ERRORS_MAX, INPUT_DEPTH_MAX, INPUT_LIST_MAX, INPUT_WEIGHT_MAX, JSON_DEPTH_MAX

_MEMBERS_PER_POINT = 10
"""Members of a JSON value that weigh as much as a value that is coerced."""


def coerced(
    schema: GraphQLSchema, definitions: Sequence[VariableDefinitionNode], given: Mapping[str, Any]
) -> dict[str, Any] | list[GraphQLError]:
    """The values with their defaults, or what is wrong with them. Raises LimitExceeded before any work is done."""
    weight = 0
    for definition in definitions:
        value = given.get(definition.variable.name.value)
        if isinstance(value, dict | list):
            weight = _weighed(weight, type_from_ast(schema, definition.type), value, 1)
    found = get_variable_values(schema, definitions, dict(given), max_errors=ERRORS_MAX)
    return found if isinstance(found, list) else found.coerced


def _weighed(weight: int, kind: Any, value: Any, depth: int) -> int:
    """The weight with the value's added, which is the work of coercing it (decision 126).

    An item of a list is one, an object as many as its type has fields, since each is looked for. Raises LimitExceeded.
    """
    if isinstance(kind, GraphQLNonNull):
        kind = kind.of_type
    if depth > INPUT_DEPTH_MAX:
        raise _too_deep(INPUT_DEPTH_MAX)
    if isinstance(kind, GraphQLList):
        if not isinstance(value, list):
            return _weighed(weight, kind.of_type, value, depth)
        if len(value) > INPUT_LIST_MAX:
            raise LimitExceeded(
                "list length", INPUT_LIST_MAX, f"A list in a variable has more than {INPUT_LIST_MAX} items"
            )
        weight = _bounded(weight + len(value))
        for item in value:
            if isinstance(item, dict | list):
                weight = _weighed(weight, kind.of_type, item, depth + 1)
        return weight
    if isinstance(kind, GraphQLInputObjectType) and isinstance(value, dict):
        fields = kind.fields
        weight = _bounded(weight + max(len(fields), len(value)))
        for name, item in value.items():
            if isinstance(item, dict | list) and name in fields:
                weight = _weighed(weight, fields[name].type, item, depth + 1)
        return weight
    return _weighed_json(weight, value)


def _weighed_json(weight: int, value: Any) -> int:
    """The same for what a scalar holds: lists and objects are one each, and one more for every ten members."""
    level = [value]
    for _ in range(JSON_DEPTH_MAX):
        weight = _bounded(weight + sum(1 + len(part) // _MEMBERS_PER_POINT for part in level))
        level = [
            inner
            for part in level
            for inner in (part.values() if isinstance(part, dict) else part)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return weight
    raise _too_deep(JSON_DEPTH_MAX)


def _bounded(weight: int) -> int:
    if weight > INPUT_WEIGHT_MAX:
        raise LimitExceeded(
            "variables weight", INPUT_WEIGHT_MAX, f"The variables weigh more than {INPUT_WEIGHT_MAX} values together"
        )
    return weight


def _too_deep(most: int) -> LimitExceeded:
    return LimitExceeded("input depth", most, f"A variable has more than {most} values in one another")
