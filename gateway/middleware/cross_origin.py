"""Declares what pages of other origins may send and read (decision 79)."""

from collections.abc import Iterable

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.settings import Settings

# What a page may send, and read, besides what browsers let it anyway: what the surfaces read,
_READ_HEADERS = (
    "Authorization",
    "Content-Encoding",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "If-Range",
    "Last-Event-ID",
    "Mcp-Method",
    "Mcp-Name",
    "Mcp-Protocol-Version",
    "Range",
    "X-Read-After",
    "X-Request-Id",
    "X-Service-Org",
)
# what tracing and clients of GraphQL add by themselves, and nobody here reads,
_ADDED_HEADERS = (
    "apollo-require-preflight",
    "apollographql-client-name",
    "apollographql-client-version",
    "baggage",
    "sentry-trace",
    "traceparent",
    "tracestate",
    "x-requested-with",
)
# and what the upload protocol tus has.
_TUS_HEADERS = (
    "Tus-Resumable",
    "Upload-Checksum",
    "Upload-Concat",
    "Upload-Defer-Length",
    "Upload-Length",
    "Upload-Metadata",
    "Upload-Offset",
    "X-HTTP-Method-Override",
)
_WRITTEN_HEADERS = (
    "Accept-Ranges",
    "Allow",
    "Content-Disposition",
    "Content-Range",
    "ETag",
    "Idempotency-Replayed",
    "Location",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "Retry-After",
    "Tus-Checksum-Algorithm",
    "Tus-Extension",
    "Tus-Max-Size",
    "Tus-Resumable",
    "Tus-Version",
    "Upload-Expires",
    "Upload-Length",
    "Upload-Metadata",
    "Upload-Offset",
    "WWW-Authenticate",
    "X-Chat-Run",
    "X-File-Id",
    "X-Ignored-Fields",
    "X-Position",
    "X-Request-Cost",
    "X-Request-Id",
)
_SAFE = ("accept", "accept-language", "content-language", "content-type")  # which browsers need not ask for
_OF_PROVIDERS = ("/integrations/callback/", "/integrations/hooks/")
_ASKED = b"access-control-request-headers"


def cross_origin(settings: Settings) -> list[Middleware]:
    """The layers for other origins; none where there are none."""
    if not settings.cors_origins:
        return []
    read = [*_READ_HEADERS, *_ADDED_HEADERS, *_TUS_HEADERS, *settings.cors_headers]
    rules = Middleware(
        Rules,
        allow_origins=settings.cors_origins,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=read,
        expose_headers=_WRITTEN_HEADERS,
    )
    return [Middleware(Asked, allowed=read), rules]


class Rules(CORSMiddleware):
    """The rules for other origins; there are none where providers send browsers and notices, and no page calls."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path = str(scope.get("path", "")).removeprefix(scope.get("root_path", ""))
        if path.startswith(_OF_PROVIDERS):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


class Asked:
    """Leaves of the headers that a preflight asks for those that are allowed.

    So it is answered 200 without the others, and the browser says in its console which one that is; a refusal of the
    whole would have it say nothing.
    """

    def __init__(self, app: ASGIApp, allowed: Iterable[str]) -> None:
        self.app = app
        self._allowed = {name.lower() for name in (*allowed, *_SAFE)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope.get("method") == "OPTIONS":
            scope["headers"] = [
                (name, kept) for name, value in scope["headers"] if (kept := self._kept(name, value)) is not None
            ]
        await self.app(scope, receive, send)

    def _kept(self, name: bytes, value: bytes) -> bytes | None:
        if name != _ASKED:
            return value
        asked = (one.strip() for one in value.decode("latin-1").split(","))
        return ", ".join(one for one in asked if one.lower() in self._allowed).encode("latin-1") or None
