"""Notification events to the organization's workflow actor: best effort, after the commit (specification part 6).

An event can be lost; it can never fail or delay the answer. Its fate is one log line and one counter.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

import orjson

from contract import tracing
from providers import wire
from providers.breaker import Breaker
from providers.calls import Calls
from providers.signing import signed_headers

_log = logging.getLogger(__name__)

_QUEUE = 1_000
_IDLE_SECONDS = 30.0
_DEADLINE = 5.0
_LAST_CHANCE = 2.0


class Fate(StrEnum):
    """The fate of a notification."""

    DELIVERED = "delivered"
    FAILED = "failed"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Notification:
    """An event for the workflow actor of one organization, which is named as tokens name it (decision 216)."""

    id: str
    organization: str
    type: str
    occurred_at: datetime
    request_id: str
    data: Mapping[str, object] = field(default_factory=dict)
    counted_as: str | None = None
    """The type that it is counted under, where its own is a caller's word, of which there is no end."""


class Notifications(Protocol):
    """The port."""

    def hand(self, notification: Notification) -> None:
        """Take the notification and return at once; never raises."""

    async def close(self) -> None:
        """Give what was taken a last short chance."""


_Queue = asyncio.Queue[tuple[Notification, tracing.Span | None]]
Deliver = Callable[[Notification], Awaitable[None]]
"""The function by which an actor hands a notification on; any exception is a failure."""


class WorkflowActors:
    """One actor per organization, made at its first notification: a bounded queue worked off in order.

    A full queue drops the newest. An actor without work for half a minute ends, so idle organizations cost nothing.
    """

    def __init__(self, deliver: Deliver, count: Callable[[str, Fate], None] = lambda _type, _fate: None) -> None:
        self._deliver = deliver
        self._count = count
        self._actors: dict[str, tuple[_Queue, asyncio.Task[None]]] = {}
        self._closed = False

    def hand(self, notification: Notification) -> None:
        try:
            if self._closed:
                raise asyncio.QueueFull
            self._queue(notification.organization).put_nowait((notification, tracing.current()))
        except asyncio.QueueFull:
            self._settle(notification, Fate.DROPPED)

    async def close(self) -> None:
        """Wait briefly for the queues; what is left is dropped, and logged."""
        self._closed = True
        actors = list(self._actors.values())
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_CHANCE):
                await asyncio.gather(*(queue.join() for queue, _ in actors))
        for _, task in actors:
            task.cancel()
        await asyncio.gather(*(task for _, task in actors), return_exceptions=True)
        for queue, _ in actors:
            while not queue.empty():
                self._settle(queue.get_nowait()[0], Fate.DROPPED)
        self._actors.clear()

    def _queue(self, organization: str) -> _Queue:
        if organization not in self._actors:
            queue: _Queue = asyncio.Queue(_QUEUE)
            self._actors[organization] = (queue, asyncio.create_task(self._work(organization, queue)))
        return self._actors[organization][0]

    async def _work(self, organization: str, queue: _Queue) -> None:
        while True:
            try:
                notification, span = await asyncio.wait_for(queue.get(), _IDLE_SECONDS)
            except TimeoutError:
                if queue.empty():
                    del self._actors[organization]
                    return
                continue
            tracing.running.set(span)  # of the request that hands it over, which need not be that which made the actor
            try:
                await self._deliver(notification)
            except asyncio.CancelledError:
                self._settle(notification, Fate.DROPPED)
                raise
            except Exception as error:  # whatever it is, the actor goes on with the next one
                self._settle(notification, Fate.FAILED, type(error).__name__)
            else:
                self._settle(notification, Fate.DELIVERED)
            finally:
                queue.task_done()

    def _settle(self, notification: Notification, fate: Fate, reason: str | None = None) -> None:
        self._count(notification.counted_as or notification.type, fate)
        _log.log(
            logging.INFO if fate is Fate.DELIVERED else logging.WARNING,
            "notification %s %s organization=%s request_id=%s%s",
            notification.type,
            fate.value,
            notification.organization,
            notification.request_id,
            f" reason={reason}" if reason else "",
        )


async def embedded(_notification: Notification) -> None:
    """The embedded workflow actor: the log line of its fate is all that it does."""


class HttpDelivery:
    """Posts each notification to a workflow service; anything but a 2xx is a failure.

    It is signed by Standard Webhooks where there is a secret. A service that fails again and again is left alone for a
    while: what comes then has failed at once.
    """

    def __init__(self, client: wire.AsyncClient, url: str, calls: Calls | None = None, secret: str = "") -> None:
        self._client = client
        self._url = url
        self._secret = secret
        self._calls = calls or Calls()
        self._breaker = Breaker("of notifications", calls=self._calls, label="workflow")

    async def __call__(self, notification: Notification) -> None:
        """POST the notification, once, within five seconds."""
        content = {
            "id": notification.id,
            "type": notification.type,
            "occurred_at": notification.occurred_at,
            "organization_id": notification.organization,
            "data": notification.data,
        }
        body = orjson.dumps(content, option=orjson.OPT_UTC_Z).decode()
        headers = {"content-type": "application/json", "X-Request-Id": notification.request_id}
        if self._secret:
            headers |= signed_headers([self._secret], notification.id, datetime.now(UTC), body)
        left_alone = ConnectionError("the workflow service is left alone")
        with self._breaker.call(left_alone), self._calls.one("workflow"):
            async with (
                asyncio.timeout(_DEADLINE),  # over all of it, where the client's deadlines begin anew with every byte
                self._client.stream("POST", self._url, content=body, headers=headers) as response,
            ):
                response.raise_for_status()
