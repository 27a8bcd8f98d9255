"""Calls of guarded fields whose arguments are known: made once for a field of a document, not for each row it is below.

The library reads a field's arguments off the document and converts them anew for every row, which for a filter of a
hundred conditions below 500 rows takes seconds.
"""

from collections.abc import Hashable
from typing import Any

from graphql import FieldNode, GraphQLField, GraphQLObjectType

from schema.declare import Guarded, Info
from schema.execution.arguments import Members, Unbuilt, arguments_of
from schema.execution.known import known


class Call:
    """A guarded field with the arguments that its document gives it."""

    __slots__ = ("_is_method", "_method", "_rule", "arguments")

    def __init__(self, guarded: Guarded, arguments: Members) -> None:
        self._rule = guarded.rule
        self._method = guarded.method
        self._is_method = guarded.is_method
        self.arguments = arguments

    async def __call__(self, source: Any, info: Info, given: "Given") -> Any:
        """Returns what the field gives of this source, in the request that gives these variables. Raises Unfit."""
        arguments = given.to(self.arguments)
        self._rule.enforce(info.context.principal)
        if self._is_method:
            return await self._method(source, info=info, **arguments)
        return await self._method(root=source, info=info, **arguments)


class Given:
    """The coerced variables of one request, and what its calls are given of them, however many rows they are below."""

    __slots__ = ("_arguments", "_variables")

    def __init__(self, variables: dict[str, Any]) -> None:
        self._variables = variables
        self._arguments: dict[Members, dict[str, Any]] = {}

    def to(self, members: Members) -> dict[str, Any]:
        """The arguments of a field, which nobody changes. Raises Unfit."""
        found = self._arguments.get(members)
        if found is None:
            found = self._arguments[members] = members.filled(self._variables)
        return found


def guarded_of(field: GraphQLField) -> Guarded | None:
    """Finds the parts of the field where it is a guarded one, and nothing else of it has to be asked."""
    definition = known(field)
    resolver = None if definition is None else definition.base_resolver
    return None if resolver is None else getattr(resolver.wrapped_func, "guarded", None)


def call_key(parent: GraphQLObjectType, node: FieldNode) -> tuple[str, str, int]:
    """Makes the key under which what is worked out for a field of a document is kept."""
    return ("call", parent.name, id(node))


def call_of(
    kept: dict[Hashable, Any], guarded: Guarded, parent: GraphQLObjectType, field: GraphQLField, node: FieldNode
) -> Call | None:
    """The field's call in every request that has its document, from what is kept of that; None where its arguments
    are left to the library.
    """
    key = call_key(parent, node)
    if key not in kept:
        try:
            kept[key] = Call(guarded, arguments_of(field, node))
        except Unbuilt:
            kept[key] = None
    call: Call | None = kept[key]
    return call
