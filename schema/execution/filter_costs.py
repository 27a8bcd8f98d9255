"""What a filter weighs, as it stands in a document and with the values of its variables (decision 140).

Each comparison weighs something, more the more links lead to what it is on; so do alternatives and links themselves.
The numbers are in contract/costs.py. What the text fixes is added up once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLNonNull,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
)

from contract.costs import ALTERNATIVE, CONDITION, LINKED, LOOKED_THROUGH, TEXT_CONDITION, list_condition, skipped

_Values = Mapping[str, Any]
_TEXT = frozenset({"contains", "startsWith"})
_LISTS = frozenset({"in", "nin"})


@dataclass(frozen=True, slots=True)
class _Hole:
    """A variable in a filter: what it is to the filter, and how many links lead there."""

    variable: str
    kind: Any
    name: str
    depth: int


@dataclass(frozen=True, slots=True)
class Filter:
    """What a list's arguments weigh beside the rows: its conditions, and the rows that its offset skips.

    `times` says how often the conditions count, which is more where the whole list is looked through.
    """

    fixed: int = 0
    holes: tuple[_Hole, ...] = ()
    offset: str | None = None
    """The variable that holds the offset."""
    times: int = 1

    @property
    def is_fixed(self) -> bool:
        """Whether no variable has a say in it."""
        return not self.holes and self.offset is None

    def weight(self, values: _Values) -> int:
        """The weight with these coerced variables; one that is not given states nothing."""
        total = self.fixed
        for hole in self.holes:
            if hole.variable in values:
                total += sum(_weights(hole.kind, hole.name, values[hole.variable], hole.depth))
        return total * self.times + (skipped(values.get(self.offset) or 0) if self.offset else 0)


NO_FILTER = Filter()


def is_filter(kind: Any) -> bool:
    """Whether the type is one of the filter inputs, with alternatives or without: they all compare identifiers."""
    if not isinstance(kind, GraphQLInputObjectType) or "id" not in kind.fields:
        return False
    compared = get_named_type(kind.fields["id"].type)
    return isinstance(compared, GraphQLInputObjectType) and "eq" in compared.fields


def filter_of(field: GraphQLField, node: FieldNode, *, is_counted: bool = False) -> Filter:
    """The weight of what a field's arguments filter by and skip, or, for the whole list, of what they filter by."""
    fixed, holes, offset = 0, [], None
    times = LOOKED_THROUGH if is_counted else 1
    for argument in node.arguments or ():
        name, value = argument.name.value, argument.value
        kind = get_named_type(field.args[name].type)
        if is_filter(kind):
            for part in _weights(kind, "", value, 0):
                if isinstance(part, _Hole):
                    holes.append(part)
                else:
                    fixed += part
        elif name == "offset" and not is_counted:
            if isinstance(value, VariableNode):
                offset = value.name.value
            elif isinstance(value, IntValueNode):
                fixed += skipped(int(value.value))
    return Filter(fixed, tuple(holes), offset, times) if fixed or holes or offset else NO_FILTER


def _weights(kind: Any, name: str, value: Any, depth: int) -> Iterator[Any]:
    """The weights of a value, which is a node of the text or comes from a variable; a hole for each variable in it.

    `name` is the field's that has the value, in a filter or in a comparator.
    """
    if isinstance(value, VariableNode):
        yield _Hole(value.name.value, kind, name, depth)
        return
    if value is None or isinstance(value, NullValueNode):
        if not isinstance(get_named_type(kind), GraphQLInputObjectType):  # it asks whether there is a value
            yield CONDITION * (1 + depth)
        return
    if is_filter(get_named_type(kind)):
        for one in _items(value):
            yield from _of_filter(get_named_type(kind), name, one, depth)
    elif isinstance(kind := get_nullable_type(kind), GraphQLInputObjectType):
        for inner, item in _members(value):
            yield from _weights(kind.fields[inner].type, inner, item, depth)
    else:
        yield _comparison(name, value) * (1 + depth)


def _of_filter(kind: GraphQLInputObjectType, name: str, value: Any, depth: int) -> Iterator[Any]:
    """The weights of one filter."""
    if isinstance(value, VariableNode):
        yield _Hole(value.name.value, GraphQLNonNull(kind), name, depth)
        return
    if name == "or":
        yield ALTERNATIVE * (1 + depth)
    elif name not in ("", "and", "not"):
        depth += 1
        yield LINKED * depth
    for inner, item in _members(value):
        yield from _weights(kind.fields[inner].type, inner, item, depth)


def _comparison(name: str, value: Any) -> int:
    if name in _LISTS:
        return list_condition(len(_items(value)))
    return TEXT_CONDITION if name in _TEXT else CONDITION


def _items(value: Any) -> Sequence[Any]:
    """The items of a list; of a list, one item may stand alone."""
    if isinstance(value, ListValueNode):
        return value.values
    return value if isinstance(value, list) else (value,)


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, ObjectValueNode):
        yield from ((field.name.value, field.value) for field in value.fields)
    elif isinstance(value, dict):
        yield from value.items()
