"""The document cache: a text is parsed and validated once, as long as it is among the last used.

Bounded by entries and by bytes of text; what it keeps depends on the text alone, never on a request.
"""

from collections import OrderedDict
from dataclasses import dataclass

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    NoSchemaIntrospectionCustomRule,
    OperationDefinitionNode,
    parse,
    specified_rules,
    validate,
)
from graphql.utilities import get_operation_ast

ENTRIES_MAX = 1_000
BYTES_MAX = 8 * 1024 * 1024
TOKENS_MAX = 10_000
ERRORS_MAX = 5


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text that was read: the document, or why it cannot be run."""

    document: DocumentNode | None
    errors: tuple[GraphQLError, ...]

    def operation(self, name: str | None) -> OperationDefinitionNode | None:
        """The operation of this name, or the only one; None where there is none such."""
        return None if self.document is None else get_operation_ast(self.document, name)


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
            document = parse(text, max_tokens=TOKENS_MAX)
            errors = validate(self._schema, document, self._rules, max_errors=ERRORS_MAX)
        except GraphQLError as error:
            return Prepared(None, (error,))
        except RecursionError:
            return Prepared(None, (GraphQLError("The document is nested too deeply."),))
        return Prepared(None if errors else document, tuple(errors[:ERRORS_MAX]))

    def _keep(self, text: str, prepared: Prepared) -> None:
        size = len(text)
        if size > BYTES_MAX // 8:
            return
        self._kept[text] = prepared
        self._bytes += size
        while len(self._kept) > ENTRIES_MAX or self._bytes > BYTES_MAX:
            old, _ = self._kept.popitem(last=False)
            self._bytes -= len(old)
