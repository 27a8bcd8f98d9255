"""Names the values that flow through an operation: the schema says what they are, and no annotation here can."""

from collections.abc import Mapping
from typing import Any, cast

from graphql import GraphQLInputType, GraphQLNullableInputType, get_nullable_type

Value = Any
"""A value of an input type, raw or coerced, or of a row. Any: its type is the schema's, known when it runs."""

Values = Mapping[str, Value]
"""The coerced variables of one request, without those that have no value."""


def nullable(kind: GraphQLInputType) -> GraphQLNullableInputType:
    """Returns the type of a value that is not null."""
    return cast("GraphQLNullableInputType", get_nullable_type(kind))
