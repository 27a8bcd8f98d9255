"""Server-sent events, for whichever surface: what is sent, for how long, and how it ends (decision 81)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Send

from contract.errors import GatewayError
from contract.limits import STREAM_SEND_SECONDS
from transport.credential_watch import CredentialWatch
from transport.headers import weights_of

EVENT_STREAM: Final = "text/event-stream"
PING: Final = b":\n\n"
CLOSED: Final = b": closed\n\n"
HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"vary", b"Accept"),
    (b"x-accel-buffering", b"no"),  # proxies that collect answers would hold the events back
)
_KEEP_ALIVE_SECONDS = 10.0

Header = tuple[bytes, bytes]
Put = Callable[..., Awaitable[None]]

_log = logging.getLogger(__name__)


class EventStream:
    """A response of events, each of which comes as its bytes; to be sent instead of a body.

    It begins with `begin` and ends with `end`, before which comes what `refused` makes of a credential that holds no
    more, and `closed` where that or the service's end cut it short.
    """

    def __init__(
        self,
        pieces: AsyncIterator[bytes],
        watch: CredentialWatch,
        request_id: str,
        *,
        begin: bytes = PING,
        end: bytes = b"",
        closed: bytes = b"",
        refused: Callable[[GatewayError], bytes] = lambda _error: b"",
        headers: Sequence[Header] = (),
    ) -> None:
        self._pieces = pieces
        self._watch = watch
        self._request_id = request_id
        self._begin, self._end, self._closed, self._refused = begin, end, closed, refused
        self._headers = headers

    async def __call__(self, receive: Receive, send: Send) -> None:
        """Send until the stream ends, the client leaves, the credential falls, or the service ends.

        Raises ClientDisconnect for a client that stopped reading: the server then cuts the connection.
        """

        async def put(data: bytes, *, more: bool = True) -> None:
            try:
                async with asyncio.timeout(STREAM_SEND_SECONDS):
                    await send({"type": "http.response.body", "body": data, "more_body": more})
            except TimeoutError:
                _log.warning("a client was cut off that did not read its events request_id=%s", self._request_id)
                raise ClientDisconnect() from None

        with self._watch.streams.one(self._watch.path):
            await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, *self._headers]})
            await put(self._begin)
            async with aclosing(self._pieces) as pieces:  # type: ignore[type-var]  # a generator
                await self._stream(pieces, receive, put)

    async def _stream(self, pieces: AsyncIterator[bytes], receive: Receive, put: Put) -> None:
        pump = asyncio.create_task(_pump(pieces, put))
        watch = asyncio.create_task(self._watch.until_refused())
        gone = asyncio.create_task(_gone(receive))
        tasks: list[asyncio.Task[object]] = [
            pump,
            watch,
            gone,
            asyncio.create_task(self._watch.streams.stopping.wait()),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _ended(tasks)
        if not gone.cancelled():
            return
        if not pump.cancelled():
            pump.result()
        if not watch.cancelled():
            await put(self._refused(watch.result()))
        if pump.cancelled() and self._closed:
            await put(self._closed)
        await put(self._end, more=False)


def asks_for_events(accept: str | None) -> bool:
    """Says whether the client names an event stream, and likes JSON no better."""
    weights = weights_of(accept)
    events = weights.get(EVENT_STREAM, 0.0)
    return events > 0 and events >= weights.get("application/json", 0.0)


async def _pump(pieces: AsyncIterator[bytes], put: Put) -> None:
    """Each event as it comes, and something in between, so that both ends know that the other is there."""
    following: asyncio.Task[bytes] | None = None
    try:
        while True:
            following = following or asyncio.ensure_future(anext(pieces))
            await asyncio.wait({following}, timeout=_KEEP_ALIVE_SECONDS)
            if not following.done():
                await put(PING)
                continue
            try:
                piece = following.result()
            except StopAsyncIteration:
                return
            following = None
            await put(piece)
    finally:
        if following is not None:
            await _ended([following])


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ended(tasks: Sequence[asyncio.Task[object]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
