"""The arguments of a field of a document, made once: what the text fixes is a constant, a variable leaves a slot.

The library reads a field's arguments off the document and converts them anew for every request, and for every row that
the field is below. Here the literal of an argument is turned into a small tree: what has no variable in it is coerced
and converted while the tree is made; lists and input objects with variables put themselves together in a run, the
latter as instances of their class at once. A variable was coerced before the run and only has to be converted.

What the library would refuse in a run, such as a null where a value is needed, raises Unfit before anything is called,
and the library reports it. An input that makes its own value is not known here, and raises Unbuilt (decision 180).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import cast

from graphql import (
    FieldNode,
    GraphQLArgument,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLScalarType,
    ListValueNode,
    ObjectValueNode,
    Undefined,
    ValueNode,
    VariableNode,
)
from graphql.utilities import coerce_input_literal

from schema.adapters.strawberry import argument_name_of, input_class_of
from schema.execution.coercion import default_of
from schema.execution.values import Value, Values, nullable

_Convert = Callable[[Value], Value]


class Unfit(Exception):
    """A variable is null, or has no value, where its place needs one, which the library reports."""


class Unbuilt(Exception):
    """An argument is of a kind that is not known here, and is left to the library."""


Slot = Callable[[Values], Value]
"""Gives what stands in a place with a variable in it, in the request that gives these variables; Undefined where that
leaves the place out. Raises Unfit."""


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """Arguments, or the fields of an input object, by the names that Python has for them.

    `fixed` are those that the text gives, and the defaults of the others; `slots` those with a variable in them.
    """

    fixed: dict[str, Value]
    slots: tuple[tuple[str, Slot], ...]

    def filled(self, values: Values) -> dict[str, Value]:
        """All of them in the request that gives these variables; nobody changes them. Raises Unfit."""
        if not self.slots:
            return self.fixed
        made = self.fixed.copy()
        for name, slot in self.slots:
            value = slot(values)
            if value is not Undefined:
                made[name] = value
        return made


def arguments_of(field: GraphQLField, node: FieldNode) -> Members:
    """The arguments that a node of a document gives to this field. Raises Unbuilt."""
    names = {name: argument_name_of(argument) for name, argument in field.args.items()}
    if None in names.values():
        raise Unbuilt
    given = {argument.name.value: argument.value for argument in node.arguments or ()}
    return _members(field.args, cast("dict[str, str]", names), given, {})


def _members(
    kinds: Mapping[str, GraphQLArgument] | Mapping[str, GraphQLInputField],
    names: Mapping[str, str],
    given: Mapping[str, ValueNode],
    implicit: Mapping[str, Value],
) -> Members:
    fixed, slots = dict(implicit), []
    for name, one in kinds.items():
        value, python_name = given.get(name), names[name]
        if value is None or isinstance(value, VariableNode):
            default = _default(one)
            if default is not Undefined:
                fixed[python_name] = default
            optional = default is not Undefined or not isinstance(one.type, GraphQLNonNull)
            if value is not None:
                slots.append((python_name, _variable(one.type, value, Undefined if optional else _UNFIT)))
            elif not optional:
                raise Unbuilt
        elif _has_variable(value):
            slots.append((python_name, _slot(one.type, value)))
        else:
            fixed[python_name] = _constant(one.type, value)
    return Members(fixed, tuple(slots))


def _default(of: GraphQLArgument | GraphQLInputField) -> Value:
    """The default of an argument or a field of an input, as the method takes it; Undefined where there is none."""
    found = default_of(of)
    return found if found is Undefined else _converted(of.type, found)


def _constant(kind: GraphQLInputType, node: ValueNode) -> Value:
    """Converts a value that the text fixes; nobody changes it."""
    found = coerce_input_literal(node, kind)
    if found is Undefined:
        raise Unbuilt
    return _converted(kind, found)


def _slot(kind: GraphQLInputType, node: ValueNode) -> Slot:
    if isinstance(node, VariableNode):  # of a list, where one without a value is null
        return _variable(kind, node, _UNFIT if isinstance(kind, GraphQLNonNull) else None)
    if not _has_variable(node):
        constant = _constant(kind, node)
        return lambda _: constant
    bare = nullable(kind)
    if isinstance(bare, GraphQLList):  # of which one item may stand alone
        nodes = node.values if isinstance(node, ListValueNode) else (node,)
        items = [_slot(bare.of_type, one) for one in nodes]
        return lambda values: [item(values) for item in items]
    if isinstance(bare, GraphQLInputObjectType) and isinstance(node, ObjectValueNode):
        made = _made_as(bare)
        given = {field.name.value: field.value for field in node.fields}
        members = _members(bare.fields, made.names, given, made.implicit)
        return lambda values: made.make(**members.filled(values))
    if isinstance(bare, GraphQLScalarType) and bare.coerce_input_literal is None:
        return _scalar(bare, node)
    raise Unbuilt


_UNFIT = object()
"""Stands for what a variable without a value gives where there has to be one."""


def _variable(kind: GraphQLInputType, node: VariableNode, absent: object) -> Slot:
    """Makes the slot of a variable. Null may not stand for a required one, even with a default."""
    name, convert, required = node.name.value, _converter(kind), isinstance(kind, GraphQLNonNull)

    def slot(values: Values) -> Value:
        value = values.get(name, absent)
        if value is _UNFIT or (value is None and required):
            raise Unfit
        return value if convert is None or value is None or value is Undefined else convert(value)

    return slot


def _scalar(kind: GraphQLScalarType, node: ValueNode) -> Slot:
    """A list or an object with variables in it that is one value, such as a JSON one."""

    def scalar(values: Values) -> Value:
        try:
            found = kind.parse_literal(node, dict(values))
        except Exception:
            raise Unfit from None
        if found is Undefined:
            raise Unfit
        return found

    return scalar


def _has_variable(value: ValueNode) -> bool:
    if isinstance(value, VariableNode):
        return True
    if isinstance(value, ListValueNode):
        return any(map(_has_variable, value.values))
    return isinstance(value, ObjectValueNode) and any(_has_variable(field.value) for field in value.fields)


def _converted(kind: GraphQLInputType, value: Value) -> Value:
    """Converts the text's value or a default, as the method takes it; not the list that the schema has as a default."""
    convert = _converter(kind)
    if value is None or convert is None:
        return value.copy() if isinstance(value, list) else value
    return convert(value)


