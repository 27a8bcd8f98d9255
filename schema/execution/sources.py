"""Says where a field's value comes from, for the fields of which that is known; the library runs all others.

A field is read off its row, or called past the library, only where its definition says all that the library would do
for it (decision 151).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import iscoroutinefunction, signature
from typing import Any, NamedTuple, cast

from graphql import GraphQLField, GraphQLInterfaceType, GraphQLObjectType

from schema.adapters.strawberry import class_of, definition_of
from schema.connections import Node
from schema.declare import LINK, Guarded
from schema.execution.known import unknown_of

Row = Any  # what resolvers give: rows of statements, records, dataclasses; a field is an attribute of it
Method = Callable[..., Any]  # its parameters are the field's arguments, and its result is the field's value


@dataclass(frozen=True, slots=True)
class Column:
    """The value is an attribute of the row."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function works the value out of the row, at once, and of the field's arguments where it takes any."""

    function: Method
    takes_arguments: bool


@dataclass(frozen=True, slots=True)
class Unguarded:
    """A method gives the value in time; it takes nothing but the row and the field's info, or one, or none of them."""

    method: Callable[..., Awaitable[object]]
    takes_row: bool
    takes_info: bool


@dataclass(frozen=True, slots=True)
class Link:
    """The value is the row that came along with this one under a name, and else what a method gives."""

    name: str
    follow: Unguarded


@dataclass(frozen=True, slots=True)
class Event:
    """The value is the event of a subscription itself."""


Source = Column | Function | Unguarded | Link | Guarded | Event


class Reason(NamedTuple):
    """Says why the library runs an operation: in a word of the service, for counting, and what it is about."""

    kind: str
    text: str


def source_of(where: str, field: GraphQLField) -> Source | Reason:
    """Finds where the value of a field comes from, or why only the library knows; `where` names the field."""
    declared = definition_of(field)
    if declared is None or (unknown := unknown_of(field)):
        return Reason("field", f"{where} has {'no definition' if declared is None else unknown}")
    if declared.is_subscription:
        return Event()
    if declared.base_resolver is None:
        return Column(declared.python_name)
    function = cast("Method", declared.base_resolver.wrapped_func)
    guarded = getattr(function, "guarded", None)
    if isinstance(guarded, Guarded):
        return guarded
    parameters = list(signature(function).parameters)
    if iscoroutinefunction(function) and {"root", "info"}.issuperset(parameters):
        method = Unguarded(function, "root" in parameters, "info" in parameters)
        link: str | None = declared.metadata.get(LINK)
        return method if link is None else Link(link, method)
    if iscoroutinefunction(function) or parameters[:1] != ["root"] or "info" in parameters:
        return Reason("function", f"{where} is a function of more than its row and its arguments")
    return Function(function, len(parameters) > 1)


def may_be_any_row(kind: GraphQLObjectType) -> bool:
    """Says whether the library takes any row for one of this type; else it asks the row first."""
    return kind.is_type_of is None or bool(kind.is_type_of == Node.__dict__["is_type_of"].__get__(None, class_of(kind)))


def names_its_rows(kind: GraphQLInterfaceType) -> bool:
    """Says whether a row of this interface says by its `typename` which type it is of."""
    return bool(kind.resolve_type == Node.__dict__["resolve_type"].__get__(None, class_of(kind)))
