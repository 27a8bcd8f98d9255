"""Strawberry below its documented surface: the library's field behind each of graphql-core's, and what `Info` wraps.

tests/adapters/test_strawberry.py says what each of these has to look like.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from enum import Enum
from typing import Any, NamedTuple

import strawberry
from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLResolveInfo,
    GraphQLSchema,
)
from strawberry.types.base import StrawberryMaybe
from strawberry.types.enum import EnumValue
from strawberry.types.field import StrawberryField
from strawberry.utils.str_converters import to_camel_case

__all__ = ["DEFINITION", "StrawberryField", "to_camel_case"]

DEFINITION = "strawberry-definition"
"""The key, in extensions of graphql-core's types and fields, of Strawberry's definition, with `origin`, `metadata`,
`python_name`, and of a field `base_resolver.wrapped_func` and `arguments`."""


def definition_of(field: GraphQLField) -> StrawberryField | None:
    """The field as it was declared; None for one that Strawberry did not make."""
    found = field.extensions.get(DEFINITION)
    return found if isinstance(found, StrawberryField) else None


def class_of(kind: GraphQLNamedType) -> type:
    """The class that a type was declared by; `object` for one that no class declares, as graphql-core's own."""
    origin = getattr(kind.extensions.get(DEFINITION), "origin", None)
    return origin if isinstance(origin, type) else object


def raw_info(info: strawberry.Info[Any, Any]) -> GraphQLResolveInfo[Any]:  # Any: the context is who asks's
    """Returns what graphql-core gives a resolver, which Strawberry wraps."""
    raw: GraphQLResolveInfo[Any] = info._raw_info  # Any: the same
    return raw


class InputClass(NamedTuple):
    """The making of an input's instance by Strawberry: its class, what Python calls the schema's fields, and those that
    are null where nothing is said of them, because the class has no default.
    """

    make: Callable[..., object]
    names: Mapping[str, str]
    implicit: dict[str, object]


def input_class_of(kind: GraphQLInputObjectType) -> InputClass | None:
    """Finds how an input becomes its instance; None where it makes its own value, or wraps what is given in `Some`."""
    definition = kind.extensions.get(DEFINITION)
    if definition is None or definition.from_input is not None:
        return None
    fields = {name: field.extensions[DEFINITION] for name, field in kind.fields.items()}
    if any(isinstance(field.type, StrawberryMaybe) for field in fields.values()):
        return None
    bare = [f.python_name for f in fields.values() if f.default_value is MISSING and f.default_factory is MISSING]
    names = {name: field.python_name for name, field in fields.items()}
    return InputClass(definition.origin, names, dict.fromkeys(bare))


def argument_name_of(argument: GraphQLArgument) -> str | None:
    """Finds what the method calls the argument; None where it is not Strawberry's, or wrapped in `Some`."""
    definition = argument.extensions.get(DEFINITION)
    return None if definition is None or definition.is_maybe else definition.python_name


def declared_of(schema: GraphQLSchema) -> strawberry.Schema | None:
    """The Strawberry schema that this one was made of, with its `extensions`, `directives`, `exception_handlers` and
    `config`; None for one that graphql-core made alone.
    """
    return getattr(schema, "_strawberry_schema", None)


def is_resolved_as_declared(field: GraphQLField) -> bool:
    """Says whether the field has the resolver that Strawberry made of its definition, and no other since."""
    return getattr(field.resolve, "__module__", None) == "strawberry.schema.schema_converter"


def enum_values(kind: type[Enum]) -> Sequence[EnumValue]:
    """The values of an enum that Strawberry knows, each with its `name` and its `description`, which may be set."""
    declared: Any = kind  # Any: what the library adds to a class has no type
    values: Sequence[EnumValue] = declared.__strawberry_definition__.values
    return values


class Schema(strawberry.Schema):
    """The library's schema, with graphql-core's schema in it by a public name."""

    @property
    def graphql(self) -> GraphQLSchema:
        """The schema as the executor takes it."""
        return self._schema
