"""The variables of a request: coerced, once their lists, depths and sizes are seen to be such as anyone may send."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from graphql import (
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    VariableDefinitionNode,
    get_named_type,
)
from graphql.execution import get_variable_values
from graphql.utilities import type_from_ast

from contract.errors import LimitExceeded, Problem, Problems
from contract.limits import (
    ERRORS_MAX,
    FILTER_CONDITIONS_MAX,
    INPUT_DEPTH_MAX,
    INPUT_LIST_MAX,
    INPUT_WEIGHT_MAX,
    JSON_DEPTH_MAX,
)
from schema.execution.coercion import Coerce, coerced, coercer_of
from schema.execution.filter_costs import is_filter
from schema.execution.values import Value
from schema.execution.variable_errors import errors_of
from schema.filters import MODE, TOO_MANY_CONDITIONS

_MEMBERS_PER_POINT = 10
"""Members of a JSON value that weigh as much as a value that is coerced."""
BULK_ROWS = frozenset({"AccountUpsertInput", "ContactUpsertInput", "DealUpsertInput", "LeadUpsertInput"})
"""Inputs that come by the thousand, each of which weighs one (decision 415)."""
_LIGHT = 500
"""Values that may be coerced a second time to report what is wrong with them."""


class Variables:
    """The variables of one operation; `uses` says how often each stands in the document."""

    __slots__ = ("_coercers", "_definitions", "_kinds", "_omitted", "_schema", "_uses")

    def __init__(
        self, schema: GraphQLSchema, definitions: Sequence[VariableDefinitionNode], uses: Mapping[str, int]
    ) -> None:
        self._schema = schema
        self._definitions = definitions
        self._uses = uses
        # A document that is valid names types of inputs only.
        self._kinds = {
            one.variable.name.value: cast("GraphQLInputType", type_from_ast(schema, one.type)) for one in definitions
        }
        self._coercers = {name: coercer_of(kind) for name, kind in self._kinds.items()}
        self._omitted = {
            one.variable.name.value: found.coerced
            for one in definitions
            if not isinstance(found := get_variable_values(schema, [one], {}), list)
        }
        """The value that each variable that need not be given has without one: its default, or nothing."""

    def coerced(self, given: Mapping[str, Value], *, suggesting: bool = True) -> dict[str, Value] | list[GraphQLError]:
        """Returns the values with their defaults, or what is wrong with them.

        `suggesting` says whether errors may name what the schema has.

        Raises LimitExceeded, and Problems for a filter of too many conditions, before any work is done (decision 126).
        """
        total = 0
        for name, kind in self._kinds.items():
            value = given.get(name)
            if isinstance(value, dict | list):
                scale = _Scale(name)
                scale.put(kind, value, 1)
                total += scale.weight * self._uses.get(name, 1)
                _check_weight(total)
        if total <= _LIGHT and (values := self._sound(given)) is not None:
            return values
        found = get_variable_values(
            self._schema, self._definitions, dict(given), max_errors=ERRORS_MAX, hide_suggestions=not suggesting
        )
        if not isinstance(found, list):
            return found.coerced
        tolerant = {name: coercer_of(kind, tolerant=True) for name, kind in self._kinds.items() if _is_input(kind)}
        if tolerant and (values := self._sound(given, tolerant)) is not None:
            return values
        return errors_of(self._definitions, self._kinds, given, ERRORS_MAX, suggesting=suggesting) or found

    def _sound(
        self, given: Mapping[str, Value], tolerant: Mapping[str, Coerce] | None = None
    ) -> dict[str, Value] | None:
        """Returns the values; None where something is wrong, which is to be reported.

        What a `tolerant` function hands on, the input of the operation refuses.
        """
        coercers = {**self._coercers, **(tolerant or {})}
        values: dict[str, Value] = {}
        for name, kind in self._kinds.items():
            if name in given:
                try:
                    values[name] = coerced(kind, coercers[name], given[name])
                except Exception:  # scalars raise what they like
                    return None
            elif name in self._omitted:
                values |= self._omitted[name]
            else:
                return None
        return values


def _is_input(kind: GraphQLInputType) -> bool:
    """Whether an operation reads the value by a model of its own, as it does all input objects but filters."""
    named = get_named_type(kind)
    return isinstance(named, GraphQLInputObjectType) and not is_filter(named)


@dataclass(slots=True)
class _Scale:
    """Weighs one variable's value: the weight is the work of coercing it.

    An item of a list is one, an object as many as its type has fields, since each is looked for.
    """

    name: str
    weight: int = 0
    conditions: int = 0

    def put(self, kind: GraphQLInputType, value: Value, depth: int) -> None:
        """Add a value, as deep as its type goes. Raises LimitExceeded or Problems as soon as it is too much."""
        if isinstance(kind, GraphQLNonNull):
            kind = kind.of_type
        if depth > INPUT_DEPTH_MAX:
            raise _too_deep(INPUT_DEPTH_MAX)
        if isinstance(kind, GraphQLList):
            if isinstance(value, list):
                self._list(kind.of_type, value, depth)
            else:
                self.put(kind.of_type, value, depth)
        elif isinstance(kind, GraphQLInputObjectType) and isinstance(value, dict):
            self._object(kind, value, depth)
        else:
            self._scalar(value)

    def _list(self, kind: GraphQLInputType, values: list[Value], depth: int) -> None:
        if len(values) > INPUT_LIST_MAX:
            raise LimitExceeded(
                "list length", INPUT_LIST_MAX, f"A list in a variable has more than {INPUT_LIST_MAX} items"
            )
        self._add(len(values))
        for item in values:
            if isinstance(item, dict | list):
                self.put(kind, item, depth + 1)

    def _object(self, kind: GraphQLInputObjectType, value: dict[str, Value], depth: int) -> None:
        fields = kind.fields
        self._add(1 if kind.name in BULK_ROWS and len(value) <= len(fields) else max(len(fields), len(value)))
        filters = is_filter(kind)
        for name, item in value.items():
            if isinstance(item, dict | list) and name in fields:
                inner = fields[name].type
                if filters:
                    self._count(get_named_type(inner), item)
                self.put(inner, item, depth + 1)

    def _count(self, kind: GraphQLInputType, value: Value) -> None:
        """Count what stands in a filter: one for each filter within it, and one for each comparison."""
        self.conditions += 1 if is_filter(kind) and isinstance(value, dict) else len(value) - (MODE in value)
        if self.conditions > FILTER_CONDITIONS_MAX:
            raise Problems([Problem((self.name,), *TOO_MANY_CONDITIONS)])

    def _scalar(self, value: Value) -> None:
        """Counts what a scalar such as JSON holds: a list or object is one, and one more for every ten members."""
        level = [value]
        for _ in range(JSON_DEPTH_MAX):
            self._add(sum(1 + len(part) // _MEMBERS_PER_POINT for part in level))
            level = [
                inner
                for part in level
                for inner in (part.values() if isinstance(part, dict) else part)
                if isinstance(inner, dict | list)
            ]
            if not level:
                return
        raise _too_deep(JSON_DEPTH_MAX)

    def _add(self, weight: int) -> None:
        self.weight += weight
        _check_weight(self.weight)


def _check_weight(weight: int) -> None:
    if weight > INPUT_WEIGHT_MAX:
        raise LimitExceeded(
            "variables weight", INPUT_WEIGHT_MAX, f"The variables weigh more than {INPUT_WEIGHT_MAX} values together"
        )


def _too_deep(most: int) -> LimitExceeded:
    return LimitExceeded("input depth", most, f"A variable has more than {most} values in one another")
