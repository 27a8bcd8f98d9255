"""Finds the operation that a client's request means: the same for every transport of `/graphql`."""

import json
from collections.abc import Callable
from functools import partial

import orjson
from starlette.datastructures import QueryParams

from contract.errors import BadRequest, DocumentNotFound, DocumentRefused, PersistedQueryNotFound, Problems
from gateway.graphql.persisted_documents import Automatic, Registered, digest
from resolvers.shared.context import Key
from resolvers.shared.idempotency import HEADER, read_key
from resolvers.shared.positions import ASKED, ReadAfter, read_after
from schema.execution import Request as Operation

PARAMETERS = ("query", "documentId", "variables", "operationName", "extensions")
_PREFIX = "sha256:"
_QUOTED = {name: f'"{name}"'.encode() for name in PARAMETERS}


def fields_of_query(query_string: bytes) -> dict[str, object]:
    """The fields in an address. Raises BadRequest where one is there twice, or is no JSON where it has to be."""
    pairs = QueryParams(query_string).multi_items()
    fields: dict[str, object] = dict(pairs)
    if len(fields) != len(pairs):
        _refuse_repeated([name for name, _ in pairs])
    for name in ("variables", "extensions"):
        if text := dict(pairs).get(name):
            fields[name] = read_json(text.encode(), name)
    return fields


def fields_of_body(body: bytes) -> object:
    """The fields in a body, which may be any JSON. Raises BadRequest where it is none, or has one of them twice."""
    fields = read_json(body, "The body")
    if isinstance(fields, dict) and _may_repeat(body, fields):
        try:
            json.loads(body, object_pairs_hook=_distinct)
        except RecursionError:  # a little sooner than the other reader
            raise BadRequest("The body is nested too deeply") from None
    return fields


def read_json(text: bytes, what: str) -> object:
    """The value. Raises BadRequest with where it stops being JSON."""
    if not text:
        raise BadRequest(f"{what} is empty; it must be a JSON object")
    try:
        found: object = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"{what} must be valid JSON in UTF-8: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise BadRequest(f"{what} is nested too deeply") from None
    return found


def _may_repeat(body: bytes, fields: dict[str, object]) -> bool:
    if b"\\u" in body:
        return True
    for name in fields:  # a generator would take as long again, and this is asked of every request
        quoted = _QUOTED.get(name)
        if quoted is not None and body.count(quoted) > 1:
            return True
    return False


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(pairs) != len(dict(pairs)):
        _refuse_repeated([name for name, _ in pairs])
    return dict(pairs)


def _refuse_repeated(names: list[str]) -> None:
    for name in PARAMETERS:
        if names.count(name) > 1:
            raise BadRequest(f"{name} is given more than once")


def key_of(operation: Operation, header: str | None) -> Key | None:
    """The idempotency key of a request, by its header or its extensions. Raises BadRequest for one that is none."""
    if header is None and operation.key is None:
        return None
    if header is not None and operation.key not in (None, header):
        raise BadRequest(f"{HEADER} and extensions.idempotencyKey differ")
    try:
        return read_key(header or operation.key or "")
    except Problems as error:
        raise BadRequest(error.problems[0].message) from None


def read_after_of(operation: Operation, header: str | None) -> ReadAfter | None:
    """The position that a request asks of its reads, by its header or its extensions. Raises BadRequest."""
    if header is None and operation.read_after is None:
        return None
    if header is not None and operation.read_after not in (None, header):
        raise BadRequest(f"{ASKED} and extensions.readAfter differ")
    try:
        return read_after(header or operation.read_after or "")
    except Problems as error:
        raise BadRequest(error.problems[0].message) from None


