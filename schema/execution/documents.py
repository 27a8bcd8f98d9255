"""The document cache: a text is parsed and validated once, as long as it is among the last used.

What it keeps depends on the text alone, never on a request or its caller. Who shows no credential puts nothing in
(schema/execution/public_documents.py).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from graphql import (
    DirectiveNode,
    DocumentNode,
    GraphQLError,
    GraphQLObjectType,
    GraphQLSchema,
    Node,
    NoSchemaIntrospectionCustomRule,
    OperationDefinitionNode,
    OperationType,
    VariableDefinitionNode,
    VariableNode,
    Visitor,
    get_named_type,
    validate,
    visit,
)
from graphql.utilities import get_operation_ast

from contract.errors import LimitExceeded
from contract.limits import DOCUMENT_CACHE_BYTES, DOCUMENT_MAX_BYTES, ERRORS_MAX, TOKENS_MAX, VARIANTS_MAX
from schema.adapters.strawberry import DEFINITION
from schema.declare import SECRET
from schema.execution import limits
from schema.execution.compiled import Compiled
from schema.execution.literal_errors import RULES
from schema.execution.outline import Outline
from schema.execution.parsing import TooManyTokens, parsed
from schema.execution.tree import tree_of
from schema.execution.values import Values
from schema.execution.variables import Variables
from storage.bounded_cache import BoundedCache

PUBLIC = frozenset({"__schema", "__type", "__typename"})
"""The root fields that need no credential."""

_Variant = tuple[bool | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One operation of a document; public where it asks for nothing but the schema and `__typename`."""

    document: "Document"
    node: OperationDefinitionNode
    is_query: bool
    is_subscription: bool
    is_public: bool
    variables: Variables
    label: str
    """Its kind and root field, or `several`: words of the schema, for logs and counts (decision 122)."""
    shows_secret: bool
    """Whether it asks for a new secret."""
    is_shared: bool
    """Whether its text has several fields at the root, whatever @skip and @include make of them."""
    _compiled: dict[_Variant, Compiled] = field(default_factory=dict)

    def compiled(self, values: Values, *, is_kept: bool = True) -> Compiled:
        """Returns the variant that these coerced variables make of it, made now where it is not kept."""
        document = self.document
        # Another operation's condition may be a variable of any type in the one that runs.
        names = document.conditions
        variant = tuple([one if isinstance(one := values.get(n), bool) else None for n in names]) if names else ()
        found = self._compiled.get(variant)
        if found is None:
            found = Compiled(tree_of(document.schema, document.outline, self.node, values))
            if is_kept and document.keeps(variant):
                self._compiled[variant] = found
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A text that may be run.

    `uses` says how often each variable stands in it, `conditions` names those that @skip and @include read, in order.
    Of the variants that these make of it the first few are kept (decision 126).
    """

    schema: GraphQLSchema
    outline: Outline
    text: str
    uses: Mapping[str, int]
    conditions: tuple[str, ...]
    grown: Callable[["Document"], None]
    """Called when another variant is kept."""
    errors: tuple[GraphQLError, ...] = ()
    """The errors of the document: none."""
    _operations: dict[str | None, Operation] = field(default_factory=dict)
    _variants: set[_Variant] = field(default_factory=set)

    def operation(self, name: str | None) -> Operation | None:
        """The operation of this name, or the only one; None where there is none such."""
        found = self._operations.get(name)
        if found is None:
            node = get_operation_ast(self.outline.document, name)
            if node is None:
                return None
            found = self._operations[name] = self._operation(node)
        return found

    def _operation(self, node: OperationDefinitionNode) -> Operation:
        roots = [one.node.name.value for one in self.outline.selected(node)]
        return Operation(
            self,
            node,
            is_query=node.operation is OperationType.QUERY,
            is_subscription=node.operation is OperationType.SUBSCRIPTION,
            is_public=PUBLIC.issuperset(roots),
            variables=Variables(self.schema, node.variable_definitions or (), self.uses),
            label=f"{node.operation.value} {roots[0] if len(set(roots)) == 1 else 'several'}",
            shows_secret=any(shows_secret(self.schema, node.operation, root) for root in roots),
            is_shared=sum(not root.startswith("__") for root in roots) > 1,
        )

    def keeps(self, variant: _Variant) -> bool:
        """Says whether what is compiled for this variant is kept: it is one of the first that were met."""
        if variant not in self._variants:
            if len(self._variants) == VARIANTS_MAX:
                return False
            self._variants.add(variant)
            if len(self._variants) > 1:
                self.grown(self)
        return True

    @property
    def variants(self) -> int:
        """The number of variants that are kept."""
        return len(self._variants)


@dataclass(frozen=True, slots=True)
class Refused:
    """A text that may not be run, and why."""

    errors: tuple[GraphQLError, ...]

    def operation(self, _name: str | None) -> None:
        """Returns no operation, whatever is asked for."""


def shows_secret(schema: GraphQLSchema, kind: OperationType, root: str) -> bool:
    """Says whether the root field's answer has a field that shows a new secret."""
    parent = schema.get_root_type(kind)
    field = parent.fields.get(root) if parent else None
    answer = get_named_type(field.type) if field else None
    below = answer.fields.values() if isinstance(answer, GraphQLObjectType) else ()
    return any(one.extensions[DEFINITION].metadata.get(SECRET) for one in below if DEFINITION in one.extensions)


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
        self._rules = RULES if introspection else (*RULES, NoSchemaIntrospectionCustomRule)
        self.texts: BoundedCache[str, tuple[GraphQLError, ...]] = BoundedCache(
            entries=most // ENTRY_BYTES + 1, size=most
        )
        """The errors of each text; none of one that may be run."""
        self.parsed: BoundedCache[str, Document] = BoundedCache(
            entries=most // ENTRY_BYTES + 1, size=most // PARSED_PART
        )
        self._registered: dict[str, Document | Refused | None] = dict.fromkeys(registered)

    def prepare(self, text: str) -> Document | Refused:
        """Returns the document of a text, from the cache where it is there, or says why it may not be run."""
        if text in self._registered:
            return self.registered(text) or self.read(text)
        errors = self.texts.get(text)
        if errors:
            return Refused(errors)
        found = None if errors is None else self.parsed.get(text)
        if found is not None:
            return found
        read = self.read(text) if errors is None else self._document(text, Outline(_parsed(text)))
        if errors is None:
            size = _size(text) + ENTRY_BYTES + sum(len(error.message) for error in read.errors)
            self.texts.put(text, read.errors, size)
        if isinstance(read, Document):
            self.parsed.put(text, read, _weight(read))
        return read

    def registered(self, text: str) -> Document | Refused | None:
        """Returns what `prepare` does of a registered text, read when it is first asked for; None for any other."""
        if text not in self._registered:
            return None
        found = self._registered[text]
        if found is None:
            found = self._registered[text] = self.read(text)
        return found

    def read(self, text: str, document: DocumentNode | None = None, *, suggesting: bool = True) -> Document | Refused:
        """Returns the same of a text that is not kept, and may be parsed already.

        `suggesting` says whether its errors may name what the schema has.
        """
        try:
            outline = Outline(document or _parsed(text))
            limits.check(outline)
            errors = validate(
                self.schema, outline.document, self._rules, max_errors=ERRORS_MAX, hide_suggestions=not suggesting
            )
        except LimitExceeded as error:
            return _refused([GraphQLError(error.message, original_error=error)])
        except GraphQLError as error:
            return _refused([error])
        except RecursionError:
            return Refused((GraphQLError("The document is nested too deeply."),))
        return _refused(errors[:ERRORS_MAX]) if errors else self._document(text, outline)

    def _document(self, text: str, outline: Outline) -> Document:
        found = _Variables()
        visit(outline.document, found)
        return Document(self.schema, outline, text, found.uses, tuple(sorted(found.conditions)), self._weigh_again)

    def _weigh_again(self, document: Document) -> None:
        """Weighs a document that another variant is kept with."""
        if self.parsed.peek(document.text) is document:
            self.parsed.put(document.text, document, _weight(document))


