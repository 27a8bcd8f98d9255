"""`/graphql`: GraphQL over HTTP, and GraphiQL for browsers."""

from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from contract.errors import (
    BadRequest,
    GatewayError,
    MethodNotAllowed,
    NotAcceptable,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnsupportedMedia,
)
from contract.limits import BODY_MAX_BYTES
from gateway.pages import graphiql_page
from gateway.settings import Settings
from resolvers.context import Context, Services
from rest_compat.errors import report
from schema.errors import refusal
from schema.execution import Executor
from schema.execution import Request as Operation

JSON = "application/json"
GRAPHQL = "application/graphql-response+json"


class GraphQLEndpoint:
    """The endpoint over one executor."""

    def __init__(self, services: Services, executor: Executor, settings: Settings) -> None:
        self.services = services
        self.executor = executor
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, of any method."""
        response = await self.serve(Request(scope, receive))
        await response(scope, receive, send)

    async def serve(self, request: Request) -> Response:
        """The answer; every error body has the shape that GraphQL clients expect."""
        if request.method in _READING and self.settings.graphiql and _is_page(request):
            return graphiql_page()
        request_id = request.state.request_id
        media_type = JSON
        try:
            media_type = negotiate(request.headers.get("accept"))
            return await self._answer(request, request_id, media_type)
        except GatewayError as error:
            return _refused(error, request_id, media_type)
        except ClientDisconnect:
            raise
        except Exception as error:
            report(error, request_id)
            return _refused(GatewayError(), request_id, media_type)

    async def _answer(self, request: Request, request_id: str, media_type: str) -> Response:
        authorization = request.headers.get("authorization")
        principal = None
        if authorization is not None:
            identity = self.services.identity
            principal = await identity.authenticate(authorization, request.headers.get("x-service-org"))
        operation = await _operation(request)
        if request.method in _READING and not self.executor.is_query(operation):
            raise MethodNotAllowed("Only queries go by GET")
        answer = await self.executor.run(operation, Context(self.services, principal, request_id))
        if answer.needs_credential:
            return _response(answer.body, media_type, Unauthenticated.status, _CHALLENGE)
        ok = answer.executed or media_type == JSON
        return _response(answer.body, media_type, 200 if ok else 400)


_CHALLENGE = {"WWW-Authenticate": "Bearer"}
_READING = ("GET", "HEAD")


def _is_page(request: Request) -> bool:
    """Whether a browser asks for the page, and no client for an answer."""
    return "query" not in request.query_params and "text/html" in request.headers.get("accept", "")


def negotiate(accept: str | None) -> str:
    """The media type of the answer: JSON unless the client prefers the newer one. Raises NotAcceptable."""
    if accept is None or not accept.strip():
        return JSON
    weights: dict[str, float] = {}
    for offer in accept.lower().split(","):
        name, *parameters = (part.strip() for part in offer.split(";"))
        weights[name] = max((_weight(p) for p in parameters if p.startswith("q=")), default=1.0)
    anything = weights.get("application/*", weights.get("*/*", 0.0))
    json, newer = weights.get(JSON, anything), weights.get(GRAPHQL, anything)
    if newer > 0 and (newer > json or (newer == json and GRAPHQL in weights)):
        return GRAPHQL
    if json > 0:
        return JSON
    raise NotAcceptable(f"Answers are {GRAPHQL} or {JSON}")


def _weight(parameter: str) -> float:
    try:
        return min(max(float(parameter.removeprefix("q=")), 0.0), 1.0)
    except ValueError:
        return 0.0


async def _operation(request: Request) -> Operation:
    """The operation in a request. Raises BadRequest, WrongMedia, TooLarge or MethodNotAllowed."""
    if request.method in _READING:
        fields: Any = dict(request.query_params)
        for name in ("variables", "extensions"):
            if fields.get(name):
                fields[name] = _json(fields[name].encode(), name)
    elif request.method == "POST":
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != JSON:
            raise UnsupportedMedia(f"The body must be {JSON}")
        fields = _json(await _body(request), "the body")
    else:
        raise MethodNotAllowed("Use POST, or GET for queries")
    if not isinstance(fields, dict):
        raise BadRequest("The body must be a JSON object; batches are not taken")
    return _read(fields)


def _read(fields: dict[str, Any]) -> Operation:
    query, variables, name = fields.get("query"), fields.get("variables"), fields.get("operationName")
    if not isinstance(query, str) or not query.strip():
        raise BadRequest("query must be a text that is not empty")
    if variables not in (None, "") and not isinstance(variables, dict):
        raise BadRequest("variables must be an object")
    if name is not None and not isinstance(name, str):
        raise BadRequest("operationName must be a text")
    if fields.get("extensions") not in (None, "") and not isinstance(fields["extensions"], dict):
        raise BadRequest("extensions must be an object")
    return Operation(query, variables or None, name or None)


def _json(text: bytes, what: str) -> Any:
    try:
        return orjson.loads(text)
    except (orjson.JSONDecodeError, RecursionError):
        raise BadRequest(f"{what} must be valid JSON") from None


async def _body(request: Request) -> bytes:
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > BODY_MAX_BYTES:
            raise TooLarge()
        chunks.append(chunk)
    return b"".join(chunks)


def _refused(error: GatewayError, request_id: str, media_type: str) -> Response:
    headers = {}
    if isinstance(error, Unauthenticated):
        headers = _CHALLENGE
    elif isinstance(error, MethodNotAllowed):
        headers = {"Allow": "GET, HEAD, POST"}
    elif isinstance(error, Unavailable):
        headers = {"Retry-After": str(error.retry_after)}
    return _response(refusal(error, request_id), media_type, error.status, headers)


def _response(body: Any, media_type: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    content_type = f"{media_type}; charset=utf-8"
    content = orjson.dumps(body, option=orjson.OPT_UTC_Z)
    return Response(content, status, {"Content-Type": content_type, "Vary": "Accept", **(headers or {})})
