"""What the costs know of a type is said by its class, never by its name; names follow all the same."""

from __future__ import annotations

from graphql import GraphQLObjectType

from schema.connections import is_inside_page, is_page
from tests.support.schemas import built


def test_pages_and_their_edges_are_marked() -> None:
    kinds = [kind for kind in built().graphql.type_map.values() if isinstance(kind, GraphQLObjectType)]
    pages = {kind.name for kind in kinds if is_page(kind)}
    assert len(pages) > 10
    assert pages == {kind.name for kind in kinds if kind.name.endswith("Connection")}
    inside = {kind.name for kind in kinds if is_inside_page(kind)}
    assert inside - pages == {kind.name for kind in kinds if kind.name.endswith("Edge")}
