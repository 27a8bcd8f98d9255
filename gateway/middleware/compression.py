"""Compresses what clients ask for compressed; who does not ask is not looked at any further (decision 209)."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from transport.compression import COMPRESSED_FROM, gzipped, takes_gzip
from transport.headers import header, headers_of

_BY_ANOTHER_THREAD = 256 * 1024
_TEXTS = (b"text/", b"application/json", b"application/graphql-response+json", b"image/svg+xml")
_STREAM = b"text/event-stream"
_PARTIAL = 206
_Headers = list[tuple[bytes, bytes]]


class Compression:
    """Stands around the endpoints. Answers that come in pieces are left as they are: streams, and files."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        asked = header(headers_of(scope), b"accept-encoding") if scope["type"] == "http" else None
        if not asked or not takes_gzip(asked):
            await self.app(scope, receive, send)
            return
        start: Message | None = None

        async def sending(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _may_be_compressed(message):
                start = message
                return
            if start is not None:
                begun, start = start, None
                body = message.get("body", b"")
                if len(body) >= COMPRESSED_FROM and not message.get("more_body", False):
                    is_large = len(body) > _BY_ANOTHER_THREAD
                    body = await asyncio.to_thread(gzipped, body) if is_large else gzipped(body)
                    begun["headers"] = _of_compressed(begun["headers"], len(body))
                    message["body"] = body
                await send(begun)
            await send(message)

        await self.app(scope, receive, sending)


def _may_be_compressed(start: Message) -> bool:
    """Says whether the answer is a text, whole, as it was made, and shows nothing that has to be kept from guessing.

    Who can have a text of his own put beside a secret could find the secret out by the length of both compressed. What
    shows a secret says `no-store` itself; other answers are given that further out.
    """
    if start["status"] == _PARTIAL:
        return False
    is_text = False
    for name, value in start.get("headers", ()):
        if name == b"content-type":
            is_text = value.startswith(_TEXTS) and not value.startswith(_STREAM)
        elif name == b"content-encoding" or (name == b"cache-control" and value == b"no-store"):
            return False
    return is_text


def _of_compressed(headers: _Headers, length: int) -> _Headers:
    """The headers of the same answer, compressed; its tag stays, for the record is the same."""
    vary = [value for name, value in headers if name == b"vary"]
    return [
        *((name, value) for name, value in headers if name not in (b"content-length", b"vary")),
        (b"content-encoding", b"gzip"),
        (b"content-length", str(length).encode()),
        (b"vary", b", ".join([*vary, b"Accept-Encoding"])),
    ]
