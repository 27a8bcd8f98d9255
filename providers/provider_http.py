"""Calls to a provider's JSON interface: one client, deadlines over the whole call, bounded answers, errors of the port.

Only calls that may be repeated are repeated. What a provider says in its errors stays out of ours, and so does the key:
it is part of the client, never an argument.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final, Literal

import orjson

from providers import wire
from providers.breaker import Breaker
from providers.calls import Calls
from providers.outbound import retry_after
from providers.sequencing import Garbage, Gone, Refused, SequencingError, Unreachable

_log = logging.getLogger(__name__)

DEADLINE: Final = 10.0
"""Seconds for one try, from the connection to the last byte."""
TRIES: Final = 3
PAUSE: Final = 0.2
"""Seconds before the second try, doubled before the third."""
ANSWER_MAX: Final = 4 * 1024 * 1024
_AFTER_MAX: Final = 600.0

Method = Literal["GET", "POST", "PATCH", "DELETE"]
Params = Mapping[str, str | int]
_BUSY: Final = frozenset({408, 425, 429})
_REFUSALS: Final = {
    401: "{name} does not accept the API key",
    402: "{name} asks for a paid plan",
    403: "{name} does not allow this with the API key",
}


class Api:
    """One provider's interface; `name` is what clients know it by."""

    def __init__(
        self,
        name: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        deadline: float = DEADLINE,
        pause: float = PAUSE,
        calls: Calls | None = None,
    ) -> None:
        self.name = name
        self._deadline = deadline
        self._calls = calls or Calls()
        self._breaker = Breaker(name, calls=self._calls)
        self._pause = pause
        self._client = wire.AsyncClient(
            base_url=url,
            headers={"Accept": "application/json", **(headers or {})},
            params=dict(params or {}),
            timeout=wire.Timeout(deadline),
            follow_redirects=False,  # a redirect would carry the key to wherever it leads
        )

    async def call(
        self,
        method: Method,
        path: str,
        *,
        body: object = None,
        params: Params | None = None,
        repeat: bool | None = None,
    ) -> object:
        """The answer's JSON, None where it has no body. Raises a SequencingError.

        `repeat` says whether the call may be made again when its outcome is unknown; unless given, only GET may.
        """
        tries = TRIES if (method == "GET" if repeat is None else repeat) else 1
        for number in range(1, tries + 1):
            try:
                left_alone = Unreachable(f"{self.name} cannot be reached just now")
                # What the provider says is its answer, whatever the status.
                with self._calls.one(self.name.lower()), self._breaker.call(left_alone, (Gone, Refused)):
                    return await self._try(method, path, body, params)
            except Unreachable as error:
                if number == tries or error.after is not None or self._breaker.is_open:
                    raise
                await asyncio.sleep(self._pause * 2 ** (number - 1))
        raise AssertionError("unreachable")

    async def _try(self, method: Method, path: str, body: object, params: Params | None) -> object:
        try:
            async with asyncio.timeout(self._deadline):  # httpx's own deadlines begin anew with every byte
                async with self._client.stream(method, path.lstrip("/"), params=params, json=body) as response:
                    text = await self._bounded(response)
        except (TimeoutError, wire.TimeoutException):
            raise self._failed(method, Unreachable(f"{self.name} did not answer in time")) from None
        except wire.DecodingError:
            raise self._failed(method, Garbage(f"{self.name} gave an answer that cannot be read")) from None
        except (wire.HTTPError, OSError):
            raise self._failed(method, Unreachable(f"{self.name} cannot be reached")) from None
        if response.is_success:
            return self._read(method, text)
        raise self._failed(method, self._refusal(response), response.status_code)

    async def _bounded(self, response: wire.Response) -> bytes:
        chunks, size = [], 0
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > ANSWER_MAX:
                raise self._failed("answer", Garbage(f"{self.name} gave an answer that is too large"))
            chunks.append(chunk)
        return b"".join(chunks)

    def _read(self, method: str, text: bytes) -> object:
        try:
            answer: object = orjson.loads(text) if text.strip() else None
        except orjson.JSONDecodeError:
            raise self._failed(method, Garbage(f"{self.name} gave an answer that cannot be read")) from None
        return answer

    def _refusal(self, response: wire.Response) -> SequencingError:
        status = response.status_code
        if status in (404, 410):
            return Gone(f"{self.name} does not know it")
        if status in _BUSY or status >= 500:
            words = f"{self.name} is busy" if status in _BUSY else f"{self.name} has trouble of its own"
            return Unreachable(words, after=_after(response.headers.get("retry-after")))
        if 300 <= status < 400:
            return Garbage(f"{self.name} answers from another address")
        words = _REFUSALS.get(status, "{name} does not accept the request")
        return Refused(words.format(name=self.name))

    def _failed(self, method: str, error: SequencingError, status: int | None = None) -> SequencingError:
        """The error, after a line in the log: neither path nor body, which may hold addresses or the key."""
        _log.warning("provider %s failed method=%s status=%s kind=%s", self.name, method, status, type(error).__name__)
        return error

    async def close(self) -> None:
        await self._client.aclose()


def _after(header: str | None) -> float | None:
    seconds = retry_after(header)
    return None if seconds is None else min(_AFTER_MAX, seconds)


def field_of(answer: object, name: str) -> object:
    """A member of an object; None where there is none, or it is no object."""
    return answer.get(name) if isinstance(answer, dict) else None


def text_of(answer: object, name: str, provider: str) -> str:
    """A field of an object that has to be a text or a number, as text. Raises Garbage."""
    found = field_of(answer, name)
    if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
        raise Garbage(f"{provider} gave an answer without its {name}")
    return str(found)


def list_of(value: object, provider: str) -> list[dict[str, object]]:
    """A list of objects. Raises Garbage."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Garbage(f"{provider} gave an answer without its list")
    return value
