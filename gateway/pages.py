"""The pages a browser opens: GraphiQL, the REST documentation, and the first page.

Their files are built from ``ui/graphiql`` into ``gateway/static``, so that nothing is fetched from another host. The
pages name their files relative to themselves (``static/…`` seen from ``/graphql`` or ``/docs``): they work behind a
path prefix without knowing it. Under an address with a slash at its end they say that they stand one step higher.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from gateway.addresses import sockets_at
from transport.compression import COMPRESSED_FROM, takes_gzip

_STATIC: Final = Path(__file__).with_name("static")

# Inline styles are Monaco's and Swagger UI's way to lay themselves out, data: images their underlines and arrows.
_CONTENT_SECURITY_POLICY: Final = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self' data:; worker-src 'self'; "
    "{connect}; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SITES: Final = frozenset({"none", "same-origin", "same-site", "cross-site"})
# The first page has a stylesheet and links, and nothing else.
_WITHOUT_SCRIPT: Final = (
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PLAIN_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(?:/[A-Za-z0-9._~/-]*)?")
_HEADERS: Final = {
    "Content-Security-Policy": _CONTENT_SECURITY_POLICY.format(connect="connect-src 'self'"),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
# Named here and not asked of the mimetypes module, whose answers come from the machine it runs on.
_MEDIA_TYPES: Final = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".ttf": "font/ttf",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
_FOR_GOOD: Final = "public, max-age=31536000, immutable"
# Kept, but asked for again each time: a page names the hashed files of one build.
_ASK_AGAIN: Final = "no-cache"


def graphiql_page(hosts: Iterable[str] = (), led_by: str = "", *, signs_in: bool = False) -> Response:
    """GraphiQL, for ``GET /graphql`` of a browser; it posts to the address that served it.

    It may open sockets to these hosts, the names that it is reached under. `led_by` is what the browser's
    `Sec-Fetch-Site` says of who led here: a page that hides where its links come from cannot hide that (decision 166).
    It offers to sign in where the embedded identity provider does.
    """
    content = _text("graphiql/index.html").replace(b"{{site}}", led_by.encode() if led_by in _SITES else b"")
    page = _page(_offering(content, signs_in=signs_in), vary="Accept, Sec-Fetch-Site")
    # Spelled out for browsers that do not count a socket to the same host as 'self' (decision 169).
    sockets = dict.fromkeys(source for host in hosts for source in sockets_at(host))
    page.headers["Content-Security-Policy"] = _CONTENT_SECURITY_POLICY.format(
        connect=" ".join(("connect-src 'self'", *sockets))
    )
    return page


def docs_page(*, signs_in: bool = False) -> Response:
    """Swagger UI over ``openapi.json``, for ``GET /docs``; what becomes of its credential is decision 94."""
    return _page(_offering(_text("swagger/index.html"), signs_in=signs_in))


def first_page(address: str) -> Response:
    """Answers ``GET /``: what is here, where the surfaces are (decision 95); its curl command asks at this address."""
    shown = address.rstrip("/")
    if not _PLAIN_ADDRESS.fullmatch(shown):  # it comes from the caller, and is to be pasted into a shell
        shown = "http://127.0.0.1:8000"
    content = _text("first.html").replace(b"{{address}}", shown.encode())
    headers = {**_HEADERS, "Content-Security-Policy": _WITHOUT_SCRIPT, "Cache-Control": _ASK_AGAIN}
    return Response(content, media_type="text/html", headers=headers)


def placed(page: Response, *, has_slash: bool) -> Response:
    """The page as its address stands: with a slash at the end relative ones start a step higher (decision 208)."""
    if not has_slash:
        return page
    page.body = bytes(page.body).replace(b"<head>", b'<head><base href="../">', 1)
    page.headers["Content-Length"] = str(len(page.body))
    page.headers["Content-Security-Policy"] = page.headers["Content-Security-Policy"].replace(
        "base-uri 'none'", "base-uri 'self'"
    )
    return page


def static_mount() -> Mount:
    """The files of the pages, under ``/static``: 9 MB, of which a process keeps what was asked for, compressed."""
    _files()
    return Mount("/static", routes=[Route("/{name:path}", _static_file, methods=["GET"])], name="static")


@dataclass(frozen=True)
class _File:
    path: Path
    size: int
    media_type: str
    cache_control: str

    def read(self) -> bytes:
        return self.path.read_bytes()

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.read(), compresslevel=6, mtime=0)


@cache
def _files() -> dict[str, _File]:
    """Every file that may be asked for, by its path under ``/static``: a name that is not listed does not exist."""
    return {
        path.relative_to(_STATIC).as_posix(): _File(
            path=path,
            size=path.stat().st_size,
            media_type=_MEDIA_TYPES.get(path.suffix, "text/plain"),
            cache_control=_FOR_GOOD if path.parent.name == "assets" else _ASK_AGAIN,
        )
        for path in (
            _STATIC / "first.css",
            _STATIC / "login.css",
            *(_STATIC / "graphiql").rglob("*"),
            *(_STATIC / "swagger").rglob("*"),
        )
        # The pages have addresses of their own; their relative links lead nowhere from here.
        if path.is_file() and path.suffix != ".html"
    }


async def _static_file(request: Request) -> Response:
    file = _files().get(request.path_params["name"])
    if file is None:
        raise HTTPException(404)
    headers = {**_HEADERS, "Cache-Control": file.cache_control}
    compressed = False
    if file.size >= COMPRESSED_FROM:
        headers["Vary"] = "Accept-Encoding"
        compressed = takes_gzip(request.headers.get("accept-encoding", ""))
    if compressed:
        headers["Content-Encoding"] = "gzip"
    # Not on the event loop: to compress the largest takes a while, once.
    body = await run_in_threadpool(lambda: file.compressed if compressed else file.read())
    return Response(body, media_type=file.media_type, headers=headers)


def _offering(content: bytes, *, signs_in: bool) -> bytes:
    return content.replace(b"{{sign-in}}", b"on" if signs_in else b"off")


@cache
def _text(name: str) -> bytes:
    return (_STATIC / name).read_bytes()


def _page(content: bytes, *, vary: str | None = None) -> Response:
    headers = {**_HEADERS, "Cache-Control": _ASK_AGAIN}
    if vary is not None:
        headers["Vary"] = vary
    return Response(content, media_type="text/html", headers=headers)
