"""Clients that write deals by both surfaces without a pause and remember what they were told, and what came of it."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import httpx
from sqlalchemy import select
from sqlmodel import col

from storage.database import Database
from storage.tables import Deal, Event
from tests.support.live import CREATE, Live

LONG = os.environ.get("CRM_FAULTS") == "long"
CLIENTS = 8

CUT = "cut"
"""The outcome of a request whose connection ended without an answer: nobody knows what became of it."""


def pick(short: int, long: int) -> int:
    """How much of something: as the form of the tests wants it."""
    return long if LONG else short


async def until(condition: Callable[[], bool | Awaitable[bool]], seconds: float = 120) -> None:
    """Wait for something of another process, or of other tasks, that tells nobody."""
    async with asyncio.timeout(seconds):
        while True:
            found = condition()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.01)


@dataclass
class Load:
    """What the clients were told: `acknowledged` are deals by id, `outcomes` statuses, or CUT, with their number."""

    live: Live
    acknowledged: dict[str, str] = field(default_factory=dict)
    outcomes: Counter[int | str] = field(default_factory=Counter)
    at: list[tuple[float, int | str, float]] = field(default_factory=list)
    """When each answer came, by the monotonic clock, which it was, and how many seconds it took."""
    stopping: bool = False

    async def write(self, client: httpx.AsyncClient, name: str, *, graphql: bool) -> int | str:
        """One deal; a refusal in a GraphQL answer counts as the status that it stands for."""
        try:
            if graphql:
                body = {"query": CREATE, "variables": {"name": name}}
                answer = await client.post(self.live.graphql_url, json=body)
                content = answer.json()
                if "errors" in content:
                    codes = {error["extensions"]["code"] for error in content["errors"]}
                    return 503 if codes == {"UNAVAILABLE"} else f"{answer.status_code} {sorted(codes)}"
                deal = content["data"]["dealCreate"]["deal"]["id"]
            else:
                answer = await client.post(f"{self.live.service.address}/deals", json={"name": name})
                if answer.status_code != 201:
                    return answer.status_code
                deal = answer.json()["id"]
        except httpx.TransportError:
            return CUT
        self.acknowledged[deal] = name
        return answer.status_code

    async def keep_writing(self, number: int) -> None:
        """Write until it is time to stop."""
        async with httpx.AsyncClient(headers=self.live.token(), timeout=30) as client:
            count = 0
            while not self.stopping:
                count += 1
                began = time.monotonic()
                outcome = await self.write(client, f"{number} {count} {began}", graphql=count % 2 == 0)
                self.outcomes[outcome] += 1
                self.at.append((time.monotonic(), outcome, time.monotonic() - began))
                if outcome in (CUT, 503):
                    await asyncio.sleep(0.02)

    async def until(self, acknowledged: int, seconds: float = 120) -> None:
        """Wait until so many writes were acknowledged."""
        await until(lambda: len(self.acknowledged) >= acknowledged, seconds)


@asynccontextmanager
async def writing(live: Live, clients: int = CLIENTS) -> AsyncIterator[Load]:
    """Clients that write for as long as the block runs; the answers under way are waited for at its end."""
    load = Load(live)
    tasks = [asyncio.create_task(load.keep_writing(number)) for number in range(clients)]
    try:
        yield load
        load.stopping = True
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True)
class Kept:
    """What the database holds: `lost` was acknowledged and is not there, `partial` is there without all that belongs
    to it, `unknown` is there although its client was never told."""

    lost: int
    partial: int
    unknown: int


async def kept(load: Load) -> Kept:
    """Compare the database with what the clients were told. A deal and its event are one transaction."""
    fresh = Database(load.live.url)  # the test's own connections may have been hurt with the server's
    try:
        organization = await replace(load.live, database=fresh).organization()
        async with fresh.reading(organization) as session:
            rows = await session.rows(select(col(Deal.id), col(Deal.name)).where(col(Deal.org_id) == organization))
            deals = {row.id: row.name for row in rows}
            statement = select(col(Event.sequence), col(Event.data)).where(
                col(Event.org_id) == organization, col(Event.type) == "deal_created"
            )
            events = await session.rows(statement)
    finally:
        await fresh.close()
    told = Counter(event.data["deal_id"] for event in events)
    partial = len(deals.keys() ^ told.keys()) + sum(number - 1 for number in told.values())
    # Nothing else writes events here: a number that is missing is one of a transaction that was torn.
    partial += len(set(range(1, len(events) + 1)) ^ {event.sequence for event in events})
    lost = sum(deals.get(deal) != name for deal, name in load.acknowledged.items())
    return Kept(lost, partial, len(deals.keys() - load.acknowledged.keys()))
