"""Answers of a language model as they come: what its protocols share of the wire, with its limits (decision 355).

What a server says when it fails stays out of our words, and so does the key.
"""

import asyncio
import codecs
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Final, Protocol

import orjson

from providers import wire
from providers.adapters.httpx_sse import EventData
from providers.breaker import Breaker
from providers.calls import Calls
from providers.chat_models import Conversation, Delta
from providers.model_kinds import SILENCE_SECONDS
from providers.models import PAUSE, ModelAway, ModelError, ModelMisconfigured, ModelNonsense, ModelSlow, refused

PROVIDER: Final = "chat_model"
_CONNECT_SECONDS: Final = 5.0
_LINE_BYTES_MAX: Final = 1024 * 1024
_BYTES_MAX: Final = 8 * 1024 * 1024
_LINGER_SECONDS: Final = 2.0
"""The time to wait behind the end of an answer for its usage, and for the end of the stream."""
_CONNECTIONS: Final = wire.Limits(max_connections=1_000, max_keepalive_connections=50)


class Reading(Protocol):
    """Reads the answer of one protocol, event by event."""

    is_finished: bool
    """Whether the model has said all of it."""
    is_over: bool
    """Whether nothing comes any more."""

    def take(self, data: str) -> Iterable[Delta | None]:
        """Read an event; None where the model works on what is not shown. Raises ModelError."""

    def end(self) -> Sequence[Delta]:
        """Return what is known at the end only: calls of tools, and what was used."""


class StreamingModel:
    """A model whose answers stream; a protocol says what is asked and how it is read."""

    provider: str
    path: str

    def __init__(
        self,
        url: str,
        name: str,
        headers: Mapping[str, str],
        *,
        silence: float = SILENCE_SECONDS,
        calls: Calls | None = None,
    ) -> None:
        self.name: str | None = name
        self._silence = silence
        self._calls = calls or Calls()
        self._breaker = Breaker("Chat model", calls=self._calls, label=PROVIDER)
        self._client = wire.AsyncClient(
            base_url=url.rstrip("/") + "/",
            headers={"Accept": "text/event-stream", "Accept-Encoding": "identity", **headers},
            timeout=wire.Timeout(None, connect=_CONNECT_SECONDS, pool=_CONNECT_SECONDS),  # silence is ours to measure
            limits=_CONNECTIONS,
            follow_redirects=False,  # a redirect would carry the key to wherever it leads
            trust_env=False,  # the operator named the address, no proxy
        )

    def body(self, conversation: Conversation) -> dict[str, object]:
        """Build the request."""
        raise NotImplementedError

    def reading(self) -> Reading:
        """Make the reader of an answer."""
        raise NotImplementedError

    async def answer(self, conversation: Conversation, deadline: float) -> AsyncGenerator[Delta, None]:
        """One step. Asked once more where nothing came, and the model said that it may be. Raises ModelError."""
        until = asyncio.get_running_loop().time() + deadline
        try:
            async with aclosing(self._once(conversation, until)) as deltas:
                async for delta in deltas:
                    yield delta
            return
        except ModelAway as error:
            if error.after is None or self._breaker.is_open:
                raise
            await asyncio.sleep(min(error.after, max(until - asyncio.get_running_loop().time(), 0)))
        async with aclosing(self._once(conversation, until)) as deltas:
            async for delta in deltas:
                yield delta

    async def close(self) -> None:
        """Close its connections."""
        await self._client.aclose()

    async def _once(self, conversation: Conversation, until: float) -> AsyncGenerator[Delta, None]:
        """One request; what came of it is told to the breaker, unless somebody else ended it."""
        if not self._breaker.lets_through():
            raise ModelAway("The model cannot be reached just now")
        with self._calls.one(PROVIDER):
            try:
                async with aclosing(self._streamed(conversation, until)) as deltas:
                    async for delta in deltas:
                        yield delta
            except (ModelMisconfigured, ModelNonsense):
                self._breaker.succeeded()  # it is there
                raise
            except ModelError:
                self._breaker.failed()
                raise
            self._breaker.succeeded()

    async def _streamed(self, conversation: Conversation, until: float) -> AsyncGenerator[Delta, None]:
        """Yield the answer, event by event. No deadline spans a delta: who takes it may be another task each time."""
        loop = asyncio.get_running_loop()
        response = await self._response(conversation, min(loop.time() + self._silence, until))
        try:
            if response.status_code != 200:
                raise refused(response)
            if response.headers.get("content-encoding", "identity") != "identity":
                raise ModelNonsense("The model's answer is compressed")
            reading, events, heard = self.reading(), _Events(response), loop.time()
            while not reading.is_over:
                silence = min(_LINGER_SECONDS, self._silence) if reading.is_finished else self._silence
                data = await self._next(events, min(heard + silence, until), is_finished=reading.is_finished)
                if data is None:
                    break
                had_finished = reading.is_finished
                for delta in reading.take(data):
                    heard = loop.time()
                    if delta is not None:
                        yield delta
                if reading.is_finished and not had_finished:
                    heard = loop.time()
                if loop.time() > until:  # what is always ready to be read waits for nothing
                    raise ModelSlow("The model did not answer in time")
            if not reading.is_finished:
                raise ModelAway("The model broke off its answer") if events.has_any else _nothing(events)
            for delta in reading.end():
                yield delta
        finally:
            await wire.end(response)

    async def _response(self, conversation: Conversation, until: float) -> wire.Response:
        text = orjson.dumps(self.body(conversation))
        headers = {"Content-Type": "application/json", "Content-Length": str(len(text))}
        request = self._client.build_request("POST", self.path, content=_sent(text), headers=headers)
        del text
        try:
            async with asyncio.timeout_at(until):
                return await self._client.send(request, stream=True)
        except (wire.ConnectError, wire.ConnectTimeout):
            raise ModelAway("The model cannot be reached", after=PAUSE) from None
        except TimeoutError:
            raise ModelSlow("The model did not answer in time") from None
        except (wire.HTTPError, OSError):
            raise ModelAway("The model broke off its answer") from None

    async def _next(self, events: "_Events", until: float, *, is_finished: bool) -> str | None:
        """The next event; None at the end of the stream, and where a model that has finished says no more."""
        try:
            async with asyncio.timeout_at(until):
                return await events.next()
        except TimeoutError:
            if is_finished:
                return None
            raise ModelSlow("The model did not answer in time") from None
        except (wire.HTTPError, OSError):
            if is_finished:
                return None
            raise ModelAway("The model broke off its answer") from None


