"""Works out, once per document, what a field's selection needs of the rows that its resolver fetches.

@skip and @include are not looked at: a column too many costs little, a column too few would be missed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLResolveInfo,
)

from contract.criteria import Selection
from schema.adapters.strawberry import DEFINITION, raw_info
from schema.declare import LINK, NEEDS, Info
from schema.execution.known import plain_columns, unknown_of
from schema.execution.outline import OUTLINE, Outline

T = TypeVar("T")
_Field = tuple[GraphQLObjectType, FieldNode]
_Fields = list[_Field]


def selected(info: Info) -> Selection:
    """Finds what is selected of the record that the field gives."""
    return _once(info, "record", _record)


def selected_nodes(info: Info) -> Selection:
    """Finds what is selected of the nodes of the connection that the field gives."""
    return _once(info, "nodes", _nodes)


def selected_by_type(info: Info, field: str | None = None) -> Mapping[str, Selection]:
    """Finds what is selected of a record that may be of any type, for each of them by its name.

    The record is what the field gives, or what is found under this field of it.
    """
    return _once(info, f"types of {field}", lambda asked: _by_type(asked, field))


class _Asked(NamedTuple):
    """A field as it is asked for, and the outline of its document."""

    raw: GraphQLResolveInfo[Any]
    outline: Outline


def _once(info: Info, kind: str, work: Callable[[_Asked], T]) -> T:
    raw = raw_info(info)
    known: dict[Any, Any] = info.context.worked_out
    key = (kind, *map(id, raw.field_nodes))
    found: T | None = known.get(key)
    if found is None:
        if OUTLINE not in known:  # the library alone runs the document
            known[OUTLINE] = Outline(DocumentNode(definitions=tuple(raw.fragments.values())))
        found = known[key] = work(_Asked(raw, known[OUTLINE]))
    return found


def _by_type(asked: _Asked, field: str | None) -> dict[str, Selection]:
    above: Any = _object(asked.raw.return_type)
    nodes = list(asked.raw.field_nodes)
    if field is not None:
        nodes = [node for _, node in _below(asked, above, nodes) if node.name.value == field]
        above = _object(above.fields[field].type)
    kinds = asked.raw.schema.get_possible_types(above)
    return {kind.name: _selection(asked, list(_below(asked, kind, nodes))) for kind in kinds}


def _record(asked: _Asked) -> Selection:
    kind = _object(asked.raw.return_type)
    return _selection(asked, list(_below(asked, kind, asked.raw.field_nodes)))


def _nodes(asked: _Asked) -> Selection:
    """The nodes stand below `nodes`, and below `edges` with the link's own fields beside them."""
    connection = _object(asked.raw.return_type)
    fields: _Fields = []
    beside: set[str] = set()
    for kind, node in _below(asked, connection, asked.raw.field_nodes):
        if node.name.value == "nodes":
            fields += _below(asked, _object(kind.fields["nodes"].type), [node])
        elif node.name.value == "edges":
            edge = _object(kind.fields["edges"].type)
            for _, inner in _below(asked, edge, [node]):
                if inner.name.value == "node":
                    fields += _below(asked, _object(edge.fields["node"].type), [inner])
                elif (definition := _definition(edge, inner)) is not None:
                    beside |= set(definition.metadata.get(NEEDS, ()))
    selection = _selection(asked, fields)
    return replace(selection, columns=selection.columns | beside)


def _selection(asked: _Asked, fields: _Fields) -> Selection:
    columns: set[str] = set()
    links: dict[str, set[str]] = {}
    for kind, node in fields:
        definition = _definition(kind, node)
        if definition is None:
            continue
        link = definition.metadata.get(LINK)
        if link is None:
            columns |= _needs(kind, node)
            continue
        columns.add(f"{link}_id")
        target = _object(kind.fields[node.name.value].type)
        wanted = links.setdefault(link, set())
        for _, inner in _below(asked, target, [node]):
            if (found := _definition(target, inner)) is not None:
                nested = found.metadata.get(LINK)
                wanted |= _needs(target, inner) if nested is None else {f"{nested}_id"}
    return Selection(frozenset(columns), frozenset((name, frozenset(wanted)) for name, wanted in links.items()))


def _needs(kind: GraphQLObjectType, node: FieldNode) -> set[str]:
    """The columns that a field reads: its own, or those that its resolver names, or else the record's id.

    Of a field with permissions or extensions nobody knows what they look at: it has all that its type shows.
    """
    if unknown_of(kind.fields[node.name.value]):
        return plain_columns(kind)
    definition = _definition(kind, node)
    needs: tuple[str, ...] | None = definition.metadata.get(NEEDS)
    if needs is not None:
        return set(needs)
    return {definition.python_name} if definition.base_resolver is None else {"id"}


def _definition(kind: GraphQLObjectType, node: FieldNode) -> Any:
    field = kind.fields.get(node.name.value)
    return None if field is None else field.extensions.get(DEFINITION)


def _below(asked: _Asked, kind: GraphQLObjectType, nodes: Iterable[FieldNode]) -> Iterator[_Field]:
    names = {kind.name, *(interface.name for interface in kind.interfaces)}
    for node in nodes:
        for one in asked.outline.selected(node):
            if names.issuperset(one.on):
                yield kind, one.node


def _object(kind: Any) -> GraphQLObjectType:
    while isinstance(kind, GraphQLNonNull | GraphQLList):
        kind = kind.of_type
    return kind
