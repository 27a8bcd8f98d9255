"""Two gateways, and two replicas of which one is late: who writes at one and reads at the other sees the write.

Decision 996: whoever says nothing is served nothing older than the beginning of its own request.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import httpx
import pytest

from storage import migrate
from tests.support.live import CREATE, Live, going
from tests.support.postgresql import Server
from tests.support.service import Service
from tests.support.standby import REPLICATED, Standby

DELAY = "500ms"
CLIENTS = 8
FIND = "query($id: ID!) { deal(id: $id) { name } }"
LIST = "{ deals(first: 20, orderBy: {field: CREATED_AT, direction: DESC}) { nodes { id } } }"
NAMED = "query($name: String!) { deals(first: 20, filter: {name: {eq: $name}}) { nodes { id } } }"
"""By its name: the newest ones are others' soon, while eight clients write."""
_SAMPLE = re.compile(r'^(crm_read\w+_total)\{\w+="(\w+)"\} (\S+)$', re.MULTILINE)


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Server, Standby, Standby]]:
    """A primary, a standby that follows at once, and one that is half a second late."""
    with Server(**REPLICATED) as primary:
        primary.create("read")
        asyncio.run(migrate.upgrade(primary.url("read")))
        with Standby(primary) as prompt, Standby(primary) as late:
            late.execute(f"ALTER SYSTEM SET recovery_min_apply_delay = '{DELAY}'", role="postgres")
            late.execute("SELECT pg_reload_conf()", role="postgres")
            yield primary, prompt, late


@dataclass
class Pair:
    """Two gateways on one database, and a client of both doors of each."""

    live: Live
    addresses: tuple[str, str]
    client: httpx.AsyncClient

    async def graphql(self, address: str, query: str, headers: dict[str, str] | None = None, **variables: str) -> dict:
        """The answer's body."""
        body = {"query": query, "variables": variables}
        answer = await self.client.post(f"{address}/graphql", json=body, headers=headers or {})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert "errors" not in found, found
        return found

    async def counted(self) -> Counter[tuple[str, str]]:
        """What both gateways counted of reads and of fallbacks."""
        found: Counter[tuple[str, str]] = Counter()
        for address in self.addresses:
            text = (await self.client.get(f"{address}/metrics")).text
            for name, label, value in _SAMPLE.findall(text):
                found[name, label] += int(float(value))
        return found

    async def write_then_read(self, number: int) -> None:
        """Write at one gateway, by either door; read at the other, by either door, in one of six ways."""
        if number % 500 == 0:  # a session lasts ten minutes, and twenty thousand pairs last longer
            self.client.headers.update(self.live.token())
        writer, reader = self.addresses if number % 2 else self.addresses[::-1]
        if number % 4 < 2:
            answer = await self.client.post(f"{writer}/deals", json={"name": f"Deal {number}"})
            assert answer.status_code == 201, answer.text
            deal, position = answer.json()["id"], int(answer.headers["x-position"])
        else:
            body = await self.graphql(writer, CREATE, name=f"Deal {number}")
            deal, position = body["data"]["dealCreate"]["deal"]["id"], body["extensions"]["position"]
        headers = {"x-read-after": str(position)} if number % 3 == 0 else {}
        if number % 9 == 0:
            await asyncio.sleep(0.1)  # by then the prompt one has it
        match number // 4 % 3:
            case 0:
                answer = await self.client.get(f"{reader}/deals/{deal}", headers=headers)
                assert answer.status_code == 200, f"stale: {number}"
            case 1:
                found = await self.graphql(reader, FIND, headers, id=deal)
                assert found["data"]["deal"], f"stale: {number}"
            case _:
                listed = (await self.graphql(reader, NAMED, headers, name=f"Deal {number}"))["data"]["deals"]["nodes"]
                assert [row["id"] for row in listed] == [deal], f"stale: {number}"


