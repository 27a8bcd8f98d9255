"""Compiled selections: what a document selects of a row, as one Python function.

The library completes a value by walking the selection again for every row: look the field up, call its resolver, check
and convert the result. For a row of plain fields all of that is the same each time and can be done once. Here a
selection of an object type is turned into the source of a function, such as

    def shape(r):
        a = r.id
        if a.__class__ is not str: raise Unexpected
        b = r.due_at
        if b is not None and (b.__class__ is not datetime or b.tzinfo is not UTC): raise Unexpected
        return {"id": a, "dueAt": b}

A field is covered when it is read off the row by name, or worked out from the row alone, and takes no arguments; its
value is a leaf, a list of leaves, or objects whose selection is covered in turn. Every value is checked for the type
that its field promises. Whatever is not covered, or not as expected, goes the library's own way, so that answers and
errors are the library's to the last byte. Moments and days stay objects: the encoder writes them as the scalars do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from inspect import iscoroutinefunction, signature
from itertools import count
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLScalarType,
)

from schema.adapters.graphql_core import FieldDetailsList, GroupedFieldSet
from schema.adapters.strawberry import DEFINITION
from schema.connections import Node
from schema.declare import LINK
from schema.execution.known import is_known_scalar, known
from storage.prepared import INSIDE

Collect = Callable[[GraphQLObjectType, FieldDetailsList], GroupedFieldSet]
"""The library's way from a field to the fields selected below it."""


class Unexpected(Exception):
    """A value is not what its field promises; the library says what that means."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The function for one selection; the fields named in `rest` it leaves empty for the library to fill."""

    make: Callable[[Any], dict[str, Any]]
    rest: dict[str, FieldDetailsList]


def compile_shape(kind: GraphQLObjectType, grouped: GroupedFieldSet, collect: Collect) -> Shape | None:
    """The shape of a selection; None where nothing of it is covered."""
    shape = shape_of_all(kind, grouped, collect)
    return None if shape is None or len(shape.rest) == len(grouped) else shape


def shape_of_all(kind: GraphQLObjectType, grouped: GroupedFieldSet, collect: Collect) -> Shape | None:
    """The shape of a selection, be it that all of it is left over; None where rows of the type say what they are."""
    if _rows_say_what_they_are(kind):
        return None
    writer = _Writer(collect)
    rest = {}
    items = []
    for name, details in grouped.items():
        value = writer.field(kind, details)
        if value is None:
            rest[name] = details
        items.append(f"{name!r}: {value}")
    return Shape(writer.function(items), rest)


def compile_value(kind: GraphQLOutputType, details: FieldDetailsList, collect: Collect) -> Callable[[Any], Any] | None:
    """A function from what a field gives to what the answer has; None where that is not covered whole."""
    writer = _Writer(collect)
    value = writer.value(kind, "r", details)
    return None if value is None else writer.returning(value)


def _rows_say_what_they_are(kind: GraphQLObjectType) -> bool:
    if kind.is_type_of is None:
        return False
    return bool(kind.is_type_of != Node.__dict__["is_type_of"].__get__(None, _origin(kind)))


def _origin(kind: GraphQLObjectType) -> Any:
    return kind.extensions[DEFINITION].origin


