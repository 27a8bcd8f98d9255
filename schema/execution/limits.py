"""Limits what a document may be, between parse and validation, which takes time by more than a document's length.

Each fragment is summed up once, however often it is spread, so that the time is linear in the text; what is counted is
the document with all of its fragments put in (decision 85). What an operation may cost is schema/execution/costs.py.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    NameNode,
    Node,
    ObjectValueNode,
    OperationDefinitionNode,
    Visitor,
    visit,
)

from contract.errors import LimitExceeded
from contract.limits import (
    DEFINITIONS_MAX,
    DEPTH_MAX,
    DIRECTIVES_MAX,
    DOCUMENT_ALIASES_MAX,
    FIELDS_MAX,
    INTROSPECTION_DEPTH_MAX,
    INTROSPECTION_LISTS_MAX,
    INTROSPECTION_TYPES_MAX,
    NAME_LENGTH_MAX,
    OBJECTS_MAX,
    OVERLAPS_MAX,
    ROOT_FIELDS_MAX,
    VARIABLES_MAX,
)
from schema.execution.outline import Outline

_INTROSPECTION = ("__schema", "__type")
_LISTS = frozenset(
    {"types", "directives", "fields", "args", "inputFields", "interfaces", "enumValues", "possibleTypes"}
)
"""Fields of introspection that give lists."""
_FREE = "costEstimate"
"""The field of Query that costs nothing, and so stands in an operation once (decision 86)."""


def check(outline: Outline) -> None:
    """Raises LimitExceeded, or GraphQLError for fragments that contain themselves, which cannot be summed up."""
    document = outline.document
    message = "The document has more than {} operations and fragments"
    _bound("definitions", len(document.definitions), DEFINITIONS_MAX, message)
    visit(document, _Nodes())
    _Sums(outline).check()


@dataclass(frozen=True, slots=True)
class _Sum:
    """A selection with its fragments put in; `lists` is how deep introspection's lists stand in one another."""

    fields: int = 0
    aliases: int = 0
    depth: int = 0
    lists: int = 0
    aliased_list: bool = False
    schemas: int = 0
    types: int = 0
    estimates: int = 0

    def beside(self, other: "_Sum") -> "_Sum":
        """Both of them, one after the other."""
        return _Sum(
            self.fields + other.fields,
            self.aliases + other.aliases,
            max(self.depth, other.depth),
            max(self.lists, other.lists),
            self.aliased_list or other.aliased_list,
            self.schemas + other.schemas,
            self.types + other.types,
            self.estimates + other.estimates,
        )


_NOTHING = _Sum()


