"""What ends a stream that its client would have gone on with."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from contract.limits import STREAM_SEND_SECONDS
from contract.scopes import Role
from identity import directory
from identity.claims import LEEWAY_SECONDS
from tests.support.live import CREATE, Live
from tests.support.streams import EVENTS, begun, events, open_socket

pytestmark = pytest.mark.asyncio(loop_scope="module")

Headers = dict[str, str]
Fall = Callable[[], Awaitable[object]]


async def leaves(live: Live) -> tuple[Headers, Fall]:
    """A member who is one no more."""
    await _join(live, "leaver")
    return live.token("leaver"), lambda: directory.remove_member(live.database, "org_one", "leaver")


async def loses_a_scope(live: Live) -> tuple[Headers, Fall]:
    """A member who may do less."""
    await _join(live, "fallen")
    return live.token("fallen"), lambda: _join(live, "fallen", Role.VIEWER)


async def expires(live: Live) -> tuple[Headers, Fall]:
    """A session that is over."""
    headers = live.token(ago=600 + LEEWAY_SECONDS - 4)

    async def wait() -> None:
        await asyncio.sleep(4)

    return headers, wait


async def revoked(live: Live) -> tuple[Headers, Fall]:
    """A member's own token that is revoked."""
    mutation = 'mutation { userTokenCreate(input: {name: "Stream"}) { patKey userToken { id } } }'
    made = (await live.ask(mutation))["userTokenCreate"]
    headers = {"authorization": f"Bearer {made['patKey']}", "x-service-org": "org_one"}

    async def revoke() -> None:
        revoking = "mutation($id: ID!) { userTokenRevoke(id: $id) { deletedId } }"
        assert (await live.ask(revoking, id=made["userToken"]["id"]))["userTokenRevoke"]["deletedId"]

    return headers, revoke


async def exchanged(live: Live) -> tuple[Headers, Fall]:
    """A short-lived token whose credential is revoked."""
    headers, fall = await revoked(live)
    async with httpx.AsyncClient(base_url=live.service.address) as client:
        answer = await client.post("/pat/exchange", headers=headers)
        return {"authorization": f"Bearer {answer.json()['access_token']}"}, fall


async def _join(live: Live, subject: str, role: Role = Role.ADMIN) -> None:
    email = f"{subject}@example.com"
    await directory.add_member(
        live.database, "org_one", subject, name=subject, email=email, role=role, scopes=role.scopes
    )


@pytest.mark.parametrize("how", [leaves, loses_a_scope, expires, revoked, exchanged])
async def test_a_credential_that_falls_takes_its_streams_with_it(
    live: Live, how: Callable[[Live], Awaitable[tuple[Headers, Fall]]]
) -> None:
    headers, fall = await how(live)
    async with (
        begun(live.service.address, headers) as socket,
        httpx.AsyncClient(base_url=live.service.address, headers=headers, timeout=30) as http,
        aclosing(events(http)) as stream,
    ):
        await socket.subscribe("1", EVENTS)
        assert await anext(stream) is None
        await fall()
        async with asyncio.timeout(60):
            *_, [error] = [event async for event in stream]  # and complete: a cut stream would raise
            code, reason = await socket.closed()
        assert (code, reason) == (4403, f"Forbidden: {error['message']}")
        assert error["extensions"]["code"] == "UNAUTHENTICATED"


@pytest.mark.parametrize("how", [leaves, loses_a_scope, revoked, exchanged])
@pytest.mark.parametrize("document", ["{ deals(first: 1) { nodes { id } } }", CREATE])
async def test_a_credential_that_fell_is_refused_at_once(
    live: Live, how: Callable[[Live], Awaitable[tuple[Headers, Fall]]], document: str
) -> None:
    """By the next query or mutation on an open socket, as over HTTP: not some time later (decision 139)."""
    headers, fall = await how(live)
    name = f"Written by {how.__name__} too late"
    async with begun(live.service.address, headers) as socket:
        await socket.subscribe("before", "{ viewer { subject } }")
        assert [(await socket.hear())["type"] for _ in range(2)] == ["next", "complete"]
        await fall()
        await socket.subscribe("after", document, name=name)
        heard = []
        with suppress(ConnectionClosed):
            while True:
                heard.append(await socket.hear())
        assert (heard, (await socket.closed())[0]) == ([], 4403)
    found = await live.ask("query($n: String!) { deals(filter: {name: {eq: $n}}) { totalCount } }", n=name)
    assert found["deals"]["totalCount"] == 0


@pytest.mark.parametrize("live_url", ["sqlite"], indirect=True)
async def test_a_client_that_reads_nothing_is_cut_off(live: Live) -> None:
    """What waits for it stays within the buffers of one connection, and everybody else is served meanwhile."""
    wide = " ".join(f"d{n}: data" for n in range(40))
    query = f"subscription($after: String) {{ events(after: $after) {{ cursor {wide} }} }}"
    name = "x" * 900
    batch = " ".join(f'd{n}: dealCreate(input: {{name: "{name}"}}) {{ deal {{ id }} }}' for n in range(15))
    await live.create("The first")
    start = await live.cursor()
    for _ in range(50):
        await live.ask(f"mutation {{ {batch} }}")
    before = _kilobytes(live)
    # A library that takes nothing more from the network once one message waits, and that nobody asks for it.
    async with open_socket(live.service.address, max_queue=1, ping_interval=None) as socket:
        await socket.begin(live.token())
        for number in range(10):
            await socket.subscribe(str(number), query, after=start)
        await live.running(10)
        began = time.monotonic()
        while await live.streams():
            await live.create("Served")
            assert time.monotonic() - began < STREAM_SEND_SECONDS + 60
            await asyncio.sleep(0.2)
        assert _kilobytes(live) - before < 50_000  # of some 300 MB
        with suppress(ConnectionClosed):
            while True:
                await socket.hear()
        assert await socket.closed() == (1008, "The client does not read")


def _kilobytes(live: Live) -> int:
    """The memory that the service's process has."""
    status = Path(f"/proc/{live.service.pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0])
