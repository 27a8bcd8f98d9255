"""`/graphql`: GraphQL over HTTP, and GraphiQL for browsers (decisions 15 and 76)."""

from collections.abc import Sequence
from dataclasses import dataclass
from email.message import Message
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from contract.errors import DocumentRefused, GatewayError, Unauthenticated
from contract.http_errors import MethodNotAllowed, NotAcceptable, UnsupportedMedia
from contract.limits import ANONYMOUS_BODY_MAX_BYTES
from gateway.addresses import is_loopback
from gateway.graphql.encoding import encoded
from gateway.graphql.operations import Operations, fields_of_body, fields_of_query, key_of, read_after_of, read_json
from gateway.graphql.sse import EVENT_STREAM, EventStream
from gateway.middleware.paths import had_slash
from gateway.pages import graphiql_page, placed
from gateway.settings import Settings
from resolvers.shared.context import Context, Services
from resolvers.shared.idempotency import REPLAYED
from resolvers.shared.positions import ASKED, HEADER, follow
from schema.errors import refusal
from schema.execution import Answer, Executor
from schema.execution import Request as Operation
from transport.bodies import read_body
from transport.credential_watch import CredentialWatch
from transport.errors import report
from transport.headers import Headers, address_of, header, headers_of, weights_of
from transport.request_log import Answer as Body
from transport.request_log import RequestLog
from transport.streams import STREAM, Streams

JSON = "application/json"
GRAPHQL = "application/graphql-response+json"
_CONTENT_TYPES = {kind: f"{kind}; charset=utf-8".encode() for kind in (JSON, GRAPHQL)}
_CONTENT_TYPES[EVENT_STREAM] = _CONTENT_TYPES[JSON]  # of what is no stream after all


@dataclass(frozen=True, slots=True)
class Reply:
    """A response as the server takes it."""

    status: int
    headers: list[tuple[bytes, bytes]]
    content: bytes


@dataclass(eq=False)
class GraphQLEndpoint:
    """The endpoint over one executor."""

    services: Services
    executor: Executor
    operations: Operations
    settings: Settings
    streams: Streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = headers_of(scope)
        if scope["method"] in _READING and self.settings.graphiql and _is_page(scope, headers):
            led_by = header(headers, b"sec-fetch-site") or ""
            signs_in = self.settings.oidc_issuer is None
            page = graphiql_page(self._hosts(headers), led_by, signs_in=signs_in)
            await placed(page, has_slash=had_slash(scope))(scope, receive, send)
            return
        answer = await self.serve(scope, receive, headers)
        if isinstance(answer, EventStream):
            scope["state"]["record"].surface = STREAM
            await answer(receive, send)
            return
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.content})

    def _hosts(self, headers: Headers) -> list[str]:
        """Under which a page reaches this service: as the request did, unless the settings know better."""
        asked, public = header(headers, b"host") or "", self.settings.public_url
        if public is None:
            return [asked]
        return [urlsplit(public).netloc, *([asked] if is_loopback(asked) else ())]

    async def serve(self, scope: Scope, receive: Receive, headers: Headers) -> Reply | EventStream:
        """The answer; every error body has the shape that GraphQL clients expect."""
        record: RequestLog = scope["state"]["record"]
        request_id = record.request_id
        media_type = JSON
        try:
            media_type = negotiate(header(headers, b"accept"))
            return await self._answer(scope, receive, headers, record, media_type)
        except GatewayError as error:
            record.refused(error)
            return _refused(error, request_id, media_type)
        except ClientDisconnect:
            raise
        except Exception as error:
            report(error, request_id)
            record.code = GatewayError.code
            return _refused(GatewayError(), request_id, media_type)

    async def _answer(
        self, scope: Scope, receive: Receive, headers: Headers, record: RequestLog, media_type: str
    ) -> Reply | EventStream:
        watch = CredentialWatch(
            self.streams, header(headers, b"authorization"), header(headers, b"x-service-org"), address_of(scope)
        )
        await watch.begin()
        scope["state"]["principal"] = watch.principal
        record.principal = watch.principal
        anonymous_address = watch.address if watch.principal is None else None
        operation = self.operations.read(
            await _fields(scope, receive, headers, anonymous_address is not None), anonymous_address
        )
        key = key_of(operation, header(headers, b"idempotency-key"))
        asked = None
        if operation.read_after is not None or _READ_AFTER in headers:
            asked = read_after_of(operation, header(headers, _READ_AFTER))
        await self.executor.open(operation, record)
        context = Context(self.services, watch.principal, record.request_id, key=key, look=watch.look)
        if self.executor.is_subscription(operation):
            if scope["method"] == "HEAD":
                raise MethodNotAllowed("A subscription goes by POST or GET")
            return await self._stream(operation, context, watch, record, header(headers, b"accept"))
        if scope["method"] in _READING and not self.executor.is_query(operation):
            raise MethodNotAllowed("Only queries and subscriptions go by GET")
        if self.services.database.replicas is not None and self.executor.is_query(operation):
            follow(context, asked)
        answer = await self.executor.run(operation, context)
        record.answered(answer.body)
        if answer.needs_credential:  # decision 15
            return _reply(answer.body, media_type, Unauthenticated.status, _CHALLENGE)
        if media_type == EVENT_STREAM:
            return EventStream(answer, watch, record)
        ok = answer.executed or media_type == JSON
        replayed = _REPLAYED if key and key.is_replayed else []
        secret = _NOT_STORED if self.executor.shows_secret(operation) else []
        reached = [] if context.position is None else [(_POSITION, str(context.position).encode())]
        return _reply(answer.body, media_type, 200 if ok else 400, replayed + secret + reached)

    async def _stream(
        self, operation: Operation, context: Context, watch: CredentialWatch, record: RequestLog, accept: str | None
    ) -> Reply | EventStream:
        """A subscription's answers as events, which are all that it can be answered with."""
        if not takes_events(accept):
            raise NotAcceptable(f"A subscription is answered with {EVENT_STREAM}, or over a WebSocket")
        answers = await self.executor.stream(operation, watch.acting(context))
        if isinstance(answers, Answer):
            record.answered(answers.body)
        if isinstance(answers, Answer) and answers.needs_credential:
            return _reply(answers.body, EVENT_STREAM, Unauthenticated.status, _CHALLENGE)
        self.streams.check(watch.path)
        return EventStream(answers, watch, record)


