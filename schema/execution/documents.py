"""The document cache: a text is parsed and validated once, as long as it is among the last used.

What it keeps depends on the text alone, never on a request or its caller. Who shows no credential puts nothing in
(schema/execution/strangers.py).
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphql import (
    DirectiveNode,
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    Node,
    NoSchemaIntrospectionCustomRule,
    OperationDefinitionNode,
    OperationType,
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
from contract.limits import DOCUMENT_CACHE_BYTES, DOCUMENT_MAX_BYTES, ERRORS_MAX, TOKENS_MAX, VARIANTS_MAX
from schema.execution import limits
from schema.execution.costing import cost_of
from schema.execution.costs import OperationCost
from schema.execution.outline import OUTLINE, Outline
from schema.execution.plans import Plans
from schema.execution.variables import Variables
from storage.kept import Kept

PUBLIC = frozenset({"__schema", "__type", "__typename"})
"""The root fields that need no credential."""


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
    plans: Plans = field(default_factory=dict)


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
    text: str = ""
    grown: Callable[["Prepared"], None] | None = None
    """Told when another variant is kept."""
    _operations: dict[str | None, Operation] = field(default_factory=dict)
    _variants: set[tuple[Any, ...]] = field(default_factory=set)

    def operation(self, name: str | None) -> Operation | None:
        """The operation of this name, or the only one; None where there is none such."""
        if name not in self._operations:
            node = None if self.document is None else get_operation_ast(self.document, name)
            if self.document is None or node is None:
                return None
            outline: Outline = self.worked_out[OUTLINE]
            roots = [one.node.name.value for one in outline.selected(node)]
            self._operations[name] = Operation(
                node,
                is_query=node.operation is OperationType.QUERY,
                is_subscription=node.operation is OperationType.SUBSCRIPTION,
                is_public=PUBLIC.issuperset(roots),
                cost=cost_of(self.schema, node, outline),
                variables=Variables(self.schema, node.variable_definitions or (), self.uses),
                label=f"{node.operation.value} {roots[0] if len(set(roots)) == 1 else 'several'}",
                is_shared=sum(not root.startswith("__") for root in roots) > 1,
            )
        return self._operations[name]

    def variant(self, variables: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values of the conditions' variables: what shapes and plans depend on besides the document."""
        # Another operation's condition may be a variable of any type in the one that runs.
        return tuple(value if isinstance(value := variables.get(name), bool) else None for name in self.conditions)

    def keeps(self, variant: tuple[Any, ...]) -> bool:
        """Whether what is found out for this variant is kept: it is one of the first that were met."""
        if variant not in self._variants:
            if len(self._variants) == VARIANTS_MAX:
                return False
            self._variants.add(variant)
            if self.grown is not None and len(self._variants) > 1:
                self.grown(self)
        return True

    def kept(self, is_kept: bool) -> dict[Hashable, Any]:
        """Returns what is found out for a variant that is kept, or the beginning of it for one run."""
        return self.worked_out if is_kept else {OUTLINE: self.worked_out[OUTLINE]}

    @property
    def variants(self) -> int:
        """The number of variants that are kept."""
        return len(self._variants)


