"""The arguments of a field of a document, made once: what the text fixes is a constant, a variable leaves a slot.

The library reads a field's arguments off the document and converts them anew for every request, and for every row that
the field is below. Here the literal of an argument is turned into a small tree: what has no variable in it is coerced
and converted while the tree is made; lists and input objects with variables put themselves together in a run, the
latter as instances of their class at once. A variable was coerced before the run and only has to be converted.

What the library would refuse in a run, such as a null where a value is needed, raises Unfit before anything is called,
and the library tells it. An input that makes its own value is not known here, and raises Unbuilt (decision 180).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, cast

from graphql import (
    FieldNode,
    GraphQLArgument,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLScalarType,
    ListValueNode,
    ObjectValueNode,
    Undefined,
    ValueNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
)
from graphql.utilities import coerce_input_literal

from schema.adapters.strawberry import argument_name_of, input_class_of
from schema.execution.coercion import default_of

Values = Mapping[str, Any]
"""The coerced variables of one request, without those that have no value."""
_Convert = Callable[[Any], Any]


class Unfit(Exception):
    """A variable is null, or has no value, where its place needs one, which the library tells."""


class Unbuilt(Exception):
    """An argument is of a kind that is not known here, and is left to the library."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A variable in its place: `convert` makes the coerced value the method's, where it is not that already.

    `required` says that null may not stand there, which a variable with a default may be all the same.
    """

    variable: str
    convert: _Convert | None
    required: bool

    def value(self, values: Values) -> Any:
        """Reads what stands there in the request that gives these variables, this one among them. Raises Unfit."""
        value = values[self.variable]
        if value is None:
            if self.required:
                raise Unfit
            return None
        return value if self.convert is None else self.convert(value)


@dataclass(frozen=True, slots=True)
class _Item:
    """A variable in a list, where one without a value is null."""

    slot: Slot

    def value(self, values: Values) -> Any:
        """Reads what stands there. Raises Unfit."""
        if self.slot.variable in values:
            return self.slot.value(values)
        if self.slot.required:
            raise Unfit
        return None


@dataclass(frozen=True, slots=True)
class _Constant:
    """A value that the text fixes."""

    fixed: Any

    def value(self, _values: Values) -> Any:
        """Returns what stands there, whatever the variables are; nobody changes it."""
        return self.fixed


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A list or an object with variables in it that is one value, such as a JSON one."""

    kind: GraphQLScalarType
    node: ValueNode

    def value(self, values: Values) -> Any:
        """The value. Raises Unfit."""
        try:
            found = self.kind.parse_literal(self.node, dict(values))
        except Exception:
            raise Unfit from None
        if found is Undefined:
            raise Unfit
        return found


@dataclass(frozen=True, slots=True)
class _Items:
    """A list with variables in it."""

    items: tuple["_Part", ...]

    def value(self, values: Values) -> list[Any]:
        """The list. Raises Unfit."""
        return [item.value(values) for item in self.items]


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """Arguments, or the fields of an input object, by the names that Python has for them.

    `fixed` are those that the text gives, and the defaults of the others; `slots` are those that are a variable, each
    with whether it may be left out; `inner` those with variables somewhere within.
    """

    fixed: dict[str, Any]
    slots: tuple[tuple[str, Slot, bool], ...]
    inner: tuple[tuple[str, "_Part"], ...]

    def filled(self, values: Values) -> dict[str, Any]:
        """All of them in the request that gives these variables; nobody changes them. Raises Unfit."""
        if not self.slots and not self.inner:
            return self.fixed
        made = self.fixed.copy()
        for name, slot, optional in self.slots:
            if slot.variable in values:
                made[name] = slot.value(values)
            elif not optional:
                raise Unfit
        for name, part in self.inner:
            made[name] = part.value(values)
        return made


@dataclass(frozen=True, slots=True)
class _Object:
    """An input object with variables in it."""

    make: Callable[..., Any]
    members: Members

    def value(self, values: Values) -> Any:
        """An instance of its class. Raises Unfit."""
        return self.make(**self.members.filled(values))


_Part = Slot | _Item | _Constant | _Scalar | _Items | _Object


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
    implicit: Mapping[str, Any],
) -> Members:
    fixed, slots, inner = dict(implicit), [], []
    for name, one in kinds.items():
        value, python_name = given.get(name), names[name]
        if value is None or isinstance(value, VariableNode):
            default = _default(one)
            if default is not Undefined:
                fixed[python_name] = default
            optional = default is not Undefined or not isinstance(one.type, GraphQLNonNull)
            if value is not None:
                slots.append((python_name, _slot(one.type, value), optional))
            elif not optional:
                raise Unbuilt
        else:
            part = _part(one.type, value)
            if isinstance(part, _Constant):
                fixed[python_name] = part.fixed
            else:
                inner.append((python_name, part))
    return Members(fixed, tuple(slots), tuple(inner))


def _default(of: GraphQLArgument | GraphQLInputField) -> Any:
    """The default of an argument or a field of an input, as the method takes it; Undefined where there is none."""
    found = default_of(of)
    return found if found is Undefined else _converted(of.type, found)


def _part(kind: Any, node: ValueNode) -> _Part:
    if isinstance(node, VariableNode):
        return _Item(_slot(kind, node))
    if not _has_variable(node):
        found = coerce_input_literal(node, kind)
        if found is Undefined:
            raise Unbuilt
        return _Constant(_converted(kind, found))
    kind = get_nullable_type(kind)
    if isinstance(kind, GraphQLList):  # of which one item may stand alone
        nodes = node.values if isinstance(node, ListValueNode) else (node,)
        return _Items(tuple(_part(kind.of_type, one) for one in nodes))
    if isinstance(kind, GraphQLInputObjectType) and isinstance(node, ObjectValueNode):
        made = _made_as(kind)
        given = {field.name.value: field.value for field in node.fields}
        return _Object(made.make, _members(kind.fields, made.names, given, made.implicit))
    if isinstance(kind, GraphQLScalarType) and kind.coerce_input_literal is None:
        return _Scalar(kind, node)
    raise Unbuilt


def _slot(kind: Any, node: VariableNode) -> Slot:
    return Slot(node.name.value, _converter(kind), isinstance(kind, GraphQLNonNull))


def _has_variable(value: ValueNode) -> bool:
    if isinstance(value, VariableNode):
        return True
    if isinstance(value, ListValueNode):
        return any(map(_has_variable, value.values))
    return isinstance(value, ObjectValueNode) and any(_has_variable(field.value) for field in value.fields)


def _converted(kind: Any, value: Any) -> Any:
    """Converts the text's value or a default, as the method takes it; not the list that the schema has as a default."""
    convert = _converter(kind)
    if value is None or convert is None:
        return value.copy() if isinstance(value, list) else value
    return convert(value)


def _converter(kind: Any) -> _Convert | None:
    """The way from a coerced value, not null, to what a method takes; None where they are the same."""
    if is_leaf_type(get_named_type(kind)):
        return None
    kind = get_nullable_type(kind)
    if isinstance(kind, GraphQLInputObjectType):
        return _made_as(kind).instance
    item: _Convert = _converter(kind.of_type)  # type: ignore[assignment]  # which is no leaf either
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

    def instance(self, coerced: Mapping[str, Any]) -> Any:
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
