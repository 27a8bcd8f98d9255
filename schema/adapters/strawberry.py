"""Strawberry below its documented surface: the library's field behind each of graphql-core's, and what `Info` wraps.

tests/adapters/test_strawberry.py says what each of these has to look like.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import strawberry
from graphql import GraphQLField, GraphQLNamedType, GraphQLResolveInfo, GraphQLSchema
from strawberry.types.arguments import convert_argument, convert_arguments
from strawberry.types.field import StrawberryField
from strawberry.utils.str_converters import to_camel_case

__all__ = ["DEFINITION", "StrawberryField", "to_camel_case"]

DEFINITION = "strawberry-definition"
"""In the extensions of graphql-core's types and fields: Strawberry's own definition, with `origin`, `metadata`,
`python_name`, and of a field `base_resolver.wrapped_func` and `arguments`."""


def class_of(kind: GraphQLNamedType) -> type:
    """The class that a type was declared by; `object` for one that no class declares, as graphql-core's own."""
    origin = getattr(kind.extensions.get(DEFINITION), "origin", None)
    return origin if isinstance(origin, type) else object


def raw_info(info: Any) -> GraphQLResolveInfo[Any]:
    """What graphql-core tells a resolver, which Strawberry wraps."""
    raw: GraphQLResolveInfo[Any] = info._raw_info
    return raw


def definition_of(info: Any) -> Any:
    """Strawberry's definition of the field that the info is of."""
    return info._field


def info_of(kind: Any, raw: GraphQLResolveInfo[Any], field: GraphQLField) -> Any:
    """The info of the class `kind` that Strawberry would make of graphql-core's for the field."""
    return kind(_raw_info=raw, _field=field.extensions[DEFINITION])


def arguments_of(info: Any, coerced: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a field as its method takes them, from what graphql-core coerced."""
    converter = info.schema.schema_converter
    return convert_arguments(coerced, definition_of(info).arguments, converter.scalar_registry, converter.config, info)


def argument_of(info: Any, kind: Any, value: Any) -> Any:
    """One argument of this type as its method takes it."""
    converter = info.schema.schema_converter
    return convert_argument(value, kind, converter.scalar_registry, converter.config)


def declared_of(schema: GraphQLSchema) -> Any:
    """The Strawberry schema that this one was made of, with its `extensions`, `directives`, `exception_handlers` and
    `config`; None for one that graphql-core made alone.
    """
    return getattr(schema, "_strawberry_schema", None)


def is_resolved_as_declared(field: GraphQLField) -> bool:
    """Whether the field has the resolver that Strawberry made of its definition, and no other since."""
    return getattr(field.resolve, "__module__", None) == "strawberry.schema.schema_converter"


def enum_values(kind: type[Enum]) -> Sequence[Any]:
    """The values of an enum that Strawberry knows, each with its `name` and its `description`, which may be set."""
    declared: Any = kind
    values: Sequence[Any] = declared.__strawberry_definition__.values
    return values


class Schema(strawberry.Schema):
    """The library's schema, with graphql-core's schema in it by a public name."""

    @property
    def graphql(self) -> GraphQLSchema:
        """The schema as the executor takes it."""
        return self._schema