class Documents:
    """The cache for one schema: of the members' documents, and for good of those that are registered.

    Bounded is the text, in bytes. Of every text it is known whether it may be run; parsed and planned, which takes
    about a hundred times the text, are the ones used last (decision 148).
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        *,
        introspection: bool = True,
        most: int = DOCUMENT_CACHE_BYTES,
        registered: Iterable[str] = (),
    ) -> None:
        self.schema = schema
        self._rules = specified_rules if introspection else (*specified_rules, NoSchemaIntrospectionCustomRule)
        self.texts: Kept[str, tuple[GraphQLError, ...]] = Kept(entries=most // ENTRY_BYTES + 1, size=most)
        """The errors of each text; none of one that may be run."""
        self.parsed: Kept[str, Prepared] = Kept(entries=most // ENTRY_BYTES + 1, size=most // PARSED_PART)
        self._registered: dict[str, Prepared | None] = dict.fromkeys(registered)

    def prepare(self, text: str) -> Prepared:
        """The document of a text, from the cache where it is there."""
        if text in self._registered:
            return self.registered(text) or self.read(text)
        errors = self.texts.get(text)
        if errors is None:
            prepared = self.read(text)
            size = _size(text) + ENTRY_BYTES
            self.texts.put(text, prepared.errors, size + sum(len(error.message) for error in prepared.errors))
        elif errors:
            return Prepared(self.schema, None, errors)
        else:
            found = self.parsed.get(text)
            if found is not None:
                return found
            prepared = self._known(text)
        if prepared.document is not None:
            self.parsed.put(text, prepared, _weight(prepared))
        return prepared

    def registered(self, text: str) -> Prepared | None:
        """The document of a registered text, read when it is first asked for and kept for good; None for any other."""
        if text not in self._registered:
            return None
        found = self._registered[text]
        if found is None:
            found = self._registered[text] = self.read(text)
        return found

    def read(self, text: str) -> Prepared:
        """The document of a text, which is not kept."""
        return self.judged(text, None)

    def judged(self, text: str, document: DocumentNode | None) -> Prepared:
        """The same of a text that may be parsed already."""
        try:
            document = document or _parsed(text)
            outline = Outline(document)
            limits.check(outline)
            errors = validate(self.schema, document, self._rules, max_errors=ERRORS_MAX)
        except LimitExceeded as error:
            return Prepared(self.schema, None, _lean([GraphQLError(error.message, original_error=error)]))
        except GraphQLError as error:
            return Prepared(self.schema, None, _lean([error]))
        except RecursionError:
            return Prepared(self.schema, None, _TOO_DEEP)
        if errors:
            return Prepared(self.schema, None, _lean(errors[:ERRORS_MAX]))
        return self._prepared(text, outline)

    def _known(self, text: str) -> Prepared:
        """The document of a text that is known to be valid."""
        return self._prepared(text, Outline(_parsed(text)))

    def _prepared(self, text: str, outline: Outline) -> Prepared:
        found = _Variables()
        visit(outline.document, found)
        return Prepared(
            self.schema,
            outline.document,
            conditions=tuple(sorted(found.conditions)),
            uses=found.uses,
            worked_out={OUTLINE: outline},
            text=text,
            grown=self._weigh_again,
        )

    def _weigh_again(self, prepared: Prepared) -> None:
        """Another variant is kept with a document."""
        if self.parsed.peek(prepared.text) is prepared:
            self.parsed.put(prepared.text, prepared, _weight(prepared))


ENTRY_BYTES = 256
"""The bytes that an entry is reckoned to take beside its text."""
PARSED_PART = 16
"""One of so many bytes of text is kept parsed."""


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))


def _weight(prepared: Prepared) -> int:
    """Each variant of a document has plans of its own."""
    return (_size(prepared.text) + ENTRY_BYTES) * max(1, prepared.variants)


def _lean(errors: Sequence[GraphQLError]) -> tuple[GraphQLError, ...]:
    """The errors without the document that they are about, which they would keep in memory."""
    for error in errors:
        error.nodes = None
        for one in (error, error.original_error):
            if one is not None:
                one.__traceback__ = one.__context__ = one.__cause__ = None
    return tuple(errors)


_TOO_DEEP = (GraphQLError("The document is nested too deeply."),)


def _parsed(text: str) -> DocumentNode:
    """The document. Raises LimitExceeded, GraphQLError or RecursionError."""
    if len(text) > DOCUMENT_MAX_BYTES or _size(text) > DOCUMENT_MAX_BYTES:
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
    """Counts the variables of the document, and collects those of @skip and @include.

    On the way each place lets go of its tokens, which nobody asks for any more: they are a third of the document.
    """

    def __init__(self) -> None:
        super().__init__()
        self.uses: Counter[str] = Counter()
        self.conditions: set[str] = set()

    def enter(self, node: Node, *_: Any) -> None:
        """Look at a node."""
        if node.loc is not None:
            node.loc.start_token = node.loc.end_token = None  # type: ignore[assignment]  # places are told by offsets
        if isinstance(node, VariableNode):
            self.uses[node.name.value] += 1
        elif isinstance(node, VariableDefinitionNode):
            self.uses[node.variable.name.value] -= 1
        elif isinstance(node, DirectiveNode) and node.name.value in ("skip", "include"):
            values = (argument.value for argument in node.arguments or ())
            self.conditions |= {value.name.value for value in values if isinstance(value, VariableNode)}
