"""Documents of callers without a credential: refused once they are parsed, unless they ask for the schema alone.

None enters a cache of the members'. What the schema says of itself is written once, as long as it is asked for: those
bytes have a cache of their own, in which strangers are in nobody's way but their own (decisions 146 and 147).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLError,
    GraphQLObjectType,
    OperationDefinitionNode,
    parse,
)
from graphql.utilities import get_operation_ast

from contract.errors import Unauthenticated
from contract.limits import (
    ERRORS_MAX,
    NAME_LENGTH_MAX,
    PUBLIC_ANSWERS_MAX_BYTES,
    STRANGER_DOCUMENT_MAX,
    STRANGER_DOCUMENT_POINTS,
    STRANGER_RUN_POINTS,
    STRANGER_TOKENS_MAX,
)
from identity.strangers import Strangers
from schema.execution.documents import PUBLIC, Documents, Prepared
from schema.execution.outline import root_fields
from schema.execution.requests import Request
from storage.kept import Kept
from transport.request_log import RequestLog as Record

_ANSWERS_MAX = 500
_PARSED_BYTES = 100
"""The bytes that a character of a document takes once it is parsed."""


class PublicAnswer(NamedTuple):
    """A document that asks for the schema alone, and the data of its answer."""

    prepared: Prepared
    data: bytes


class PublicDocuments:
    """Reads what callers without a credential send; `budget` has a bucket for each of their addresses."""

    def __init__(self, documents: Documents, budget: Strangers | None) -> None:
        self._documents = documents
        self._budget = budget
        self.answers: Kept[tuple[str, str | None], PublicAnswer] = Kept(
            entries=_ANSWERS_MAX, size=PUBLIC_ANSWERS_MAX_BYTES
        )

    async def open(self, request: Request, record: Record | None) -> None:
        """Read the request's document, if it may be run. Raises Unauthenticated or StrangersLimited."""
        await self._charge(request, STRANGER_DOCUMENT_POINTS)
        known = (
            None
            if request.variables or request.stranger is None
            else self.answers.get((request.query, request.operation_name))
        )
        if known is not None:
            request.prepared, request.answer = known
            return
        registered = self._documents.registered(request.query)
        try:
            document = _parsed(request.query) if registered is None else registered.document
        except GraphQLError as error:
            request.prepared = Prepared(self._documents.schema, None, (error,))
            return
        if document is None:
            request.prepared = registered
            return
        if errors := self._check(document, request.operation_name, record):
            request.prepared = Prepared(self._documents.schema, None, errors)
            return
        await self._charge(request, STRANGER_RUN_POINTS)
        request.prepared = registered or self._documents.judged(request.query, document)
        if request.accepted is not None and not request.prepared.errors:
            request.accepted()

    def keep(self, request: Request, data: bytes) -> None:
        """Keep the data of an answer to the request, which may be told to whoever asks the same."""
        if request.prepared is not None and not request.variables:
            size = len(data) + _PARSED_BYTES * len(request.query)
            self.answers.put((request.query, request.operation_name), PublicAnswer(request.prepared, data), size)

    async def _charge(self, request: Request, points: int) -> None:
        if self._budget is not None and request.stranger is not None:
            await self._budget.charge(request.stranger, points)

    def _check(self, document: DocumentNode, name: str | None, record: Record | None) -> tuple[GraphQLError, ...]:
        """Says what is wrong with root fields that do not exist. Raises Unauthenticated where one needs a credential.

        Looked at is the operation that is asked for, or every one where it cannot be told which that is.
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
    """The document. Raises GraphQLError, and Unauthenticated for more than a stranger has to say."""
    if len(text) > STRANGER_DOCUMENT_MAX:
        raise Unauthenticated()
    try:
        return parse(text, max_tokens=STRANGER_TOKENS_MAX)
    except GraphQLError as error:
        if error.message.endswith(f" more than {STRANGER_TOKENS_MAX} tokens. Parsing aborted."):
            raise Unauthenticated() from None
        raise
    except RecursionError:
        raise GraphQLError("The document is nested too deeply.") from None
