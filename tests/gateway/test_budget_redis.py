"""One budget for several processes, in a real Redis, and what happens without it (decision 104)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from contract.limits import REDIS_SECONDS
from gateway.runtime import Runtime
from identity.budget import SIZE
from identity.pairs import Sizes
from identity.redis_buckets import SCRIPT, RedisBuckets, RedisPairs
from identity.redis_link import RedisLink
from identity.token_buckets import MICROSECONDS, Size
from tests.gateway.conftest import Start
from tests.support.redis import RedisServer
from tests.support.world import bearer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of the sums: a machine that is busy with other tests may take longer than the deadline."""
    monkeypatch.setattr("identity.redis_link.REDIS_SECONDS", 20)


@pytest.fixture
async def link(server: RedisServer, patient: None) -> AsyncIterator[RedisLink]:
    link = RedisLink(server.url)
    yield link
    await link.close()


# Of which a point takes an hour to come back, so that the time the test takes adds none.
SLOW = Size(2_000, 3_600 * MICROSECONDS)


async def test_the_sums_are_those_of_the_memory(link: RedisLink) -> None:
    buckets = RedisBuckets(link, "sums:", SLOW)
    assert await buckets.take("a", 1_500) == (True, 1_500 * SLOW.point)
    assert SLOW.available((await buckets.take("a", 501)).missing) == 500
    assert not (await buckets.take("a", 501)).granted
    assert (await buckets.take("b", 5_000)).granted
    refused = await buckets.take("b", 1)
    assert (refused.granted, SLOW.available(refused.missing)) == (False, -3_000)
    assert (await buckets.take("b", 0)).granted
    pairs = RedisPairs(link, "pair:", Sizes(SLOW, SLOW))
    drawn = await pairs.take("", "b", 5_000)
    assert SLOW.available((await pairs.give(drawn, 3_100))[0]) == 100
    assert SLOW.available((await pairs.give(drawn, -50))[0]) == 50
    assert await pairs.give(drawn, 9_999) == (0, 0)
    assert await link._client.exists("pair:{}:b") == 0


async def test_a_bucket_is_forgotten_once_it_is_full(link: RedisLink) -> None:
    buckets = RedisBuckets(link, "kept:", Size(2_000, 1_000))
    await buckets.take("a", 200)
    assert 0 < await link._client.pttl("kept:a") <= 200
    await asyncio.sleep(0.25)
    assert await link._client.exists("kept:a") == 0
    assert (await buckets.take("a", 2_000)).granted


async def test_of_many_at_once_as_many_as_there_are_points_for_get_them(server: RedisServer, patient: None) -> None:
    links = [RedisLink(server.url) for _ in range(2)]
    stores = [RedisBuckets(link, "many:", SLOW) for link in links]
    taken = await asyncio.gather(*(stores[n % 2].take("a", 10) for n in range(300)))
    assert sum(each.granted for each in taken) == 200
    assert not any(link.is_away for link in links)
    for link in links:
        await link.close()


async def test_both_buckets_of_a_pair_have_to_hold_the_points(link: RedisLink) -> None:
    pairs = RedisPairs(link, "pairs:", Sizes(SLOW, Size(3_000, SLOW.point)))
    taken = await pairs.take("org", "ada", 1_500)
    assert (taken.granted, SLOW.available(taken.missing), SLOW.available(taken.shared)) == (True, 500, 500)
    assert (await pairs.take("org", "ben", 1_500)).granted
    refused = await pairs.take("org", "ben", 1)
    assert (refused.granted, SLOW.available(refused.missing)) == (False, 500)
    untouched = await pairs.take("org", "cy", 1)
    assert (untouched.granted, untouched.missing) == (False, 0)
    assert (await pairs.take("other", "ada", 2_000)).granted
    alone = await pairs.take("", "ada", 2_000)
    assert (alone.granted, alone.shared) == (True, 0)
    missing, shared = await pairs.give(taken, 1_400)
    assert (SLOW.available(missing), Size(3_000, SLOW.point).available(shared)) == (1_900, 1_400)
    assert (await pairs.take("org", "cy", 1_400)).granted
    assert await pairs.give(alone, 2_000) == (0, 0)
    assert sorted(await link._client.keys("pairs:*")) == sorted(
        [
            b"pairs:{org}",
            b"pairs:{org}:ada",
            b"pairs:{org}:ben",
            b"pairs:{org}:cy",
            b"pairs:{other}",
            b"pairs:{other}:ada",
        ]
    )


