"""Serves the operations: each in the same steps, in the order that the contract states.

1. 401, 400, 403: the credential, and the organization header with it; 429: what its budget has (decision 101);
2. 400, 403: an active organization, and a scope of the operation's group, both off the resolver's own rule;
3. 415, 413, 422: the body's type and size, then idempotency key, query and body as one list;
4. the handler, which calls the resolver; and its answer as JSON.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from decimal import Decimal

import orjson
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from contract.costs import HEAVY_POINTS
from contract.errors import GatewayError, Problem, Problems, ResponseTooLarge
from contract.limits import RESPONSE_MAX_BYTES
from providers.artifacts import Pieces
from resolvers.shared.context import Context, Key, Services
from resolvers.shared.idempotency import REPLAYED, read_key
from resolvers.shared.inputs import Input, problems_of
from resolvers.shared.positions import ASKED, HEADER, ReadAfter, follow, read_after
from resolvers.shared.told_at_once import all_wrong
from rest_compat import bodies
from rest_compat.metering import Meter, points_of
from rest_compat.operations import HIDDEN, RestOperation, RestRequest, RestResponse
from rest_compat.told_at_once import everything_wrong, located_problem
from transport.bodies import body_limit
from transport.credential_watch import CredentialWatch
from transport.encoding import written
from transport.errors import code_of, error_response, report
from transport.event_stream import HEADERS as EVENT_HEADERS
from transport.event_stream import EventStream
from transport.headers import address_of, text_headers_of
from transport.readiness import Readiness
from transport.request_log import RequestLog
from transport.streams import STREAM, Streams

Endpoint = Callable[[Scope, Receive, str, Meter], Awaitable[Response]]


def serve(operation: RestOperation, services: Services, readiness: Readiness, streams: Streams) -> Endpoint:
    """Returns the operation as a function of a request, its id and its meter; `error_response` takes what it raises."""
    rule, dropped = operation.rule, operation.dropped
    known = operation.body_fields - HIDDEN - dropped

    async def endpoint(scope: Scope, receive: Receive, request_id: str, meter: Meter) -> Response:
        headers, address = text_headers_of(scope), address_of(scope)
        if scope["method"] == "HEAD":
            # GET alone has ranges (RFC 9110, part 14.2).
            headers = {name: value for name, value in headers.items() if name != "range"}
        keeps = rule if operation.streams and operation.outlives else None
        watch = CredentialWatch(
            streams, headers.get("authorization"), headers.get("x-service-org"), address, keeps=keeps
        )
        principal = None
        query, problems = _query(operation, scope)
        if rule is not None:
            principal = await services.identity.authenticate(watch.authorization, watch.organization, address)
            watch.principal = principal
            _record(scope, request_id).principal = principal
            await meter.charge(principal, points_of(operation, query))
            scope["state"]["principal"] = principal
            rule.enforce(principal)
        key = _key(operation, headers, problems)
        asked = _read_after(headers, problems) if operation.follows and _ASKED in headers else None
        ctx = Context(services, principal, request_id, key=key, look=watch.look)
        body, form, ignored = await _parsed(operation, known, receive, headers, problems, ctx, scope["path_params"])
        call = RestRequest(
            ctx=ctx,
            headers=headers,
            path=scope["path_params"],
            query=query,
            body=body,
            form=form,
            root_path=scope.get("root_path", ""),
            readiness=readiness,
            address=address,
            meter=meter,
            receive=receive,
        )
        if services.database.replicas is not None and operation.follows:
            follow(call.ctx, asked)
        try:
            points = 0 if operation.writes else HEAVY_POINTS + 1 if operation.is_heavy else points_of(operation, query)
            with meter.operating(), services.deadlines.one(operation.seconds):
                async with call.ctx.reads(points):
                    answer = await operation.handler(call)
        except Problems as error:
            raise Problems(await everything_wrong(operation, call.ctx, body, error.problems)) from None
        finally:
            call.ctx.forget()
        meter.ended(operation, query, answer)
        if answer.events is not None:
            streams.check(watch.path)
            watch.acting(call.ctx)
            return _Followed(answer, watch, _record(scope, request_id), is_replayed=bool(key and key.is_replayed))
        return _of_write(await _response(operation, answer, ignored, scope["method"]), call.ctx)

    return endpoint


def routes(
    operations: Iterable[RestOperation], services: Services, readiness: Readiness, streams: Streams | None = None
) -> list[Route]:
    """Returns one route for each path, whatever the method, so that a 405 names all of the path's methods.

    `streams` are those of the process; of its own unless given.
    """
    streams = streams or Streams(services.identity, asyncio.Event())
    endpoints: dict[str, dict[str, Endpoint]] = {}
    always: dict[str, Mapping[str, str]] = {}
    for operation in operations:
        always[operation.path] = operation.always
        methods = endpoints.setdefault(operation.path, {})
        methods[operation.method] = serve(operation, services, readiness, streams)
        if operation.method == "GET":
            methods["HEAD"] = methods["GET"]
    return [Route(path, _Path(path, methods, services, always[path]), name=path) for path, methods in endpoints.items()]


class _Path:
    """Serves the methods of one path, as an ASGI application."""

    def __init__(
        self, path: str, endpoints: Mapping[str, Endpoint], services: Services, always: Mapping[str, str]
    ) -> None:
        self.path = path
        self._always = [(name.lower().encode(), value.encode()) for name, value in always.items()]
        self._endpoints = endpoints
        self._services = services
        asked_as = {"HEAD": "GET"} if "GET" in endpoints else {}
        self._labels = {method: f"{asked_as.get(method, method)} {path}" for method in endpoints}
        self._allow = {"Allow": ", ".join(sorted(endpoints))}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = _request_id(scope)
        record = _record(scope, request_id)
        method = _method(scope) if self._always else scope["method"]
        endpoint = self._endpoints.get(method)
        meter = Meter(self._services.budget, self._services.settling)
        try:
            if endpoint is None:
                raise HTTPException(405, headers=self._allow)
            record.operation = self._labels[method]
            response = await endpoint(scope, receive, request_id, meter)
        except ClientDisconnect:
            await meter.headers()  # of which only the settling is wanted: nobody is there to be answered
            return
        except Exception as error:
            record.code = code_of(error)
            response = error_response(error, request_id)
        response.raw_headers += self._always
        try:
            if headers := await meter.headers():
                response.raw_headers += headers
        except BaseException:
            if isinstance(response, _Streamed):
                await response.close()
            raise
        if scope["method"] == "HEAD":
            response.body = b""  # the headers stay those of GET
        await response(scope, receive, send)


def _method(scope: Scope) -> str:
    """Returns the method that the request means: clients behind a proxy that knows few of them say it in a header."""
    method: str = scope["method"]
    if method != "POST":
        return method
    return text_headers_of(scope).get("x-http-method-override", method).upper()


class _Streamed(Response):
    """Sends a body while reading it; what it is read from is closed even if the client disconnects."""

    def __init__(self, pieces: Pieces, status: int, headers: Mapping[str, str]) -> None:
        self._pieces = pieces
        self._answer = StreamingResponse(pieces, status, headers)
        self.raw_headers = self._answer.raw_headers
        self.body = b""

    async def close(self) -> None:
        """Lets go of what would have been sent."""
        await self._pieces.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._pieces):
            await self._answer(scope, receive, send)


class _Followed(Response):
    """Sends events as they come (transport/event_stream.py); what breaks their source ends them, with a log line."""

    def __init__(self, answer: RestResponse, watch: CredentialWatch, record: RequestLog, *, is_replayed: bool) -> None:
        if answer.events is None:
            raise TypeError("no events")
        self._events = answer.events
        self._closed = answer.closed
        self._watch = watch
        self._record = record
        told = {**answer.headers, **({REPLAYED: "true"} if is_replayed else {})}
        self.raw_headers = [(name.lower().encode(), value.encode()) for name, value in told.items()]
        self.body = b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, identifier = self.raw_headers, self._record.request_id
        if scope["method"] == "HEAD":
            async with aclosing(self._events):  # type: ignore[type-var]  # a generator
                await send({"type": "http.response.start", "status": 200, "headers": [*EVENT_HEADERS, *headers]})
                await send({"type": "http.response.body", "body": b""})
            return
        self._record.surface = STREAM
        stream = EventStream(
            self._events,
            self._watch,
            identifier,
            begin=_RETRY,
            closed=self._closed,
            headers=headers,
            broken=self._broken,
        )
        await stream(receive, send)

    def _broken(self, error: Exception) -> None:
        """What the events come from broke: they end, and nobody else is told more than that."""
        if not isinstance(error, GatewayError):
            report(error, self._record.request_id)
        self._record.code = error.code if isinstance(error, GatewayError) else GatewayError.code


_RETRY = b"retry: 1000\n\n"


def _request_id(scope: Scope) -> str:
    """Returns the id that the middleware gave the request."""
    state: Mapping[str, object] = scope.get("state", {})
    return str(state.get("request_id") or uuid.uuid4())


def _record(scope: Scope, request_id: str) -> RequestLog:
    """Returns the log record that the middleware keeps of the request."""
    record: RequestLog = scope.setdefault("state", {}).setdefault("record", RequestLog(request_id, "rest"))
    return record


def _key(operation: RestOperation, headers: Mapping[str, str], problems: list[Problem]) -> Key | None:
    """Returns the idempotency key of a write; what is wrong with it is added to the problems."""
    if not (operation.writes or operation.takes_key) or "idempotency-key" not in headers:
        return None
    try:
        return read_key(headers["idempotency-key"])
    except Problems as error:
        problems += error.problems
        return None


_ASKED, _POSITION = ASKED.lower(), HEADER.lower().encode()


def _read_after(headers: Mapping[str, str], problems: list[Problem]) -> ReadAfter | None:
    """Returns what the request asks of its reads; what is wrong with that is added to the problems."""
    try:
        return read_after(headers[_ASKED])
    except Problems as error:
        problems += error.problems
        return None


def _query(operation: RestOperation, scope: Scope) -> tuple[Input | None, list[Problem]]:
    """Returns the query's model and its problems, which are reported only when the caller is known."""
    problems: list[Problem] = []
    if operation.query is None:
        return None, problems
    raw, lists = scope["query_string"], operation.repeatable_parameters
    fields = bodies.query_with_lists(raw, lists) if lists else bodies.query(raw)
    return _instance(operation.query, fields, "query", problems), problems


