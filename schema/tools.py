"""Derives what tools take, and who may call them, from their documents (contract/tools.py, decision 310)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from typing import Final, cast

import orjson
from graphql import (
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    IntValueNode,
    ObjectValueNode,
    OperationDefinitionNode,
    ValueNode,
    VariableNode,
    get_named_type,
    is_required_input_field,
    parse,
    type_from_ast,
)
from graphql.utilities import validate_input_value

from contract.errors import Path
from contract.tool_answers import ToolTold
from contract.tools import TOOLS, Effect, Tool
from resolvers.shared.access import Rule
from schema.declare import rules_of
from schema.execution.outline import Outline
from schema.execution.values import Value
from schema.tool_documents import asked_fields
from schema.tool_schemas import Forms, JsonSchema
from storage.bounded_cache import BoundedCache

QUESTION = "question"
"""The argument of a tool that asks, in place of those of its document."""
NAME_MAX: Final = 60
"""Characters of an unknown name that are looked at and told: to find the nearest takes the more the longer it is."""
_WRONG_MAX = 20
"""Problems of an argument that are told: a body has room for a hundred thousand of them."""
_ID = "id"
_CALLERS = 100
_Caller = tuple[frozenset[Rule] | None, bool]
"""The rules that let a caller through, and whether it may only read."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a document: an argument of its tool."""

    name: str
    type: GraphQLInputType
    default: int | None

    @property
    def is_required(self) -> bool:
        """Says whether a call has to give it."""
        return isinstance(self.type, GraphQLNonNull) and self.default is None


