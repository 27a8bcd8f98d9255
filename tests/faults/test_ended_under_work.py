"""SIGTERM ends the service within ten seconds whatever is under way; nothing acknowledged is lost (decision 138)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from sqlalchemy import select

from storage.tables import QueuedJob
from tests.support.live import CREATE, Live, going
from tests.support.service import SCRIPT, Service, environment
from tests.support.streams import begun

PROMISED = 10.0
"""What the service promises, by the clock on the wall."""

Work = Callable[[Live], AbstractAsyncContextManager[None]]

CATALOGUE = (
    "mutation($c: CompetitorInput!) { competitorCreate(input: $c) { competitor { id } userErrors { message } } }"
)
DETECT = "mutation($id: ID!) { dealCompetitorsDetect(dealId: $id) { detected { name } } }"
NOTED = "mutation($id: ID!, $notes: String!) { dealUpdate(id: $id, input: {notes: $notes}) { userErrors { message } } }"
WEBHOOK = "mutation($url: String!) { webhookCreate(input: {url: $url}) { webhook { id } userErrors { message } } }"


async def _swallow(request: Any) -> None:
    """Wait for an answer that may not come."""
    with suppress(httpx.HTTPError, AssertionError, OSError):
        await request


@asynccontextmanager
async def _meanwhile(*requests: Any, first: float = 1.0) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(_swallow(request)) for request in requests]
    await asyncio.sleep(first)
    assert not all(task.done() for task in tasks)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _noted(live: Live, notes: str) -> str:
    """A deal with these notes."""
    deal: str = (await live.ask(CREATE, name="Noted"))["dealCreate"]["deal"]["id"]
    assert (await live.ask(NOTED, id=deal, notes=notes))["dealUpdate"]["userErrors"] == []
    return deal


@asynccontextmanager
async def idle(live: Live) -> AsyncIterator[None]:
    """Nothing at all."""
    yield


@asynccontextmanager
async def detection(live: Live) -> AsyncIterator[None]:
    """Long texts with many competitors, by more callers than there are processors."""
    for number in range(20):
        aliases = [f"a {'b ' * length}{number}" for length in range(50)]
        await live.ask(CATALOGUE, c={"name": f"a {number}", "aliases": aliases})
    deal = await _noted(live, "a b b b b a b a " * 31_250)
    async with _meanwhile(*(live.ask(DETECT, id=deal) for _ in range(12)), first=1.0):
        yield


@asynccontextmanager
async def statements(live: Live) -> AsyncIterator[None]:
    """Writes that wait in the database for another, which does not end."""
    async with _locked(live), _meanwhile(*(live.create(f"Late {number}") for number in range(3))):
        yield


@asynccontextmanager
async def _locked(live: Live) -> AsyncIterator[None]:
    if live.url.startswith("sqlite"):
        with live.held():
            yield
        return
    locking = await asyncpg.connect(live.url.replace("+asyncpg", ""))
    try:
        async with locking.transaction():
            await locking.execute("LOCK TABLE event_counters IN ACCESS EXCLUSIVE MODE")
            yield
    finally:
        await locking.close()


@asynccontextmanager
async def uploads(live: Live) -> AsyncIterator[None]:
    """Bodies that come by and by."""
    host, port = live.service.address.removeprefix("http://").split(":")
    head = (
        f"POST /graphql HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: {live.token()['authorization']}\r\n"
        "Content-Type: application/json\r\nContent-Length: 900000\r\n\r\n"
    ).encode()

    async def send() -> None:
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(head)
        try:
            for _ in range(100):
                writer.write(b" " * 9_000)
                await writer.drain()
                await asyncio.sleep(0.2)
        finally:
            writer.close()

    async with _meanwhile(*(send() for _ in range(5))):
        yield


@asynccontextmanager
async def readers(live: Live) -> AsyncIterator[None]:
    """Clients that do not read what they asked for."""
    await _noted(live, "x" * 490_000)
    host, port = live.service.address.removeprefix("http://").split(":")
    body = b'{"query": "{ %s }"}' % b" ".join(b"d%d: deals(first: 1) { nodes { notes } }" % n for n in range(8))
    head = (
        f"POST /graphql HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: {live.token()['authorization']}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()

    async def ask() -> None:
        _, writer = await asyncio.open_connection(host, int(port), limit=1_024)
        writer.write(head + body)
        try:
            await asyncio.sleep(60)
        finally:
            writer.close()

    async with _meanwhile(*(ask() for _ in range(5))):
        yield


@asynccontextmanager
async def streams(live: Live) -> AsyncIterator[None]:
    """Event streams, and sockets with a subscription and a message that is never whole."""

    async def follow() -> None:
        headers = live.token() | {"accept": "text/event-stream"}
        async with (
            httpx.AsyncClient(timeout=60, headers=headers) as client,
            client.stream("POST", live.graphql_url, json={"query": "subscription { events { cursor } }"}) as answer,
        ):
            async for _ in answer.aiter_bytes():
                pass

    async with AsyncExitStack() as stack:
        for number in range(20):
            socket = await stack.enter_async_context(begun(live.service.address, live.token()))
            await socket.subscribe(str(number), "subscription { events { cursor } }")
            transport: Any = socket.connection.transport
            transport.write(b"\x01\xfe\xff\xff" + bytes(4) + b"x")
        await stack.enter_async_context(_meanwhile(*(follow() for _ in range(10))))
        yield


@asynccontextmanager
async def deliveries(live: Live) -> AsyncIterator[None]:
    """Jobs whose receiver takes what it is told and says nothing."""
    told = asyncio.Event()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told.set()
        with suppress(OSError):
            await reader.read()
        writer.close()

    async with await asyncio.start_server(take, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        made = await live.ask(WEBHOOK, url=f"http://127.0.0.1:{port}/")
        assert made["webhookCreate"]["userErrors"] == []
        await live.create("Told")
        async with asyncio.timeout(30):
            await told.wait()
        yield
        server.close()


WORKS = [idle, detection, statements, uploads, readers, streams, deliveries]
SETTINGS = {"CRM_OUTBOUND_ALLOW_LOOPBACK": "true", "CRM_RECEIVE_SECONDS": "30"}
KEPT = 3


async def _ends(folder: Path, url: str, work: Work, *arguments: str) -> None:
    """From the signal to the end, and what is there afterwards."""
    async with going(folder, url, *arguments, worker=True, **SETTINGS) as live:
        await asyncio.gather(*(live.create(f"Kept {number}") for number in range(KEPT)))
        async with work(live):
            began = time.monotonic()
            code = await asyncio.to_thread(live.service.end)
            took = time.monotonic() - began
        print(f"{work.__name__} {' '.join(arguments)} {url.partition('+')[0]}: ended after {took:.1f} s")
        log = live.service.log.read_text()
        assert (code, took < PROMISED) == (0, True), (took, log[-3_000:])
        assert "Traceback" not in log
        assert "given up" not in log
        async with live.database.directory() as session:
            queued = await session.rows(select(QueuedJob.holder))
        assert [row.holder for row in queued] == [None] * (
            work is deliveries
        )  # and is given back, not left to its lease
        with Service(folder, "--no-worker", **({"CRM_DATABASE_URL": url, "CRM_RATE_LIMIT": "off"})) as again:
            found = await Live(folder, url, live.database, again).ask("{ deals(first: 100) { nodes { name } } }")
        names = [node["name"] for node in found["deals"]["nodes"]]
        assert sum(name.startswith("Kept") for name in names) == KEPT
        assert not any(name.startswith("Late") for name in names)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
@pytest.mark.parametrize("work", [detection, statements])
async def test_it_ends_in_time(database_url: str, tmp_path: Path, work: Work) -> None:
    await _ends(tmp_path, database_url, work)


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("workers", [(), ("--workers", "2")], ids=["one", "two"])
async def test_it_ends_in_time_whatever_it_does(
    database_url: str, tmp_path: Path, work: Work, workers: tuple[str, ...]
) -> None:
    await _ends(tmp_path, database_url, work, *workers)


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_it_ends_while_its_processes_are_replaced(database_url: str, tmp_path: Path) -> None:
    async with going(tmp_path, database_url, "--workers", "2", **SETTINGS) as live, statements(live):
        os.kill(live.service.pid, signal.SIGHUP)
        await asyncio.sleep(2)
        began = time.monotonic()
        code = await asyncio.to_thread(live.service.end)
        assert (code, time.monotonic() - began < PROMISED) == (0, True)


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"], indirect=True)
async def test_a_worker_alone_ends_in_time(database_url: str, tmp_path: Path) -> None:
    """With a job under way, and while the database lets it write nothing."""
    settings = SETTINGS | {"CRM_DATABASE_URL": database_url}
    async with going(tmp_path, database_url, **SETTINGS) as live:
        for hold in (nullcontext, _locked):
            with (tmp_path / f"worker-{hold.__name__}").open("wb") as log:
                worker = subprocess.Popen(  # noqa: ASYNC220  # nothing else runs meanwhile
                    [SCRIPT, "worker"], cwd=tmp_path, env=environment(tmp_path, **settings), stdout=log, stderr=log
                )
            async with deliveries(live), hold(*([live] if hold is _locked else [])):
                began = time.monotonic()
                worker.send_signal(signal.SIGTERM)
                code = await asyncio.to_thread(worker.wait, 20)
                took = time.monotonic() - began
            print(f"worker {hold.__name__}: ended after {took:.1f} s")
            assert (code, took < PROMISED) == (0, True)
