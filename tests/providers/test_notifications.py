from __future__ import annotations

import asyncio
import base64
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from standardwebhooks.webhooks import Webhook as Verifier
from standardwebhooks.webhooks import WebhookVerificationError

from providers import notifications
from providers.notifications import Fate, HttpDelivery, Notification, WorkflowActors, embedded

OCCURRED_AT = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)
SECRET = f"whsec_{base64.b64encode(bytes(range(24))).decode()}"


def note(number: int = 0, organization: str = "one") -> Notification:
    return Notification(
        f"id-{number}", organization, "deal_created", OCCURRED_AT, f"request-{number}", {"number": number}
    )


class Counting:
    """Actors whose fates are counted."""

    def __init__(self, deliver: Callable[[Notification], Awaitable[None]]) -> None:
        self.fates: Counter[Fate] = Counter()
        self.actors = WorkflowActors(deliver, self._count)

    def _count(self, type: str, fate: Fate) -> None:
        assert type == "deal_created"
        self.fates[fate] += 1


async def _until(condition: Callable[[], bool]) -> None:
    for _ in range(5_000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came to pass")


async def test_order_is_kept_within_an_organization_and_no_other_waits_for_it() -> None:
    seen: list[tuple[str, int]] = []
    slow = asyncio.Event()

    async def deliver(notification: Notification) -> None:
        if notification.organization == "one":
            await slow.wait()
        await asyncio.sleep(0)
        seen.append((notification.organization, notification.data["number"]))

    counting = Counting(deliver)
    for number in range(20):
        for organization in ("one", "two"):
            counting.actors.hand(note(number, organization))
    await _until(lambda: len(seen) == 20)
    assert seen == [("two", number) for number in range(20)]
    slow.set()
    await counting.actors.close()
    assert seen[20:] == [("one", number) for number in range(20)]
    assert counting.fates == {Fate.DELIVERED: 40}


async def test_a_full_queue_drops_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "_QUEUE", 3)
    seen: list[int] = []
    slow = asyncio.Event()

    async def deliver(notification: Notification) -> None:
        await slow.wait()
        seen.append(notification.data["number"])

    counting = Counting(deliver)
    for number in range(10):  # the actor has not begun, so three are taken
        counting.actors.hand(note(number))
    assert counting.fates == {Fate.DROPPED: 7}
    slow.set()
    await counting.actors.close()
    assert seen == [0, 1, 2]
    assert counting.fates == {Fate.DROPPED: 7, Fate.DELIVERED: 3}


async def test_handing_over_never_waits_and_never_raises() -> None:
    async def never(_: Notification) -> None:
        await asyncio.Event().wait()

    async def breaks(_: Notification) -> None:
        raise OSError("canary")

    stuck, broken = Counting(never), Counting(breaks)
    loop = asyncio.get_running_loop()
    began = loop.time()
    for number in range(2_000):
        stuck.actors.hand(note(number))
        broken.actors.hand(note(number))
    assert loop.time() - began < 30  # one that waited would wait for good
    await _until(lambda: broken.fates[Fate.FAILED] == 1_000)
    assert broken.fates == {Fate.FAILED: 1_000, Fate.DROPPED: 1_000}
    began = loop.time()
    await stuck.actors.close()
    assert 1.5 < loop.time() - began < 60
    assert stuck.fates == {Fate.DROPPED: 2_000}  # also the one that was on its way
    await broken.actors.close()
    broken.actors.hand(note())
    assert broken.fates[Fate.DROPPED] == 1_001  # closed is closed


async def test_a_failure_is_said_and_the_next_one_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async def deliver(notification: Notification) -> None:
        if notification.data["number"] == 0:
            raise ValueError("canary")

    caplog.set_level(logging.INFO)
    counting = Counting(deliver)
    counting.actors.hand(note(0))
    counting.actors.hand(note(1))
    await counting.actors.close()
    counting.actors.hand(note(2))
    assert counting.fates == {Fate.FAILED: 1, Fate.DELIVERED: 1, Fate.DROPPED: 1}
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "notification deal_created failed organization=one request_id=request-0 reason=ValueError"),
        ("INFO", "notification deal_created delivered organization=one request_id=request-1"),
        ("WARNING", "notification deal_created dropped organization=one request_id=request-2"),
    ]