@dataclass(frozen=True)
class Prepared:
    """A document of a tool, as it was read: its text, its root fields, its variables, and what they stand for there."""

    text: str
    operations: tuple[str, ...]
    variables: tuple[Variable, ...]
    places: Mapping[Path, str]
    """The variable that stands at each place of the arguments."""
    untrusted: tuple[str, ...]
    """The paths in its answer at which there are texts that people wrote."""
    rules: tuple[Rule, ...]
    """Who may have all of it: those whom each of these admits."""

    def argument_at(self, path: Sequence[str | int]) -> list[str | int]:
        """Finds the place of an argument of the tool by its place among those of the operation."""
        for length in range(len(path), 0, -1):
            if (name := self.places.get(tuple(path[:length]))) is not None:
                return [name, *path[length:]]
        return list(path)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A problem with an argument: where, and why."""

    path: tuple[str | int, ...]
    words: str


@dataclass(frozen=True)
class Offer:
    """A tool as a caller may call it: with the documents, and so the kinds, that the caller's scopes leave."""

    tool: Tool
    documents: Mapping[str, Prepared]

    @property
    def operations(self) -> list[str]:
        """The root fields that it stands for."""
        return list(dict.fromkeys(name for one in self.documents.values() for name in one.operations))

    @cached_property
    def told(self) -> ToolTold:
        """The description of it that callers are told."""
        texts = {one.operations[0]: one.text for one in self.documents.values()}
        return ToolTold(self.tool.name, self.tool.text, self.definition, self.tool.effect, self.operations, texts)

    @cached_property
    def definition(self) -> JsonSchema:
        """The JSON Schema of its arguments."""
        forms = Forms(hidden=[*self.tool.hidden, *(inner for _, inner in self.tool.nested.values())])
        required = ["kind"] if self.tool.has_kinds else []
        properties: JsonSchema = {"kind": {"enum": [*self.documents]}} if self.tool.has_kinds else {}
        for name, kinds in self._arguments().items():
            found = forms.any_of([one.type for one in kinds])
            if name == "first":
                found |= {"minimum": 0, "maximum": self.tool.most, "default": kinds[0].default}
            if name in self.tool.texts:
                found |= {"description": self.tool.texts[name]}
            properties[name] = found
            if kinds[0].is_required:
                required.append(name)
        made: JsonSchema = {"type": "object", "properties": properties}
        made |= {"required": required} if required else {}
        return forms.put(made | {"additionalProperties": False})

    def _arguments(self) -> dict[str, list[Variable]]:
        found: dict[str, list[Variable]] = {}
        for one in self.documents.values():
            for variable in arguments_of(self.tool, one):
                found.setdefault(variable.name, []).append(variable)
        return found

    def read(self, arguments: Mapping[str, Value]) -> tuple[Prepared, dict[str, Value]] | list[Wrong]:
        """The document of a call with its variables, or what is wrong with the arguments."""
        given, kind = dict(arguments), ""
        if self.tool.has_kinds:
            kind = given.pop("kind", None)
            if not isinstance(kind, str) or kind not in self.documents:
                return [Wrong(("kind",), f"must be one of {', '.join(self.documents)}")]
        document = self.documents[kind]
        known = {variable.name: variable for variable in arguments_of(self.tool, document)}
        unknown = (name for name in given if name not in known)
        wrong = [_unknown((), name, known) for name in islice(unknown, _WRONG_MAX)]
        given = {name: value for name, value in given.items() if name in known}
        for name, variable in known.items():
            if given.get(name) is None:
                given.pop(name, None)
                wrong += [Wrong((name,), "is required")] if variable.is_required else []
            else:
                wrong += self._misfits(variable, given[name])
        for name, (outer, inner) in self.tool.nested.items():
            if not wrong and name in given:
                given[outer] = {**given[outer], inner: given.pop(name)}
        return wrong or (document, given)

    def _misfits(self, variable: Variable, value: Value) -> Sequence[Wrong]:
        """Finds what is wrong with a value by its type, or by what the tool offers."""
        found = [*islice(_wrong_fields(value, variable.type, (variable.name,)), _WRONG_MAX)]
        if found:
            return found

        def note(error: GraphQLError, path: list[str | int]) -> None:
            found.append(Wrong((variable.name, *path), error.message))
            if len(found) == _WRONG_MAX:
                raise _Enough

        with suppress(_Enough):
            validate_input_value(value, variable.type, note)
        if isinstance(value, dict):
            hidden = [
                *self.tool.hidden,
                *(inner for outer, inner in self.tool.nested.values() if outer == variable.name),
            ]
            found += [Wrong((variable.name, name), "is not offered here") for name in hidden if name in value]
        if variable.name == "first" and not found and not 0 <= value <= self.tool.most:
            found.append(Wrong(("first",), f"must be between 0 and {self.tool.most}"))
        return found


def arguments_of(tool: Tool, document: Prepared) -> Iterator[Variable]:
    """The variables that a call gives, and the arguments that stand within them."""
    if tool.asks:
        yield Variable(QUESTION, _variable(document, _ID).type, None)
        return
    yield from document.variables
    for name, (outer, inner) in tool.nested.items():
        kind = cast(GraphQLInputObjectType, get_named_type(_variable(document, outer).type))
        yield Variable(name, kind.fields[inner].type, None)


def _variable(document: Prepared, name: str) -> Variable:
    return next(one for one in document.variables if one.name == name)


def _unknown(path: Path, name: str, known: Iterable[str], what: str = "argument of this tool") -> Wrong:
    near = get_close_matches(name[:NAME_MAX], [*known], 1)
    words = f"is no {what}{f'; did you mean {near[0]}?' if near else ''}"
    return Wrong((*path, name if len(name) <= NAME_MAX else f"{name[:NAME_MAX]}…"), words)


class _Enough(Exception):
    """So much is wrong that nobody reads the rest."""


