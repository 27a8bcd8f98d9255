"""The memory that a feed takes, of the process that reads it and of the service's (decision 1031)."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from providers.accounts.ical import FeedReader, Source
from providers.accounts.ical_reading import PAGE, READING, read_feed
from providers.accounts.ports import Asked, Cursor, Seen, Told
from providers.children.pool import Children
from providers.outbound import Outbound
from tests.support import children as work
from tests.support.feeds import TODAY, event, feed

EVENTS = 2_000
TEXT = feed(*(event(f"e{number}", "DESCRIPTION:" + "Some words. " * 200) for number in range(EVENTS))).encode()
WINDOW = (TODAY - timedelta(days=90), TODAY + timedelta(days=365))


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    children = Children()
    yield children
    await children.close()


async def test_what_reads_a_feed_loads_nothing_of_the_service(children: Children) -> None:
    await children.run(READING, read_feed, feed(event("a")).encode(), *WINDOW)
    loaded = set(await children.run(READING, work.loaded))
    assert {"icalendar", "providers.accounts.ical_reading"} <= loaded
    assert loaded & {"asyncio", "hashlib", "logging", "pydantic", "sqlalchemy", "ssl"} == set()


async def test_a_large_feed_takes_a_few_times_its_size_where_it_is_read(children: Children) -> None:
    await children.run(READING, read_feed, feed(event("a")).encode(), *WINDOW)
    before = _most(*children.pids)
    found = await children.run(READING, read_feed, TEXT, *WINDOW)
    assert found.number == EVENTS
    assert 0 < _most(*children.pids) - before < 4 * len(TEXT)


def _most(pid: int) -> int:
    """The most bytes that the process has had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


async def test_a_large_feed_takes_a_few_times_its_size_in_the_service(children: Children) -> None:
    async def content() -> bytes:
        return bytes(bytearray(TEXT))

    reader, read = FeedReader(Source(content=content), Outbound(), children), 0
    tracemalloc.start()
    try:
        async for page in reader.read(Asked(None, True, *WINDOW), Told()):
            read += sum(isinstance(each, Seen) for each in page)
            _, most = tracemalloc.get_traced_memory()
            if isinstance(page[-1], Seen):
                await _without_text()
            else:
                assert isinstance(page[-1], Cursor)
    finally:
        tracemalloc.stop()
    assert read == EVENTS > 5 * PAGE
    assert most < 4 * len(TEXT)


async def _without_text() -> None:
    """Neither the text nor what was found in it is there; what else the process does takes memory for moments."""
    async with asyncio.timeout(5):
        while tracemalloc.get_traced_memory()[0] >= len(TEXT) / 2:  # noqa: ASYNC110  # memory tells nobody
            await asyncio.sleep(0.01)
