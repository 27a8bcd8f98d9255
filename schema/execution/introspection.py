"""What a document asks of the schema itself, read off it by functions made for its selections.

The library completes an introspection field by field, as if each could fail or take time: 170 ms of the processor for
the query that tools send, which needs no credential. What the schema says of itself is sound, and at hand.
"""

from collections.abc import Callable
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLResolveInfo,
)
from graphql.execution.collect_fields import FieldDetailsList
from graphql.execution.values import VariableValues, get_argument_values

from schema.execution.shapes import Collect

_Read = Callable[[Any], Any]
_Key = tuple[str, tuple[int, ...]]


class Introspection:
    """The functions for one request; `collect` gives the fields that are selected below a field."""

    def __init__(self, collect: Collect, variables: VariableValues) -> None:
        self._collect = collect
        self._variables = variables
        self._made: dict[_Key, _Read] = {}

    def read(
        self, kind: GraphQLObjectType, details: FieldDetailsList, info: GraphQLResolveInfo[Any], value: Any
    ) -> Any:
        """What is selected of a part of the schema. Raises GraphQLError where an argument is wrong."""
        return self._object(kind, details, info)(value)

    def _object(self, kind: GraphQLObjectType, details: FieldDetailsList, info: GraphQLResolveInfo[Any]) -> _Read:
        key = (kind.name, tuple(id(one.node) for one in details))
        if key not in self._made:
            self._made[key] = self._of_fields(kind, details, info)
        return self._made[key]

    def _of_fields(self, kind: GraphQLObjectType, details: FieldDetailsList, info: GraphQLResolveInfo[Any]) -> _Read:
        readers: list[tuple[str, _Read]] = []
        for name, below in self._collect(kind, details).items():
            node = below[0].node
            if node.name.value == "__typename":
                readers.append((name, lambda _: kind.name))
                continue
            field = kind.fields[node.name.value]
            arguments = get_argument_values(field, node, self._variables, below[0].fragment_variable_values)
            readers.append((name, _resolving(field.resolve, info, arguments, self._value(field.type, below, info))))
        return lambda value: {name: read(value) for name, read in readers}

    def _value(self, kind: Any, details: FieldDetailsList, info: GraphQLResolveInfo[Any]) -> _Read:
        if isinstance(kind, GraphQLNonNull):
            kind = kind.of_type
        if isinstance(kind, GraphQLList):
            item = self._value(kind.of_type, details, info)
            return lambda value: None if value is None else [item(one) for one in value]
        if isinstance(kind, GraphQLObjectType):
            whole = self._object(kind, details, info)
            return lambda value: None if value is None else whole(value)
        if isinstance(kind, GraphQLEnumType):
            return lambda value: None if value is None else kind.coerce_output_value(value)
        return lambda value: value  # a text, or whether something is so


def _resolving(resolve: Any, info: GraphQLResolveInfo[Any], arguments: dict[str, Any], finish: _Read) -> _Read:
    return lambda value: finish(resolve(value, info, **arguments))