def _wrong_fields(value: Value, kind: GraphQLInputType, path: Path) -> Iterator[Wrong]:
    """The fields of a value that its type has not, and those that it wants, wherever they stand in it."""
    if isinstance(kind, GraphQLNonNull):
        yield from _wrong_fields(value, kind.of_type, path)
    elif isinstance(kind, GraphQLList) and isinstance(value, list):
        for place, item in enumerate(value):
            yield from _wrong_fields(item, kind.of_type, (*path, place))
    elif isinstance(kind, GraphQLInputObjectType) and isinstance(value, dict):
        for name, inner in value.items():
            if name in kind.fields:
                yield from _wrong_fields(inner, kind.fields[name].type, (*path, name))
            else:
                yield _unknown(path, name, kind.fields, "field here")
        for name, field in kind.fields.items():
            if is_required_input_field(field) and value.get(name) is None:
                yield Wrong((*path, name), "is required")


class Catalogue:
    """The tools over a schema."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self._schema = schema
        self._rules = rules_of(schema)
        self._offers: BoundedCache[_Caller, Sequence[Offer]] = BoundedCache(entries=_CALLERS)
        self._prepared = {
            tool.name: {kind: self._prepare(text) for kind, text in tool.documents.items()} for tool in TOOLS
        }

    @property
    def texts(self) -> Iterator[str]:
        """The documents of all tools."""
        return (document.text for documents in self._prepared.values() for document in documents.values())

    @cached_property
    def rules(self) -> frozenset[Rule]:
        """The rules of all tools."""
        return frozenset(rule for offer in self.offered() for one in offer.documents.values() for rule in one.rules)

    def offered(self, passed: frozenset[Rule] | None = None, *, reading: bool = False) -> Sequence[Offer]:
        """The tools for whom these rules let through, all unless told; of `reading` ones those that read alone."""
        found = self._offers.get((passed, reading))
        if found is None:
            found = [*self._those(passed, reading=reading)]
            self._offers.put((passed, reading), found)
        return found

    def _those(self, passed: frozenset[Rule] | None, *, reading: bool) -> Iterator[Offer]:
        for tool in TOOLS:
            documents = {
                kind: one
                for kind, one in self._prepared[tool.name].items()
                if passed is None or passed.issuperset(one.rules)
            }
            if documents and not (reading and tool.effect is Effect.WRITE):
                yield Offer(tool, documents)

    def _prepare(self, text: str) -> Prepared:
        outline = Outline(parse(text, no_location=True))
        operation = cast(OperationDefinitionNode, outline.document.definitions[0])
        roots = [selected.node for selected in outline.selected(operation)]
        variables = []
        for one in operation.variable_definitions or ():
            kind = cast(GraphQLInputType, type_from_ast(self._schema, one.type))
            default = None if one.default_value is None else int(cast(IntValueNode, one.default_value).value)
            variables.append(Variable(one.variable.name.value, kind, default))
        places = {
            path: name
            for root in roots
            for a in root.arguments or ()
            for path, name in _places(a.value, (a.name.value,))
        }
        asked = [*asked_fields(self._schema, outline, operation)]
        names = tuple(root.name.value for root in roots)
        texts = dict.fromkeys(one.path for one in asked if one.is_untrusted)
        rules = [self._rules[f"{operation.operation.value.capitalize()}.{name}"] for name in names] + [
            Rule(one.group) for one in asked if one.group is not None
        ]
        return Prepared(
            text,
            names,
            tuple(variables),
            places,
            tuple(path if len(names) > 1 else path.partition(".")[2] for path in texts),
            # The rules of reading are of the operation's own: who may write may read what was written.
            tuple(dict.fromkeys(rules if operation.operation.value == "query" else rules[: len(names)])),
        )

    def print(self) -> bytes:
        """The definitions for who may call everything, as they are committed."""
        told = [
            {
                "name": told.name,
                "description": told.description,
                "effect": told.effect.value,
                "inputSchema": told.input_schema,
                "documents": told.documents,
            }
            for told in (offer.told for offer in self.offered())
        ]
        return orjson.dumps(told, option=orjson.OPT_INDENT_2) + b"\n"


def _places(value: ValueNode, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, VariableNode):
        yield path, value.name.value
    elif isinstance(value, ObjectValueNode):
        for field in value.fields:
            yield from _places(field.value, (*path, field.name.value))
