"""A span for each request, and for each operation on a socket; probes, which machines ask for steadily, have none."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from contract.tracing import Span, SpanKind, Tracer
from gateway.observability.terminal_log import is_probe
from transport.request_log import RequestLog

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_ROUTES: Final = frozenset({"/graphql", "/mcp", "/mcp/read"})
"""Addresses that are no documented paths of REST, and say what was asked for as those do."""
BEGUN: Final = "begun"
"""The key, in a socket's state, of what begins the span of an operation on it."""


class TracedRequests:
    """The layer around all others, where the process traces."""

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self.app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, within a span that says what the log line says, and no word of the client's."""
        if scope["type"] == "lifespan" or is_probe(scope["path"]):
            await self.app(scope, receive, send)
            return
        parent = traceparent_of(scope["headers"])
        if scope["type"] == "websocket":  # open for hours: what is asked on it is traced (decision 883)
            scope.setdefault("state", {})[BEGUN] = partial(self._tracer.root, parent=parent)
            await self.app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        with self._tracer.root(method, SpanKind.SERVED, {"http.request.method": method}, parent=parent) as span:
            try:
                await self.app(scope, receive, send)
            finally:
                record: RequestLog | None = scope.get("state", {}).get("record")
                if record is not None:
                    route = scope["path"] if scope["path"] in _ROUTES else _documented(record.operation)
                    tell(span, record, record.status, route)
                    span.rename(f"{method} {route}" if route else method)


def _documented(operation: str) -> str | None:
    """The path of an operation that is one of REST."""
    method, _, path = operation.partition(" ")
    return path if method in _METHODS and path.startswith("/") else None


def traceparent_of(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Says where the caller stands in a trace, if it says so, and once."""
    found = [value for name, value in headers if name == b"traceparent"]
    return found[0].decode("latin-1") if len(found) == 1 else None


def tell(span: Span, record: RequestLog, status: int, route: str | None) -> None:
    """Note what is known of a request when it ends."""
    span.note(
        {
            "http.response.status_code": status or None,
            "http.route": route,
            "crm.surface": record.surface,
            "crm.operation": record.operation or None,
            "crm.caller": record.caller,
            "crm.organization.id": record.organization,
            "crm.cost": record.cost,
            "error.type": record.code or None,
        }
    )
    if status >= 500:
        span.fail()
