"""Reads what a tool's document asks for: which texts people wrote, and which rules guard it (decision 316).

Any text counts as written by people, but for the few that the service or the operator writes: texts of people are no
instruction to whoever reads them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    OperationDefinitionNode,
    get_named_type,
    get_nullable_type,
    is_list_type,
)

from contract.scopes import ScopeGroup
from schema.adapters.strawberry import definition_of
from schema.declare import RequiresScope
from schema.execution.outline import Outline

_TEXTS: Final = frozenset({"String", "JSON"})
_OWN: Final = frozenset(
    {
        *("Viewer.subject", "Viewer.scopes", "Event.type", "Event.actor", "PageInfo.endCursor", "PageInfo.startCursor"),
        *("Deal.currency", "CurrencyAmount.currency", "UserError.message", "UserError.field", "SearchHit.matchedField"),
        *("AnalyticsColumn.name", "AnalyticsColumn.label", "AnalyticsColumn.unit", "AnalyticsColumn.currencyColumn"),
        *("HealthFactor.label", "Campaign.timezone"),
    }
)
"""Fields with texts that no member of an organization, and nobody outside of it, can choose."""


@dataclass(frozen=True, slots=True)
class AskedField:
    """A field of a document: its place in the data, `*` for each item of a list, and its declaration."""

    path: str
    coordinate: str
    declared: GraphQLField

    @property
    def is_untrusted(self) -> bool:
        """Says whether it has texts that people wrote."""
        kind = get_named_type(self.declared.type)
        return isinstance(kind, GraphQLScalarType) and kind.name in _TEXTS and self.coordinate not in _OWN

    @property
    def group(self) -> ScopeGroup | None:
        """The scopes of which its reader needs one."""
        definition = definition_of(self.declared)
        directives = () if definition is None else definition.directives
        return next((one.group for one in directives if isinstance(one, RequiresScope)), None)


def asked_fields(schema: GraphQLSchema, outline: Outline, operation: OperationDefinitionNode) -> Iterator[AskedField]:
    """The fields of a document, each before those below it."""
    root = cast(GraphQLObjectType, schema.get_root_type(operation.operation))
    return _asked(schema, outline, root, operation, "")


def _asked(
    schema: GraphQLSchema, outline: Outline, kind: GraphQLObjectType, of: FieldNode | OperationDefinitionNode, at: str
) -> Iterator[AskedField]:
    for one in outline.selected(of):
        on = cast(GraphQLObjectType, schema.type_map[one.on[-1]]) if one.on else kind
        field = on.fields[one.node.name.value]
        path, inner = f"{at}{(one.node.alias or one.node.name).value}", get_nullable_type(field.type)
        while is_list_type(inner):
            path, inner = f"{path}.*", get_nullable_type(inner.of_type)
        yield AskedField(path, f"{on.name}.{one.node.name.value}", field)
        below = cast(GraphQLObjectType, get_named_type(field.type))
        yield from _asked(schema, outline, below, one.node, f"{path}.")
