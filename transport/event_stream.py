"""Server-sent events, for whichever surface: what is sent, for how long, and how it ends (decision 81)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Send

from contract.errors import GatewayError
from contract.limits import STREAM_SEND_SECONDS
from resolvers.shared.cut import Cut
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

Header = tuple[bytes, bytes]

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
        broken: Callable[[Exception], None] | None = None,
    ) -> None:
        """`broken` takes what the pieces raise, which then end."""
        self._pieces = pieces
        self._watch = watch
        self._request_id = request_id
        self._begin, self._end, self._closed, self._refused = begin, end, closed, refused
        self._headers = headers
        self._broken = broken
        self._cut = Cut()
        self._refusal: GatewayError | None = None
        self._beating: asyncio.Task[None] | None = None
        self._send: Send

    async def __call__(self, receive: Receive, send: Send) -> None:
        """Send until the stream ends, the client leaves, the credential falls, or the service ends.

        Raises ClientDisconnect for a client that stopped reading: the server then cuts the connection.
        """
        self._send = send
        try:
            with self._watch.streams.one(self._watch.path):
                await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, *self._headers]})
                await self._put(self._begin)
                async with aclosing(self._pieces) as pieces:  # type: ignore[type-var]  # a generator
                    await self._stream(pieces, receive)
        finally:
            self._watch.end()

    async def _stream(self, pieces: AsyncIterator[bytes], receive: Receive) -> None:
        streams, cut = self._watch.streams, self._cut
        leaving = asyncio.create_task(_left(receive))
        leaving.add_done_callback(lambda _: cut.now())
        try:
            async with cut:
                with streams.beating(self), self._watch.watching(self.refuse):
                    while (piece := await self._next(pieces)) is not None:
                        await self._put(piece)
                        streams.sent(self)
        finally:
            has_left = leaving.done()
            await _ended([leaving, *([] if self._beating is None else [self._beating])])
        if has_left:
            return
        if self._beating is not None and not self._beating.cancelled():
            self._beating.result()
        if self._refusal is not None:
            await self._put(self._refused(self._refusal))
        if cut.is_cut and self._closed:
            await self._put(self._closed)
        await self._put(self._end, more=False)

    async def _next(self, pieces: AsyncIterator[bytes]) -> bytes | None:
        try:
            return await anext(pieces, None)
        except Exception as error:
            if self._broken is None:
                raise
            self._broken(error)
            return None

    async def _put(self, data: bytes, *, more: bool = True) -> None:
        try:
            async with asyncio.timeout(STREAM_SEND_SECONDS):
                await self._send({"type": "http.response.body", "body": data, "more_body": more})
        except TimeoutError:
            _log.warning("a client was cut off that did not read its events request_id=%s", self._request_id)
            raise ClientDisconnect() from None

    def beat(self) -> None:
        """Send something, so that both ends know that the other is there."""
        if self._beating is None or self._beating.done():
            self._beating = asyncio.create_task(self._put(PING))
            self._beating.add_done_callback(self._beaten)

    def _beaten(self, done: asyncio.Task[None]) -> None:
        if done.cancelled() or done.exception() is not None:  # it is raised behind the block
            self._cut.now()
        else:
            self._beating = None

    def refuse(self, error: GatewayError) -> None:
        """The credential holds no more."""
        self._refusal = error
        self._cut.now()

    def end(self) -> None:
        """The service ends."""
        self._cut.now()


def asks_for_events(accept: str | None) -> bool:
    """Says whether the client names an event stream, and likes JSON no better."""
    weights = weights_of(accept)
    events = weights.get(EVENT_STREAM, 0.0)
    return events > 0 and events >= weights.get("application/json", 0.0)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ended(tasks: Sequence[asyncio.Task[object]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
