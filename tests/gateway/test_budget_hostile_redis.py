"""A Redis that is none: whatever answers on its port, requests are served, in little memory (decision 160)."""

from __future__ import annotations

import asyncio
import logging
import tracemalloc

import pytest

from contract.limits import REDIS_SECONDS
from identity.budget import SIZE, sizes_of
from identity.redis_buckets import RedisBuckets, RedisPairs
from identity.redis_link import RedisLink
from identity.token_buckets import Size
from tests.gateway.conftest import Start
from tests.support.hostile_redis import REPLIES, HostileRedis
from tests.support.redis import RedisServer

MEGABYTE = 1_000_000
ROUNDS = 2


@pytest.mark.parametrize("polite", [False, True], ids=["at once", "to scripts"])
@pytest.mark.parametrize("name", REPLIES)
async def test_the_process_counts_for_itself(
    name: str, polite: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("identity.redis_link._AGAIN_SECONDS", 0.0)  # each one asks
    async with HostileRedis(REPLIES[name], polite=polite) as server:
        link = RedisLink(server.url)
        buckets, pairs = RedisBuckets(link, "a:", SIZE), RedisPairs(link, "b:", sizes_of())
        tracemalloc.start()
        try:
            with caplog.at_level(logging.WARNING):
                for number in range(ROUNDS):
                    async with asyncio.timeout(REDIS_SECONDS * 50):
                        taken = await buckets.take("a", 1)
                        drawn = await pairs.take("org", "a", 1)
                        answers = await link.answers()
                    assert (taken.granted, len(buckets.local)) == (True, 1)
                    assert (drawn.granted, drawn.pairs) == (True, pairs.local)
                    assert 0 < drawn.missing <= (number + 1) * SIZE.point
                    assert answers is polite
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            await link.close()
    assert server.asked
    assert peak < 3 * MEGABYTE
    said = [record.getMessage() for record in caplog.records if record.name.startswith("identity")]
    assert len(said) == 1, said
    assert said[0].startswith("Redis cannot be reached (")
    assert len(said[0]) < 200


@pytest.mark.parametrize("name", ["a web server", "a text of a terabyte", "texts", "lists within lists"])
async def test_both_surfaces_serve_and_redis_is_taken_up_again(
    name: str, start: Start, own_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    own_server.stop()
    port = int(own_server.url.split(":")[-1].split("/")[0])
    async with start(rate_limit=True, redis_url=own_server.url) as gateway:
        headers = gateway.world.session("admin@one", gateway.world.one)
        link = gateway.runtime.limiting.link
        with caplog.at_level(logging.WARNING):
            async with HostileRedis(REPLIES[name], port):
                for left in (1_999, 1_998):
                    answer = await gateway.rest("GET", "/deals?limit=1", headers)
                    assert answer.status_code == 200
                    assert left <= int(answer.headers["ratelimit-remaining"]) <= 2_000
                    assert (await gateway.graphql("{ viewer { id } }", headers)).status_code == 200
                ready = await gateway.rest("GET", "/ready", {})
                assert '"redis","ok":true,"message":"cannot be reached; each process' in ready.text
            assert link.is_away
            own_server.start()
            async with asyncio.timeout(60):
                while link.is_away:
                    assert (await gateway.rest("GET", "/deals?limit=1", headers)).status_code == 200
                    await asyncio.sleep(0.05)
        said = [record.getMessage() for record in caplog.records if record.name.startswith("identity")]
        assert [line.split(" (")[0] for line in said] == ["Redis cannot be reached", "Redis can be reached again"]


async def test_a_budget_of_another_size_does_not_matter_to_what_is_read(own_server: RedisServer) -> None:
    """The bound of a reply is far from what the scripts answer, whose numbers are as long as they come."""
    link = RedisLink(own_server.url)
    buckets = RedisBuckets(link, "long:", Size(1_000_000, 1_000_000_000))
    async with asyncio.timeout(60):
        counted = -1  # by the memory, while Redis is away
        while counted < len(buckets.local):  # nothing tells of it
            await asyncio.sleep(1)
            counted = len(buckets.local)
            await buckets.take(str(counted), 1_000_000)
    await link.close()