ENTRY_BYTES = 256
"""The bytes that an entry is reckoned to take beside its text."""
PARSED_PART = 16
"""One of so many bytes of text is kept parsed."""


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))


def _weight(document: Document) -> int:
    """Weighs a document by its variants, of which each has a tree of its own."""
    return (_size(document.text) + ENTRY_BYTES) * max(1, document.variants)


def _refused(errors: Sequence[GraphQLError]) -> Refused:
    """Returns the errors without the document that they are about, which they would keep in memory."""
    for error in errors:
        error.nodes = None
        for one in (error, error.original_error):
            if one is not None:
                one.__traceback__ = one.__context__ = one.__cause__ = None
    return Refused(tuple(errors))


def _parsed(text: str) -> DocumentNode:
    """The document. Raises LimitExceeded, GraphQLError or RecursionError."""
    if len(text) > DOCUMENT_MAX_BYTES or _size(text) > DOCUMENT_MAX_BYTES:
        raise LimitExceeded(
            "document", DOCUMENT_MAX_BYTES, f"The document is larger than {DOCUMENT_MAX_BYTES // 1024} kB"
        )
    try:
        return parsed(text, TOKENS_MAX)
    except TooManyTokens:
        raise LimitExceeded("tokens", TOKENS_MAX, f"The document has more than {TOKENS_MAX} tokens") from None


class _Variables(Visitor):
    """Counts the variables of the document, and collects those of @skip and @include.

    On the way each place lets go of its tokens, which nobody asks for any more: they are a third of the document.
    """

    def __init__(self) -> None:
        super().__init__()
        self.uses: Counter[str] = Counter()
        self.conditions: set[str] = set()

    def enter(self, node: Node, *_: object) -> None:
        """Look at a node."""
        if node.loc is not None:
            node.loc.start_token = node.loc.end_token = None  # type: ignore[assignment]  # places are found by offsets
        if isinstance(node, VariableNode):
            self.uses[node.name.value] += 1
        elif isinstance(node, VariableDefinitionNode):
            self.uses[node.variable.name.value] -= 1
        elif isinstance(node, DirectiveNode) and node.name.value in ("skip", "include"):
            values = (argument.value for argument in node.arguments or ())
            self.conditions |= {value.name.value for value in values if isinstance(value, VariableNode)}
