"""Places for requests in flight (decision 107): who floods is refused at once, and nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from unittest.mock import ANY

import httpx
import pytest

from tests.support.live import CREATE, Headers, Live
from tests.support.raw import wire
from tests.support.streams import Socket, begun
from transport.places import Places, path_of

PLACES = 8
SETTINGS = {
    "CRM_REQUESTS_IN_FLIGHT": str(PLACES),
    "CRM_CORS_ORIGINS": "https://app.example",
    "CRM_RECEIVE_SECONDS": "10",  # thirty clients that begin at once on a busy machine are not all quick
}
live_loop = pytest.mark.asyncio(loop_scope="module")


def _filled(places: Places, *groups: str) -> int:
    """How many requests of these groups, one within the other, find a place one after another."""
    path = tuple(groups[: depth + 1] for depth in range(len(groups)))
    count = 0
    while places.take(path):
        count += 1
    return count


def test_a_group_alone_gets_half_and_each_further_one_what_it_needs() -> None:
    places = Places(120)
    assert _filled(places, "one") == 60
    assert _filled(places, "two") == 30
    assert _filled(places, "three") == 15
    assert _filled(places, "four") > 0
    assert _filled(places, "five") > 0
    assert places.taken < 120


def test_anonymous_share_a_part() -> None:
    places = Places(120)
    assert _filled(places, "anonymous", "address", "key") == 30
    assert _filled(places, "anonymous", "address", "other key") > 0
    assert _filled(places, "anonymous", "other address", "key") > 0
    for number in range(1_000):
        _filled(places, "anonymous", str(number), str(number))
    assert places.taken <= 60
    assert _filled(places, "organization") > 10


def test_a_network_of_ipv6_is_one_address() -> None:
    """In which everybody has any number of addresses."""
    assert len({path_of(None, f"2001:db8:1:2::{number:x}", 7) for number in range(10)}) == 1
    assert len({path_of(None, f"2001:db8:1:{number:x}::1", 7) for number in range(10)}) == 10
    assert len({path_of(None, f"::ffff:192.0.2.{number}", 7) for number in range(10)}) == 10


def test_places_that_are_left_are_there_again() -> None:
    places = Places(4)
    path = (("one",), ("one", "two"))
    for _ in range(100):
        assert places.take(path)
        places.leave(path)
    assert places.taken == 0
    assert _filled(places, "one") == 2


def test_who_waits_for_a_place_to_be_left_is_told() -> None:
    """Work behind requests waits for them (decision 1151)."""
    places, left = Places(4), []
    places.left = lambda: left.append(places.taken)
    assert places.take(("one",))
    assert places.take(("two",))
    places.leave(("one",))
    places.leave(("two",))
    assert left == [1, 0]


async def _in_flight(client: httpx.AsyncClient) -> int:
    text = (await client.get("/metrics")).text
    [line] = [line for line in text.splitlines() if line.startswith("crm_requests_in_flight ")]
    return int(float(line.split()[1]))


@asynccontextmanager
async def _flooded(live: Live, headers: Headers) -> AsyncIterator[httpx.AsyncClient]:
    """While one organization has as many requests in flight as it may."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=live.service.address, timeout=30, limits=limits) as client:
        assert (await client.get("/deals", headers=headers)).status_code == 200  # the credential is known from now on
        with live.held():
            body = {"query": CREATE, "variables": {"name": "flood"}}
            waiting = [asyncio.create_task(client.post("/graphql", json=body, headers=headers)) for _ in range(30)]
            ends = asyncio.as_completed(waiting)
            for _ in range(30 - PLACES // 2):
                await next(ends)
            assert await _in_flight(client) == PLACES // 2
            yield client
        answers = await asyncio.gather(*waiting)
        statuses = sorted(answer.status_code for answer in answers)
        assert statuses == [200] * (PLACES // 2) + [503] * (30 - PLACES // 2)
        assert (await client.post("/graphql", json=body, headers=headers)).status_code == 200
        assert await _in_flight(client) == 0


@live_loop
async def test_one_organization_s_flood_sheds_its_own_and_nobody_else_s(live: Live) -> None:
    flooding = live.token("admin")
    async with _flooded(live, flooding) as client:
        graphql = await client.post("/graphql", json={"query": "{ __typename }"}, headers=flooding)
        assert (graphql.status_code, graphql.headers["retry-after"]) == (503, "1")
        identifier = graphql.headers["x-request-id"]
        extensions = {"code": "UNAVAILABLE", "request_id": identifier, "retryAfter": 1}
        assert graphql.json()["errors"] == [{"message": "Too many requests at once", "extensions": extensions}]
        assert graphql.json()["extensions"]["cost"]["actual"] == 0
        rest = await client.get("/deals", headers=flooding | {"Origin": "https://app.example"})
        assert (rest.status_code, rest.headers["retry-after"]) == (503, "1")
        assert rest.headers["access-control-allow-origin"] == "https://app.example"
        body = {"detail": "Too many requests at once", "code": "unavailable"}
        assert rest.json() == body | {"request_id": rest.headers["x-request-id"]}
        assert rest.headers["x-content-type-options"] == "nosniff"
        for path in ("/health", "/ready", "/metrics"):
            assert (await client.get(path, headers=flooding)).status_code == 200
        for _ in range(5):
            for single in (live.token("stranger", "org_two"), live.token("stranger", "org_two", ago=5)):
                assert (await client.get("/deals", headers=single)).status_code == 200
        assert (await client.get("/docs")).status_code == 200
        assert (await client.get("/deals", headers={"Authorization": "Bearer x"})).status_code == 401


@live_loop
async def test_what_is_shed_is_shed_before_its_body_comes(live: Live) -> None:
    flooding = live.token("admin")
    async with _flooded(live, flooding), wire(live.service.address) as connection:
        head = f"POST /deals HTTP/1.1\r\nHost: a\r\nAuthorization: {flooding['authorization']}\r\n"
        await connection.say(f"{head}Content-Length: 1000000\r\n\r\n".encode())
        assert (await connection.head()).startswith(b"HTTP/1.1 503 ")


@live_loop
async def test_streams_and_bodies_that_are_waited_for_hold_no_place(live: Live) -> None:
    headers = live.token("admin")
    query = {"query": "subscription { events { cursor } }"}
    options: Any = {"json": query, "headers": headers | {"Accept": "text/event-stream"}}
    head = f"POST /graphql HTTP/1.1\r\nHost: a\r\nAuthorization: {headers['authorization']}\r\n"
    async with httpx.AsyncClient(base_url=live.service.address, timeout=30) as client:
        before = await live.streams()
        tasks = []
        for number in range(PLACES):
            tasks.append(asyncio.create_task(_listen(client, options)))
            await live.running(before + number + 1)
        wires = [wire(live.service.address) for _ in range(PLACES)]
        for one in wires:
            connection = await one.__aenter__()
            await connection.say(f"{head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n".encode())
        await asyncio.sleep(0.3)
        assert await _in_flight(client) == 0
        assert (await client.get("/deals", headers=headers)).status_code == 200
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for one in wires:
            await one.__aexit__(None, None, None)


async def _listen(client: httpx.AsyncClient, options: Any) -> None:
    async with client.stream("POST", "/graphql", **options) as response:
        async for _ in response.aiter_lines():
            pass


@live_loop
async def test_operations_on_sockets_hold_places_like_requests(live: Live) -> None:
    flooding, other = live.token("admin"), live.token("stranger", "org_two")
    async with AsyncExitStack() as stack, httpx.AsyncClient(base_url=live.service.address, timeout=30) as client:
        assert (await client.get("/deals", headers=flooding)).status_code == 200
        sockets = [await stack.enter_async_context(begun(live.service.address, flooding)) for _ in range(3)]
        another = await stack.enter_async_context(begun(live.service.address, other))
        stranger = await stack.enter_async_context(begun(live.service.address, {}))
        with live.held():
            for number in range(30):
                await sockets[number % 3].subscribe(str(number), CREATE, name="flood")
            refusals = await _heard(sockets, 30 - PLACES // 2)
            assert await _in_flight(client) == PLACES // 2
            assert (await client.get("/deals", headers=flooding)).status_code == 503
            assert (await client.get("/deals", headers=other)).status_code == 200
            for socket in (another, stranger):
                await socket.subscribe("1", "{ __typename }")
                assert await socket.told(1) == ["Query"]
        for refusal in refusals:
            assert refusal["type"] == "error"
            [error] = refusal["payload"]
            assert error["message"] == "Too many requests at once"
            assert (error["extensions"]["code"], error["extensions"]["retryAfter"]) == ("UNAVAILABLE", 1)
        answers = await _heard(sockets, PLACES)
        assert sorted(answer["type"] for answer in answers) == ["complete"] * (PLACES // 2) + ["next"] * (PLACES // 2)
        assert not any("errors" in answer.get("payload", {}) for answer in answers)
        assert await _in_flight(client) == 0
        await sockets[0].subscribe("again", CREATE, name="after the flood")
        assert await sockets[0].told(1) == [{"deal": {"id": ANY, "name": "after the flood"}}]


async def _heard(sockets: list[Socket], count: int) -> list[Any]:
    """The next messages of all of them together."""
    messages: asyncio.Queue[Any] = asyncio.Queue()

    async def listen(socket: Socket) -> None:
        while True:
            messages.put_nowait(await socket.hear())

    listening = [asyncio.create_task(listen(socket)) for socket in sockets]
    try:
        async with asyncio.timeout(60):
            return [await messages.get() for _ in range(count)]
    finally:
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)