def _converter(kind: GraphQLInputType) -> _Convert | None:
    """The way from a coerced value, not null, to what a method takes; None where they are the same."""
    bare = nullable(kind)
    if isinstance(bare, GraphQLInputObjectType):
        return _made_as(bare).instance
    item = _converter(bare.of_type) if isinstance(bare, GraphQLList) else None
    if item is None:
        return None
    return lambda value: [None if one is None else item(one) for one in value]


class _MadeAs:
    """The way an input object becomes an instance of its class."""

    def __init__(self, kind: GraphQLInputObjectType) -> None:
        found = None if kind.is_one_of else input_class_of(kind)
        if found is None:
            raise Unbuilt
        self.make, self.names, self.implicit = found
        self._kind = kind

    @cached_property
    def _fields(self) -> dict[str, tuple[str, _Convert | None]]:
        """Python's names by those of the schema, and the way there. Made late, since inputs hold one another."""
        return {name: (self.names[name], _converter(field.type)) for name, field in self._kind.fields.items()}

    def instance(self, coerced: Mapping[str, Value]) -> Value:
        """The instance with what was coerced."""
        try:
            fields = self._fields
        except Unbuilt:  # an input within this one is left to the library, which takes this one too
            raise Unfit from None
        given = self.implicit.copy()
        for name, value in coerced.items():
            python_name, convert = fields[name]
            given[python_name] = value if value is None or convert is None else convert(value)
        return self.make(**given)


@cache
def _made_as(kind: GraphQLInputObjectType) -> _MadeAs:
    return _MadeAs(kind)
