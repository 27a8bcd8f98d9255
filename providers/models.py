"""Language models: the port, and its adapter for servers that speak OpenAI's chat completions (decision 298).

What a server says when it fails stays out of our words, and so does the key. Answers are bounded while they are read.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import orjson

from contract.limits import MODEL_ANSWER_BYTES_MAX, MODEL_SECONDS
from providers import wire
from providers.breaker import Breaker
from providers.calls import Calls
from providers.outbound import retry_after

PROVIDER: Final = "model"
PAUSE: Final = 0.2
_AFTER_MAX: Final = 10.0
_RESPONSE_BYTES_MAX: Final = 8 * MODEL_ANSWER_BYTES_MAX
"""Room for what stands around an answer, and for how JSON writes it."""
_BUSY: Final = frozenset({429, 500, 502, 503, 504, 529})


Message = Mapping[str, str]
"""A turn of the conversation: its role, and its content."""


class ModelError(Exception):
    """There is no answer of the model."""


class ModelAway(ModelError):
    """It cannot be reached, is busy, or did not answer in time."""

    def __init__(self, words: str, *, after: float | None = None) -> None:
        """`after` is the pause in seconds before another try; None where there is to be none."""
        super().__init__(words)
        self.after = after


class ModelSlow(ModelAway):
    """It did not answer in time."""


class ModelMisconfigured(ModelError):
    """It refuses what it is asked: by the address, the name or the key that the operator set."""


class ModelNonsense(ModelError):
    """The answer does not have the form that was asked for."""


class Model(Protocol):
    """The port."""

    name: str

    async def complete(
        self, messages: Sequence[Message], schema: Mapping[str, object], deadline: float
    ) -> dict[str, object]:
        """The JSON object that it answers with, within so many seconds. Raises ModelError."""

    async def close(self) -> None:
        """Close its connections."""


class ChatCompletions:
    """A model behind `POST {url}/chat/completions`."""

    def __init__(self, url: str, name: str, key: str = "", *, calls: Calls | None = None) -> None:
        self.name = name
        self._calls = calls or Calls()
        self._breaker = Breaker("Model", calls=self._calls, label=PROVIDER)
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        self._client = wire.AsyncClient(
            base_url=url.rstrip("/") + "/",
            headers=headers | ({"Authorization": f"Bearer {key}"} if key else {}),
            timeout=MODEL_SECONDS,  # of each step; the whole call has a deadline of its own
            follow_redirects=False,  # a redirect would carry the key to wherever it leads
            trust_env=False,  # the operator named the address, no proxy
        )

    async def complete(
        self, messages: Sequence[Message], schema: Mapping[str, object], deadline: float
    ) -> dict[str, object]:
        """The JSON object that it answers with. Raises ModelError."""
        body = {
            "model": self.name,
            "messages": list(messages),
            "temperature": 0,
            "stream": False,
            "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
        }
        text, until = orjson.dumps(body), asyncio.get_running_loop().time() + deadline
        try:
            return await self._once(text, until)
        except ModelAway as error:
            if error.after is None or self._breaker.is_open:
                raise
            await asyncio.sleep(min(error.after, deadline))
        return await self._once(text, until)

    async def _once(self, body: bytes, until: float) -> dict[str, object]:
        left_alone = ModelAway("The model cannot be reached just now")
        with self._calls.one(PROVIDER), self._breaker.call(left_alone, (ModelMisconfigured, ModelNonsense)):
            try:
                headers = {"Content-Type": "application/json"}
                async with (
                    asyncio.timeout_at(until),
                    self._client.stream("POST", "chat/completions", content=body, headers=headers) as response,
                ):
                    if response.status_code == 200:
                        return _read(await _bounded(response))
            except (TimeoutError, wire.ReadTimeout):
                raise ModelSlow("The model did not answer in time") from None
            except (wire.ConnectError, wire.ConnectTimeout):
                raise ModelAway("The model cannot be reached", after=PAUSE) from None
            except (wire.HTTPError, OSError):
                raise ModelAway("The model broke off its answer") from None
            raise refused(response)

    async def close(self) -> None:
        """Close its connections."""
        await self._client.aclose()


async def _bounded(response: wire.Response) -> bytes:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ModelNonsense("The model's answer is compressed")
    found = bytearray()
    async for chunk in response.aiter_raw():
        found += chunk
        if len(found) > _RESPONSE_BYTES_MAX:
            raise ModelNonsense("The model's answer is too large")
    return bytes(found)


def _read(text: bytes) -> dict[str, object]:
    try:
        content = orjson.loads(text)["choices"][0]["message"]["content"]
        if len(content.encode(errors="surrogatepass")) > MODEL_ANSWER_BYTES_MAX:
            raise ModelNonsense("The model's answer is too large")
        answer = orjson.loads(content)
        orjson.dumps(answer)  # it may be told to the model again, and reading takes deeper nesting than writing
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        raise ModelNonsense("The model's answer cannot be read") from None
    if not isinstance(answer, dict):
        raise ModelNonsense("The model's answer is no object")
    return answer


def refused(response: wire.Response) -> ModelError:
    """Why a response has no answer; nothing of what it says."""
    status = response.status_code
    if status not in _BUSY:
        return ModelMisconfigured("The model does not accept what it is asked")
    after = retry_after(response.headers.get("retry-after"))
    if after is None and status in (500, 502, 504):
        after = PAUSE
    return ModelAway("The model is busy", after=after if after is not None and after <= _AFTER_MAX else None)
