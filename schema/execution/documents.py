"""The document cache: a text is parsed and validated once, as long as it is among the last used.

Bounded by entries and by bytes of text; what it keeps depends on the text alone, never on a request or its caller.
"""

from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphql import (
    DirectiveNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    InlineFragmentNode,
    NoSchemaIntrospectionCustomRule,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    VariableDefinitionNode,
    VariableNode,
    Visitor,
    parse,
    specified_rules,
    validate,
    visit,
)
from graphql.utilities import get_operation_ast

from contract.errors import LimitExceeded
from contract.limits import DOCUMENT_MAX_BYTES, ERRORS_MAX, TOKENS_MAX, VARIANTS_MAX
from schema.execution import limits
from schema.execution.costing import cost_of
from schema.execution.costs import OperationCost
from schema.execution.plans import Plans
from schema.execution.variables import Variables

ENTRIES_MAX = 1_000
BYTES_MAX = 256 * 1024  # of text; what is parsed and compiled takes up to a hundred times as much


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a document; public where it asks for nothing but the schema and `__typename`."""

    node: OperationDefinitionNode
    is_query: bool
    is_subscription: bool
    is_public: bool
    cost: OperationCost
    variables: Variables
    label: str = ""
    """Its kind and root field, or `several`: words of the schema, for logs and counts (decision 122)."""
    is_shared: bool = False
    """Whether its text has several fields at the root, whatever @skip and @include make of them."""
    plans: Plans = field(default_factory=Plans)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text that was read: the document, or why it cannot be run.

    `uses` says how often each variable stands in the document, `conditions` names those that @skip and @include read,
    in order; `shapes` and `worked_out` are what is found out once for the document and its conditions, of which the
    first few variants are kept (decision 126).
    """

    schema: GraphQLSchema
    document: DocumentNode | None
    errors: tuple[GraphQLError, ...] = ()
    conditions: tuple[str, ...] = ()
    uses: Mapping[str, int] = field(default_factory=dict)
    shapes: dict[Hashable, Any] = field(default_factory=dict)
    worked_out: dict[Hashable, Any] = field(default_factory=dict)
    _operations: dict[str | None, Operation] = field(default_factory=dict)
    _variants: set[tuple[Any, ...]] = field(default_factory=set)

    def operation(self, name: str | None) -> Operation | None:
        """The operation of this name, or the only one; None where there is none such."""
        if name not in self._operations:
            node = None if self.document is None else get_operation_ast(self.document, name)
            if self.document is None or node is None:
                return None
            fragments = {d.name.value: d for d in self.document.definitions if isinstance(d, FragmentDefinitionNode)}
            roots = list(_roots(node.selection_set, fragments))
            self._operations[name] = Operation(
                node,
                is_query=node.operation is OperationType.QUERY,
                is_subscription=node.operation is OperationType.SUBSCRIPTION,
                is_public=all(root.startswith("__") for root in roots),
                cost=cost_of(self.schema, node, fragments),
                variables=Variables(self.schema, node.variable_definitions or (), self.uses),
                label=f"{node.operation.value} {roots[0] if len(set(roots)) == 1 else 'several'}",
                is_shared=sum(not root.startswith("__") for root in roots) > 1,
            )
        return self._operations[name]

    def variant(self, variables: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values of the conditions' variables: what shapes and plans depend on besides the document."""
        return tuple(variables.get(name) for name in self.conditions)

    def keeps(self, variant: tuple[Any, ...]) -> bool:
        """Whether what is found out for this variant is kept: it is one of the first that were met."""
        if variant not in self._variants:
            if len(self._variants) == VARIANTS_MAX:
                return False
            self._variants.add(variant)
        return True


class Documents:
    """The cache for one schema."""

    def __init__(self, schema: GraphQLSchema, *, introspection: bool = True) -> None:
        self._schema = schema
        self._rules = specified_rules if introspection else (*specified_rules, NoSchemaIntrospectionCustomRule)
        self._kept: OrderedDict[str, Prepared] = OrderedDict()
        self._bytes = 0

    def prepare(self, text: str) -> Prepared:
        """The document of a text, from the cache where it is there."""
        found = self._kept.get(text)
        if found is not None:
            self._kept.move_to_end(text)
            return found
        prepared = self._read(text)
        self._keep(text, prepared)
        return prepared

    def _read(self, text: str) -> Prepared:
        try:
            document = _parsed(text)
            limits.check(document)
            errors = validate(self._schema, document, self._rules, max_errors=ERRORS_MAX)
        except LimitExceeded as error:
            return Prepared(self._schema, None, (GraphQLError(error.message, original_error=error),))
        except GraphQLError as error:
            return Prepared(self._schema, None, (error,))
        except RecursionError:
            return Prepared(self._schema, None, (GraphQLError("The document is nested too deeply."),))
        if errors:
            return Prepared(self._schema, None, tuple(errors[:ERRORS_MAX]))
        found = _Variables()
        visit(document, found)
        return Prepared(self._schema, document, conditions=tuple(sorted(found.conditions)), uses=found.uses)

    def _keep(self, text: str, prepared: Prepared) -> None:
        size = len(text)
        if size > DOCUMENT_MAX_BYTES:
            return
        self._kept[text] = prepared
        self._bytes += size
        while len(self._kept) > ENTRIES_MAX or self._bytes > BYTES_MAX:
            old, _ = self._kept.popitem(last=False)
            self._bytes -= len(old)


def _roots(selections: SelectionSetNode, fragments: Mapping[str, FragmentDefinitionNode]) -> Iterator[str]:
    """The root fields' names."""
    for selection in selections.selections:
        if isinstance(selection, FieldNode):
            yield selection.name.value
        elif isinstance(selection, InlineFragmentNode):
            yield from _roots(selection.selection_set, fragments)
        elif isinstance(selection, FragmentSpreadNode):
            yield from _roots(fragments[selection.name.value].selection_set, fragments)


def _parsed(text: str) -> DocumentNode:
    """The document. Raises LimitExceeded, GraphQLError or RecursionError."""
    if len(text) > DOCUMENT_MAX_BYTES or len(text.encode(errors="replace")) > DOCUMENT_MAX_BYTES:
        raise LimitExceeded(
            "document", DOCUMENT_MAX_BYTES, f"The document is larger than {DOCUMENT_MAX_BYTES // 1024} kB"
        )
    try:
        return parse(text, max_tokens=TOKENS_MAX)
    except GraphQLSyntaxError as error:
        if error.message.endswith(f" more than {TOKENS_MAX} tokens. Parsing aborted."):
            raise LimitExceeded("tokens", TOKENS_MAX, f"The document has more than {TOKENS_MAX} tokens") from None
        raise


class _Variables(Visitor):
    """Counts the variables of the document, and collects those of @skip and @include."""

    def __init__(self) -> None:
        super().__init__()
        self.uses: Counter[str] = Counter()
        self.conditions: set[str] = set()

    def enter_variable(self, node: VariableNode, *_: Any) -> None:
        self.uses[node.name.value] += 1

    def leave_variable_definition(self, node: VariableDefinitionNode, *_: Any) -> None:
        self.uses[node.variable.name.value] -= 1

    def enter_directive(self, node: DirectiveNode, *_: Any) -> None:
        if node.name.value in ("skip", "include"):
            values = (argument.value for argument in node.arguments or ())
            self.conditions |= {value.name.value for value in values if isinstance(value, VariableNode)}
