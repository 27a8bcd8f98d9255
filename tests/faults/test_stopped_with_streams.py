"""SIGTERM with hundreds of streams open and requests under way: each ends in order, and none is cut off.

tests/gateway/test_subscriptions.py does so with one of each transport on both databases; here are many, and writes.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from gateway.server.shutdown import GRACEFUL_SECONDS
from tests.faults.load import CUT, kept, pick, writing
from tests.support.live import going
from tests.support.streams import answers, begun

pytestmark = pytest.mark.long

STREAMS = pick(60, 600)
"""Half of them WebSockets, half server-sent events."""
AT_ONCE = 30
"""How many begin at the same time: of those of one organization that are not answered yet, more would be shed."""
EVENTS = "subscription { events { cursor } }"
QUIET = 'subscription { events(types: ["lead_created"]) { cursor } }'
"""Nothing is told to the sockets, which nobody reads: who does not read is cut off, not closed (decision 83)."""


async def _listen(client: httpx.AsyncClient, standing: asyncio.Semaphore) -> bool:
    """Follow the log over server-sent events until the service ends the stream; a cut connection raises."""
    async for event in answers(client, EVENTS):
        if event is None:
            standing.release()
    return True


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_streams_and_requests_end_in_order(database_url: str, tmp_path: Path) -> None:
    async with going(tmp_path, database_url, CRM_RATE_LIMIT="off") as live, AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            httpx.AsyncClient(
                base_url=live.service.address,
                headers=live.token(),
                timeout=60,
                limits=httpx.Limits(max_connections=STREAMS),
            )
        )
        standing = asyncio.Semaphore(0)
        listening: list[asyncio.Task[bool]] = []
        async with asyncio.timeout(60):
            while len(listening) < STREAMS // 2:
                some = min(AT_ONCE, STREAMS // 2 - len(listening))
                listening += [asyncio.create_task(_listen(client, standing)) for _ in range(some)]
                for _ in range(some):
                    await standing.acquire()
        sockets = []
        for number in range(STREAMS // 2):
            sockets.append(await stack.enter_async_context(begun(live.service.address, live.token())))
            await sockets[-1].subscribe(str(number), QUIET)
        await live.running(STREAMS)
        async with writing(live) as load:
            await load.until(50)
            began = time.monotonic()
            ending = asyncio.create_task(asyncio.to_thread(live.service.end))
            assert await ending == 0
            took = time.monotonic() - began
        assert took < GRACEFUL_SECONDS
        assert await asyncio.gather(*listening) == [True] * len(listening)
        closed = await asyncio.gather(*(socket.closed() for socket in sockets))
        assert set(closed) == {(1001, "The service is ending")}
        print(f"{STREAMS} streams ended in {took:.1f} s; {load.outcomes}")
        found = await kept(load)
        # Whoever comes after the end finds nobody; whoever came before was answered.
        assert (found.lost, found.partial, found.unknown) == (0, 0, 0)
        assert load.outcomes.keys() <= {200, 201, CUT}
        assert "Traceback" not in live.service.log.read_text()
