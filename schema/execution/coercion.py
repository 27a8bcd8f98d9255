"""Values of variables, coerced by functions made once for their types.

The library asks anew for every value what its type is, and for every field of an input that was left out whether it has
a default. Here a type knows that. A value that is not sound in its place raises Unsound, and the library says what is
wrong with it; so does whatever is not known here, which the library then coerces.
"""

from collections.abc import Callable
from functools import cache, cached_property

from graphql import (
    GraphQLArgument,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    Undefined,
    is_required_input_field,
)
from graphql.utilities import coerce_input_literal, coerce_input_value

from contract.unread import Unread
from schema.execution.values import Value, nullable

Coerce = Callable[[Value], Value]
"""The function that makes of a value that is not null what the library would make of it."""


class Unsound(Exception):
    """A value does not fit its type, or it is not known here whether it does."""


def coerced(kind: GraphQLInputType, coerce: Coerce, value: Value) -> Value:
    """A value of this type, for which `coercer_of` gave the function. Raises Unsound, and what scalars raise."""
    if value is None:
        if isinstance(kind, GraphQLNonNull):
            raise Unsound
        return None
    found = coerce(value)
    if found is Undefined:
        raise Unsound
    return found


def coercer_of(kind: GraphQLInputType, *, tolerant: bool = False) -> Coerce:
    """The function for a type, nullable or not; a `tolerant` one leaves to inputs what they refuse themselves."""
    bare = nullable(kind)
    if isinstance(bare, GraphQLList):
        return _list_coercer(bare.of_type, tolerant)
    if isinstance(bare, GraphQLInputObjectType):
        return _object_of(bare, tolerant and is_read_by_model(bare)).coerce
    found: Coerce = bare.coerce_input_value
    return _tolerated(found) if tolerant and bare.name in _TOLERATED else found


def is_read_by_model(kind: object) -> bool:
    """Whether an operation reads such values by a model of its own: all input objects but filters and orders."""
    return isinstance(kind, GraphQLInputObjectType) and kind.name.endswith("Input")


_TOLERATED = frozenset({"Date", "DateTime", "Decimal"})


def _tolerated(coerce: Coerce) -> Coerce:
    """Makes the function that hands on what is no value of the scalar, with why (decision 987)."""

    def read(value: Value) -> Value:
        try:
            return coerce(value)
        except ValueError as error:
            return Unread(str(error))

    return read


def default_of(of: GraphQLArgument | GraphQLInputField) -> Value:
    """The coerced default of an argument or a field of an input; Undefined where there is none."""
    default = of.default
    if default is None:
        return of.default_value
    if default.literal is not None:
        return coerce_input_literal(default.literal, of.type)
    return coerce_input_value(default.value, of.type)


def _list_coercer(kind: GraphQLInputType, tolerant: bool) -> Coerce:
    """Makes the function for a list whose items have this type; one item may stand alone."""
    item = coercer_of(kind, tolerant=tolerant)

    def coerce(values: Value) -> list[Value]:
        return [coerced(kind, item, value) for value in (values if values.__class__ is list else [values])]

    return coerce


class _Object:
    """An input object."""

    def __init__(self, kind: GraphQLInputObjectType, tolerant: bool) -> None:
        self._kind = kind
        self._tolerant = tolerant

    @cached_property
    def _fields(self) -> dict[str, tuple[str, bool, Coerce]]:
        """The name of each outside, and whether it may be null. Made late, since inputs hold one another."""
        return {
            name: (
                field.out_name or name,
                not isinstance(field.type, GraphQLNonNull),
                coercer_of(field.type, tolerant=self._tolerant),
            )
            for name, field in self._kind.fields.items()
        }

    @cached_property
    def _defaults(self) -> dict[str, Value]:
        defaults = {field.out_name or name: default_of(field) for name, field in self._kind.fields.items()}
        return {name: default for name, default in defaults.items() if default is not Undefined}

    @cached_property
    def _required(self) -> tuple[str, ...]:
        return tuple(name for name, field in self._kind.fields.items() if is_required_input_field(field))

    def coerce(self, value: Value) -> dict[str, Value]:
        """The object with the defaults of what it leaves out. Raises Unsound."""
        if value.__class__ is not dict or self._kind.is_one_of:
            raise Unsound
        fields, made = self._fields, self._defaults.copy()
        for name in self._required:
            if name not in value:
                raise Unsound
        for name, inner in value.items():
            if name not in fields:
                raise Unsound
            out_name, is_nullable, coerce = fields[name]
            found = None if inner is None else coerce(inner)
            if found is Undefined or (inner is None and not is_nullable):
                raise Unsound
            made[out_name] = found
        return made


@cache
def _object_of(kind: GraphQLInputObjectType, tolerant: bool) -> _Object:
    return _Object(kind, tolerant)