async def _parsed(
    operation: RestOperation,
    known: frozenset[str],
    receive: Receive,
    headers: Mapping[str, str],
    problems: list[Problem],
    ctx: Context,
    path: Mapping[str, str],
) -> tuple[Input | bytes | None, dict[str, str] | None, list[str]]:
    """Returns body, form, and the names of the body's ignored fields. Raises Problems, the query's included."""
    body = form = None
    ignored: list[str] = []
    if operation.form is not None:
        form = await bodies.form(receive, headers)
    if operation.raw is not None:
        raw = await bodies.raw_body(receive, headers, operation.raw.media_type, operation.raw.most)
        if problems:
            raise Problems(problems)
        return raw, None, ignored
    if operation.body is not None:
        try:
            fields = await bodies.json_body(
                receive,
                headers,
                required=operation.body_required,
                listed=operation.listed,
                most=body_limit(operation.path),
            )
        except Problems as error:
            problems += error.problems
        else:
            ignored = [name for name in fields if name not in known]
            is_strict = operation.body.model_config.get("extra") == "forbid"
            taken = {name: value for name, value in fields.items() if is_strict or name not in HIDDEN}
            found: list[Problem] = []
            body = _instance(operation.body, taken, "body", found)
            if found or problems:
                model = operation.body if operation.kept_as is None else await operation.kept_as(ctx, path)
                found = await all_wrong(ctx, model, taken, found, ("body",))
            problems += [located_problem(operation, problem) for problem in found]
    if problems:
        raise Problems(problems)
    return body, form, ignored


