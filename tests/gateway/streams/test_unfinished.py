"""WebSocket messages that are too long, too soon, or never whole (decision 137)."""

from __future__ import annotations

import asyncio
import json
import re
import struct
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from contract.limits import (
    ANONYMOUS_BODY_MAX_BYTES,
    SOCKET_FRAGMENTS_MAX,
    SOCKET_INIT_MAX_BYTES,
    SOCKET_QUEUED_MAX,
    UNFINISHED_MAX_BYTES,
)
from tests.support.live import Live
from tests.support.streams import PROTOCOL, Socket, begun, open_socket

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.parametrize("live_url", ["sqlite"], indirect=True),
]

MIB = 1024 * 1024
TEXT, CONTINUED, CLOSE, PING = 0x1, 0x0, 0x8, 0x9


def _frame(opcode: int, length: int, *, fin: bool, reserved: int = 0) -> bytes:
    """The head of a frame, whose mask of zeros leaves its bytes as they are."""
    head = bytes([(0x80 if fin else 0) | reserved | opcode])
    if length < 126:
        return head + bytes([0x80 | length]) + bytes(4)
    return head + b"\xff" + struct.pack("!Q", length) + bytes(4)


def _upgrade(host: str) -> bytes:
    return (
        f"GET /graphql HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {'A' * 22}==\r\nSec-WebSocket-Protocol: {PROTOCOL}\r\n\r\n"
    ).encode()


@asynccontextmanager
async def _upgraded(live: Live) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A bare connection whose upgrade was answered."""
    host, port = live.service.address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    async with asyncio.timeout(60):
        writer.write(_upgrade(f"{host}:{port}"))
        await reader.readuntil(b"\r\n\r\n")
        yield reader, writer
        writer.close()
        await writer.wait_closed()


def _write(socket: Socket, data: bytes) -> None:
    """Past the library, which would send whole messages."""
    transport: Any = socket.connection.transport
    transport.write(data)


async def _is_closed(socket: Socket) -> int:
    async with asyncio.timeout(60):
        return (await socket.closed())[0]


def _resident(live: Live) -> int:
    status = Path(f"/proc/{live.service.pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024


@pytest.mark.parametrize("fin", [True, False])
async def test_before_it_has_begun_a_message_is_short(live: Live, fin: bool) -> None:
    async with open_socket(live.service.address) as socket:
        _write(socket, _frame(TEXT, SOCKET_INIT_MAX_BYTES + 1, fin=fin))
        assert await _is_closed(socket) == 1009


async def test_who_still_sends_gets_to_read_why_it_is_closed(live: Live) -> None:
    """A socket closed under what comes would be reset, and the close frame lost with it."""
    async with _upgraded(live) as (reader, writer):
        for piece in (_frame(TEXT, 8 * MIB, fin=True), *[bytes(MIB)] * 8):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.05)
        heard = await reader.read()
    assert heard[0] == 0x88
    assert struct.unpack("!H", heard[2:4]) == (1009,)


_BEHIND = {
    "no UTF-8, and a ping": (_frame(TEXT, 1, fin=True) + b"\xff" + _frame(PING, 0, fin=True), 1007),
    "no UTF-8, and a close": (_frame(TEXT, 1, fin=True) + b"\xff" + _frame(CLOSE, 2, fin=True) + b"\x03\xe8", None),
    "too many pieces, and a ping": (
        _frame(TEXT, 0, fin=False)
        + _frame(CONTINUED, 0, fin=False) * (SOCKET_FRAGMENTS_MAX + 1)
        + _frame(PING, 0, fin=True),
        1009,
    ),
    "too many messages, and a ping": (
        (_frame(TEXT, 15, fin=True) + b'{"type":"pong"}') * (SOCKET_QUEUED_MAX + 200) + _frame(PING, 0, fin=True),
        1013,
    ),
}


@pytest.mark.parametrize("what", _BEHIND)
async def test_what_came_with_what_ends_a_connection_is_no_mistake(live: Live, what: str) -> None:
    """Frames that were read already are handled after the end: nothing is written then."""
    sent, code = _BEHIND[what]
    async with _upgraded(live) as (reader, writer):
        writer.write(sent)
        heard = (await reader.read()).removeprefix(b"\x8a\x00")  # the ping's answer, which may come before
    assert heard[0] == 0x88
    if code is not None:
        assert struct.unpack("!H", heard[2:4]) == (code,)
    log = live.service.log.read_text()
    assert "Traceback" not in log
    assert "Fatal error" not in log


async def test_before_it_has_begun_pieces_count_together(live: Live) -> None:
    async with open_socket(live.service.address) as socket:
        for number in range(3):
            _write(socket, _frame(CONTINUED if number else TEXT, 2_000, fin=False) + b" " * 2_000)
        assert await _is_closed(socket) == 1009


async def test_the_longest_first_message_and_long_ones_after_it(live: Live) -> None:
    async with open_socket(live.service.address) as socket:
        payload = live.token()
        bare = len(json.dumps({"type": "connection_init", "payload": payload | {"x": ""}}))
        await socket.begin(payload | {"x": "y" * (SOCKET_INIT_MAX_BYTES - bare)})
        await socket.subscribe("1", "query($x: String) { __typename }", x="y" * (MIB - 1_000))
        assert (await socket.hear())["type"] in {"next", "error"}
        await socket.connection.send(["x" * 300_000] * 4)
        assert await _is_closed(socket) == 1009


@pytest.mark.parametrize("kind", ["ping", "subscribe"])
async def test_who_shows_no_credential_has_little_to_say(live: Live, kind: str) -> None:
    """No more than over HTTP: 16 KiB of a body (decision 146)."""
    async with begun(live.service.address, {}) as socket:
        bare = len(json.dumps({"type": "ping", "payload": {"x": ""}}))
        await socket.say(type="ping", payload={"x": "y" * (ANONYMOUS_BODY_MAX_BYTES - bare)})
        assert (await socket.hear())["type"] == "pong"
        payload = {"query": "{ __typename }", "variables": {"x": "y" * ANONYMOUS_BODY_MAX_BYTES}}
        await socket.say(type=kind, id="1", payload=payload)
        assert await _is_closed(socket) == 1009


async def test_before_the_upgrade_is_answered(live: Live) -> None:
    """What comes with the upgrade is no way round, and no mistake of the service's."""
    host, port = live.service.address.removeprefix("http://").split(":")
    head = _upgrade(f"{host}:{port}")
    for after in (_frame(TEXT, MIB, fin=True), _frame(0x3, 0, fin=True), _frame(TEXT, MIB, fin=False) + b"x" * 100_000):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(head)
        await asyncio.sleep(0)
        writer.write(after)
        async with asyncio.timeout(60):
            await reader.read(100)  # taken, or closed at once
        writer.close()
        await writer.wait_closed()
    assert "Traceback" not in live.service.log.read_text()


