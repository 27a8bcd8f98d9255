"""Says what is wrong with the values of variables: all of it, each with its place, in the words of the inputs.

The library's own phrases speak of its types and repeat values; here a field is named as the client wrote it, and what
it must be is said as `userErrors` say it (decision 986).
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from graphql import (
    GraphQLEnumType,
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLScalarType,
    VariableDefinitionNode,
    is_required_input_field,
)

from contract.errors import Path
from resolvers.shared.sentences import FLAG, NOT_NULL, NUMBER, OBJECT, REQUIRED, TEXT, one_of
from schema.execution.values import Value

_BUILT_IN = {
    "Int": "must be a whole number of at most 32 bits",
    "Float": NUMBER,
    "String": TEXT,
    "Boolean": FLAG,
    "ID": "must be an identifier, as a text",
}
_NAMED_MAX = 30
"""Values of an enum that a sentence lists."""


def errors_of(
    definitions: Sequence[VariableDefinitionNode],
    kinds: Mapping[str, GraphQLInputType],
    given: Mapping[str, Value],
    most: int,
    *,
    suggesting: bool,
) -> list[GraphQLError]:
    """Returns the first so many problems; none where nothing is found that the library would not take.

    `suggesting` says whether a sentence may name what the schema has.
    """
    errors = []
    walk = Walk(suggesting=suggesting)
    for definition in definitions:
        name = definition.variable.name.value
        for path, words in walk.of_variable(definition, kinds[name], given):
            place = ".".join(map(str, (name, *path)))
            errors.append(
                GraphQLError(f"${place} {words}", definition, extensions={"field": [str(p) for p in (name, *path)]})
            )
            if len(errors) == most:
                return errors
    return errors


VARIABLE: Final = object()
"""Stands in a literal for what a variable brings, which is looked at by itself."""


class Name(str):
    """A name that stands in a literal without quotes, as the values of an enum do."""

    __slots__ = ()


class Real(float):
    """A number that a literal writes with a point or an exponent, which a whole number never has, whatever it is."""

    __slots__ = ()


_WHOLE = frozenset({"Int", "ID"})


class Walk:
    """Goes through a value by its type: that of a variable, or that of a literal, where enums are names."""

    def __init__(self, *, suggesting: bool, literal: bool = False) -> None:
        self._suggesting = suggesting
        self._text = Name if literal else str

    def of_variable(
        self, definition: VariableDefinitionNode, kind: GraphQLInputType, given: Mapping[str, Value]
    ) -> Iterator[tuple[Path, str]]:
        name = definition.variable.name.value
        if name in given:
            yield from self.wrong(kind, given[name], ())
        elif isinstance(kind, GraphQLNonNull) and definition.default_value is None:
            yield (), REQUIRED

    def wrong(self, kind: GraphQLInputType, value: Value, at: Path) -> Iterator[tuple[Path, str]]:
        """Yields what is wrong with a value and with what is in it, each at its path."""
        if value is VARIABLE:
            return
        if isinstance(kind, GraphQLNonNull):
            if value is None:
                yield at, NOT_NULL
                return
            kind = kind.of_type
        if value is None:
            return
        if isinstance(kind, GraphQLList):
            if isinstance(value, list):
                for index, item in enumerate(value):
                    yield from self.wrong(kind.of_type, item, (*at, index))
            else:
                yield from self.wrong(kind.of_type, value, at)
        elif isinstance(kind, GraphQLInputObjectType):
            yield from self._object(kind, value, at)
        elif isinstance(kind, GraphQLEnumType):
            if not isinstance(value, self._text) or value not in kind.values:
                is_quoted = self._text is Name and value in kind.values
                yield at, self._no_value(kind) + (", without quotation marks" if is_quoted else "")
        elif kind.name in _BUILT_IN and (isinstance(value, Name) or (isinstance(value, Real) and kind.name in _WHOLE)):
            yield at, _BUILT_IN[kind.name]
        elif (words := _unread(kind, value)) is not None:
            yield at, words

    def _object(self, kind: GraphQLInputObjectType, value: Value, at: Path) -> Iterator[tuple[Path, str]]:
        if not isinstance(value, dict):
            yield at, OBJECT
            return
        for name, field in kind.fields.items():
            if name in value:
                yield from self.wrong(field.type, value[name], (*at, name))
            elif is_required_input_field(field):
                yield (*at, name), REQUIRED
        for name in value:
            if name not in kind.fields:
                yield (*at, name[:100]), self._no_field(kind, name)
        if kind.is_one_of and sum(inner is not None for inner in value.values()) != 1:
            yield at, "must have exactly one field, which is not null"

    def _no_field(self, kind: GraphQLInputObjectType, name: str) -> str:
        close = get_close_matches(name[:100], kind.fields, 3) if self._suggesting else []
        return f"is no field of {kind.name}" + (f"; there is {' and '.join(close)}" if close else "")

    def _no_value(self, kind: GraphQLEnumType) -> str:
        if not self._suggesting or len(kind.values) > _NAMED_MAX:
            return f"must be a value of {kind.name}"
        return f"{one_of(list(kind.values))} ({kind.name})"


def _unread(kind: GraphQLScalarType, value: Value) -> str | None:
    """What is wrong with the value of a scalar; None for nothing."""
    try:
        kind.coerce_input_value(value)
    except Exception as error:  # scalars raise what they like: those of the schema ValueError, with words for people
        return _BUILT_IN.get(kind.name) or (str(error) if isinstance(error, ValueError) else "is not acceptable")
    return None