async def test_an_actor_without_work_ends_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "_IDLE_SECONDS", 0.02)
    counting = Counting(embedded)
    before = len(asyncio.all_tasks())
    for round_ in range(1, 4):
        for organization in range(10):
            counting.actors.hand(note(0, str(organization)))
        assert len(asyncio.all_tasks()) == before + 10
        await _until(lambda: len(asyncio.all_tasks()) == before)
        assert counting.fates == {Fate.DELIVERED: 10 * round_}
    await counting.actors.close()
    assert len(asyncio.all_tasks()) == before


async def test_closing_twice_or_unused_is_nothing() -> None:
    counting = Counting(embedded)
    await counting.actors.close()
    await counting.actors.close()
    assert counting.fates == {}


Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def _workflow_service(answer: Answer) -> AsyncIterator[str]:
    """A server on the loopback interface; its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/notify?token=canary"
    finally:
        server.close()


async def _request(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    pairs = [(name.lower(), value) for name, _, value in (line.partition(": ") for line in head[1:] if line)]
    headers = dict(pairs)
    assert len(headers) == len(pairs)
    return head[0], headers, await reader.readexactly(int(headers["content-length"]))


async def _fate(url: str, secret: str = "") -> Fate:
    async with httpx.AsyncClient(timeout=30) as client:
        counting = Counting(HttpDelivery(client, url, secret=secret))
        counting.actors.hand(note(7))
        await _until(lambda: counting.fates.total() == 1)
        await counting.actors.close()
    [fate] = counting.fates
    return fate


async def test_delivery_posts_the_notification() -> None:
    received: list[Any] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await _request(reader))
        writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async with _workflow_service(answer) as url:
        assert await _fate(url) is Fate.DELIVERED
    [(line, headers, body)] = received
    assert line == "POST /notify?token=canary HTTP/1.1"
    assert headers["content-type"] == "application/json"
    assert headers["x-request-id"] == "request-7"
    assert "webhook-signature" not in headers
    assert body == (
        b'{"id":"id-7","type":"deal_created","occurred_at":"2026-05-01T09:30:00Z","organization_id":"one",'
        b'"data":{"number":7}}'
    )


async def test_a_notification_is_signed_where_there_is_a_secret() -> None:
    """Decision 216: as the library of Standard Webhooks verifies it, by its identifier."""
    received: list[Any] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await _request(reader))
        writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async with _workflow_service(answer) as url:
        assert await _fate(url, SECRET) is Fate.DELIVERED
    [(_, headers, body)] = received
    assert headers["webhook-id"] == "id-7"
    assert Verifier(SECRET).verify(body, headers)["data"] == {"number": 7}
    with pytest.raises(WebhookVerificationError):
        Verifier(SECRET).verify(body.replace(b"7", b"8"), headers)


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200",
        b"",
    ],
)
async def test_all_but_a_2xx_is_a_failure(response: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(response)
        await writer.drain()

    async with _workflow_service(answer) as url:
        assert await _fate(url) is Fate.FAILED
    said = [record.getMessage() for record in caplog.records if record.name == "providers.notifications"]
    assert len(said) == 1
    assert "canary" not in said[0]


@pytest.mark.parametrize("drips", [False, True])
async def test_a_slow_service_is_given_up(drips: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "_DEADLINE", 0.3)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        for _ in range(2_000):  # a byte now and then keeps every deadline that is about silence
            if drips:
                writer.write(b"x")
            await asyncio.sleep(0.05)

    async with _workflow_service(answer) as url:
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert await _fate(url) is Fate.FAILED
        assert loop.time() - began < 50  # of the 100 that it would take


async def test_a_body_without_end_is_not_waited_for() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nx")
        await writer.drain()
        await reader.read()

    async with _workflow_service(answer) as url:
        assert await _fate(url) is Fate.DELIVERED


async def test_a_service_that_is_down_is_a_failure() -> None:
    async with _workflow_service(lambda _r, _w: asyncio.sleep(0)) as url:
        pass
    assert await _fate(url) is Fate.FAILED
