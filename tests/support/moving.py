"""An organization on one of three servers that moves while it is written to, and movers that end on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pkgutil import resolve_name
from unittest.mock import patch

import asyncpg
from sqlalchemy import make_url, select
from sqlalchemy.engine import URL
from sqlmodel import col

from contract.errors import Unavailable
from contract.scopes import Role
from identity import directory
from jobs.queue import enqueue
from storage import migrate, moves
from storage.base import new_id, now
from storage.clusters import Clusters
from storage.database import Database
from storage.moves import move
from storage.postgres.organization_copy import connect
from storage.queries.organizations import create_organization
from storage.queries.records import append_event
from storage.tables import Account, Deal, Event, EventCounter, IdempotencyKey
from tests.support.postgresql import Server

LOGICAL = {"wal_level": "logical", "max_wal_senders": "10", "max_replication_slots": "10"}
NAMES = ("directory", "north", "south")
ROWS = 1_000


@contextmanager
def three_servers() -> Iterator[dict[str, URL]]:
    """Three servers, the directory's first, as their superusers reach them; a slow one is waited for."""
    with (
        patch("storage.moves.CATCH_UP_SECONDS", 30.0),
        Server(None, **LOGICAL) as one,
        Server(None, **LOGICAL) as two,
        Server(None, **LOGICAL) as three,
    ):
        found = {}
        for name, server in zip(NAMES, (one, two, three), strict=True):
            server.create("moved")
            asyncio.run(migrate.upgrade(server.url("moved")))
            found[name] = make_url(server.url("moved", role="postgres"))
        three.create("leaving", template="moved")
        yield {**found, "leaving": make_url(three.url("leaving", role="postgres"))}


@dataclass
class Place:
    """An organization that is written to, and where its rows lie."""

    database: Database
    addresses: dict[str, URL]
    org_id: str
    at: dict[str, asyncpg.Connection]
    said: list[str] = field(default_factory=list)

    async def move(self, to: str) -> moves.Moved:
        return await move(self.addresses, self.org_id, to, self.said.append, drain_seconds=0.1)

    async def rows(self, table: str) -> dict[str, int]:
        question = f"SELECT count(*) FROM {table} WHERE org_id = $1"
        return {name: await one.fetchval(question, self.org_id) for name, one in self.at.items()}

    async def home(self) -> str:
        question = "SELECT coalesce(cluster, 'directory') FROM organizations WHERE id = $1"
        return str(await self.at["directory"].fetchval(question, self.org_id))

    async def left(self) -> list[str]:
        """What a move has left on any server: publications, slots and subscriptions."""
        question = (
            "SELECT pubname::text AS name FROM pg_publication UNION ALL "
            "SELECT slot_name::text FROM pg_replication_slots UNION ALL SELECT subname::text FROM pg_subscription"
        )
        return [row["name"] for one in self.at.values() for row in await one.fetch(question)]

    async def write(self, name: str) -> None:
        async with self.database.writing(self.org_id) as session:
            deal = Deal(name=name, owner_id="ada")
            await session.insert(deal)
            await append_event(
                session, type="deal_created", area="crm", actor="ada", request_id=None, data={"deal_id": deal.id}
            )

    async def names(self) -> set[str]:
        async with self.database.reading(self.org_id) as session:
            rows = await session.rows(select(col(Deal.name)).where(col(Deal.org_id) == self.org_id))
        return {row.name for row in rows}


@asynccontextmanager
async def placed(urls: dict[str, URL]) -> AsyncIterator[Place]:
    """A new organization on the directory's server, and a process that knows all three."""
    addresses = {name: urls[name] for name in NAMES}
    ordinary = {name: url.set(username="crm").render_as_string(hide_password=False) for name, url in addresses.items()}
    database = Database(ordinary["directory"])
    clusters = Clusters(database, {name: Database(ordinary[name]) for name in NAMES[1:]})
    org_id = new_id()
    at = {name: await connect(url) for name, url in addresses.items()}
    async with clusters.followed():
        await create_organization(database, "Acme", org_id, org_id)
        await directory.add_member(
            database, org_id, "ada", name="Ada", email="ada@example.com", role=Role.ADMIN, scopes=Role.ADMIN.scopes
        )
        async with database.writing(org_id) as session:
            await session.insert(*(Account(name=f"Account {n}", domain=f"a{n}.example") for n in range(ROWS)))
            await enqueue(session, "nothing", {})
            key, moment = f"key of {org_id}", now()
            await session.insert(
                IdempotencyKey(
                    id=key, org_id=org_id, fingerprint="f", holder=new_id(), leased_until=moment, expires_at=moment
                )
            )
        yield Place(database, addresses, org_id, at)
    for connection in at.values():
        await connection.close()
    await database.close()


class Writers:
    """Write while the organization moves, and try again what is refused; read what was acknowledged."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.acknowledged: set[str] = set()
        self.refused = 0
        self._tasks: list[asyncio.Task[None]] = []

    async def _write(self, number: int) -> None:
        for turn in count():
            name = f"{number}.{turn}"
            while True:
                try:
                    await self._place.write(name)
                    break
                except Unavailable:
                    self.refused += 1
                    await asyncio.sleep(0.01)
                    await self._place.database.clusters.refresh()  # type: ignore[union-attr]  # as a credential's statement does
            self.acknowledged.add(name)
            assert name in await self._place.names()
            await asyncio.sleep(0.01)

    async def __aenter__(self) -> Writers:
        self._tasks = [asyncio.create_task(self._write(number)) for number in range(3)]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        for result in await asyncio.gather(*self._tasks, return_exceptions=True):
            assert isinstance(result, asyncio.CancelledError), result


async def whole(place: Place, acknowledged: set[str]) -> None:
    """All that was acknowledged is there, once, and the log has no gap."""
    await place.database.clusters.refresh()  # type: ignore[union-attr]  # what is left elsewhere goes sooner here
    names = await place.names()
    assert acknowledged <= names
    async with place.database.reading(place.org_id) as session:
        rows = await session.rows(select(col(Event.sequence)).where(col(Event.org_id) == place.org_id))
        counter = await session.find(EventCounter)
    log = [row.sequence for row in rows]
    assert sorted(log) == list(range(1, len(log) + 1))
    assert counter is not None
    assert counter.last == len(log)
    assert len(log) == len(names)


class Killed(BaseException):
    """What no handler of the mover catches, so that nothing is tidied up, as where the process is killed."""


def dying(target: str, calls: int) -> Callable[..., Awaitable[object]]:
    """The function of this name, which dies at its last of so many calls."""
    module, _, name = target.rpartition(".")
    original, number = getattr(resolve_name(module), name), count(1)

    async def die(*arguments: object, **options: object) -> object:
        if next(number) == calls:
            raise Killed
        return await original(*arguments, **options)

    return die


def doing(target: str, work: Callable[[], Awaitable[object]]) -> Callable[..., Awaitable[object]]:
    """The function of this name, before whose first call this is done."""
    module, _, name = target.rpartition(".")
    original, number = getattr(resolve_name(module), name), count(1)

    async def do(*arguments: object, **options: object) -> object:
        if next(number) == 1:
            await work()
        return await original(*arguments, **options)

    return do
