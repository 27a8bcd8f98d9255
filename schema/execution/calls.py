"""Calls of guarded fields whose arguments are known: made once for a field of a document, not for each row it is below.

The library reads a field's arguments off the document and converts them anew for every row, which for a filter of a
hundred conditions below 500 rows takes seconds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLNonNull,
    GraphQLObjectType,
    ListValueNode,
    ObjectValueNode,
    ValueNode,
    VariableNode,
    get_named_type,
    is_leaf_type,
)
from graphql.execution import VariableValues, get_argument_values

from schema.adapters.strawberry import argument_of, arguments_of, definition_of, raw_info, to_camel_case
from schema.declare import Guarded, Info
from schema.execution.known import known

_Convert = Callable[[Any], Any]


class Unfit(Exception):
    """A variable is null where its argument may not be, which the library tells."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A parameter that a variable fills: `convert` makes the coerced value the method's, where it is not that already.

    `required` says that the argument may not be null, which a variable with a default may be all the same.
    """

    parameter: str
    variable: str
    convert: _Convert | None
    required: bool


class Call:
    """A guarded field with the arguments that its document's text gives it, already as the method takes them."""

    __slots__ = ("_arguments", "_filled", "_is_method", "_method", "_rule")

    def __init__(self, guarded: Guarded, arguments: dict[str, Any], filled: Sequence[Filled]) -> None:
        self._rule = guarded.rule
        self._method = guarded.method
        self._is_method = guarded.is_method
        names = {one.parameter for one in filled}
        self._arguments = {n: value for n, value in arguments.items() if n not in names}
        self._filled = tuple(filled)

    def arguments(self, variables: dict[str, Any]) -> dict[str, Any]:
        """The method's arguments, with these values of the document's variables. Raises Unfit."""
        if not self._filled:
            return self._arguments
        arguments = self._arguments.copy()
        for one in self._filled:
            if one.variable not in variables:
                continue
            value = variables[one.variable]
            if value is None and one.required:
                raise Unfit
            arguments[one.parameter] = value if one.convert is None else one.convert(value)
        return arguments

    async def __call__(self, source: Any, info: Info, given: "Given") -> Any:
        """What the field gives of this source, in the request that gives these variables. Raises Unfit."""
        arguments = given.to(self)
        self._rule.enforce(info.context.principal)
        if self._is_method:
            return await self._method(source, info=info, **arguments)
        return await self._method(root=source, info=info, **arguments)


class Given:
    """The coerced variables of one request, and what its calls are given of them, however many rows they are below."""

    __slots__ = ("_arguments", "_variables")

    def __init__(self, variables: dict[str, Any]) -> None:
        self._variables = variables
        self._arguments: dict[Call, dict[str, Any]] = {}

    def to(self, call: Call) -> dict[str, Any]:
        """The call's arguments, which nobody changes. Raises Unfit."""
        found = self._arguments.get(call)
        if found is None:
            found = self._arguments[call] = call.arguments(self._variables)
        return found


def guarded_of(field: GraphQLField) -> Guarded | None:
    """What the field consists of where it is a guarded one, and nothing else of it has to be asked."""
    definition = known(field)
    resolver = None if definition is None else definition.base_resolver
    return None if resolver is None else getattr(resolver.wrapped_func, "guarded", None)


def call_key(parent: GraphQLObjectType, node: FieldNode) -> tuple[str, str, int]:
    """Where what is worked out for a field of a document is kept."""
    return ("call", parent.name, id(node))


def calls_of(guarded: Guarded, info: Info, values: VariableValues) -> tuple[Call | None, Call]:
    """The field's call in every request that has its document, and in this one.

    There is none for every request where a variable stands inside of a list or an object. Raises whatever the library
    finds wrong with the arguments.
    """
    raw = raw_info(info)
    node = raw.field_nodes[0]
    field = raw.parent_type.fields[node.name.value]
    arguments = arguments_of(info, get_argument_values(field, node, values))
    filled = _filled(info, field, node)
    if filled is None:
        return None, Call(guarded, arguments, ())
    call = Call(guarded, arguments, filled)
    return call, call


def _filled(info: Info, field: GraphQLField, node: FieldNode) -> list[Filled] | None:
    """The parameters that variables fill; None where a variable stands inside of a list or an object."""
    parameters = {a.graphql_name or to_camel_case(a.python_name): a for a in definition_of(info).arguments}
    found = []
    for argument in node.arguments or ():
        name = argument.name.value
        if isinstance(argument.value, VariableNode):
            kind = field.args[name].type
            convert = None if is_leaf_type(get_named_type(kind)) else _converter(info, parameters[name].type)
            required = isinstance(kind, GraphQLNonNull)
            found.append(Filled(parameters[name].python_name, argument.value.name.value, convert, required))
        elif _has_variable(argument.value):
            return None
    return found


def _converter(info: Info, kind: Any) -> _Convert:
    """The library's way from the coerced value of an input object to an instance of its class."""
    return lambda value: argument_of(info, kind, value)


def _has_variable(value: ValueNode) -> bool:
    if isinstance(value, VariableNode):
        return True
    if isinstance(value, ListValueNode):
        return any(map(_has_variable, value.values))
    return isinstance(value, ObjectValueNode) and any(_has_variable(field.value) for field in value.fields)
