"""What strangers cost a started service, from outside; with -s it prints the figures of docs/reliability.md."""

from __future__ import annotations

import asyncio
import multiprocessing
import shutil
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from graphql import get_introspection_query

from tests.support.live import going
from tests.support.service import _processor_seconds

pytestmark = pytest.mark.long

WHOLE = get_introspection_query(input_value_deprecation=True)
DEALS = "{ deals(first: 20) { nodes { id name account { name } } } }"
FIELDS = " ".join(
    f"a{n}: deals(first: 1) {{ nodes {{ id name value currency account {{ id name }} }} }}" for n in range(18)
)


def hostile(number: int) -> dict[str, str]:
    """A document that nobody has seen, a little under the limits: it is dear to validate."""
    return {"query": f"query Q{number} {{ {FIELDS} }}"}


async def member(client: httpx.AsyncClient, headers: dict[str, str], seconds: float) -> list[float]:
    """The times of a member's reads, one every 50 ms."""
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        answer = await client.post("/graphql", json={"query": DEALS}, headers=headers)
        times.append(time.perf_counter() - began)
        assert "errors" not in answer.json()
        await asyncio.sleep(0.05)
    return times


async def flood(address: str, number: int, seconds: float) -> list[int]:
    """So many documents without a credential, spread over the time, over 64 connections."""
    statuses: list[int] = []
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
    async with httpx.AsyncClient(base_url=address, timeout=60, limits=limits) as client:

        async def one(index: int) -> None:
            await asyncio.sleep(seconds * index / number)
            try:
                answer = await client.post("/graphql", json=hostile(index))
            except httpx.TransportError:  # a connection that was idle for long is closed by the other end
                answer = await client.post("/graphql", json=hostile(index))
            statuses.append(answer.status_code)

        await asyncio.gather(*map(one, range(number)))
    return statuses


def flooded(address: str, number: int, seconds: float) -> list[int]:
    """The same from a process of its own: what it costs to send them is not the member's."""
    return asyncio.run(flood(address, number, seconds))


async def test_anonymous_are_no_burden(tmp_path: Path, sqlite_template: Path) -> None:
    shutil.copyfile(sqlite_template, tmp_path / "crm.db")
    (tmp_path / "crm.db").chmod(0o600)
    url = f"sqlite+aiosqlite:///{tmp_path / 'crm.db'}"
    async with going(tmp_path, url, CRM_RECEIVE_SECONDS="60") as live:
        address, pid, headers = live.service.address, live.service.pid, live.token()
        async with httpx.AsyncClient(base_url=address, timeout=60) as client:
            for number in range(20):
                await live.create(f"Deal {number}")
            await member(client, headers, 1)

            async def costs(bodies: list[Any]) -> tuple[float, list[int]]:
                before = _processor_seconds(pid)
                statuses = [(await client.post("/graphql", json=body)).status_code for body in bodies]
                return _processor_seconds(pid) - before, statuses

            whole, answered = await costs([{"query": WHOLE}] * 120)
            alone = await member(client, headers, 15)
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as others:
                strangers = asyncio.get_running_loop().run_in_executor(others, flooded, address, 300, 15.0)
                await asyncio.sleep(1)
                beside, statuses = await asyncio.gather(member(client, headers, 14), strangers)
            refusal, refused = await costs([hostile(1_000 + number) for number in range(50)])
    median, loaded = statistics.median(alone), statistics.median(beside)
    print(f"\nrefusal {refusal / 50 * 1000:.1f} ms of the processor; 120 introspections {whole:.2f} s of it")
    print(f"a member's median {median * 1000:.1f} ms alone, {loaded * 1000:.1f} ms beside 300 documents in 15 s")
    assert answered == [200] * 120
    assert statuses == [401] * 300
    assert set(refused) <= {401, 429}
    assert loaded < 3 * median + 0.02