_CHALLENGE = [(b"www-authenticate", b"Bearer")]
_NOT_STORED = [(b"cache-control", b"no-store")]
_READ_AFTER = ASKED.lower().encode()
_POSITION = HEADER.lower().encode()
_REPLAYED = [(REPLAYED.lower().encode(), b"true")]
_READING = ("GET", "HEAD")


def _is_page(scope: Scope, headers: Headers) -> bool:
    """Says whether a browser asks for the page, and no client for an answer."""
    accept = headers.get(b"accept", b"")
    return b"text/html" in accept and _prefers_page(accept) and not _ASKING & QueryParams(scope["query_string"]).keys()


_ASKING = {"query", "documentId", "extensions"}


@lru_cache(maxsize=200)
def _prefers_page(accept: bytes) -> bool:
    """Says whether a page is at least as welcome as an answer that the header names."""
    weights = weights_of(accept.decode("latin-1"))
    return 0 < weights.get("text/html", 0.0) >= max(weights.get(JSON, 0.0), weights.get(GRAPHQL, 0.0))


@lru_cache(maxsize=200)
def negotiate(accept: str | None) -> str:
    """The media type of an answer: JSON unless the client prefers the newer one, events where it takes nothing else.

    Raises NotAcceptable.
    """
    weights = weights_of(accept)
    if not weights:
        return JSON
    anything = weights.get("application/*", weights.get("*/*", 0.0))
    json, newer = weights.get(JSON, anything), weights.get(GRAPHQL, anything)
    if newer > 0 and (newer > json or (newer == json and GRAPHQL in weights)):
        return GRAPHQL
    if json > 0:
        return JSON
    if takes_events(accept):
        return EVENT_STREAM
    raise NotAcceptable(f"Answers are {GRAPHQL}, {JSON} or {EVENT_STREAM}")


@lru_cache(maxsize=200)
def takes_events(accept: str | None) -> bool:
    """Says whether the client takes an event stream."""
    weights = weights_of(accept)
    return not weights or weights.get(EVENT_STREAM, weights.get("text/*", weights.get("*/*", 0.0))) > 0


async def _fields(scope: Scope, receive: Receive, headers: Headers, is_anonymous: bool) -> object:
    """Reads what a request holds.

    Raises BadRequest, UnsupportedMedia, TooLarge or MethodNotAllowed, and Unauthenticated for more than who shows no
    credential has to say.
    """
    if scope["method"] in _READING:
        return fields_of_query(scope["query_string"])
    if scope["method"] != "POST":
        raise MethodNotAllowed("Use POST, or GET for queries")
    if not _is_json(header(headers, b"content-type") or "") or _is_encoded(headers):
        raise UnsupportedMedia(f"The body must be {JSON} in UTF-8, and not compressed")
    body = await read_body(receive, header(headers, b"content-length"))
    if is_anonymous and len(body) > ANONYMOUS_BODY_MAX_BYTES:
        if body.count(b",") <= _COMMAS_READ:
            read_json(body, "The body")
        raise Unauthenticated()
    return fields_of_body(body)


_COMMAS_READ = 1_000
"""A long body that will be refused is read, to tell whether it is JSON, where that takes no time: it has few parts."""


@lru_cache(maxsize=50)
def _is_json(content_type: str) -> bool:
    """Says whether a body of this type is read: JSON, and in no other encoding than UTF-8."""
    message = Message()
    message["content-type"] = content_type
    charset = message.get_content_charset("utf-8")
    return message.get_content_type() == JSON and charset in ("utf-8", "utf8")


def _is_encoded(headers: Headers) -> bool:
    return headers.get(b"content-encoding", b"identity").strip().lower() != b"identity"


def _refused(error: GatewayError, request_id: str, media_type: str) -> Reply:
    headers: Sequence[tuple[bytes, bytes]] = ()
    status = error.status
    if isinstance(error, DocumentRefused):
        # An error of a well-formed request; and the next answer to the same one may be another (decision 77).
        status = 200 if media_type == JSON else status
        headers = _NOT_STORED
    elif isinstance(error, Unauthenticated):
        headers = _CHALLENGE
    elif isinstance(error, MethodNotAllowed):
        headers = [(b"allow", b"GET, HEAD, POST")]
    elif error.retry_after is not None:
        headers = [(b"retry-after", str(error.retry_after).encode())]
    return _reply(refusal(error, request_id), media_type, status, headers)


def _reply(body: Body, media_type: str, status: int = 200, headers: Sequence[tuple[bytes, bytes]] = ()) -> Reply:
    content = encoded(body)
    length = str(len(content)).encode()
    fixed = [
        (b"content-type", _CONTENT_TYPES[media_type]),
        (b"vary", b"Accept"),
        (b"content-length", length),
    ]
    return Reply(status, [*fixed, *headers], content)
