"""Finds an operation's costs: from its tree to the one that is added up (schema/execution/costs.py)."""

from collections.abc import Iterable

from graphql import (
    FieldNode,
    GraphQLList,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    VariableNode,
    get_nullable_type,
    is_abstract_type,
    is_leaf_type,
)

from contract.costs import Cost
from schema.connections import is_page
from schema.execution.costs import CostByType, CostNode, OperationCost, Rows
from schema.execution.filter_costs import NO_FILTER, Filter, filter_of
from schema.execution.tree import Field, Tree

COST = "cost"
"""The key, in a field's extensions, of its `contract.costs.Cost`."""


def cost_of(tree: Tree) -> OperationCost:
    """Finds the costs of an operation."""
    return OperationCost(_nodes(tree.fields))


def _nodes(fields: Iterable[Field], whole: Filter = NO_FILTER) -> tuple[CostNode | CostByType, ...]:
    """Lists what costs anything; of the fields of a page, `whole` is what its list filters by."""
    found = (_node(field, whole) for field in fields if not field.name.startswith("__"))
    return tuple([node for node in found if node is not None])


def _below(field: Field, whole: Filter) -> tuple[CostNode | CostByType, ...]:
    if not is_abstract_type(field.kind):
        return _nodes(field.fields, whole)
    kinds = tuple([_nodes(one.fields) for one in field.below.values()])
    return (CostByType(kinds),) if any(kinds) else ()


def _node(field: Field, whole: Filter) -> CostNode | None:
    kind, first, definition = field.kind, field.nodes[0], field.schema_field
    cost: Cost = definition.extensions[COST]
    is_leaf = is_leaf_type(kind)
    if is_leaf and not cost.weight:
        return None
    page, in_page = is_page(kind), is_page(field.parent)
    # Only a page looks no further than it has to; a board adds up the whole list.
    filtered = filter_of(definition, first, is_counted=not page)
    below = _below(field, filter_of(definition, first, is_counted=True) if page else NO_FILTER)
    is_list = isinstance(get_nullable_type(definition.type), GraphQLList)
    is_many = page or (is_list and not in_page)
    rows = [node for node in below if (isinstance(node, CostNode) and node.is_rows if page else is_many)]
    return CostNode(
        field.key,
        Rows(cost, _asked(first, cost)),
        each=1 if is_many and not is_leaf else 0,
        below=tuple(rows),
        beside=tuple([node for node in below if node not in rows]),
        is_many=is_many,
        is_rows=is_list and in_page,
        filter=whole if in_page and is_leaf else filtered,
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
