"""Weighs a filter, as it stands in a document and with the values of its variables (decision 140).

Each comparison weighs something, more the more links lead to what it is on; so do alternatives and links themselves.
The numbers are in contract/costs.py. What the text fixes is added up once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLType,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    VariableNode,
    get_named_type,
    is_leaf_type,
)

from contract.costs import ALTERNATIVE, CONDITION, LINKED, LOOKED_THROUGH, TEXT_CONDITION, list_condition, skipped
from schema.execution.values import Value, Values
from schema.filters import MODE

_TEXT = frozenset({"contains", "startsWith"})
_LISTS = frozenset({"in", "nin", "any", "all", "none"})


@dataclass(frozen=True, slots=True)
class _Hole:
    """A variable in a filter: what it is to the filter, and how many links lead there.

    `alone` is its weight where that is a comparison with one value that is not null, whichever that is.
    """

    variable: str
    kind: GraphQLNamedType
    name: str
    depth: int
    alone: int | None = None

    def weight(self, values: Values) -> int:
        """Weighs the variable's value; one that is not given states nothing."""
        if self.variable not in values:
            return 0
        value = values[self.variable]
        if self.alone is None or value is None:
            return _weigh(self.kind, self.name, value, self.depth, [])
        return self.alone


@dataclass(frozen=True, slots=True)
class Filter:
    """The weight of a list's arguments beside the rows: its conditions, and the rows that its offset skips.

    `times` says how often the conditions count, which is more where the whole list is looked through.
    """

    fixed: int = 0
    holes: tuple[_Hole, ...] = ()
    offset: str | None = None
    """The variable that holds the offset."""
    times: int = 1

    @property
    def is_fixed(self) -> bool:
        """Says whether no variable has a say in it."""
        return not self.holes and self.offset is None

    def weight(self, values: Values) -> int:
        """The weight with these coerced variables."""
        total = self.fixed
        for hole in self.holes:
            total += hole.weight(values)
        return total * self.times + (skipped(values.get(self.offset) or 0) if self.offset else 0)


NO_FILTER = Filter()


def is_filter(kind: GraphQLType) -> bool:
    """Says whether the type is one of the filter inputs, with alternatives or without: they all compare identifiers."""
    if not isinstance(kind, GraphQLInputObjectType) or "id" not in kind.fields:
        return False
    compared = get_named_type(kind.fields["id"].type)
    return isinstance(compared, GraphQLInputObjectType) and "eq" in compared.fields


def filter_of(field: GraphQLField, node: FieldNode, *, is_counted: bool = False) -> Filter:
    """The weight of what a field's arguments filter by and skip, or, for the whole list, of what they filter by."""
    fixed, offset = 0, None
    holes: list[_Hole] = []
    times = LOOKED_THROUGH if is_counted else 1
    for argument in node.arguments or ():
        name, value = argument.name.value, argument.value
        kind = get_named_type(field.args[name].type)
        if is_filter(kind):
            fixed += _weigh(kind, "", value, 0, holes)
        elif name == "offset" and not is_counted:
            if isinstance(value, VariableNode):
                offset = value.name.value
            elif isinstance(value, IntValueNode):
                fixed += skipped(int(value.value))
    return Filter(fixed, tuple(holes), offset, times) if fixed or holes or offset else NO_FILTER


def _weigh(kind: GraphQLNamedType, name: str, value: Value, depth: int, holes: list[_Hole]) -> int:
    """The weight of a value, which is a node of the text or comes from a variable; `holes` gets each variable in it.

    `name` is the field's that has the value, in a filter or in a comparator; `kind` its type, named.
    """
    if isinstance(value, VariableNode):
        is_alone = is_leaf_type(kind) and name not in _LISTS
        alone = _comparison(name, None) * (1 + depth) if is_alone else None
        holes.append(_Hole(value.name.value, kind, name, depth, alone))
        return 0
    if value is None or isinstance(value, NullValueNode):  # a comparison with it asks whether there is a value
        return 0 if isinstance(kind, GraphQLInputObjectType) else CONDITION * (1 + depth)
    if not isinstance(kind, GraphQLInputObjectType):
        return _comparison(name, value) * (1 + depth)
    if not is_filter(kind):
        return _of_members(kind, value, depth, holes)
    return sum([_of_filter(kind, name, one, depth, holes) for one in _items(value)])


def _of_filter(kind: GraphQLInputObjectType, name: str, value: Value, depth: int, holes: list[_Hole]) -> int:
    """The weight of one filter."""
    if isinstance(value, VariableNode):
        holes.append(_Hole(value.name.value, kind, name, depth))
        return 0
    own = 0
    if name == "or":
        own = ALTERNATIVE * (1 + depth)
    elif name not in ("", "and", "not"):
        depth += 1
        own = LINKED * depth
    return own + _of_members(kind, value, depth, holes)


def _of_members(kind: GraphQLInputObjectType, value: Value, depth: int, holes: list[_Hole]) -> int:
    total = 0
    for name, item in _members(value):
        if name == MODE:
            continue
        total += _weigh(get_named_type(kind.fields[name].type), name, item, depth, holes)
    return total


def _comparison(name: str, value: Value) -> int:
    if name in _LISTS:
        return list_condition(len(_items(value)))
    return TEXT_CONDITION if name in _TEXT else CONDITION


def _items(value: Value) -> Sequence[Value]:
    """The items of a list; of a list, one item may stand alone."""
    if isinstance(value, ListValueNode):
        return value.values
    return value if isinstance(value, list) else (value,)


def _members(value: Value) -> Iterable[tuple[str, Value]]:
    if isinstance(value, ObjectValueNode):
        return [(field.name.value, field.value) for field in value.fields]
    return value.items() if isinstance(value, dict) else ()