async def test_a_clock_that_stepped_back_refuses_nobody_for_longer(
    link: RedisLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that is a key of the same Redis, in seconds."""
    monkeypatch.setattr(
        "identity.redis_buckets.SCRIPT", SCRIPT.replace("redis.call('TIME')", "{redis.call('GET', 'clock'), 0}")
    )
    size = Size(2_000, 10_000)  # 20 seconds
    buckets, client = RedisBuckets(link, "stepped:", size), link._client
    pairs = RedisPairs(link, "stepped:", Sizes(size, size))
    for number, name in enumerate(("taken", "refused", "given")):
        clock = 1_800_000_000 + number * 100_000
        await client.set("clock", clock)
        drawn = await pairs.take("", name, 2_000)
        assert drawn.granted
        clock -= 3_600
        await client.set("clock", clock)
        if name == "taken":
            assert (await pairs.take("", name, 0)).missing == size.span
        elif name == "refused":
            refused = await pairs.take("", name, 1)
            assert (refused.granted, refused.missing) == (False, size.span)
        else:
            assert await pairs.give(drawn, 500) == (size.span * 3 // 4, 0)
        await client.set("clock", clock + 20)
        assert (await pairs.take("", name, 2_000)).granted, name
    # What is owed is owed for as long as it was, and what an earlier version wrote for no longer than its span.
    await client.set("clock", 1_900_000_000)
    assert (await buckets.take("owed", 5_000)).missing == 50_000_000
    await client.set("clock", 1_899_990_000)
    assert (await buckets.take("owed", 0)).missing == 50_000_000
    await client.set("stepped:earlier", 1_900_000_000_000_000)
    refused = await buckets.take("earlier", 1)
    assert (refused.granted, refused.missing) == (False, size.span)
    await client.set("clock", 1_899_990_001)
    assert (await buckets.take("earlier", 100)).granted


async def test_values_of_other_kinds_make_the_process_count_for_itself(link: RedisLink) -> None:
    buckets = RedisBuckets(link, "other:", SLOW)
    await link._client.set("other:text", "no bucket")
    assert (await buckets.take("text", 2_000)).missing == SLOW.span
    await link._client.rpush("other:list", "1", "2")
    taken = await buckets.take("list", 2_000)
    assert (taken.granted, len(buckets.local)) == (True, 1)
    assert link.is_away


async def test_two_gateways_share_budgets_and_failures(start: Start, server: RedisServer, patient: None) -> None:
    async with start(rate_limit=True, redis_url=server.url) as gateway:
        database_url = gateway.runtime.settings.database_url
        settings = gateway.runtime.settings.model_copy(update={"database_url": database_url})
        second = Runtime(settings)
        text = await gateway.world.credential("admin@one", gateway.world.one)
        principal = await second.services.identity.authenticate(f"Bearer {text}", None)
        assert second.services.budget is not gateway.runtime.services.budget
        budget = second.services.budget
        throttle = await budget.settle(await budget.charge(principal, 2_000), 3_900)
        assert (throttle.available, throttle.reset) == (0, 39)
        answer = await gateway.rest("GET", "/deals?limit=500", bearer(text))
        assert answer.status_code == 429
        assert 10 < int(answer.headers["retry-after"]) <= 20
        wrong = bearer(f"{text[:-1]}{'A' if text[-1] != 'A' else 'B'}")
        for _ in range(49):
            with pytest.raises(Exception, match="Valid credential required"):
                await second.services.identity.authenticate(wrong["Authorization"], None, "127.0.0.1")
        statuses = [(await gateway.rest("GET", "/deals", wrong)).status_code for _ in range(6)]
        assert statuses[0] == 401
        assert 429 in statuses[1:]  # a point a second comes back meanwhile
        await second.limiting.close()
        await second.database.close()


async def test_without_redis_each_process_counts_for_itself(
    start: Start, own_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with start(rate_limit=True, redis_url=own_server.url) as gateway:
        headers = gateway.world.session("admin@one", gateway.world.one)
        assert (await gateway.rest("GET", "/deals", headers)).headers["x-request-cost"] == "1"
        assert not gateway.runtime.limiting.link.is_away
        assert '"redis","ok":true,"message":"reached"' in (await gateway.rest("GET", "/ready", {})).text
        own_server.stop()
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            for _ in range(5):
                answer = await gateway.rest("GET", "/deals", headers)
                assert (answer.status_code, answer.headers["x-request-cost"]) == (200, "1")
                assert (await gateway.graphql("{ deals { nodes { id } } }", headers)).status_code == 200
            ready = await gateway.rest("GET", "/ready", {})
            assert '"redis","ok":true,"message":"cannot be reached; each process' in ready.text
        said = [record.getMessage() for record in caplog.records if record.name == "identity.redis_link"]
        assert said == ["Redis cannot be reached (ConnectionError); each process counts for itself"]
        own_server.start()
        async with asyncio.timeout(60):
            while gateway.runtime.limiting.link.is_away:
                assert (await gateway.rest("GET", "/deals", headers)).status_code == 200
                await asyncio.sleep(0.1)
        with caplog.at_level(logging.WARNING):
            answer = await gateway.rest("GET", "/deals", headers)
        assert answer.status_code == 200


async def test_a_redis_that_does_not_answer_is_waited_for_once(own_server: RedisServer) -> None:
    link = RedisLink(own_server.url)
    buckets = RedisBuckets(link, "held:", SIZE)
    assert (await buckets.take("a", 1)).granted
    assert not len(buckets.local)
    own_server.hold()
    began = time.monotonic()
    taken = await buckets.take("a", 2_000)
    assert (taken.granted, len(buckets.local)) == (True, 1)
    waited = time.monotonic() - began
    assert waited > REDIS_SECONDS * 0.9
    began = time.monotonic()
    for _ in range(100):
        assert not (await buckets.take("a", 2_000)).granted
    assert time.monotonic() - began < 100 * REDIS_SECONDS / 2  # what half of them would take, if they waited too
    await link.close()