def _instance(model: type[Input], fields: Mapping[str, object], place: str, problems: list[Problem]) -> Input | None:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        problems += problems_of(error, (place,))
        return None


def _of_write(response: Response, ctx: Context) -> Response:
    """Returns the response with what is to be said of the request's write, if it made one."""
    if ctx.key is not None and ctx.key.is_replayed:
        response.headers[REPLAYED] = "true"
    if ctx.position is not None:
        response.raw_headers.append((_POSITION, b"%d" % ctx.position))
    return response


async def _response(operation: RestOperation, answer: RestResponse, ignored: list[str], method: str) -> Response:
    headers = dict(answer.headers)
    if ignored and (names := bodies.ignored_header(ignored)):
        headers["X-Ignored-Fields"] = names
    status = answer.status or operation.status
    if answer.stream is not None and method != "HEAD":
        return _Streamed(await answer.stream(), status, headers)
    if answer.content is None:
        response = Response(None, status, headers)
        if answer.stream is not None and "Content-Length" not in headers:
            del response.headers["content-length"]  # nobody knows how long the answer to GET is
        return response
    content = answer.content if isinstance(answer.content, bytes) else encoded(answer.content)
    if len(content) > RESPONSE_MAX_BYTES:
        raise ResponseTooLarge()
    return Response(content, status, headers, "application/json")


def encoded(content: object) -> bytes:
    """Returns the content as JSON: times in UTC with a Z, amounts as exact numbers. Raises ResponseTooLarge."""
    return written(content, RESPONSE_MAX_BYTES, _number)


def _number(value: object) -> orjson.Fragment:
    if isinstance(value, Decimal):
        return orjson.Fragment(format(value, "f"))
    raise TypeError(type(value).__name__)
