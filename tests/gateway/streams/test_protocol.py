"""graphql-transport-ws to the letter: what each message does, and the codes that a connection is closed with."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from websockets import Subprotocol
from websockets.exceptions import InvalidStatus

from contract.limits import (
    ANONYMOUS_IDLE_SECONDS,
    SOCKET_MESSAGE_MAX_BYTES,
    STREAM_ID_MAX,
    STREAMS_PER_CONNECTION,
)
from tests.support.live import Live
from tests.support.streams import EVENTS, begun, open_socket

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.parametrize("live_url", ["sqlite"], indirect=True),
]

INIT = {"type": "connection_init"}
RUNNING = {"id": "1", "type": "subscribe", "payload": {"query": EVENTS}}


def asked(payload: Any) -> dict[str, Any]:
    return {"id": "2", "type": "subscribe", "payload": payload}


@pytest.mark.parametrize(
    ("messages", "code", "reason"),
    [
        (["nonsense"], 4400, "Invalid message: no JSON"),
        (["[" * 4_000], 4400, "Invalid message: no JSON"),
        ([b"{}"], 4400, "Invalid message: binary frames are not taken"),
        ([[INIT]], 4400, "Invalid message: no object"),
        ([{}], 4400, "Invalid message: no type of the protocol"),
        ([{"type": "start"}], 4400, "Invalid message: no type of the protocol"),
        ([{"type": ["ping"]}], 4400, "Invalid message: no type of the protocol"),
        ([{"type": "ping", "payload": "text"}], 4400, "Invalid message: payload must be an object"),
        ([{"type": "pong", "payload": 1}], 4400, "Invalid message: payload must be an object"),
        ([INIT | {"payload": []}], 4400, "Invalid message: payload must be an object"),
        (
            [INIT, {"type": "subscribe", "payload": {}}],
            4400,
            "Invalid message: id must be a text of 1 to 200 characters",
        ),
        ([INIT, RUNNING | {"id": ""}], 4400, "Invalid message: id must be a text of 1 to 200 characters"),
        ([INIT, RUNNING | {"id": 1}], 4400, "Invalid message: id must be a text of 1 to 200 characters"),
        (
            [INIT, RUNNING | {"id": "x" * (STREAM_ID_MAX + 1)}],
            4400,
            "Invalid message: id must be a text of 1 to 200 characters",
        ),
        ([INIT, {"type": "complete"}], 4400, "Invalid message: id must be a text of 1 to 200 characters"),
        ([INIT, asked(None)], 4400, "Invalid message: payload must be an object"),
        ([INIT, asked([])], 4400, "Invalid message: payload must be an object"),
        ([INIT, asked({"query": 1})], 4400, "Invalid message: query must be a text"),
        ([INIT, asked({"query": "{a}", "variables": []})], 4400, "Invalid message: variables must be an object"),
        ([INIT, asked({"query": "{a}", "operationName": 1})], 4400, "Invalid message: operationName must be a text"),
        ([INIT, asked({"query": "{a}", "extensions": 1})], 4400, "Invalid message: extensions must be an object"),
        ([RUNNING], 4401, "Unauthorized"),
        ([INIT | {"payload": {"authorization": "Bearer nonsense"}}], 4403, "Forbidden: "),
        ([INIT, RUNNING, RUNNING], 4409, "Subscriber for 1 already exists"),
        ([INIT, INIT], 4429, "Too many initialisation requests"),
        (["x" * (SOCKET_MESSAGE_MAX_BYTES + 1)], 1009, ""),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_what_is_against_the_protocol_closes_the_connection(
    live: Live, messages: list[Any], code: int, reason: str
) -> None:
    async with open_socket(live.service.address, additional_headers=live.token()) as socket, asyncio.timeout(60):
        for message in messages:
            raw = message if isinstance(message, str | bytes) else json.dumps(message)
            await socket.connection.send(raw)
        closing, why = await socket.closed()
    assert closing == code
    assert why.startswith(reason)


async def test_who_says_nothing_is_closed(live: Live) -> None:
    async with open_socket(live.service.address) as socket:
        assert await socket.closed() == (4408, "Connection initialisation timeout")


async def test_who_shows_no_credential_and_asks_nothing_is_closed(live: Live) -> None:
    """Pings are no questions; one who has asked has the time again, and one with a credential may listen for ever."""
    address = live.service.address
    async with begun(address, {}) as silent, begun(address, {}) as asking, begun(address, live.token()) as known:
        began = time.monotonic()
        await silent.say(type="ping")
        await asyncio.sleep(ANONYMOUS_IDLE_SECONDS / 2)
        await silent.say(type="ping")
        await asking.subscribe("1", "{ __typename }")
        assert await asking.told(1) == ["Query"]
        assert await silent.closed() == (1000, "Nothing was asked, without a credential")
        assert time.monotonic() - began > ANONYMOUS_IDLE_SECONDS - 1
        await asking.subscribe("2", "{ __typename }")
        assert await asking.hear() == {"id": "1", "type": "complete"}
        assert await asking.told(1) == ["Query"]
        await known.subscribe("1", "{ __typename }")
        assert await known.told(1) == ["Query"]


async def test_pings_and_pongs_are_taken_at_any_time(live: Live) -> None:
    async with open_socket(live.service.address) as socket:
        await socket.say(type="ping", payload={"n": 1})
        assert await socket.hear() == {"type": "pong", "payload": {"n": 1}}
        await socket.say(type="pong")
        await socket.say(type="connection_init")
        assert await socket.hear() == {"type": "connection_ack"}
        await socket.say(type="pong", payload={})
        await socket.say(type="ping")
        assert await socket.hear() == {"type": "pong"}


async def test_a_stream_ends_where_its_client_completes_it(live: Live) -> None:
    async with begun(live.service.address, live.token()) as socket:
        await socket.subscribe("1", EVENTS, after=await live.cursor())
        await live.create("Seen")
        assert (await socket.told(1))[0]["data"]["name"] == "Seen"
        await socket.say(type="complete", id="1")
        await socket.say(type="complete", id="never begun")
        await live.create("Unseen")
        await socket.subscribe("1", "{ __typename }")  # the identifier is free again
        assert await socket.told(1) == ["Query"]
        assert await socket.hear() == {"id": "1", "type": "complete"}
        await live.running(0)


async def test_a_connection_has_so_many_operations_and_no_more(live: Live) -> None:
    async with begun(live.service.address, live.token()) as socket:
        for number in range(STREAMS_PER_CONNECTION):
            await socket.subscribe(str(number), EVENTS)
        await socket.subscribe("one more", EVENTS)
        answer = await socket.hear()
        assert (answer["type"], answer["id"]) == ("error", "one more")
        assert answer["payload"][0]["extensions"]["code"] == "TOO_MANY_STREAMS"
        await live.running(STREAMS_PER_CONNECTION)
        await live.create("For all")
        heard = [await socket.hear() for _ in range(STREAMS_PER_CONNECTION)]
        assert {message["id"] for message in heard} == {str(n) for n in range(STREAMS_PER_CONNECTION)}
    await live.running(0)


async def test_other_subprotocols_are_not_spoken(live: Live) -> None:
    for offered in (None, [Subprotocol("graphql-ws")]):
        async with open_socket(live.service.address, subprotocols=offered) as socket:
            assert await socket.closed() == (4406, "Subprotocol not acceptable")
    async with open_socket(
        live.service.address, subprotocols=[Subprotocol("graphql-ws"), Subprotocol("graphql-transport-ws")]
    ) as socket:
        assert socket.connection.subprotocol == "graphql-transport-ws"


async def test_pages_of_other_origins_may_not_connect(live: Live) -> None:
    own = live.service.address
    for origin in (None, own, "https://app.example.com"):
        async with open_socket(live.service.address, origin=origin) as socket:
            await socket.begin({})
    for origin in (
        "https://elsewhere.example.com",
        "null",
        "http://[",
        "http://127.0.0.1:1",
        "https://app.example.com.evil.example",
    ):
        with pytest.raises(InvalidStatus) as refused:
            async with open_socket(live.service.address, origin=origin):
                pass
        assert refused.value.response.status_code == 403


async def test_nothing_but_the_endpoint_takes_sockets(live: Live) -> None:
    async with open_socket(live.service.address) as socket:
        assert socket.connection.response is not None
        assert "permessage-deflate" not in str(socket.connection.response.headers)
    for path in ("/", "/deals", "/graphql/schema.graphql"):
        with pytest.raises(InvalidStatus) as refused:
            async with open_socket(live.service.address, path=path):
                pass
        assert refused.value.response.status_code in (403, 404)
    log = live.service.log.read_text()
    assert "Traceback" not in log
