"""Finds an operation's costs: from its selections to the tree that is added up (schema/execution/costs.py).

Fields that share a place of the answer are one place here, as they are when they run.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from graphql import (
    FieldNode,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLObjectType,
    GraphQLSchema,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    OperationDefinitionNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
)

from contract.costs import Cost
from schema.connections import is_page
from schema.execution.costs import Kinds, OperationCost, Place, Rows
from schema.execution.filter_costs import NO_FILTER, Filter, filter_of
from schema.execution.outline import Outline, Selected, When

COST = "cost"
"""The key, in a field's extensions, of its `contract.costs.Cost`."""

_Entry = tuple[FieldNode, When]
_Part = tuple[Sequence[Selected], When]


def cost_of(schema: GraphQLSchema, operation: OperationDefinitionNode, outline: Outline) -> OperationCost:
    """The costs of an operation of a valid document within the limits."""
    kind = schema.get_root_type(operation.operation)
    return OperationCost(_Costing(schema, outline).places(kind, [(outline.selected(operation), ())]))


class _Costing:
    """Makes the places of one operation."""

    def __init__(self, schema: GraphQLSchema, outline: Outline) -> None:
        self._schema = schema
        self._outline = outline

    def places(self, kind: Any, parts: Sequence[_Part], whole: Filter = NO_FILTER) -> tuple[Place | Kinds, ...]:
        """Lists what costs anything below a type's selections; of a page's, `whole` is what its list filters by."""
        if isinstance(kind, GraphQLObjectType):
            return self._of_object(kind, parts, whole)
        if not isinstance(kind, GraphQLInterfaceType):
            return ()
        kinds = [self._of_object(one, parts, NO_FILTER) for one in self._schema.get_possible_types(kind)]
        return (Kinds(tuple(kinds)),) if any(kinds) else ()

    def _of_object(self, kind: GraphQLObjectType, parts: Sequence[_Part], whole: Filter) -> tuple[Place | Kinds, ...]:
        found: dict[str, list[_Entry]] = {}
        for node, when in self._fields(kind, parts):
            if not node.name.value.startswith("__"):
                found.setdefault((node.alias or node.name).value, []).append((node, when))
        places = (self._place(kind, key, entries, whole) for key, entries in found.items())
        return tuple(place for place in places if place is not None)

    def _fields(self, kind: GraphQLObjectType, parts: Sequence[_Part]) -> Iterator[_Entry]:
        """The fields that a record of this type may be asked for, each once under the same conditions."""
        found: set[tuple[int, When]] = set()
        for selected, outer in parts:
            for one in selected:
                if one.when is None:
                    continue
                entry = (one.node, (*outer, *one.when))
                key = (id(one.node), entry[1])
                if key not in found and all(self._applies(name, kind) for name in one.on):
                    found.add(key)
                    yield entry

    def _applies(self, name: str, kind: GraphQLObjectType) -> bool:
        condition: Any = self._schema.get_type(name)
        return condition is kind or self._schema.is_sub_type(condition, kind)

    def _place(self, kind: GraphQLObjectType, key: str, entries: Sequence[_Entry], whole: Filter) -> Place | None:
        field = kind.fields[entries[0][0].name.value]
        given = get_named_type(field.type)
        cost: Cost = field.extensions[COST]
        if is_leaf_type(given) and not cost.weight:
            return None
        # Where several fields share the place, what lets one of them through lets in what it selects, too.
        parts = [
            (self._outline.selected(node), when if len(entries) > 1 else ())
            for node, when in entries
            if node.selection_set is not None
        ]
        first, page = entries[0][0], is_page(given)
        # Only a page looks no further than it has to; a board adds up the whole list.
        filtered = filter_of(field, first, is_counted=not page)
        below = self.places(given, parts, filter_of(field, first, is_counted=True) if page else NO_FILTER)
        is_list = isinstance(get_nullable_type(field.type), GraphQLList)
        is_many = page or (is_list and not is_page(kind))
        rows = [place for place in below if (isinstance(place, Place) and place.is_rows if page else is_many)]
        return Place(
            key,
            Rows(cost, _asked(first, cost)),
            each=1 if is_many and not is_leaf_type(given) else 0,
            below=tuple(rows),
            beside=tuple(place for place in below if place not in rows),
            when=() if any(not when for _, when in entries) else tuple(dict.fromkeys(when for _, when in entries)),
            is_many=is_many,
            is_rows=is_list and is_page(kind),
            filter=whole if is_page(kind) and is_leaf_type(given) else filtered,
        )


def _asked(node: FieldNode, cost: Cost) -> tuple[int | str, ...]:
    """Reads what the arguments say about the number of rows."""
    found: list[int | str] = []
    for argument in node.arguments or ():
        if argument.name.value not in cost.multipliers:
            continue
        value = argument.value
        if isinstance(value, VariableNode):
            found.append(value.name.value)
        elif isinstance(value, IntValueNode):
            found.append(int(value.value))
        elif isinstance(value, ListValueNode):
            found.append(len(value.values))
        elif not isinstance(value, NullValueNode):
            found.append(1)  # of a list, one item may stand alone
    return tuple(found)
