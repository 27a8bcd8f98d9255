"""Documents of callers without a credential: refused once they are parsed, unless they ask for the schema alone.

None enters a cache of the members'. What the schema says of itself is written once, as long as it is asked for: those
bytes have a cache of their own, in which these callers are in nobody's way but their own (decisions 146 and 147).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLError,
    GraphQLObjectType,
    OperationDefinitionNode,
)
from graphql.utilities import get_operation_ast

from contract.errors import Unauthenticated
from contract.limits import (
    ANONYMOUS_DOCUMENT_MAX,
    ANONYMOUS_DOCUMENT_POINTS,
    ANONYMOUS_RUN_POINTS,
    ANONYMOUS_TOKENS_MAX,
    ERRORS_MAX,
    NAME_LENGTH_MAX,
    PUBLIC_ANSWERS_MAX_BYTES,
)
from identity.anonymous_budget import AnonymousBudget
from schema.execution.documents import PUBLIC, Document, Documents, Refused
from schema.execution.outline import root_fields
from schema.execution.parsing import TooManyTokens, parsed
from schema.execution.requests import Request
from storage.bounded_cache import BoundedCache
from transport.request_log import RequestLog as Record

_ANSWERS_MAX = 500
_PARSED_BYTES = 100
"""The bytes that a character of a document takes once it is parsed."""


class PublicAnswer(NamedTuple):
    """A document that asks for the schema alone, and the data of its answer."""

    document: Document
    data: bytes


class PublicDocuments:
    """Reads what callers without a credential send; `budget` has a bucket for each of their addresses."""

    def __init__(self, documents: Documents, budget: AnonymousBudget | None) -> None:
        self._documents = documents
        self._budget = budget
        self.answers: BoundedCache[tuple[str, str | None], PublicAnswer] = BoundedCache(
            entries=_ANSWERS_MAX, size=PUBLIC_ANSWERS_MAX_BYTES
        )

    async def open(self, request: Request, record: Record | None) -> None:
        """Read the request's document, if it may be run. Raises Unauthenticated or AnonymousLimited."""
        await self._charge(request, ANONYMOUS_DOCUMENT_POINTS)
        known = (
            None
            if request.variables or request.anonymous_address is None
            else self.answers.get((request.query, request.operation_name))
        )
        if known is not None:
            request.document, request.answer = known
            return
        registered = self._documents.registered(request.query)
        if isinstance(registered, Refused):
            request.document = self._documents.read(request.query, suggesting=False)
            return
        try:
            document = _parsed(request.query) if registered is None else registered.outline.document
        except GraphQLError as error:
            request.document = Refused((error,))
            return
        if errors := self._check(document, request.operation_name, record):
            request.document = Refused(errors)
            return
        await self._charge(request, ANONYMOUS_RUN_POINTS)
        request.document = registered or self._documents.read(request.query, document, suggesting=False)
        if request.accepted is not None and not request.document.errors:
            request.accepted()

    def keep(self, request: Request, data: bytes) -> None:
        """Keeps the data of an answer to the request, for any caller who asks the same."""
        if isinstance(request.document, Document) and not request.variables:
            size = len(data) + _PARSED_BYTES * len(request.query)
            self.answers.put((request.query, request.operation_name), PublicAnswer(request.document, data), size)

    async def _charge(self, request: Request, points: int) -> None:
        if self._budget is not None and request.anonymous_address is not None:
            await self._budget.charge(request.anonymous_address, points)

    def _check(self, document: DocumentNode, name: str | None, record: Record | None) -> tuple[GraphQLError, ...]:
        """Says what is wrong with root fields that do not exist. Raises Unauthenticated where one needs a credential.

        Looked at is the operation that is asked for, or every one where it is not clear which that is.
        """
        chosen = get_operation_ast(document, name)
        operations = [d for d in document.definitions if isinstance(d, OperationDefinitionNode)]
        errors: list[GraphQLError] = []
        for operation in operations if chosen is None else [chosen]:
            kind = self._documents.schema.get_root_type(operation.operation)
            fields = {} if kind is None else kind.fields
            roots = [node for node in root_fields(operation, document) if node.name.value not in PUBLIC]
            if any(node.name.value in fields for node in roots):
                if record is not None:
                    _describe(record, operation, roots, fields)
                raise Unauthenticated()
            errors += [_unknown(node, operation, kind) for node in roots[:ERRORS_MAX]]
        return tuple(errors[:ERRORS_MAX])


def _describe(
    record: Record, operation: OperationDefinitionNode, roots: Sequence[FieldNode], fields: Mapping[str, object]
) -> None:
    """Note what was refused, in words of the schema (decision 122)."""
    names = {node.name.value for node in roots}
    if names <= fields.keys():
        record.operation = f"{operation.operation.value} {names.pop() if len(names) == 1 else 'several'}"
    if operation.name is not None and len(operation.name.value) <= NAME_LENGTH_MAX:
        record.name = operation.name.value


def _unknown(node: FieldNode, operation: OperationDefinitionNode, kind: GraphQLObjectType | None) -> GraphQLError:
    """Makes validation's error on a field that does not exist, but for the names that there are (decision 85)."""
    if kind is None:
        return GraphQLError(f"The schema has no {operation.operation.value}.", operation)
    return GraphQLError(f"Cannot query field '{node.name.value}' on type '{kind.name}'.", node)


def _parsed(text: str) -> DocumentNode:
    """Parses a document. Raises GraphQLError, and Unauthenticated for more than such a caller has to say."""
    if len(text) > ANONYMOUS_DOCUMENT_MAX:
        raise Unauthenticated()
    try:
        return parsed(text, ANONYMOUS_TOKENS_MAX)
    except TooManyTokens:
        raise Unauthenticated() from None
    except RecursionError:
        raise GraphQLError("The document is nested too deeply.") from None