@dataclass(slots=True)
class _Sums:
    """The sums of one document."""

    outline: Outline
    _known: dict[str, _Sum] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Every operation, and every fragment that none of them spreads, is counted as often as it stands there."""
        total, overlaps = _NOTHING, 0
        operations = [d for d in self.outline.document.definitions if isinstance(d, OperationDefinitionNode)]
        for operation in operations:
            variables = len(operation.variable_definitions or ())
            _bound("variables", variables, VARIABLES_MAX, "An operation has more than {} variables")
            found = self._selection(operation)
            _check_introspection_roots(found)
            total = total.beside(found)
        for name in [n for n in self.outline.fragments if n not in self._known]:
            total = total.beside(self._fragment(name))
        _check_sum(total)
        for operation in operations:
            overlaps += self._overlaps([operation], is_root=True)
        message = "The document selects the same fields again and again: over {} pairs"
        _bound("overlaps", overlaps, OVERLAPS_MAX, message)

    def _selection(self, of: FieldNode | OperationDefinitionNode | FragmentDefinitionNode) -> _Sum:
        total = _NOTHING
        for part in self.outline.parts(of):
            total = total.beside(self._fragment(part) if isinstance(part, str) else self._field(part))
        return total

    def _field(self, selection: FieldNode) -> _Sum:
        below = self._selection(selection)
        name, aliases = selection.name.value, below.aliases + (selection.alias is not None)
        if name in _INTROSPECTION:
            _check_introspection(below)
            return _Sum(below.fields + 1, aliases, 1, schemas=name == "__schema", types=name == "__type")
        is_list = name in _LISTS
        return _Sum(
            below.fields + 1,
            aliases,
            below.depth + 1,
            below.lists + is_list,
            below.aliased_list or (is_list and selection.alias is not None),
            below.schemas,
            below.types,
            below.estimates + (name == _FREE),
        )

    def _fragment(self, name: str) -> _Sum:
        found = self._known.get(name)
        if found is not None:
            return found
        fragment = self.outline.fragments.get(name)
        if fragment is None:
            return _NOTHING  # validation says that there is none
        if name in self._open:
            raise GraphQLError(_circle(self._open[self._open.index(name) :]), fragment)
        self._open.append(name)
        found = self._known[name] = self._selection(fragment)
        self._open.pop()
        return found

    def _overlaps(self, of: Sequence[FieldNode | OperationDefinitionNode], *, is_root: bool = False) -> int:
        """Counts the pairs of fields that share a place of the answer: validation compares each, whatever it selects.

        It walks what was counted before, and so is bounded by the number of fields.
        """
        places: dict[str, list[FieldNode]] = {}
        for node in self._put_in(of, set()):
            places.setdefault((node.alias or node.name).value, []).append(node)
        if is_root:
            _bound("root fields", len(places), ROOT_FIELDS_MAX, "An operation has more than {} root fields")
        pairs = 0
        for nodes in places.values():
            pairs += len(nodes) * (len(nodes) - 1) // 2
            if any(node.selection_set is not None for node in nodes):
                pairs += self._overlaps(nodes)
        return pairs

    def _put_in(
        self, of: Iterable[FieldNode | OperationDefinitionNode | FragmentDefinitionNode], spread: set[str]
    ) -> Iterator[FieldNode]:
        """The fields of the selections, those of fragments among them; a fragment counts once in one place."""
        for one in of:
            for part in self.outline.parts(one):
                if isinstance(part, FieldNode):
                    yield part
                elif part not in spread:
                    spread.add(part)
                    fragment = self.outline.fragments.get(part)
                    if fragment is not None:
                        yield from self._put_in([fragment], spread)


class _Nodes(Visitor):
    """Checks what each node of the text has of its own, and how many of them are objects."""

    def __init__(self) -> None:
        super().__init__()
        self._objects = 0

    def enter(self, node: Node, *_: object) -> None:
        """Count its directives, and measure it where it is a name."""
        if isinstance(node, ObjectValueNode):
            self._objects += 1
            _bound("objects", self._objects, OBJECTS_MAX, "The document has more than {} objects in it")
        if isinstance(node, NameNode):
            _bound("name length", len(node.value), NAME_LENGTH_MAX, "A name has more than {} characters")
        else:
            directives = len(getattr(node, "directives", None) or ())
            _bound("directives", directives, DIRECTIVES_MAX, "A place of the document has more than {} directives")


def _check_sum(total: _Sum) -> None:
    _bound("depth", total.depth, DEPTH_MAX, "The document is more than {} fields deep")
    _bound("aliases", total.aliases, DOCUMENT_ALIASES_MAX, "The document has more than {} aliases")
    _bound("fields", total.fields, FIELDS_MAX, "The document has more than {} fields, those of its fragments put in")


def _check_introspection(below: _Sum) -> None:
    deep, lists = (
        "The introspection is more than {} fields deep",
        "The introspection has more than {} lists in one another",
    )
    _bound("introspection depth", below.depth, INTROSPECTION_DEPTH_MAX, deep)
    _bound("introspection lists", below.lists, INTROSPECTION_LISTS_MAX, lists)
    if below.aliased_list:
        raise LimitExceeded("introspection lists", 1, "The introspection gives a list another name")


def _check_introspection_roots(found: _Sum) -> None:
    for name, number, most in (
        ("__schema", found.schemas, 1),
        ("__type", found.types, INTROSPECTION_TYPES_MAX),
        (_FREE, found.estimates, 1),
    ):
        _bound(name, number, most, f"An operation has {name} more than {'once' if most == 1 else '{} times'}")


def _bound(limit: str, number: int, most: int, message: str) -> None:
    """Raises LimitExceeded where a number is larger than it may be; the message gets the maximum."""
    if number > most:
        raise LimitExceeded(limit, most, message.format(most))


def _circle(names: Sequence[str]) -> str:
    """The words of validation for fragments that contain one another."""
    via = ", ".join(f"'{name}'" for name in names[1:])
    return f"Cannot spread fragment '{names[0]}' within itself{f' via {via}' if via else ''}."
