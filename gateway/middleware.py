"""Around every request: its id, its log line, its count, and an answer whatever breaks."""

import re
import time
from secrets import token_hex

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contract.limits import REQUEST_ID_MAX
from gateway.metrics import REQUESTS, SECONDS
from rest_compat.errors import error_response

_log = structlog.get_logger("gateway.access")
_SANE = re.compile(rf"[A-Za-z0-9._:-]{{1,{REQUEST_ID_MAX}}}", re.ASCII)


def request_id(scope: Scope) -> str:
    """The caller's X-Request-Id where it is sane, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            text = value.decode("latin-1")
            return text if _SANE.fullmatch(text) else token_hex(16)
    return token_hex(16)


class Requests:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        identifier = request_id(scope)
        scope.setdefault("state", {})["request_id"] = identifier
        began, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", identifier.encode())]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except Exception as error:
            if status:
                raise
            await error_response(error, identifier)(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - began
            door = "graphql" if scope["path"].startswith("/graphql") else "rest"
            REQUESTS.labels(door, status).inc()
            SECONDS.labels(door).observe(seconds)
            _log.info(
                "request",
                method=scope["method"],
                path=scope["path"],
                status=status,
                ms=round(seconds * 1000, 1),
                request_id=identifier,
            )
