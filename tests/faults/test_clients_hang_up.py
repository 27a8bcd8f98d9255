"""Thousands of clients that hang up in the middle of a request: nothing of them stays."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import struct
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from sqlalchemy.engine import make_url

from tests.faults.load import pick, until
from tests.support.live import CREATE, Live, going
from tests.support.postgresql import Server

pytestmark = pytest.mark.long

CLIENTS = pick(500, 5_000)
AT_ONCE = 50
POOL = 5
_QUERY = "{ deals(first: 100) { nodes { id name account { name } primaryContact { name } } } }"


def _request(live: Live, path: str, body: dict[str, object] | None) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    head = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    head += [f"Authorization: {live.token()['authorization']}", f"Content-Length: {len(content)}"]
    return "\r\n".join([*head, "", ""]).encode() + content


async def _hang_up(address: tuple[str, int], request: bytes, choose: random.Random) -> None:
    """Send the request or a part of it, perhaps read something, and go: with a farewell or with a reset."""
    reader, writer = await asyncio.open_connection(*address)
    whole = choose.random() < 0.6
    writer.write(request if whole else request[: choose.randrange(1, len(request))])
    await writer.drain()
    if choose.random() < 0.5:
        await asyncio.sleep(choose.random() * 0.02)
    if whole and choose.random() < 0.3:
        await reader.read(1)
    if choose.random() < 0.5:
        linger = struct.pack("ii", 1, 0)  # closing sends a reset
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


def _sockets(process: int) -> int:
    """How many sockets the process has open."""
    folder = Path(f"/proc/{process}/fd")
    count = 0
    for file in folder.iterdir():
        try:
            count += os.readlink(file).startswith("socket:")
        except FileNotFoundError:  # closed meanwhile
            continue
    return count


async def _rest(server: Server, database: str) -> None:
    """Wait until the service's connections at the database only wait, in no transaction."""
    statement = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid() AND state <> 'idle'"
    )
    connection = await server.connect(database, role="postgres")
    try:

        async def resting() -> bool:
            return not await connection.fetchval(statement, database)

        await until(resting, 30)
    finally:
        await connection.close()


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"], indirect=True)
async def test_nothing_stays(database_url: str, dialect: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    settings = {"CRM_DATABASE_POOL_SIZE": str(POOL), "CRM_RATE_LIMIT": "off"}
    async with going(tmp_path, database_url, **settings) as live:
        for number in range(20):
            await live.create(f"Deal {number}")
        before = _sockets(live.service.pid)
        host, _, port = live.service.address.removeprefix("http://").rpartition(":")
        requests = [
            _request(live, "/graphql", {"query": _QUERY}),
            _request(live, "/graphql", {"query": CREATE, "variables": {"name": "Gone"}}),
            _request(live, "/deals", None),
            _request(live, "/deals", {"name": "Gone"}),
        ]
        choose, room = random.Random(6), asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> None:
            async with room:
                await _hang_up((host, int(port)), requests[number % len(requests)], choose)

        began = time.monotonic()
        await asyncio.gather(*(one(number) for number in range(CLIENTS)))
        gone = time.monotonic()
        # The pool and the connection that listens may have been made since.
        await until(lambda: _sockets(live.service.pid) <= before + POOL, 30)
        if dialect == "postgresql":
            await _rest(request.getfixturevalue("postgresql"), str(make_url(database_url).database))
        print(f"{dialect}: {CLIENTS} clients in {gone - began:.1f} s; clean after {time.monotonic() - gone:.2f} s more")
        async with httpx.AsyncClient(headers=live.token(), timeout=20) as client:
            answers = await asyncio.gather(
                *(client.get(f"{live.service.address}/deals", params={"limit": 1}) for _ in range(4 * POOL))
            )
            assert {answer.status_code for answer in answers} == {200}
            ready = await client.get(f"{live.service.address}/ready")
            assert ready.status_code == 200
        log = live.service.log.read_text()
        assert "Traceback" not in log
        assert "status=500" not in log