@pytest.mark.parametrize("size", [0, 1])
async def test_a_message_has_so_many_pieces(live: Live, size: int) -> None:
    async with begun(live.service.address, live.token()) as socket:
        piece = _frame(CONTINUED, size, fin=False) + b"x" * size
        _write(socket, _frame(TEXT, size, fin=False) + b"x" * size + piece * (SOCKET_FRAGMENTS_MAX + 1))
        assert await _is_closed(socket) == 1009


async def test_many_messages_at_once(live: Live) -> None:
    async with open_socket(live.service.address) as socket:
        await asyncio.sleep(0.2)
        _write(socket, (_frame(TEXT, 15, fin=True) + b'{"type":"pong"}') * 20_000)
        assert await _is_closed(socket) == 1013


async def test_nothing_is_unpacked(live: Live) -> None:
    """Four kilobytes that would be four megabytes are refused as they come."""
    async with open_socket(live.service.address, compression="deflate") as socket:
        assert socket.connection.response is not None
        assert "Sec-WebSocket-Extensions" not in socket.connection.response.headers
        _write(socket, _frame(TEXT, 4, fin=True, reserved=0x40) + b"\x00\x00\x00\xff")
        assert await _is_closed(socket) == 1002


async def test_what_is_unfinished_counts_for_its_address_and_comes_back(live: Live) -> None:
    """Two hundred sockets with a megabyte each, but for its last byte: those beyond the limit are closed."""
    before = _resident(live)
    most = UNFINISHED_MAX_BYTES // MIB
    async with AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(begun(live.service.address, live.token())) for _ in range(200)]
        for socket in sockets:
            _write(socket, _frame(TEXT, MIB, fin=True) + b" " * (MIB - 1))
        ended = [asyncio.create_task(_is_closed(socket)) for socket in sockets]
        deadline = time.monotonic() + 60
        while sum(task.done() for task in ended) < len(sockets) - most:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
        assert _resident(live) - before < 4 * UNFINISHED_MAX_BYTES
        codes = [task.result() for task in ended if task.done()]
        assert set(codes) <= {1013, 1008}
        assert codes.count(1013) >= 200 - 4 * most
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)
    async with begun(live.service.address, live.token()) as socket:
        await socket.subscribe("1", "{ viewer { subject } }", x="y" * (MIB - 1_000))
        assert (await socket.hear())["type"] in {"next", "error"}
    assert _resident(live) - before < 4 * UNFINISHED_MAX_BYTES


async def test_a_network_of_ipv6_is_one_address(live: Live) -> None:
    """In which everybody has any number of addresses; the service believes the proxy of this machine."""
    async with AsyncExitStack() as stack:
        ended = []
        for number in range(2 * UNFINISHED_MAX_BYTES // MIB):
            opened = open_socket(
                live.service.address, additional_headers={"X-Forwarded-For": f"2001:db8:1:2:{number:x}::9"}
            )
            socket = await stack.enter_async_context(opened)
            await socket.begin(live.token())
            _write(socket, _frame(TEXT, MIB, fin=True) + b" " * (MIB - 1))
            ended.append(asyncio.create_task(_is_closed(socket)))
        done, others = await asyncio.wait(ended, timeout=60, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result() for task in done][:1] == [1013]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


@pytest.mark.parametrize("is_fragmented", [True, False])
async def test_a_message_is_finished_in_time(live: Live, is_fragmented: bool) -> None:
    async with begun(live.service.address, live.token()) as socket:
        _write(socket, _frame(TEXT, 100 if is_fragmented else MIB, fin=not is_fragmented) + b"x" * 100)
        ended = asyncio.create_task(_is_closed(socket))
        for _ in range(100):
            if ended.done() or isinstance(socket.connection.close_code, int):
                break
            _write(socket, _frame(CONTINUED, 1, fin=False) + b"x" if is_fragmented else b"x")
            await asyncio.sleep(0.2)
        assert await ended == 1008


async def test_others_go_on_meanwhile(live: Live) -> None:
    async with begun(live.service.address, live.token()) as slow, begun(live.service.address, live.token()) as socket:
        _write(slow, _frame(TEXT, MIB, fin=True) + b" " * 1_000)
        await socket.subscribe("1", "{ __typename }")
        assert (await socket.hear())["type"] == "next"
        with pytest.raises(ConnectionClosed):
            await slow.hear()