@asynccontextmanager
async def pair(folder: Path, primary: Server, *standbys: Server) -> AsyncIterator[Pair]:
    """Two gateways that may read from these standbys."""
    replicas = ",".join(standby.url("read") for standby in standbys)
    url = primary.url("read")
    async with going(folder, url, CRM_DATABASE_REPLICAS=replicas) as live:
        settings = {"CRM_DATABASE_URL": url, "CRM_DATABASE_REPLICAS": replicas, "CRM_RATE_LIMIT": "off"}
        with Service(folder, "--no-worker", **settings) as second:
            async with httpx.AsyncClient(headers=live.token(), timeout=60) as client:
                yield Pair(live, (live.service.address, second.address), client)


@pytest.mark.parametrize("pairs", [300, pytest.param(20_000, marks=[pytest.mark.long, pytest.mark.soak])])
async def test_no_read_is_stale(pairs: int, servers: tuple[Server, Standby, Standby], tmp_path: Path) -> None:
    numbers = count()

    async def client(both: Pair) -> None:
        while (number := next(numbers)) < pairs:
            await both.write_then_read(number)

    async with pair(tmp_path, *servers) as both:
        await asyncio.gather(*(client(both) for _ in range(CLIENTS)))
        async with asyncio.timeout(60):  # how many the prompt one can answer depends on the machine
            while not (counted := await both.counted())["crm_reads_total", "replica"]:
                await both.write_then_read(0)
    print(f"none of {pairs} pairs was stale: {dict(counted)}")
    assert counted["crm_read_fallbacks_total", "behind"] > 0, "the late one was asked"


async def test_reads_that_may_be_late_are_answered_by_the_late_one(
    servers: tuple[Server, Standby, Standby], tmp_path: Path
) -> None:
    """Decision 998: `none` is content with what was there lately, by header and by extension."""
    primary, _, late = servers
    async with pair(tmp_path, primary, late) as both:
        address = both.addresses[0]
        none = {"x-read-after": "none"}
        await both.graphql(address, LIST, none)
        before = counted = await both.counted()
        async with asyncio.timeout(60):  # on a starved machine it may seem away
            while (counted - before)["crm_reads_total", "replica"] < 9:
                await both.graphql(address, CREATE, name="Late")
                await both.graphql(address, LIST, none)
                body = {"query": LIST, "extensions": {"readAfter": "none"}}
                assert (await both.client.post(f"{address}/graphql", json=body)).status_code == 200
                assert (await both.client.get(f"{address}/deals", headers=none)).status_code == 200
                counted = await both.counted()
        assert (counted - before)["crm_read_fallbacks_total", "behind"] == 0, "none was too late"
        metrics = (await both.client.get(f"{address}/metrics")).text
        assert re.search(rf'^crm_replica_lag_seconds\{{replica="{late.address[0]}:5432"\}} \d', metrics, re.MULTILINE)


@pytest.mark.parametrize("how", ["killed", "paused"])
async def test_a_replica_that_goes_fails_no_request(
    how: str, servers: tuple[Server, Standby, Standby], tmp_path: Path
) -> None:
    """And comes back (the killed one begins anew)."""
    primary, prompt, _ = servers
    statuses: Counter[int] = Counter()
    async with pair(tmp_path, primary, prompt) as both:
        end = asyncio.Event()

        async def read() -> None:
            while not end.is_set():
                answer = await both.client.get(f"{both.addresses[0]}/deals", params={"limit": 5})
                statuses[answer.status_code] += 1

        async def more_of(name: str, label: str) -> None:
            """Wait until more of these are counted: on a slow machine the first reads take a while."""
            was = (await both.counted())[name, label]
            async with asyncio.timeout(20):
                while (await both.counted())[name, label] == was:  # noqa: ASYNC110  # another process
                    await asyncio.sleep(0.1)

        tasks = [asyncio.create_task(read()) for _ in range(4)]
        await more_of("crm_reads_total", "replica")
        if how == "killed":
            await asyncio.to_thread(prompt.kill)
            await asyncio.sleep(0.5)
            await asyncio.to_thread(prompt.restart)
        else:
            with prompt.paused():
                await asyncio.sleep(0.5)
        await more_of("crm_reads_total", "replica")
        end.set()
        await asyncio.gather(*tasks)
        counted = await both.counted()
        assert "Traceback" not in both.live.service.log.read_text()
    assert statuses.keys() == {200}, statuses
    assert counted["crm_read_fallbacks_total", "away"] > 0
