"""Random valid documents over a schema: every field, fragments of all kinds, aliases, merged fields, conditions.

Variables stand for whole arguments and anywhere within them: in lists, in input objects, and in more than one place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLSchema,
    get_named_type,
    is_leaf_type,
)

Arguments = Mapping[str, Any]
Pool = Callable[[str, str], Sequence[Arguments]]
"""The arguments that a field of a type may be given; empty where it takes none."""

ABSENT: Any = object()
"""Stands for a variable that is not sent."""


@dataclass
class Variable:
    """A declared variable: its type and default as text, and the values that may be sent."""

    kind: str
    default: str | None
    values: list[Any]

    def fits(self, kind: str) -> bool:
        """Whether the variable may stand where this type is expected."""
        return kind in (self.kind, self.kind.removesuffix("!"))


@dataclass
class Fragment:
    """A named fragment, which asks for nothing deeper than `depth` below its place."""

    name: str
    kind: str
    depth: int
    body: str


@dataclass
class Document:
    """A text, the variables that can be sent with it, and the operation to name."""

    text: str
    variables: dict[str, Variable] = field(default_factory=dict)
    operation: str | None = None

    def values(self, random: Random) -> dict[str, Any]:
        """One set of values for the variables."""
        chosen = {name: random.choice(variable.values) for name, variable in self.variables.items()}
        return {name: value for name, value in chosen.items() if value is not ABSENT}


def document(schema: GraphQLSchema, pool: Pool, random: Random) -> Document:
    """A valid query of at most a few dozen fields."""
    return _Writer(schema, pool, random).document()


def document_of(
    schema: GraphQLSchema, name: str, definition: GraphQLField, given: Arguments, random: Random
) -> Document:
    """A query of one field, which is not looked for, with these arguments, and variables in their place or in them."""
    writer = _Writer(schema, lambda *_: (given,), random)
    text = f"{name}{writer.arguments('', name, definition)}"
    return Document(f"query{writer.declared()} {{ {text} }}", writer.variables)


def literal(kind: Any, value: Any, write: Callable[[Any, Any], str] | None = None) -> str:
    """The value as a text of the query language; `write` may write what stands within it otherwise."""
    write = write or literal
    if isinstance(kind, GraphQLNonNull):
        return literal(kind.of_type, value, write)
    if value is None:
        return "null"
    if isinstance(kind, GraphQLList):
        items = value if isinstance(value, list) else [value]
        return f"[{', '.join(write(kind.of_type, item) for item in items)}]"
    if isinstance(kind, GraphQLInputObjectType):
        fields = (f"{name}: {write(kind.fields[name].type, inner)}" for name, inner in value.items())
        return f"{{{', '.join(fields)}}}"
    if isinstance(value, dict):  # of a scalar that is an object, such as a JSON one
        return f"{{{', '.join(f'{name}: {write(kind, inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(write(kind, item) for item in value)}]"
    return str(value) if isinstance(kind, GraphQLEnumType) else json.dumps(value)


class _Writer:
    def __init__(self, schema: GraphQLSchema, pool: Pool, random: Random) -> None:
        self.schema = schema
        self.pool = pool
        self.random = random
        self.budget = random.choice((3, 6, 10, 20))
        self.keys: dict[str, tuple[str, str, str]] = {}
        self.variables: dict[str, Variable] = {}
        self.fragments: list[Fragment] = []
        self.spread: set[str] = set()

    def chance(self, percent: float) -> bool:
        return self.random.random() * 100 < percent

    def document(self) -> Document:
        assert self.schema.query_type is not None
        selection = self.selection(self.schema.query_type, self.random.choice((2, 3, 4, 5)), self.random.randint(1, 3))
        parts = [f"fragment {f.name} on {f.kind} {f.body}" for f in self.fragments if f.name in self.spread]
        name = None
        head = "query" if self.variables or self.chance(30) else ""
        if self.chance(10):
            name, head = "Main", "query Main"
            parts.append("query Other { viewer { subject } }")
        parts.insert(self.random.randint(0, len(parts)), f"{head}{self.declared()} {selection}")
        return Document("\n".join(parts), self.variables, name)

    def declared(self) -> str:
        """The declarations of the variables."""
        declared = ", ".join(
            f"${name}: {v.kind}" + (f" = {v.default}" if v.default is not None else "")
            for name, v in self.variables.items()
        )
        return f"({declared})" if declared else ""

    def selection(self, kind: GraphQLNamedType, depth: int, size: int | None = None) -> str:
        """A selection set, with its braces."""
        size = self.random.choice((1, 2, 3, 5)) if size is None else size
        items: list[str] = []
        for _ in range(size):
            items.append(self.item(kind, depth))
            if self.chance(4):
                items.append(self.random.choice(items))
        return f"{{ {' '.join(items)} }}"

    def item(self, kind: Any, depth: int) -> str:
        if self.chance(7):
            alias = self.alias("__typename", "", "String!") if self.chance(30) else "__typename"
            return alias if alias == "__typename" else f"{alias}: __typename"
        if depth > 0 and self.chance(12):
            return self.inline(kind, depth)
        if depth > 0 and self.chance(10):
            return self.named(kind, depth)
        if isinstance(kind, GraphQLInterfaceType) and depth > 0 and self.chance(70):
            return self.inline(kind, depth)
        return self.field(kind, depth)

    def inline(self, kind: Any, depth: int) -> str:
        condition = self.random.choice([None, *self.conditions(kind)])
        inner = kind if condition is None else condition
        on = "" if condition is None else f" on {condition.name}"
        return f"...{on}{self.directives()} {self.selection(inner, depth - (inner is kind))}"

    def conditions(self, kind: Any) -> list[Any]:
        """The types that a fragment in a selection of this type may name."""
        if isinstance(kind, GraphQLInterfaceType):
            return [kind, *self.schema.get_possible_types(kind)]
        return [kind, *kind.interfaces]

    def named(self, kind: Any, depth: int) -> str:
        conditions = self.conditions(kind)
        names = {condition.name for condition in conditions}
        known = [f for f in self.fragments if f.kind in names and f.depth <= depth]
        if known and self.chance(60):
            chosen = self.random.choice(known)
        else:
            condition = self.random.choice(conditions)
            body = self.selection(condition, depth - 1)
            chosen = Fragment(f"F{len(self.fragments)}", condition.name, depth, body)
            self.fragments.append(chosen)
        self.spread.add(chosen.name)
        return f"...{chosen.name}{self.directives()}"

    def field(self, kind: Any, depth: int) -> str:
        self.budget -= 1
        deep = depth > 0 and self.budget > 0
        if kind is self.schema.query_type:
            deep = True
        fields = [
            (name, value)
            for name, value in kind.fields.items()
            if (deep or is_leaf_type(get_named_type(value.type))) and self.may(kind, name, value)
        ]
        if not fields:
            return "__typename"
        name, definition = self.random.choice(fields)
        composite = [f for f in fields if not is_leaf_type(get_named_type(f[1].type))]
        if composite and self.chance(50):
            name, definition = self.random.choice(composite)
        arguments = self.arguments(kind.name, name, definition)
        key = self.alias(name, arguments, str(definition.type))
        text = (
            f"{name}{arguments}{self.directives()}" if key == name else f"{key}: {name}{arguments}{self.directives()}"
        )
        target = get_named_type(definition.type)
        return text if is_leaf_type(target) else f"{text} {self.selection(target, depth - 1)}"

    def may(self, kind: Any, name: str, definition: GraphQLField) -> bool:
        return bool(self.pool(kind.name, name)) or not any(
            isinstance(argument.type, GraphQLNonNull) for argument in definition.args.values()
        )

    def alias(self, name: str, arguments: str, kind: str) -> str:
        """A key that never stands for two different fields, which could not be merged."""
        meaning = (name, arguments, kind)
        key = name
        if name == "__typename" or self.chance(12):
            key = f"{self.random.choice('abc')}{name}"
        for number in count():
            if self.keys.setdefault(key, meaning) == meaning:
                break
            key = f"{name}{number}"
        return key

    def arguments(self, kind: str, name: str, definition: GraphQLField) -> str:
        choices = self.pool(kind, name)
        if not choices:
            return ""
        chosen = self.random.choice(choices)
        written = []
        for argument, value in chosen.items():
            expected = definition.args[argument].type
            if self.chance(25):
                values = [choice[argument] for choice in choices if argument in choice]
                written.append(f"{argument}: {self.variable(expected, values)}")
            else:
                written.append(f"{argument}: {literal(expected, value, self.within)}")
        return f"({', '.join(written)})" if written else ""

    def variable(self, kind: Any, values: list[Any]) -> str:
        known = [name for name, v in self.variables.items() if v.kind == str(kind) and v.values == values]
        if known and self.chance(50):
            return f"${self.random.choice(known)}"
        name = f"v{len(self.variables)}"
        default = None
        if not isinstance(kind, GraphQLNonNull):
            if self.chance(30):
                default = literal(kind, self.random.choice(values))
            values = [*values, ABSENT]
        self.variables[name] = Variable(str(kind), default, values)
        return f"${name}"

    def within(self, kind: Any, value: Any) -> str:
        """A value within an argument: as a text, or as a variable."""
        if not self.chance(20):
            return literal(kind, value, self.within)
        known = [name for name, v in self.variables.items() if v.fits(str(kind)) and value in v.values]
        if known and self.chance(40):
            return f"${self.random.choice(known)}"
        name = f"i{len(self.variables)}"
        self.variables[name] = self.inner(kind, value)
        return f"${name}"

    def inner(self, kind: Any, value: Any) -> Variable:
        """A variable that may stand for the value: now and then null, omitted, or of a wrong kind."""
        good, wrong = [value] * 6, self.random.choice((["no", ["list"]], {"no": "object"}, "\x00", 2**40, True))
        if isinstance(kind, GraphQLNonNull):
            if self.chance(50):
                return Variable(str(kind), None, [*good, *good, wrong])
            # It may be null where null may not stand, which only shows when the operation runs.
            return Variable(str(kind.of_type), literal(kind, value), [*good, ABSENT, None])
        default = literal(kind, value) if self.chance(30) else None
        return Variable(
            str(kind), default, [*good, ABSENT, ABSENT, None, wrong] if self.chance(50) else [*good, ABSENT]
        )

    def directives(self) -> str:
        if not self.chance(14):
            return ""
        names = self.random.sample(("skip", "include"), 2 if self.chance(15) else 1)
        return "".join(f" @{name}(if: {self.condition()})" for name in names)

    def condition(self) -> str:
        if self.chance(35):
            return self.random.choice(("true", "false"))
        known = [name for name in self.variables if name.startswith("b")]
        if known and self.chance(60):
            return f"${self.random.choice(known)}"
        name = f"b{len(self.variables)}"
        # A nullable variable with a default may stand where a boolean is needed, and be sent as null all the same.
        nullable = Variable("Boolean", "true", [True, False, True, False, True, False, ABSENT, None])
        with_default = Variable("Boolean!", "false", [True, False, ABSENT])
        plain = Variable("Boolean!", None, [True, False])
        self.variables[name] = self.random.choice((plain, plain, with_default, nullable))
        return f"${name}"