class _Writer:
    """Writes the body of one function."""

    def __init__(self, collect: Collect) -> None:
        self.collect = collect
        self.row = "r."
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "Unexpected": Unexpected,
            "datetime": datetime,
            "date": date,
            "Decimal": Decimal,
            "UTC": UTC,
            "MISSING": object(),
        }
        self.numbers = count()

    def function(self, items: list[str]) -> Callable[[Any], dict[str, Any]]:
        """The function whose body was written, giving these items."""
        # Where nothing is read off the row, nothing would notice that there is none.
        self.lines = self.lines or ["if r is None: raise Unexpected"]
        return self.returning(f"{{{', '.join(items)}}}")

    def returning(self, value: str) -> Callable[[Any], Any]:
        """The function whose body was written, giving this value."""
        body = "\n    ".join([*self.lines, f"return {value}"])
        exec(f"def shape(r):\n    {body}", self.names)  # noqa: S102  # our own source: clients' names come as literals
        made: Callable[[Any], Any] = self.names["shape"]
        return made

    def field(self, kind: GraphQLObjectType, details: FieldDetailsList) -> str | None:
        """The expression for a field's value, after the lines that check it; None where it is not covered."""
        node = details[0].node
        name = node.name.value
        if name == "__typename":
            return repr(kind.name)
        field = kind.fields.get(name)
        if field is None or field.args or node.arguments or details[0].fragment_variable_values is not None:
            return None
        source = self._source(field)
        if source is None:
            return None
        if (inlined := self._inlined(field, details)) is not None:
            return inlined
        lines, variable = len(self.lines), f"v{next(self.numbers)}"
        self.lines.append(f"{variable} = {source}")
        value = self.value(field.type, variable, details)
        if value is None:
            del self.lines[lines:]
        return value

    def _source(self, field: GraphQLField) -> str | None:
        """Says where the value comes from: an attribute of the row, or a function of the row alone."""
        definition = known(field)
        if definition is None:
            return None
        if definition.base_resolver is None:
            return f"{self.row}{definition.python_name}"
        if self.row != "r.":
            return None
        if (link := definition.metadata.get(LINK)) is not None:
            return f"getattr(r, {link!r}, MISSING)"
        function = definition.base_resolver.wrapped_func
        if iscoroutinefunction(function) or list(signature(function).parameters) != ["root"]:
            return None
        return f"{self._name(function)}(r)"

    def _inlined(self, field: GraphQLField, details: FieldDetailsList) -> str | None:
        """A link whose plain fields stand in the row itself; None for anything else."""
        link = field.extensions[DEFINITION].metadata.get(LINK)
        if link is None or not isinstance(field.type, GraphQLObjectType) or _rows_say_what_they_are(field.type):
            return None
        before, self.lines, self.row = self.lines, [], f"r.{link}{INSIDE}"
        values = {name: self.field(field.type, below) for name, below in self.collect(field.type, details).items()}
        lines, self.lines, self.row = self.lines, before, "r."
        if None in values.values():
            return None
        variable = f"v{next(self.numbers)}"
        made = ", ".join(f"{name!r}: {value}" for name, value in values.items())
        self.lines += [f"if r.{link}{INSIDE}id is None: {variable} = None", "else:"]
        self.lines += [f"    {line}" for line in (*lines, f"{variable} = {{{made}}}")]
        return variable

    def _name(self, value: Any) -> str:
        name = f"n{next(self.numbers)}"
        self.names[name] = value
        return name

    def value(self, kind: GraphQLOutputType, variable: str, details: FieldDetailsList) -> str | None:
        if isinstance(kind, GraphQLNonNull):
            found = self._checked(kind.of_type, variable, details)
            if found is None:
                return None
            test, value = found
            self.lines.append(f"if {variable} is None or {test}: raise Unexpected")
            return value
        found = self._checked(kind, variable, details)
        if found is None:
            return None
        test, value = found
        self.lines.append(f"if {variable} is not None and ({test}): raise Unexpected")
        return value if value == variable else f"None if {variable} is None else {value}"

    def _checked(self, kind: Any, variable: str, details: FieldDetailsList) -> tuple[str, str] | None:
        """Says when a value that is not null is unexpected, and what becomes of it."""
        if isinstance(kind, GraphQLScalarType):
            return _scalar(kind.name, variable) if is_known_scalar(kind) else None
        if isinstance(kind, GraphQLEnumType):
            names = self._name({value.value: name for name, value in kind.values.items()})
            return f"{variable} not in {names}", f"{names}[{variable}]"
        if isinstance(kind, GraphQLList):
            return self._list(kind.of_type, variable, details)
        if isinstance(kind, GraphQLObjectType):
            shape = compile_shape(kind, self.collect(kind, details), self.collect)
            if shape is None or shape.rest:
                return None
            return f"{variable} is MISSING", f"{self._name(shape.make)}({variable})"
        return None

    def _list(self, kind: Any, variable: str, details: FieldDetailsList) -> tuple[str, str] | None:
        if not isinstance(kind, GraphQLNonNull):
            return None
        found = self._checked(kind.of_type, "i", details)
        if found is None:
            return None
        test, value = found
        if isinstance(kind.of_type, GraphQLObjectType):  # whose function takes no null
            return f"{variable}.__class__ is not list", f"[{value} for i in {variable}]"
        unlike = f"{variable}.__class__ is not list or any(i is None or {test} for i in {variable})"
        return unlike, variable if value == "i" else f"[{value} for i in {variable}]"


def _scalar(name: str, v: str) -> tuple[str, str] | None:
    """The same for a scalar; the values are those that the library would give, or that the encoder writes alike."""
    match name:
        case "String" | "ID":
            return f"{v}.__class__ is not str", v
        case "Int":
            return f"{v}.__class__ is not int or not -2147483648 <= {v} <= 2147483647", v
        case "Float":
            return f"{v}.__class__ is not float or {v} - {v} != 0", v
        case "Boolean":
            return f"{v}.__class__ is not bool", v
        case "DateTime":
            return f"{v}.__class__ is not datetime or {v}.tzinfo is not UTC", v
        case "Date":
            return f"{v}.__class__ is not date", v
        case "Decimal":
            return f"{v}.__class__ is not Decimal", f"format({v}, 'f')"
        case "JSON":
            return "False", v
    return None
