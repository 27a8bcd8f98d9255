"""How an operation's costs are found: from its selections to the tree that is added up (schema/execution/costs.py).

Fields that share a place of the answer are one place here, as they are when they run.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graphql import (
    BooleanValueNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
)

from contract.costs import Cost
from schema.execution.costs import Kinds, OperationCost, Place, Rows, When
from schema.execution.filter_costs import NO_FILTER, Filter, filter_of

COST = "cost"
"""In a field's extensions: its `contract.costs.Cost`."""

_Entry = tuple[FieldNode, When]
_Part = tuple[SelectionSetNode, When]


def is_page(kind: GraphQLNamedType) -> bool:
    """Whether the type is a page of a list, whose rows stand below its `nodes` and `edges`."""
    return kind.name.endswith("Connection")


def cost_of(
    schema: GraphQLSchema, operation: OperationDefinitionNode, fragments: Mapping[str, FragmentDefinitionNode]
) -> OperationCost:
    """The costs of an operation of a valid document within the limits."""
    kind = schema.get_root_type(operation.operation)
    return OperationCost(_Costing(schema, fragments).places(kind, [(operation.selection_set, ())]))


class _Costing:
    """Makes the places of one operation."""

    def __init__(self, schema: GraphQLSchema, fragments: Mapping[str, FragmentDefinitionNode]) -> None:
        self._schema = schema
        self._fragments = fragments

    def places(self, kind: Any, parts: Sequence[_Part], whole: Filter = NO_FILTER) -> tuple[Place | Kinds, ...]:
        """What costs anything below these selections of a type; of a page's, `whole` is what its list filters by."""
        if isinstance(kind, GraphQLObjectType):
            return self._of_object(kind, parts, whole)
        if not isinstance(kind, GraphQLInterfaceType):
            return ()
        kinds = [self._of_object(one, parts, NO_FILTER) for one in self._schema.get_possible_types(kind)]
        return (Kinds(tuple(kinds)),) if any(kinds) else ()

    def _of_object(self, kind: GraphQLObjectType, parts: Sequence[_Part], whole: Filter) -> tuple[Place | Kinds, ...]:
        found: dict[str, list[_Entry]] = {}
        for node, when in self._fields(kind, parts, set()):
            if not node.name.value.startswith("__"):
                found.setdefault((node.alias or node.name).value, []).append((node, when))
        places = (self._place(kind, key, entries, whole) for key, entries in found.items())
        return tuple(place for place in places if place is not None)

    def _fields(self, kind: GraphQLObjectType, parts: Sequence[_Part], spread: set[Any]) -> Iterator[_Entry]:
        """The fields that a record of this type may be asked for, those of fragments among them."""
        for selections, outer in parts:
            for selection in selections.selections:
                own = _conditions(selection)
                if own is None:
                    continue
                when = (*outer, *own)
                if isinstance(selection, FieldNode):
                    yield selection, when
                    continue
                fragment: Any = selection
                if isinstance(selection, FragmentSpreadNode):
                    if (selection.name.value, when) in spread:
                        continue
                    spread.add((selection.name.value, when))
                    fragment = self._fragments[selection.name.value]
                if self._applies(fragment, kind):
                    yield from self._fields(kind, [(fragment.selection_set, when)], spread)

    def _applies(self, fragment: Any, kind: GraphQLObjectType) -> bool:
        if fragment.type_condition is None:
            return True
        condition: Any = self._schema.get_type(fragment.type_condition.name.value)
        return condition is kind or self._schema.is_sub_type(condition, kind)

    def _place(self, kind: GraphQLObjectType, key: str, entries: Sequence[_Entry], whole: Filter) -> Place | None:
        field = kind.fields[entries[0][0].name.value]
        given = get_named_type(field.type)
        cost: Cost = field.extensions[COST]
        if is_leaf_type(given) and not cost.weight:
            return None
        # Where several fields share the place, what lets one of them through lets in what it selects, too.
        parts = [
            (node.selection_set, when if len(entries) > 1 else ())
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
    """What the arguments say about the number of rows."""
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


def _conditions(selection: Any) -> When | None:
    """What lets the selection through; None where nothing ever does."""
    found: list[tuple[str, bool]] = []
    for directive in selection.directives or ():
        if directive.name.value not in ("skip", "include"):
            continue
        wanted = directive.name.value == "include"
        for argument in directive.arguments or ():
            if isinstance(argument.value, VariableNode):
                found.append((argument.value.name.value, wanted))
            elif isinstance(argument.value, BooleanValueNode) and argument.value.value != wanted:
                return None
    return tuple(found)