class Operations:
    """Turns a request's fields into its operation; `accepts` says whether a document can be run at all."""

    def __init__(self, registered: Registered, accepts: Callable[[str], bool], *, registered_only: bool) -> None:
        self._registered = registered
        self._automatic = Automatic(accepts)
        self._registered_only = registered_only

    def read(self, fields: object, anonymous_address: str | None) -> Operation:
        """The operation in query or documentId, variables, operationName and extensions; null is as good as nothing.

        `anonymous_address` is an unauthenticated caller's; such documents are kept apart, and only if they may run.
        Raises BadRequest where a field is not as it must be, and DocumentRefused where its document cannot be had.
        """
        if not isinstance(fields, dict):
            raise BadRequest("The body must be a JSON object; batches are not taken")
        variables, name, extensions = fields.get("variables"), fields.get("operationName"), fields.get("extensions")
        if variables not in (None, "") and not isinstance(variables, dict):
            raise BadRequest("variables must be an object")
        if name is not None and not isinstance(name, str):
            raise BadRequest("operationName must be a text")
        if extensions not in (None, "") and not isinstance(extensions, dict):
            raise BadRequest("extensions must be an object")
        key = extensions.get("idempotencyKey") if extensions else None
        if key is not None and not isinstance(key, str):
            raise BadRequest("extensions.idempotencyKey must be a text")
        text = self._document(
            fields.get("query"), fields.get("documentId"), extensions or {}, anonymous_address is not None
        )
        asked = extensions.get("readAfter") if extensions else None
        if asked is not None and (isinstance(asked, bool) or not isinstance(asked, str | int)):
            raise BadRequest("extensions.readAfter must be a position, the cursor of an event, or none")
        operation = Operation(
            text, variables or None, name or None, key, anonymous_address, None if asked is None else str(asked)
        )
        if anonymous_address is not None and _is_persisted(extensions) and fields.get("query"):
            operation.accepted = partial(self._automatic.keep_public, digest(text), text)
        return operation

    def _document(self, query: object, identifier: object, extensions: dict[str, object], is_anonymous: bool) -> str:
        if query is not None and not isinstance(query, str):
            raise BadRequest("query must be a text")
        persisted = extensions.get("persistedQuery")
        if identifier is not None:
            if query is not None:
                raise BadRequest("query and documentId exclude each other")
            if persisted is not None:
                raise BadRequest("documentId and extensions.persistedQuery exclude each other")
            return self._identified(identifier, is_anonymous)
        if persisted is not None:
            return self._persisted(_hash(persisted), query, is_anonymous)
        if query is None or not query.strip():
            raise BadRequest("query must be a text that is not empty, unless documentId names one")
        if self._registered_only:
            raise DocumentRefused()
        return query

    def _identified(self, identifier: object, is_anonymous: bool) -> str:
        if not isinstance(identifier, str) or not identifier:
            raise BadRequest("documentId must be a text that is not empty")
        text = self._registered.get(identifier)
        if text is None and identifier.startswith(_PREFIX) and not self._registered_only:
            text = self._automatic.get(identifier.removeprefix(_PREFIX), is_anonymous=is_anonymous)
        if text is None:
            raise DocumentNotFound()
        return text

    def _persisted(self, sha256: str, query: str | None, is_anonymous: bool) -> str:
        """The document by Apollo's protocol: by its hash alone, or sent beside it to be kept (decision 77)."""
        if query:
            if digest(query) != sha256:
                raise BadRequest("extensions.persistedQuery.sha256Hash is not the SHA-256 of query")
            if self._registered_only:
                raise DocumentRefused()
            if not is_anonymous:
                self._automatic.keep(sha256, query)
            return query
        text = self._registered.get(sha256)
        if text is None:
            text = self._registered.get(_PREFIX + sha256)
        if text is None and self._registered_only:
            raise DocumentNotFound()
        if text is None:
            text = self._automatic.get(sha256, is_anonymous=is_anonymous)
        if text is None:
            raise PersistedQueryNotFound()
        return text


def _is_persisted(extensions: object) -> bool:
    return isinstance(extensions, dict) and extensions.get("persistedQuery") is not None


def _hash(persisted: object) -> str:
    if not isinstance(persisted, dict):
        raise BadRequest("extensions.persistedQuery must be an object")
    version, sha256 = persisted.get("version"), persisted.get("sha256Hash")
    if version != 1 or isinstance(version, bool):
        raise BadRequest("extensions.persistedQuery.version must be 1")
    if not isinstance(sha256, str) or not sha256:
        raise BadRequest("extensions.persistedQuery.sha256Hash must be a text that is not empty")
    return sha256
