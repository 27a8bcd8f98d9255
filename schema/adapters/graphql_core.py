"""graphql-core below its documented surface: the type of types, of which one field is mended.

tests/adapters/test_graphql_core.py says what it has to look like.
"""

from typing import Any

from graphql import GraphQLSchema, is_input_object_type


def mend_is_one_of(schema: GraphQLSchema) -> None:
    """Has introspection answer `isOneOf` as the GraphQL specification says.

    Strawberry's own breaks on lists, and says so of what is no input at all. The type of types is the library's, and
    every schema of the process has the same one.
    """
    meta: Any = schema.type_map["__Type"]  # the library types its fields by no class of their own
    meta.fields["isOneOf"].resolve = _is_one_of


def _is_one_of(kind: object, _info: object) -> bool | None:
    return kind.is_one_of if is_input_object_type(kind) else None
