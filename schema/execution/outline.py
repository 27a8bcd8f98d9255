"""The selections of a document with their fragments put in: the only place that walks them (decision 182).

Limits count its parts, and a tree is made of what it has put in (schema/execution/tree.py). A selection of the document
is expanded once, however many places spread the fragment that it stands in, and only after
the limits were seen to hold, which count what is not expanded yet.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar, cast

from graphql import (
    BooleanValueNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    VariableNode,
)

T = TypeVar("T")
Condition = tuple[str, bool]
"""A variable of @include (True) or @skip (False), which has to have that value to let a field through."""

NEVER: Condition = ("", True)
"""The condition of what the text lets nothing through."""


@dataclass(frozen=True, slots=True)
class Selected:
    """A field in a selection. `on` names the types that the fragments around it are on, the outermost first; `when` has
    the conditions that all have to let it through.
    """

    node: FieldNode
    on: tuple[str, ...]
    when: tuple[Condition, ...]


class Outline:
    """The selections of one document."""

    __slots__ = ("_selected", "document", "fragments")

    def __init__(self, document: DocumentNode) -> None:
        self.document = document
        self.fragments: dict[str, FragmentDefinitionNode] = {}
        for definition in document.definitions:
            if isinstance(definition, FragmentDefinitionNode):
                self.fragments.setdefault(definition.name.value, definition)
        self._selected: dict[int, tuple[Selected, ...]] = {}

    def parts(self, of: FieldNode | OperationDefinitionNode | FragmentDefinitionNode) -> Iterator[FieldNode | str]:
        """The fields that are selected there and the names of the fragments that are spread, which are not put in."""
        return iter(()) if of.selection_set is None else _parts(of.selection_set)

    def selected(self, of: FieldNode | OperationDefinitionNode) -> tuple[Selected, ...]:
        """The fields that are selected there, those of fragments among them, in a valid document within the limits."""
        if of.selection_set is None:
            return ()
        key = id(of.selection_set)  # which is its own as long as the document is kept
        found = self._selected.get(key)
        if found is None:
            into: list[Selected] = []
            self._put_in(of.selection_set, (), (), into)
            found = self._selected[key] = tuple(into)
        return found

    def _put_in(
        self, selections: SelectionSetNode, on: tuple[str, ...], when: tuple[Condition, ...], into: list[Selected]
    ) -> None:
        """Adds the fields of these selections, and of the fragments in them, within these types and conditions.

        Only whole selections of a field are kept, and no type or condition twice: so what is kept grows with the
        fields, and not with the fragments around each of them.
        """
        for selection in selections.selections:
            both = _with(when, _conditions(selection))
            if isinstance(selection, FieldNode):
                into.append(Selected(selection, on, both))
                continue
            fragment = (
                self.fragments[selection.name.value]
                if isinstance(selection, FragmentSpreadNode)
                else cast("InlineFragmentNode", selection)
            )
            kind = () if fragment.type_condition is None else (fragment.type_condition.name.value,)
            self._put_in(fragment.selection_set, _with(on, kind), both, into)


def _with(outer: tuple[T, ...], inner: tuple[T, ...]) -> tuple[T, ...]:
    """Puts together what has to hold, each once."""
    return tuple(dict.fromkeys((*outer, *inner))) if inner else outer


def _parts(selections: SelectionSetNode) -> Iterator[FieldNode | str]:
    for selection in selections.selections:
        if isinstance(selection, FieldNode):
            yield selection
        elif isinstance(selection, InlineFragmentNode):
            yield from _parts(selection.selection_set)
        elif isinstance(selection, FragmentSpreadNode):
            yield selection.name.value


def root_fields(operation: OperationDefinitionNode, document: DocumentNode) -> Iterator[FieldNode]:
    """The fields at the root of an operation that nobody has validated, each fragment looked at once."""
    fragments: dict[str, list[SelectionSetNode]] = {}
    for definition in document.definitions:
        if isinstance(definition, FragmentDefinitionNode):
            fragments.setdefault(definition.name.value, []).append(definition.selection_set)
    left = [operation.selection_set]
    while left:
        for part in _parts(left.pop()):
            if isinstance(part, FieldNode):
                yield part
            else:
                left += fragments.pop(part, [])


def _conditions(selection: SelectionNode) -> tuple[Condition, ...]:
    """Finds what lets the selection through."""
    found: list[Condition] = []
    for directive in selection.directives or ():
        if directive.name.value not in ("skip", "include"):
            continue
        wanted = directive.name.value == "include"
        for argument in directive.arguments or ():
            if isinstance(argument.value, VariableNode):
                found.append((argument.value.name.value, wanted))
            elif isinstance(argument.value, BooleanValueNode) and argument.value.value != wanted:
                found.append(NEVER)
    return tuple(found)
