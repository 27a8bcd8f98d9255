"""Reads what a document asks of the schema itself off the schema, by functions made for its selections.

The library completes an introspection field by field, as if each could fail or take time: 110 ms of the processor for
the query that tools send, which needs no credential. What the schema says of itself is at hand, and whatever fails
all the same is left to the library.
"""

from collections.abc import Callable
from typing import Any

from graphql import GraphQLEnumType, GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLResolveInfo
from graphql.execution import VariableValues, get_argument_values

from schema.adapters.graphql_core import FieldDetailsList
from schema.execution.shapes import Collect, Shape

_Read = Callable[[Any], Any]
_Key = tuple[str, tuple[int, ...]]


class Introspection:
    """Makes the functions of one field; `collect` gives the fields that are selected below a field."""

    def __init__(self, collect: Collect, variables: VariableValues, info: GraphQLResolveInfo[Any]) -> None:
        self._collect = collect
        self._variables = variables
        self._info = info
        self._made: dict[_Key, _Read] = {}

    def shape(self, kind: GraphQLObjectType, details: FieldDetailsList) -> Shape:
        """The function for what is selected of a part of the schema. Raises GraphQLError where an argument is wrong."""
        return Shape(self._object(kind, details), {})

    def _object(self, kind: GraphQLObjectType, details: FieldDetailsList) -> _Read:
        key = (kind.name, tuple(id(one.node) for one in details))
        if key not in self._made:
            self._made[key] = self._of_fields(kind, details)
        return self._made[key]

    def _of_fields(self, kind: GraphQLObjectType, details: FieldDetailsList) -> _Read:
        readers = [(name, self._field(kind, below)) for name, below in self._collect(kind, details).items()]
        return lambda value: {name: read(value) for name, read in readers}

    def _field(self, kind: GraphQLObjectType, details: FieldDetailsList) -> _Read:
        node = details[0].node
        if node.name.value == "__typename":
            return lambda _: kind.name
        field: Any = kind.fields[node.name.value]
        arguments = get_argument_values(field, node, self._variables, details[0].fragment_variable_values)
        finish, info = self._value(field.type, details), self._info
        return lambda value: finish(field.resolve(value, info, **arguments))

    def _value(self, kind: Any, details: FieldDetailsList) -> _Read:
        if isinstance(kind, GraphQLNonNull):
            kind = kind.of_type
        if isinstance(kind, GraphQLList):
            item = self._value(kind.of_type, details)
            return lambda value: None if value is None else [item(one) for one in value]
        if isinstance(kind, GraphQLObjectType):
            whole = self._object(kind, details)
            return lambda value: None if value is None else whole(value)
        if isinstance(kind, GraphQLEnumType):
            return lambda value: None if value is None else kind.coerce_output_value(value)
        return lambda value: value  # a text, or whether something is so
