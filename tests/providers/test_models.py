"""The port of language models: one object, or an error of ours within the deadline (decision 298)."""

from __future__ import annotations

import time

import pytest

from contract.limits import MODEL_ANSWER_BYTES_MAX
from providers.breaker import FAILURES
from providers.models import ChatCompletions, ModelAway, ModelMisconfigured, ModelNonsense
from tests.support.loopback import Reply
from tests.support.model import KEY, PATH, said, scripted

pytestmark = pytest.mark.asyncio(loop_scope="session")
GOOD = said({"decline": "no"})
SCHEMA = {"type": "object"}
TURNS = [{"role": "user", "content": "How much?"}]


async def test_it_is_asked_by_the_protocol() -> None:
    async with scripted(GOOD) as it:
        assert await it.model.complete(TURNS, SCHEMA, 5) == {"decline": "no"}
        [asked] = it.asked
    assert asked.line == f"POST {PATH}"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        **{"model": "scripted-1", "messages": TURNS, "temperature": 0, "stream": False},
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}},
    }


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (said("The pipeline is worth a lot."), ModelNonsense),
        (said('{"query": {'), ModelNonsense),
        (said([1]), ModelNonsense),
        (said({"sql": "x" * MODEL_ANSWER_BYTES_MAX}), ModelNonsense),
        (Reply({"choices": []}), ModelNonsense),
        (Reply({"choices": [{"message": {"content": None}}]}), ModelNonsense),
        (Reply(b"<html>"), ModelNonsense),
        (Reply(b"x" * 20_000_000), ModelNonsense),
        (Reply(b"[" * 100_000), ModelNonsense),
        (said('{"query": ' + "[" * 400 + "]" * 400 + "}"), ModelNonsense),
        (Reply(b"\x1f\x8b", headers={"Content-Encoding": "gzip"}), ModelNonsense),
        (Reply({}, 401), ModelMisconfigured),
        (Reply({}, 404), ModelMisconfigured),
        (Reply({}, 500), ModelAway),
        (Reply({}, 429, {"Retry-After": "11"}), ModelAway),
        (Reply(whole=b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{"), ModelAway),
        (Reply(whole=b"no HTTP"), ModelAway),
    ],
)
async def test_what_is_no_answer_is_an_error_of_ours(reply: Reply, error: type[Exception]) -> None:
    async with scripted(reply) as it:
        with pytest.raises(error) as raised:
            await it.model.complete(TURNS, SCHEMA, 5)
        assert len(it.asked) == (2 if reply.status == 500 else 1)
    assert str(raised.value).startswith("The model")
    assert KEY not in str(raised.value)


async def test_a_redirect_is_not_followed() -> None:
    async with scripted(GOOD) as other, scripted(Reply({}, 307, {"Location": f"{other.server.url}{PATH}"})) as it:
        with pytest.raises(ModelMisconfigured):
            await it.model.complete(TURNS, SCHEMA, 5)
        assert other.asked == []


@pytest.mark.parametrize("busy", [Reply({}, 502), Reply({}, 503, {"Retry-After": "0"})])
async def test_a_busy_server_is_asked_once_more(busy: Reply) -> None:
    async with scripted(busy, GOOD) as it:
        assert await it.model.complete(TURNS, SCHEMA, 5) == {"decline": "no"}
        assert len(it.asked) == 2


@pytest.mark.parametrize("slow", [Reply(silent=20), Reply({"choices": [1] * 200}, drip=True)])
async def test_silence_ends_by_the_deadline(slow: Reply) -> None:
    async with scripted(slow) as it:
        began = time.monotonic()
        with pytest.raises(ModelAway, match="in time"):
            await it.model.complete(TURNS, SCHEMA, 0.5)
        assert time.monotonic() - began < 5
        assert len(it.asked) == 1


async def test_one_that_is_away_is_left_alone() -> None:
    model = ChatCompletions("http://127.0.0.1:9/v1", "none")
    for _ in range(FAILURES + 1):
        with pytest.raises(ModelAway):
            await model.complete(TURNS, SCHEMA, 5)
    with pytest.raises(ModelAway, match="just now"):
        await model.complete(TURNS, SCHEMA, 5)
    await model.close()
