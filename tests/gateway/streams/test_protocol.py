"""graphql-transport-ws to the letter: what each message does, and the codes that a connection is closed with."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from websockets import Subprotocol
from websockets.exceptions import ConnectionClosed, InvalidStatus

from contract.limits import SOCKET_MESSAGE_MAX_BYTES, STREAM_ID_MAX, STREAMS_PER_CONNECTION
from tests.support.live import EVENTS, Live, begun, opened

pytestmark = pytest.mark.asyncio(loop_scope="module")

INIT = {"type": "connection_init"}
RUNNING = {"id": "1", "type": "subscribe", "payload": {"query": EVENTS}}


def asked(payload: Any) -> dict[str, Any]:
    return {"id": "2", "type": "subscribe", "payload": payload}


@pytest.mark.parametrize(
    ("messages", "code", "reason"),
    [
        (["nonsense"], 4400, "Invalid message: no JSON"),
        (["[" * 100_000], 4400, "Invalid message: no JSON"),
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
    shared: Live, messages: list[Any], code: int, reason: str
) -> None:
    async with opened(shared.service, shared.token()) as socket, asyncio.timeout(20):
        for message in messages:
            raw = message if isinstance(message, str | bytes) else json.dumps(message)
            await socket.connection.send(raw)
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                assert (await socket.hear())["type"] == "connection_ack"
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code
    assert closed.value.rcvd.reason.startswith(reason)


async def test_who_says_nothing_is_closed(shared: Live) -> None:
    async with opened(shared.service) as socket:
        assert await socket.closed() == (4408, "Connection initialisation timeout")


async def test_pings_and_pongs_are_taken_at_any_time(shared: Live) -> None:
    async with opened(shared.service) as socket:
        await socket.say("ping", payload={"n": 1})
        assert await socket.hear() == {"type": "pong", "payload": {"n": 1}}
        await socket.say("pong")
        await socket.say("connection_init")
        assert await socket.hear() == {"type": "connection_ack"}
        await socket.say("pong", payload={})
        await socket.say("ping")
        assert await socket.hear() == {"type": "pong"}


async def test_a_stream_ends_where_its_client_completes_it(shared: Live) -> None:
    async with begun(shared.service, shared.token()) as socket:
        await socket.subscribe("1", EVENTS, after=await shared.cursor())
        await shared.create("Seen")
        assert (await socket.answers(1))[0]["events"]["data"]["name"] == "Seen"
        await socket.say("complete", id="1")
        await socket.say("complete", id="never begun")
        await shared.create("Unseen")
        await socket.subscribe("1", "{ __typename }")  # the identifier is free again
        assert await socket.answers(1) == [{"__typename": "Query"}]
        assert await socket.hear() == {"id": "1", "type": "complete"}
        await shared.running(0)


async def test_a_connection_has_so_many_operations_and_no_more(shared: Live) -> None:
    async with begun(shared.service, shared.token()) as socket:
        for number in range(STREAMS_PER_CONNECTION):
            await socket.subscribe(str(number))
        await socket.subscribe("one more")
        answer = await socket.hear()
        assert (answer["type"], answer["id"]) == ("error", "one more")
        assert answer["payload"][0]["extensions"]["code"] == "TOO_MANY_STREAMS"
        await shared.running(STREAMS_PER_CONNECTION)
        await shared.create("For all")
        heard = [await socket.hear() for _ in range(STREAMS_PER_CONNECTION)]
        assert {message["id"] for message in heard} == {str(n) for n in range(STREAMS_PER_CONNECTION)}
    await shared.running(0)


async def test_other_subprotocols_are_not_spoken(shared: Live) -> None:
    for offered in (None, [Subprotocol("graphql-ws")]):
        async with opened(shared.service, subprotocols=offered) as socket:
            assert await socket.closed() == (4406, "Subprotocol not acceptable")
    async with opened(
        shared.service, subprotocols=[Subprotocol("graphql-ws"), Subprotocol("graphql-transport-ws")]
    ) as socket:
        assert socket.connection.subprotocol == "graphql-transport-ws"


async def test_pages_of_other_origins_may_not_connect(shared: Live) -> None:
    own = shared.service.address
    for origin in (None, own, "https://app.example.com"):
        async with opened(shared.service, origin=origin) as socket:
            await socket.begin({})
    for origin in (
        "https://elsewhere.example.com",
        "null",
        "http://127.0.0.1:1",
        "https://app.example.com.evil.example",
    ):
        with pytest.raises(InvalidStatus) as refused:
            async with opened(shared.service, origin=origin):
                pass
        assert refused.value.response.status_code == 403


async def test_nothing_but_the_endpoint_takes_sockets(shared: Live) -> None:
    async with opened(shared.service) as socket:
        assert socket.connection.response is not None
        assert "permessage-deflate" not in str(socket.connection.response.headers)
    for path in ("/", "/deals", "/graphql/schema.graphql"):
        with pytest.raises(InvalidStatus) as refused:
            async with opened(shared.service, path=path):
                pass
        assert refused.value.response.status_code in (403, 404)
    log = shared.service.log.read_text()
    assert "Traceback" not in log
