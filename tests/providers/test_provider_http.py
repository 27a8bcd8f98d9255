"""Calls to a provider: what is repeated, what its troubles come to, and that nothing of them or of the key gets out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from providers import provider_http
from providers.instantly import InstantlySequencing
from providers.sequencing import Garbage, Gone, Lead, Refused, Sequencing, SequencingError, Unreachable
from providers.smartlead import SmartleadSequencing
from tests.support.loopback import Loopback, Reply, serving

KEY = "canary-key"
ADAPTERS: list[Callable[..., Sequencing]] = [InstantlySequencing, SmartleadSequencing]
ACTIVATE = "activate", "POST"


@asynccontextmanager
async def adapter(make: Callable[..., Sequencing], answer: Callable[[Any], Reply], **options: Any) -> Any:
    async with serving(answer) as server:
        sequencing = make(KEY, server.url, **({"pause": 0.001} | options))
        yield sequencing, server
        await sequencing.close()


async def failure(make: Callable[..., Sequencing], reply: Reply, **options: Any) -> tuple[SequencingError, Loopback]:
    """The error of a call that may be repeated."""
    async with adapter(make, lambda _: reply, **options) as (sequencing, server):
        with pytest.raises(SequencingError) as caught:
            await sequencing.activate("c1")
    return caught.value, server


@pytest.mark.parametrize("make", ADAPTERS)
@pytest.mark.parametrize(
    ("status", "kind", "words", "calls"),
    [
        (400, Refused, "{} does not accept the request", 1),
        (401, Refused, "{} does not accept the API key", 1),
        (402, Refused, "{} asks for a paid plan", 1),
        (403, Refused, "{} does not allow this with the API key", 1),
        (404, Gone, "{} does not know it", 1),
        (409, Refused, "{} does not accept the request", 1),
        (410, Gone, "{} does not know it", 1),
        (422, Refused, "{} does not accept the request", 1),
        (429, Unreachable, "{} is busy", 3),
        (500, Unreachable, "{} has trouble of its own", 3),
        (502, Unreachable, "{} has trouble of its own", 3),
        (503, Unreachable, "{} has trouble of its own", 3),
        (302, Garbage, "{} answers from another address", 1),
    ],
)
async def test_what_a_status_comes_to(make: Any, status: int, kind: Any, words: str, calls: int) -> None:
    body = {"statusCode": status, "error": "canary", "message": "canary"}
    error, server = await failure(make, Reply(body, status, {"Location": "/elsewhere"} if status == 302 else {}))
    assert type(error) is kind
    assert error.words == words.format(make.name.capitalize())
    assert len(server.asked) == calls


@pytest.mark.parametrize("make", ADAPTERS)
@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (Reply(b"<html><body>Down for maintenance</body></html>"), Garbage, "cannot be read"),
        (Reply(b'{"id": "c1", "sta'), Garbage, "cannot be read"),
        (Reply(whole=b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"), Unreachable, "cannot be reached"),
        (Reply(whole=b"nonsense\r\n\r\n"), Unreachable, "cannot be reached"),
        (Reply(whole=b""), Unreachable, "cannot be reached"),
        (
            Reply(whole=b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope"),
            Garbage,
            "cannot be read",
        ),
    ],
)
async def test_what_garbage_comes_to(make: Any, reply: Reply, kind: Any, words: str) -> None:
    error, _ = await failure(make, reply)
    assert type(error) is kind
    assert words in error.words


@pytest.mark.parametrize("make", ADAPTERS)
async def test_a_huge_answer_is_not_read_to_its_end(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_http, "ANSWER_MAX", 10_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"
    error, server = await failure(make, Reply(whole=head + b"x" * 20_000))
    assert type(error) is Garbage
    assert error.words.endswith("gave an answer that is too large")
    assert len(server.asked) == 1


@pytest.mark.parametrize("make", ADAPTERS)
@pytest.mark.parametrize("reply", [Reply({}, silent=30), Reply({}, drip=True)])
async def test_a_slow_provider_is_given_up(make: Any, reply: Reply) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    error, server = await failure(make, reply, deadline=0.2)
    assert type(error) is Unreachable
    assert error.words.endswith("did not answer in time")
    assert len(server.asked) == 3
    assert loop.time() - began < 30  # of the 90 that it would take


@pytest.mark.parametrize("make", ADAPTERS)
async def test_a_provider_that_is_down(make: Any) -> None:
    async with serving(lambda _: Reply()) as server:
        url = server.url
    sequencing = make(KEY, url, pause=0.001)
    with pytest.raises(Unreachable, match="cannot be reached"):
        await sequencing.pause("c1")
    await sequencing.close()


@pytest.mark.parametrize("make", ADAPTERS)
async def test_a_provider_that_asks_for_patience_is_left_alone(make: Any) -> None:
    for header, after in (("7", 7.0), ("100000", 600.0), ("soon", None), ("-1", None)):
        error, server = await failure(make, Reply({}, 429, {"Retry-After": header}))
        assert isinstance(error, Unreachable)
        assert error.after == after
        assert len(server.asked) == (3 if after is None else 1)


@pytest.mark.parametrize("make", ADAPTERS)
async def test_it_is_there_again_at_the_second_try(make: Any) -> None:
    replies = iter([Reply({}, 503), Reply({"success": True})])
    async with adapter(make, lambda _: next(replies)) as (sequencing, server):
        await sequencing.activate("c1")
    assert len(server.asked) == 2


Call = Callable[[Sequencing], Awaitable[Any]]


@pytest.mark.parametrize("make", ADAPTERS)
async def test_what_makes_or_buys_is_not_repeated(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.providers.test_instantly import OUTLINE

    async with adapter(make, lambda _: Reply({}, 503)) as (sequencing, server):
        with pytest.raises(Unreachable):
            await sequencing.create(OUTLINE)
    assert len(server.asked) == 1


@pytest.mark.parametrize("make", ADAPTERS)
async def test_neither_key_nor_answer_nor_address_gets_into_a_log(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # as the gateway does: it writes whole addresses
    logging.getLogger("httpcore").setLevel(logging.WARNING)
    for reply in (Reply({"message": "canary"}, 401), Reply(b"canary <html>"), Reply({}, 500)):
        async with adapter(make, lambda _, reply=reply: reply) as (sequencing, _):
            with pytest.raises(SequencingError) as caught:
                await sequencing.add_leads("c1", [Lead("canary@example.com", {"name": "canary"})])
        assert "canary" not in str(caught.value)
        assert caught.value.__cause__ is None
    said = [record.getMessage() for record in caplog.records if record.name.startswith("providers")]
    assert len(said) == 5
    assert not any("canary" in line for line in said)
    assert not any("canary" in record.getMessage() for record in caplog.records)
