"""Around every request: its id, its log line, its count, and an answer whatever breaks."""

import asyncio
import re
import time
from collections.abc import Iterable
from functools import partial
from secrets import token_hex

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contract.errors import Unavailable
from contract.limits import REQUEST_ID_MAX
from gateway.middleware.paths import ignore_slash
from gateway.middleware.security_headers import SecurityHeaders
from gateway.observability import logs
from gateway.observability.metrics import count_request
from transport.errors import code_of, code_of_status, error_response
from transport.headers import header, headers_of
from transport.request_log import RequestLog

_SANE = re.compile(rf"[A-Za-z0-9._:-]{{1,{REQUEST_ID_MAX}}}", re.ASCII)
_PATH_SHOWN = 500
_KEYS = ("/media/", "/files/signed/")
"""The beginnings of paths that are keys: whoever has one may read."""
_STARTS = frozenset({"http.response.start", "websocket.http.response.start"})


def request_id(scope: Scope) -> str:
    """The caller's X-Request-Id where it is sane, else a new one."""
    given = header(headers_of(scope), b"x-request-id")
    return given if given is not None and _SANE.fullmatch(given) else token_hex(16)


def shown(path: str) -> str:
    """A path as the log may have it: who has a key from there could read the file."""
    plain = f"/{path.lstrip('/')}"  # as who put the service's address before a path may write it
    key = next((start for start in _KEYS if plain.startswith(start)), None)
    return path[:_PATH_SHOWN] if key is None else f"{key}***"


def _cost(headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """The points that the answer says it came to."""
    return next((int(value) for name, value in headers if name == b"x-request-cost"), None)


class Requests:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, security: SecurityHeaders, stopping: asyncio.Event | None = None) -> None:
        """`stopping` is set once the process has to end; then the server cancels what does not end by itself."""
        self.app = app
        self.security = security
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; one whose client left before the answer counts with the status 0.

        A request that the end of the process cuts off before it has an answer gets a 503.
        """
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        identifier = request_id(scope)
        record = RequestLog(identifier, "graphql" if scope["path"].startswith("/graphql") else "rest")
        scope.setdefault("state", {}).update(request_id=identifier, record=record)
        asked = shown(scope["path"])
        ignore_slash(scope)
        began = time.perf_counter()

        # Not a function within this one: it would refer to itself, and be garbage for the collector.
        sending = partial(self._send, scope, receive, send, record)
        try:
            await self.app(scope, receive, sending)
        except asyncio.CancelledError:
            if record.status or scope["type"] != "http" or self._stopping is None or not self._stopping.is_set():
                raise
            await error_response(Unavailable(), identifier)(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - began
            if record.status >= 400 and not record.code:
                record.code = code_of_status(record.status)
            count_request(record, record.status, seconds)
            logs.access.write(scope.get("method", "WEBSOCKET"), asked, record.status, seconds, record)

    async def _send(self, scope: Scope, receive: Receive, send: Send, record: RequestLog, message: Message) -> None:
        """Send a message of the application, the beginning of an answer with what all answers have."""
        if message["type"] in _STARTS:
            record.begin(message["status"])
            if record.cost is None and record.surface == "rest":
                record.cost = _cost(message.get("headers", ()))
            headers = self.security.around(message.get("headers", ()))
            headers.append((b"x-request-id", record.request_id.encode()))
            message["headers"] = headers
        elif message["type"] == "websocket.accept":
            record.begin(101)
        elif message["type"] == "websocket.close" and not record.status:
            again = partial(self._send, scope, receive, send, record)
            await error_response(HTTPException(403), record.request_id)(scope, receive, again)
            return
        await send(message)


class Unbroken:
    """The innermost layer but one: answers for what broke, so that the layers around see a response like any other."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; what breaks after the answer began is raised, and the server cuts the connection."""
        try:
            await self.app(scope, receive, send)
        except ClientDisconnect:
            return  # nobody is there to be answered
        except Exception as error:
            record = scope["state"]["record"]
            if record.status or scope["type"] != "http":
                raise
            record.code = code_of(error)
            await error_response(error, scope["state"]["request_id"])(scope, receive, send)


class Straight:
    """Sends, behind all layers, the busiest address straight to its endpoint, past the search through the routes."""

    def __init__(self, app: ASGIApp, path: str, endpoint: ASGIApp, socket: ASGIApp) -> None:
        self.app = app
        self.path = path
        self.endpoints = {"http": endpoint, "websocket": socket}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self.endpoints.get(scope["type"]) if scope.get("path") == self.path else None
        await (endpoint or self.app)(scope, receive, send)
