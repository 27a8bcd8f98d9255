"""An organization moves to another server while it is used (decision 1084): nothing is lost, even if the mover dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pkgutil import resolve_name

import asyncpg
import pytest
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
from storage.moves import copied_tables, copy_out, move
from storage.postgres.organization_copy import Hindrance, connect, differing, sums
from storage.queries import members
from storage.queries.organizations import create_organization
from storage.queries.records import append_event
from storage.tables import Account, Deal, Event, EventCounter, IdempotencyKey
from tests.support.postgresql import Server

pytestmark = pytest.mark.long

LOGICAL = {"wal_level": "logical", "max_wal_senders": "10", "max_replication_slots": "10"}
NAMES = ("directory", "north", "south")
ROWS = 1_000
_FOLLOWED = ("event_counters", "events", "deals", "accounts", "jobs", "search_entries", "people", "idempotency_keys")


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, URL]]:
    """Three servers, the directory's first, as their superusers reach them."""
    with Server(None, **LOGICAL) as one, Server(None, **LOGICAL) as two, Server(None, **LOGICAL) as three:
        found = {}
        for name, server in zip(NAMES, (one, two, three), strict=True):
            server.create("moved")
            asyncio.run(migrate.upgrade(server.url("moved")))
            found[name] = make_url(server.url("moved", role="postgres"))
        three.create("leaving")
        asyncio.run(migrate.upgrade(three.url("leaving")))
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


@pytest.fixture
async def place(urls: dict[str, URL]) -> AsyncIterator[Place]:
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


async def test_an_organization_moves_while_it_is_written_to(place: Place) -> None:
    """To another server, on from there, and back: each time nothing is lost, and nothing stays behind."""
    async with Writers(place) as writers:
        for before, to in (("directory", "north"), ("north", "south"), ("south", "directory")):
            written = len(writers.acknowledged)
            moved = await place.move(to)
            assert await place.home() == to
            assert (moved.rows > ROWS, moved.tables) == (True, len(copied_tables()))
            for table in _FOLLOWED:
                rows = await place.rows(table)
                assert {name for name, number in rows.items() if number} == {to}, table
            assert (await place.rows("job_queue"))[to] == 1, "jobs come along"
            assert await place.rows("memberships") == {"directory": 1, "north": 0, "south": 0}
            assert (moved.deleted > ROWS, await place.left()) == (True, []), before
            while len(writers.acknowledged) < written + 10:  # noqa: ASYNC110  # it is written to where it lies now
                await asyncio.sleep(0.01)
    await whole(place, writers.acknowledged)


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


@pytest.mark.parametrize(
    ("step", "calls", "home"),
    [
        ("storage.postgres.organization_copy.Copy.copied", 1, "directory"),
        ("storage.moves._Move._rehearse", 1, "directory"),
        ("storage.postgres.organization_copy.Copy.caught_up", 2, "directory"),
        ("storage.moves._bring_later", 1, "north"),
        ("storage.postgres.organization_copy.Copy.cut", 2, "north"),
        ("storage.moves.delete_rows", 2, "north"),
    ],
)
async def test_a_mover_that_dies_loses_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch, step: str, calls: int, home: str
) -> None:
    """Given again, the command does what is left; and meanwhile the organization is used."""
    async with Writers(place) as writers:
        with monkeypatch.context() as patch:
            patch.setattr(step, dying(step, calls))
            with pytest.raises(Killed):
                await place.move("north")
        assert await place.home() == home
        before = len(writers.acknowledged)
        while len(writers.acknowledged) < before + 5:  # noqa: ASYNC110  # it is used where it lies
            await asyncio.sleep(0.01)
        await place.move("north")
        assert await place.home() == "north"
        assert await place.left() == []
        assert (await place.rows("accounts")) == {"directory": 0, "north": ROWS, "south": 0}
        assert (await place.rows("job_queue"))["north"] == 1
    await whole(place, writers.acknowledged)


async def test_an_organization_that_leaves_is_copied_whole(place: Place, urls: dict[str, URL]) -> None:
    """Into a database of its own, of one moment, with its members and without their keys; it goes on where it is."""
    async with Writers(place) as writers:
        while len(writers.acknowledged) < 5:  # noqa: ASYNC110  # others write meanwhile
            await asyncio.sleep(0.01)
        copied = await copy_out(place.addresses, place.org_id, urls["leaving"], place.said.append)
        assert copied.rows > ROWS
        with pytest.raises(Hindrance, match="has 1 organizations"):
            await copy_out(place.addresses, (await another(place)), urls["leaving"], place.said.append)
    assert (await place.home(), await place.left()) == ("directory", [])
    left = Database(urls["leaving"].set(username="crm").render_as_string(hide_password=False))
    async with left.reading(place.org_id) as session:
        log = await session.rows(select(col(Event.sequence)).where(col(Event.org_id) == place.org_id))
        deals = await session.rows(select(col(Deal.name)).where(col(Deal.org_id) == place.org_id))
        assert 5 <= len(log) == len(deals)
        assert await members.scopes_of(session, ["ada"])
    [row] = await directory.known(left, ["ada"])
    assert (row.organization_name, row.cluster) == ("Acme", None)
    await left.close()
    await whole(place, writers.acknowledged)


async def another(place: Place) -> str:
    made = new_id()
    await create_organization(place.database, "Another", made, made)
    return made


async def test_what_cannot_be_moved_stays(place: Place) -> None:
    with pytest.raises(Hindrance, match="no server nowhere"):
        await place.move("nowhere")
    place.addresses = {**place.addresses, "south": place.addresses["directory"]}
    with pytest.raises(Hindrance, match="one database"):
        await place.move("south")
    assert (await place.rows("accounts"))["directory"] == ROWS
    place.addresses = {**place.addresses, "north": place.addresses["north"].set(username="crm")}
    with pytest.raises(Hindrance, match="CRM_MOVE_ADDRESSES"):
        await place.move("north")
    await place.write("Still written to")


async def test_every_column_of_every_row_is_compared(place: Place) -> None:
    connection = place.at["directory"]
    before = await sums(connection, place.org_id, copied_tables())
    assert before["accounts"][0] == ROWS
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute(
        "UPDATE accounts SET name = 'Changed' WHERE id = (SELECT id FROM accounts WHERE org_id = $1 LIMIT 1)",
        place.org_id,
    )
    assert "accounts" in differing(before, await sums(connection, place.org_id, copied_tables()))
    await transaction.rollback()
    assert differing(before, await sums(connection, place.org_id, copied_tables())) == []
