"""Functions that make an answer's objects of rows: one function for what is selected of a type.

The library completes a value by walking the selection again for every row: look the field up, call its resolver, check
and convert the result. For a row of plain fields all of that is the same each time and can be done once. Here a
selection of an object type is turned into the source of a function, such as

    def make(r):
        a = r.id
        if a.__class__ is not str: raise Unexpected
        b = r.due_at
        if b is not None and (b.__class__ is not datetime or b.tzinfo is not UTC): raise Unexpected
        return {"id": a, "dueAt": b}

A field is covered when it is read off the row by name, or worked out from the row alone, and takes no arguments; its
value is a leaf, a list of leaves, or objects whose selection is covered in turn. Every value is checked for the type
that its field promises. What is not covered is left out for steps to fill in, and what is not as expected is left to
the library, so that answers and errors are the library's to the last byte. Moments and days stay objects: the encoder
writes them as the scalars do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count

import orjson
from graphql import (
    GraphQLEnumType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLScalarType,
)

from schema.execution.known import is_known_scalar
from schema.execution.sources import Column, Function, Link, Row, may_be_any_row, names_its_rows
from schema.execution.tree import Field, ObjectSelection
from storage.shared_rows import SharedRow
from storage.statements import INSIDE

Data = dict[str, object]
"""An object of an answer."""


class Unexpected(Exception):
    """A value is not what its field promises; the library says what that means."""


def _written(shared: SharedRow, make: Callable[[Row], Data]) -> orjson.Fragment:
    """The object of a row that others link to as well, as the encoder writes it: its bytes are put in each time."""
    shared.made = written = orjson.Fragment(orjson.dumps(make(shared.row), option=orjson.OPT_UTC_Z))
    shared.maker = make
    return written


@dataclass(frozen=True, slots=True)
class RowFunction:
    """The function for one selection; it puts null for the fields in `rest`, which are to be filled in."""

    make: Callable[[Row], Data]
    rest: tuple[Field, ...]


def row_function(selection: ObjectSelection, *, inlining: bool = True) -> RowFunction | None:
    """Makes the function of a selection, whatever it covers; None where rows of the type say what they are.

    By default, links are expected to stand in the row itself, as lists and records fetch them.
    """
    if not may_be_any_row(selection.kind):
        return None
    writer = _Writer(inlining)
    values = {field.key: writer.field(field) for field in selection.fields}
    rest = tuple([field for field in selection.fields if values[field.key] is None])
    return RowFunction(writer.function([f"{key!r}: {value}" for key, value in values.items()]), rest)


def value_function(field: Field, *, inlining: bool = True) -> Callable[[Row], object] | None:
    """Makes the function from what a field gives to what the answer has; None where that is not covered whole."""
    writer = _Writer(inlining)
    value = writer.value(field.schema_field.type, "r", field)
    return None if value is None else writer.returning(value)


class _Writer:
    """Writes the body of one function."""

    def __init__(self, inlining: bool) -> None:
        self._inlining = inlining
        self._row = "r."
        self._lines: list[str] = []
        self._names: dict[str, object] = {
            "Unexpected": Unexpected,
            "datetime": datetime,
            "date": date,
            "Decimal": Decimal,
            "UTC": UTC,
            "LISTS": (list, tuple),
            "MISSING": object(),
            "SharedRow": SharedRow,
            "written": _written,
        }
        self._numbers = count()

    def function(self, items: list[str]) -> Callable[[Row], Data]:
        """Makes the function whose body was written, giving these items."""
        # Where nothing is read off the row, nothing would notice that there is none.
        self._lines = self._lines or ["if r is None: raise Unexpected"]
        return self.returning(f"{{{', '.join(items)}}}")

    def returning(self, value: str) -> Callable[[Row], Row]:
        """Makes the function whose body was written, giving this value."""
        body = "\n    ".join([*self._lines, f"return {value}"])
        exec(f"def make(r):\n    {body}", self._names)  # noqa: S102  # our own source: clients' names come as literals
        made: Callable[[Row], Row] = self._names["make"]  # type: ignore[assignment]  # which was just defined
        return made

    def field(self, field: Field) -> str | None:
        """Writes the lines that check a field's value, and gives its expression; None where it is not covered."""
        if field.name == "__typename":
            return repr(field.parent.name)
        source = self._source(field)
        if source is None:
            return None
        if (inlined := self._inlined(field)) is not None:
            return inlined
        lines, variable = len(self._lines), f"v{next(self._numbers)}"
        self._lines.append(f"{variable} = {source}")
        value = self.value(field.schema_field.type, variable, field)
        if value is None:
            del self._lines[lines:]
        return value

    def _source(self, field: Field) -> str | None:
        """Says where the value comes from: an attribute of the row, or a function of the row alone."""
        source = field.source
        if isinstance(source, Column):
            return f"{self._row}{source.attribute}"
        if self._row != "r.":
            return None
        if isinstance(source, Link) and self._inlining:
            return f"getattr(r, {source.name!r}, MISSING)"
        if isinstance(source, Function) and not source.takes_arguments:
            return f"{self._name(source.function)}(r)"
        return None

    def _inlined(self, field: Field) -> str | None:
        """Writes a link whose plain fields stand in the row itself; None for anything else.

        Of a row that others link to as well the object is made and written once, for all of them (decision 970).
        """
        source, kind = field.source, field.schema_field.type
        if not isinstance(source, Link) or not isinstance(kind, GraphQLObjectType) or not may_be_any_row(kind):
            return None
        before, self._lines, self._row = self._lines, [], f"r.{source.name}{INSIDE}"
        values = {inner.key: self.field(inner) for inner in field.fields}
        lines, self._lines, self._row = self._lines, before, "r."
        if None in values.values():
            return None
        whole = self._whole(field.below[kind.name])
        if whole is None:
            return None
        variable, key, make = f"v{next(self._numbers)}", f"k{next(self._numbers)}", self._name(whole)
        made = ", ".join(f"{name!r}: {value}" for name, value in values.items())
        self._lines += [
            f"{key} = r.{source.name}{INSIDE}id",
            f"if {key} is None: {variable} = None",
            f"elif {key}.__class__ is SharedRow:",
            f"    {variable} = {key}.made if {key}.maker is {make} else written({key}, {make})",
            "else:",
        ]
        self._lines += [f"    {line}" for line in (*lines, f"{variable} = {{{made}}}")]
        return variable

    def _name(self, value: object) -> str:
        name = f"n{next(self._numbers)}"
        self._names[name] = value
        return name

    def value(self, kind: GraphQLOutputType, variable: str, field: Field) -> str | None:
        """Writes the lines that check the value in a variable, and gives the expression for what becomes of it."""
        nullable = kind.of_type if isinstance(kind, GraphQLNonNull) else kind
        found = self._checked(nullable, variable, field)
        if found is None:
            return None
        test, value = found
        if nullable is not kind:
            self._lines.append(f"if {variable} is None or {test}: raise Unexpected")
            return value
        self._lines.append(f"if {variable} is not None and ({test}): raise Unexpected")
        return value if value == variable else f"None if {variable} is None else {value}"

    def _checked(self, kind: GraphQLOutputType, variable: str, field: Field) -> tuple[str, str] | None:
        """Says when a value that is not null is unexpected, and what becomes of it."""
        if isinstance(kind, GraphQLScalarType):
            if kind.name not in _SCALARS or not is_known_scalar(kind):
                return None
            test, value = _SCALARS[kind.name]
            return test.format(v=variable), value.format(v=variable)
        if isinstance(kind, GraphQLEnumType):
            names = self._name({value.value: name for name, value in kind.values.items()})
            return f"{variable} not in {names}", f"{names}[{variable}]"
        if isinstance(kind, GraphQLList):
            return self._list(kind.of_type, variable, field)
        if isinstance(kind, GraphQLObjectType):
            make = self._whole(field.below[kind.name])
            return None if make is None else (f"{variable} is MISSING", f"{self._name(make)}({variable})")
        if isinstance(kind, GraphQLInterfaceType) and names_its_rows(kind):
            makes = {name: self._whole(one) for name, one in field.below.items()}
            if None not in makes.values():
                names = self._name(makes)
                return f"{variable}.typename not in {names}", f"{names}[{variable}.typename]({variable})"
        return None

    def _whole(self, selection: ObjectSelection) -> Callable[[Row], Data] | None:
        """Makes the function for a selection that is covered whole; None for any other."""
        made = row_function(selection, inlining=self._inlining)
        return None if made is None or made.rest else made.make

    def _list(self, kind: GraphQLOutputType, variable: str, field: Field) -> tuple[str, str] | None:
        of_type, item = kind.of_type if isinstance(kind, GraphQLNonNull) else kind, f"{variable}i"
        found = self._checked(of_type, item, field)
        if found is None:
            return None
        test, value = found
        if isinstance(of_type, GraphQLObjectType):  # whose function takes no null
            same = f"{variable}.__class__ not in LISTS", f"[{value} for {item} in {variable}]"
            return same if of_type is not kind else None
        unlike = f"{item} is None or {test}" if of_type is not kind else f"{item} is not None and ({test})"
        if of_type is kind and value != item:
            value = f"None if {item} is None else {value}"
        whole = f"{variable}.__class__ is not list or any({unlike} for {item} in {variable})"
        return whole, variable if value == item else f"[{value} for {item} in {variable}]"


_SCALARS = {
    "String": ("{v}.__class__ is not str", "{v}"),
    "ID": ("{v}.__class__ is not str", "{v}"),
    "Int": ("{v}.__class__ is not int or not -2147483648 <= {v} <= 2147483647", "{v}"),
    "Float": ("{v}.__class__ is not float or {v} - {v} != 0", "{v}"),
    "Boolean": ("{v}.__class__ is not bool", "{v}"),
    "DateTime": ("{v}.__class__ is not datetime or {v}.tzinfo is not UTC", "{v}"),
    "Date": ("{v}.__class__ is not date", "{v}"),
    "Decimal": ("{v}.__class__ is not Decimal", "format({v}, 'f')"),
    "JSON": ("False", "{v}"),
}
"""Says the same of scalars; the values are those that the library would give, or that the encoder writes alike."""