async def _sent(text: bytes) -> AsyncGenerator[bytes, None]:
    """The body of a request, some 30 kB, of which nothing is kept once it is sent: an answer may take minutes."""
    yield text


def _nothing(events: "_Events") -> ModelError:
    """Why a stream had no event: it ended, or was something else."""
    if events.read:
        return ModelNonsense("The model's answer cannot be read")
    return ModelAway("The model broke off its answer")


class _Events:
    """The data of a response's events; lines and the whole of it are counted before they are put together."""

    def __init__(self, response: wire.Response) -> None:
        self.read = 0
        self.has_any = False
        self._chunks: AsyncIterator[bytes] = response.aiter_raw()
        self._text = codecs.getincrementaldecoder("utf-8-sig")()
        self._events = EventData()
        self._ready: list[str] = []
        self._line = 0
        self._has_ended = False

    async def next(self) -> str | None:
        """The next one; None at the end. Raises ModelNonsense where there is too much, or no text."""
        while not self._ready:
            if self._has_ended:
                return None
            chunk = await anext(self._chunks, None)
            self._has_ended = chunk is None
            self._count(chunk or b"")
            try:
                text = self._text.decode(chunk or b"", final=chunk is None)
            except UnicodeDecodeError:
                raise ModelNonsense("The model's answer is no text") from None
            self._ready = [*self._events.feed(text), *(self._events.end() if chunk is None else ())]
            self.has_any |= bool(self._ready)
            self._ready.reverse()
        return self._ready.pop()

    def _count(self, chunk: bytes) -> None:
        self.read += len(chunk)
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
        longest = max(map(len, chunk.replace(b"\r", b"\n").split(b"\n"))) if end >= 0 else 0
        self._line = len(chunk) - end - 1 if end >= 0 else self._line + len(chunk)
        if self.read > _BYTES_MAX or max(longest, self._line) > _LINE_BYTES_MAX:
            raise ModelNonsense("The model's answer is too large")


def object_of(data: str) -> dict[str, object]:
    """An event's JSON object. Raises ModelNonsense."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise ModelNonsense("The model's answer cannot be read") from None
    if not isinstance(found, dict):
        raise ModelNonsense("The model's answer cannot be read")
    return found


def whole(number: object) -> int:
    """A count as a server gives it; 0 where it gives none."""
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**31 else 0
