"""What a field's selection needs of the rows that its resolver fetches, worked out once per document.

@skip and @include are not looked at: a column too many costs little, a column too few would be missed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLResolveInfo,
)

from contract.criteria import Selection
from schema.adapters.strawberry import DEFINITION, raw_info
from schema.declare import LINK, NEEDS, Info
from schema.execution.known import plain_columns, unknown_of

T = TypeVar("T")
_Fields = list[tuple[GraphQLObjectType, FieldNode]]


def selected(info: Info) -> Selection:
    """What is selected of the record that the field gives."""
    return _once(info, "record", _record)


def selected_nodes(info: Info) -> Selection:
    """What is selected of the nodes of the connection that the field gives."""
    return _once(info, "nodes", _nodes)


def selected_by_type(info: Info, field: str | None = None) -> Mapping[str, Selection]:
    """What is selected of a record that may be of any type, for each of them by its name.

    The record is what the field gives, or what is found under this field of it.
    """
    return _once(info, f"types of {field}", lambda raw: _by_type(raw, field))


def _once(info: Info, kind: str, work: Callable[[GraphQLResolveInfo[Any]], T]) -> T:
    raw = raw_info(info)
    known: dict[Any, T] = info.context.worked_out
    key = (kind, *map(id, raw.field_nodes))
    found = known.get(key)
    if found is None:
        found = known[key] = work(raw)
    return found


def _by_type(raw: GraphQLResolveInfo[Any], field: str | None) -> dict[str, Selection]:
    above: Any = _object(raw.return_type)
    nodes = list(raw.field_nodes)
    if field is not None:
        nodes = [node for _, node in _below(raw, above, nodes) if node.name.value == field]
        above = _object(above.fields[field].type)
    kinds = raw.schema.get_possible_types(above)
    return {kind.name: _selection(raw, list(_below(raw, kind, nodes))) for kind in kinds}


def _record(raw: GraphQLResolveInfo[Any]) -> Selection:
    kind = _object(raw.return_type)
    return _selection(raw, list(_below(raw, kind, raw.field_nodes)))


def _nodes(raw: GraphQLResolveInfo[Any]) -> Selection:
    """The nodes stand below `nodes`, and below `edges` with the link's own fields beside them."""
    connection = _object(raw.return_type)
    fields: _Fields = []
    beside: set[str] = set()
    for kind, node in _below(raw, connection, raw.field_nodes):
        if node.name.value == "nodes":
            fields += _below(raw, _object(kind.fields["nodes"].type), [node])
        elif node.name.value == "edges":
            edge = _object(kind.fields["edges"].type)
            for _, inner in _below(raw, edge, [node]):
                if inner.name.value == "node":
                    fields += _below(raw, _object(edge.fields["node"].type), [inner])
                elif (definition := _definition(edge, inner)) is not None:
                    beside |= set(definition.metadata.get(NEEDS, ()))
    selection = _selection(raw, fields)
    return replace(selection, columns=selection.columns | beside)


def _selection(raw: GraphQLResolveInfo[Any], fields: _Fields) -> Selection:
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
        for _, inner in _below(raw, target, [node]):
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


def _below(
    raw: GraphQLResolveInfo[Any], kind: GraphQLObjectType, nodes: Iterable[FieldNode]
) -> Iterator[tuple[GraphQLObjectType, FieldNode]]:
    for node in nodes:
        if node.selection_set is not None:
            for selection in node.selection_set.selections:
                yield from _expanded(raw, kind, selection)


def _expanded(
    raw: GraphQLResolveInfo[Any], kind: GraphQLObjectType, selection: Any
) -> Iterator[tuple[GraphQLObjectType, FieldNode]]:
    if isinstance(selection, FieldNode):
        yield kind, selection
        return
    if isinstance(selection, FragmentSpreadNode):
        selection = raw.fragments[selection.name.value]
    condition = selection.type_condition
    if condition is not None and condition.name.value not in (kind.name, *(i.name for i in kind.interfaces)):
        return
    for inner in selection.selection_set.selections:
        yield from _expanded(raw, kind, inner)


def _object(kind: Any) -> GraphQLObjectType:
    while isinstance(kind, GraphQLNonNull | GraphQLList):
        kind = kind.of_type
    return kind
