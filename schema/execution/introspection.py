"""Reads what a document asks of the schema itself off the schema, by functions made for its selections.

The library completes an introspection field by field, as if each could fail or take time: 110 ms of the processor for
the query that tools send, which needs no credential. What the schema says of itself is at hand, and whatever fails
all the same is left to the library.
"""

from collections.abc import Callable
from dataclasses import dataclass

from graphql import GraphQLEnumType, GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLOutputType, GraphQLSchema
from graphql.execution import VariableValues, get_argument_values

from schema.execution.sources import Row
from schema.execution.tree import Field, ObjectSelection

_Read = Callable[[Row], Row]


def read_schema(schema: GraphQLSchema, field: Field, values: VariableValues) -> Row:
    """Reads what a field at the root asks of the schema. Raises GraphQLError where an argument is wrong."""
    return _Reading(schema, values).field(field)(None)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Makes the functions of one field; it is all that the fields of introspection ask of their info."""

    schema: GraphQLSchema
    values: VariableValues

    def field(self, field: Field) -> _Read:
        if field.name == "__typename":
            name = field.parent.name
            return lambda _: name
        definition = field.schema_field
        arguments = get_argument_values(definition, field.nodes[0], self.values) if definition.args else {}
        resolve, finish = definition.resolve, self._value(definition.type, field)
        return lambda value: finish(resolve(value, self, **arguments))  # type: ignore[misc]  # they all have one, which asks for `schema` alone

    def _object(self, selection: ObjectSelection) -> _Read:
        readers = [(field.key, self.field(field)) for field in selection.fields]
        return lambda value: {key: read(value) for key, read in readers}

    def _value(self, kind: GraphQLOutputType, field: Field) -> _Read:
        if isinstance(kind, GraphQLNonNull):
            kind = kind.of_type
        if isinstance(kind, GraphQLList):
            item = self._value(kind.of_type, field)
            return lambda value: None if value is None else [item(one) for one in value]
        if isinstance(kind, GraphQLObjectType):
            whole = self._object(field.below[kind.name])
            return lambda value: None if value is None else whole(value)
        if isinstance(kind, GraphQLEnumType):
            return lambda value: None if value is None else kind.coerce_output_value(value)
        return lambda value: value  # a text, or whether something is so
