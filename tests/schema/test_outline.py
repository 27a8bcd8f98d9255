"""The outline of a document: its selections with their fragments put in, walked in one place alone."""

from __future__ import annotations

import ast

from graphql import FieldNode, OperationDefinitionNode, parse

from gateway.packages import ROOT
from schema.execution.outline import NEVER, Outline
from tests.support.internals import tree_of

WALKED = {"SelectionSetNode", "FragmentSpreadNode", "InlineFragmentNode"}
DOCUMENT = parse(
    """
    query($yes: Boolean!, $no: Boolean!) {
      a: deals { ...one @include(if: $yes) ... on Node @skip(if: true) { never } }
      b: deals { ...one }
      ... @skip(if: $no) { c: accounts { nodes { id } } }
    }
    fragment one on DealConnection { nodes { id ...two } }
    fragment two on Deal { name @include(if: $yes) @skip(if: $no) ... on Node { id } }
    """
)


def _operation() -> OperationDefinitionNode:
    operation = DOCUMENT.definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    return operation


def test_only_the_outline_walks_selections() -> None:
    walking = {
        path.name
        for path in (ROOT / "schema").rglob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and WALKED & {alias.name for alias in node.names}
    }
    assert walking == {"outline.py"}


def test_fragments_are_put_in_with_their_types_and_conditions() -> None:
    outline = Outline(DOCUMENT)
    a, b, c = (one.node for one in outline.selected(_operation()))
    assert [one.when for one in outline.selected(_operation())] == [(), (), (("no", False),)]
    [nodes, never] = outline.selected(a)
    assert (nodes.on, nodes.when) == (("DealConnection",), (("yes", True),))
    assert (never.on, never.when) == (("Node",), (NEVER,))
    assert [(s.node.name.value, s.on, s.when) for s in outline.selected(nodes.node)] == [
        ("id", (), ()),
        ("name", ("Deal",), (("yes", True), ("no", False))),
        ("id", ("Deal", "Node"), ()),
    ]
    assert [(s.node, s.when) for s in outline.selected(b)] == [(nodes.node, ())]
    assert [s.node.name.value for s in outline.selected(c)] == ["nodes"]
    assert outline.selected(nodes.node) is outline.selected(nodes.node)


def test_parts_are_not_put_in() -> None:
    outline = Outline(DOCUMENT)
    parts = list(outline.parts(_operation()))
    assert [part.alias.value for part in parts if isinstance(part, FieldNode) and part.alias] == ["a", "b", "c"]
    assert isinstance(parts[0], FieldNode)
    [spread, never] = outline.parts(parts[0])
    assert spread == "one"
    assert isinstance(never, FieldNode)
    assert list(outline.parts(never)) == []


def test_fragments_around_a_field_are_not_kept_with_it() -> None:
    """Otherwise a text of 4 kB, with a field below 60 fragments and often, would be 20 MB in the document cache."""
    around = "... on Deal @include(if: $yes) {" * 60
    fields = " ".join(f"a{number}: name" for number in range(40))
    one = f"{around} {fields} {'}' * 60}"
    document = parse(f"query($yes: Boolean!) {{ deal {{ {one} ...f ...f ...f }} }} fragment f on Deal {{ {one} }}")
    outline, operation = Outline(document), document.definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    [deal] = outline.selected(operation)
    found = outline.selected(deal.node)
    assert len(found) == 4 * 40
    assert {(one.on, one.when) for one in found} == {(("Deal",), (("yes", True),))}
    assert len(outline._selected) == 2
