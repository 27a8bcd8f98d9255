"""Calls of fields: made once for a field of a document, with the values of a request's variables for their slots.

The library reads a field's arguments off the document and converts them anew for every row, which for a filter of a
hundred conditions below 500 rows takes seconds.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from schema.declare import Guarded, Info
from schema.execution.arguments import Members
from schema.execution.sources import Row, Unguarded
from schema.execution.values import Values

Arguments = dict[str, Any]  # the keywords of a method, of any kind
Call = Callable[[Row, Info, Arguments], Awaitable[object]]
"""Begins a field of this row with these arguments."""

NO_ARGUMENTS = Members({}, ())


class VariableValues:
    """The coerced variables of one request, and what its calls are given of them, however many rows they are below."""

    __slots__ = ("_arguments", "_variables")

    def __init__(self, variables: Values) -> None:
        self._variables = variables
        self._arguments: dict[Members, Arguments] = {}

    def to(self, members: Members) -> Arguments:
        """Returns the arguments of a field, which nobody changes. Raises Unfit."""
        found = self._arguments.get(members)
        if found is None:
            found = self._arguments[members] = members.filled(self._variables)
        return found


@dataclass(frozen=True, slots=True)
class FieldCall:
    """Calls a guarded field, once its rule lets the caller through."""

    guarded: Guarded

    def __call__(self, row: Row, info: Info, arguments: Arguments) -> Awaitable[object]:
        """Begins the field."""
        guarded = self.guarded
        guarded.rule.enforce(info.context.principal)
        if guarded.is_method:
            return guarded.method(row, info=info, **arguments)
        return guarded.method(root=row, info=info, **arguments)


def unguarded_call(source: Unguarded) -> Call:
    """Makes the call of a method that takes no arguments."""
    method, takes_row, takes_info = source.method, source.takes_row, source.takes_info

    def call(row: Row, info: Info, _arguments: Arguments) -> Awaitable[object]:
        given: dict[str, Info] = {"info": info} if takes_info else {}
        return method(row, **given) if takes_row else method(**given)

    return call
