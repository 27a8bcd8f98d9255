"""Server-sent events: an answer, or a stream of them, as graphql-sse's distinct connections have it (decision 81)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Send

from contract.errors import GatewayError, ResponseTooLarge
from contract.limits import STREAM_SEND_SECONDS
from gateway.graphql.credential_watch import CredentialWatch
from gateway.graphql.encoding import encoded
from schema.errors import refusal
from schema.execution import Answer
from transport.request_log import Answer as Body
from transport.request_log import RequestLog

EVENT_STREAM = "text/event-stream"
_HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"vary", b"Accept"),
    (b"x-accel-buffering", b"no"),  # proxies that collect answers would hold the events back
)
_START = {"type": "http.response.start", "status": 200, "headers": _HEADERS}
_KEEP_ALIVE_SECONDS = 10.0
_COMPLETE = b"event: complete\ndata:\n\n"
_PING = b":\n\n"

Put = Callable[..., Awaitable[None]]

_log = logging.getLogger(__name__)


class EventStream:
    """A response of events: to be sent instead of a body."""

    def __init__(self, answers: AsyncIterator[Answer] | Answer, watch: CredentialWatch, record: RequestLog) -> None:
        self._answers = answers
        self._watch = watch
        self._record = record
        self._request_id = record.request_id

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

        if isinstance(self._answers, Answer):
            await send(dict(_START))
            await put(self._next(self._answers.body) + _COMPLETE, more=False)
            return
        with self._watch.streams.one(self._watch.path):
            await send(dict(_START))
            await put(_PING)
            async with aclosing(self._answers) as answers:  # type: ignore[type-var]  # a generator
                await self._stream(answers, receive, put)

    async def _stream(self, answers: AsyncIterator[Answer], receive: Receive, put: Put) -> None:
        pump = asyncio.create_task(self._pump(answers, put))
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
        await put(_COMPLETE, more=False)

    async def _pump(self, answers: AsyncIterator[Answer], put: Put) -> None:
        """Each answer as it comes, and something in between, so that both ends know that the other is there."""
        following: asyncio.Task[Answer] | None = None
        try:
            while True:
                following = following or asyncio.ensure_future(anext(answers))
                await asyncio.wait({following}, timeout=_KEEP_ALIVE_SECONDS)
                if not following.done():
                    await put(_PING)
                    continue
                try:
                    answer = following.result()
                except StopAsyncIteration:
                    return
                following = None
                self._record.answered(answer.body)
                await put(self._next(answer.body))
        finally:
            if following is not None:
                await _ended([following])

    def _next(self, body: Body) -> bytes:
        try:
            return _event(encoded(body))
        except ResponseTooLarge as error:
            return self._refused(error)

    def _refused(self, error: GatewayError) -> bytes:
        self._record.refused(error)
        return _event(encoded(refusal(error, self._request_id)))


def _event(content: bytes) -> bytes:
    return b"event: next\ndata: " + content + b"\n\n"


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ended(tasks: Sequence[asyncio.Task[object]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
