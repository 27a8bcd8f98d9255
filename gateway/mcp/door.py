"""`/mcp` and `/mcp/read`: all that can be looked at without the protocol's library is looked at before it is imported.

So strangers never cause the import, and every refusal is in our words, in the order that the other doors have.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urlsplit

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message as Sent
from starlette.types import Receive, Scope, Send

from contract.costs import LEAST
from contract.errors import BadRequest, Forbidden, OrganizationRequired, Problems, Unauthenticated
from contract.http_errors import ForbiddenOrigin, MethodNotAllowed, UnsupportedMedia
from contract.scopes import ScopeGroup
from gateway.mcp.calls import answer_call
from gateway.mcp.messages import (
    INITIALIZE,
    METHODS,
    REVISIONS,
    Message,
    NoMessage,
    check_envelope,
    check_method,
    check_revision,
    read_message,
    refusal,
)
from gateway.mcp.session import Exchange, Sdk
from resolvers.shared.context import Context, Key, Services
from resolvers.shared.idempotency import HEADER, read_key
from transport.bodies import read_body
from transport.budget_headers import budget_headers
from transport.credential_watch import CredentialWatch
from transport.errors import code_of, error_response
from transport.headers import Headers, address_of, header, headers_of, is_from
from transport.request_log import RequestLog
from transport.streams import Streams

SURFACE: Final = "mcp"
KEY_IN_META: Final = "crm-gateway/idempotencyKey"
_REVISION: Final = b"mcp-protocol-version"
_JSON: Final = "application/json"
_OF_ADDRESSES: Final = ":/[]%"
"""Stay as they are in an address within quotes; a `Host` may have any characters."""


@dataclass(eq=False)
class McpDoor:
    """One of the two addresses; the one that is `reading` has no tools that write."""

    services: Services
    streams: Streams
    sdk: Sdk
    metadata_url: str
    """The address of the document that says where credentials come from, or its path."""
    origins: Iterable[str] = ()
    public_url: str | None = None
    reading: bool = False
    _own: str = field(init=False)

    def __post_init__(self) -> None:
        self._own = urlsplit(self.public_url or "").netloc.lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        record: RequestLog = scope["state"]["record"]
        record.surface = SURFACE
        try:
            await self._served(scope, receive, send, record)
        except ClientDisconnect:
            raise
        except Exception as error:
            record.code = code_of(error)
            await self._refused(error, scope, record.request_id)(scope, receive, send)

    async def _served(self, scope: Scope, receive: Receive, send: Send, record: RequestLog) -> None:
        headers = headers_of(scope)
        if scope["method"] != "POST":
            raise MethodNotAllowed("Messages are sent by POST; there is no stream to be opened, and no session to end")
        self._check_origin(headers)
        watch = CredentialWatch(
            self.streams, header(headers, b"authorization"), header(headers, b"x-service-org"), address_of(scope)
        )
        await watch.begin()
        if watch.principal is None:
            raise Unauthenticated()
        scope["state"]["principal"] = record.principal = watch.principal
        budget = self.services.budget
        taken = await budget.charge(watch.principal, LEAST)
        ctx = Context(self.services, watch.principal, record.request_id, look=watch.look, via={"via": SURFACE})
        try:
            message = await self._admitted(ctx, scope, receive, headers, record)
        except Exception:
            await budget.settle(taken, LEAST)
            raise
        # What a document costs is charged by itself; whatever else is asked costs a point.
        throttle = await budget.settle(taken, 0 if message.runs_document else LEAST)
        try:
            response = await self._answer(ctx, message, scope, receive, record)
        finally:
            if not record.cost:
                record.cost = LEAST
                if message.runs_document:  # which was not run
                    await budget.charge(watch.principal, LEAST)
        if budget.is_metered:
            if message.runs_document:
                throttle = await budget.settle(await budget.charge(watch.principal, 0), 0)
            response.raw_headers += budget_headers(throttle, record.cost)
        await response(scope, receive, send)

    async def _answer(
        self, ctx: Context, message: Message, scope: Scope, receive: Receive, record: RequestLog
    ) -> Response:
        """The response to a message. Raises GatewayError."""
        headers = headers_of(scope)
        if message.id is None:  # no notification asks for anything here
            return Response(status_code=202)
        is_modern = header(headers, _REVISION) == REVISIONS[0]
        if is_modern and message.method != INITIALIZE:
            names = (_REVISION, b"mcp-method", b"mcp-name")
            check_envelope(message, {name.decode(): header(headers, name) for name in names})
        if message.is_call:
            key = _key(headers, message)
            return await answer_call(ctx, message, key=key, reading=self.reading, is_modern=is_modern, record=record)
        exchange = Exchange(ctx, record, reading=self.reading)
        answered = _Answered()
        await self.sdk.serve(_placed(scope, headers, message, exchange), _given(message, receive), answered)
        if exchange.refused is not None:
            raise exchange.refused
        return answered.response()

    async def _admitted(
        self, ctx: Context, scope: Scope, receive: Receive, headers: Headers, record: RequestLog
    ) -> Message:
        """The message, once its caller may use the door and it can be read. Raises GatewayError."""
        caller = ctx.caller
        if caller.organization is None:
            raise OrganizationRequired()
        if not ctx.tools.offered(ctx, reading=self.reading):
            raise Forbidden(ScopeGroup.CRM_READ, caller.scopes)
        check_revision(header(headers, _REVISION))
        if (header(headers, b"content-type") or "").partition(";")[0].strip().lower() != _JSON:
            raise UnsupportedMedia(f"The body must be {_JSON} in UTF-8")
        message = read_message(await read_body(receive, header(headers, b"content-length")))
        record.operation = f"mcp {message.method}" if message.method in METHODS else "mcp"
        check_method(message, header(headers, _REVISION))
        return message

    def _check_origin(self, headers: Headers) -> None:
        """Pages of this service and of the origins that the settings name may call, and who is no page."""
        origin = header(headers, b"origin")
        if origin is None or origin in self.origins or "*" in self.origins:
            return
        if not is_from(origin, self._own, (header(headers, b"host") or "").lower()):
            raise ForbiddenOrigin()

    def _refused(self, error: Exception, scope: Scope, request_id: str) -> Response:
        if isinstance(error, NoMessage):
            return Response(
                refusal(error.rpc, error.message, error.data, error.identifier), error.http_status, media_type=_JSON
            )
        response = error_response(error, request_id)
        where = self._metadata(scope)
        if isinstance(error, Unauthenticated):
            response.headers["WWW-Authenticate"] = f'Bearer resource_metadata="{where}"'
        elif isinstance(error, Forbidden):
            scopes = " ".join(error.required_scopes)
            response.headers["WWW-Authenticate"] = (
                f'Bearer error="insufficient_scope", scope="{scopes}", resource_metadata="{where}"'
            )
        elif isinstance(error, MethodNotAllowed):
            response.headers["Allow"] = "POST"
        return response

    def _metadata(self, scope: Scope) -> str:
        base = self.public_url or str(Request(scope).base_url)
        return quote(f"{base.rstrip('/')}{self.metadata_url}", safe=_OF_ADDRESSES)


def _key(headers: Headers, message: Message) -> Key | None:
    """The idempotency key of a call, by its header or its `_meta`. Raises BadRequest where they differ."""
    given, inner = header(headers, HEADER.lower().encode()), message.params.get("_meta", {}).get(KEY_IN_META)
    if given is None and inner is None:
        return None
    if inner is not None and not isinstance(inner, str):
        raise BadRequest(f"_meta[{KEY_IN_META}] must be a text")
    if None not in (given, inner) and given != inner:
        raise BadRequest(f"{HEADER} and _meta[{KEY_IN_META}] differ")
    try:
        return read_key(given or inner or "")
    except Problems as error:
        raise BadRequest(error.problems[0].message) from None


def _placed(scope: Scope, headers: Headers, message: Message, exchange: Exchange) -> Scope:
    """The request as the library is given it: it answers in JSON whatever the client takes, and needs a revision."""
    kept = [(n, v) for n, v in scope["headers"] if n not in (b"accept", b"content-length", b"content-type", _REVISION)]
    kept += [(b"accept", b"application/json, text/event-stream"), (b"content-type", _JSON.encode())]
    if message.method == INITIALIZE:
        if message.params.get("protocolVersion") not in REVISIONS:
            message.whole["params"] = {**message.params, "protocolVersion": REVISIONS[-1]}
    else:
        kept.append((_REVISION, (header(headers, _REVISION) or REVISIONS[-1]).encode()))
    return {**scope, "headers": kept, "state": {**scope["state"], "mcp": exchange}}


def _given(message: Message, receive: Receive) -> Receive:
    """The message as the body of a request, behind which comes what comes of the client."""
    bodies = [orjson.dumps(message.whole)]

    async def given() -> Sent:
        if bodies:
            return {"type": "http.request", "body": bodies.pop(), "more_body": False}
        return await receive()

    return given


class _Answered:
    """Keeps what the library answers, until it is known that the message was not refused."""

    def __init__(self) -> None:
        self._status = 500
        self._headers: list[tuple[bytes, bytes]] = []
        self._body = b""

    async def __call__(self, message: Sent) -> None:
        if message["type"] == "http.response.start":
            self._status, self._headers = int(message["status"]), [*message.get("headers", ())]
        else:
            self._body += message.get("body", b"")

    def response(self) -> Response:
        """Gives what it answered."""
        response = Response(self._body, self._status)
        response.raw_headers = self._headers
        return response
