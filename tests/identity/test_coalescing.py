"""Reads of the directory that several requests share: together, never by one older than the request (decision 196)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import pytest

from contract.errors import Unauthenticated, Unavailable
from contract.vocabulary import CredentialKind
from identity import secrets
from identity.coalescing import CoalescedReads
from storage.base import now
from storage.queries import credentials as statements
from storage.tables import Credential
from tests.support.world import World

PEOPLE = ("admin@one", "member@one", "viewer@one", "admin@two", "member@two")


class Found(NamedTuple):
    """A row of the directory."""

    key: str
    number: int


class Directory:
    """A directory that answers when it is told to, and says who was asked for together."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.refuses: dict[str, Exception] = {}
        self.gate = asyncio.Semaphore(0)
        self.begun = asyncio.Queue[tuple[str, ...]]()

    async def read(self, keys: Sequence[str]) -> list[Found]:
        number = len(self.asked)
        self.asked.append(tuple(keys))
        self.begun.put_nowait(tuple(keys))
        await self.gate.acquire()
        for key in keys:
            if key in self.refuses:
                raise self.refuses[key]
        return [Found(key, number) for key in keys if key != "nobody" for _ in "ab"]


@pytest.fixture
def known() -> Directory:
    return Directory()


@pytest.fixture
def reads(known: Directory) -> CoalescedReads[Found]:
    return CoalescedReads(known.read, itemgetter(0))


async def begun(reads: CoalescedReads[Found], *keys: str) -> list[asyncio.Task[Sequence[Found]]]:
    """Calls that came in this order and wait."""
    tasks = [asyncio.create_task(reads.of(key)) for key in keys]
    for _ in range(5):
        await asyncio.sleep(0)
    return tasks


async def test_who_comes_meanwhile_is_read_together_afterwards(known: Directory, reads: CoalescedReads[Found]) -> None:
    tasks = await begun(reads, "a", "a", "b", "nobody", "a")
    assert known.asked == [("a",)]  # who comes later is not answered by a read that began before
    known.gate.release()
    later = await begun(reads, "b")
    assert known.asked == [("a",), ("a", "b", "nobody")]
    for _ in range(2):
        known.gate.release()
    rows = await asyncio.gather(*tasks, *later)
    assert [[row.number for row in each] for each in rows] == [[0, 0], [1, 1], [1, 1], [], [1, 1], [2, 2]]
    assert [each[0].key for each in rows if each] == ["a", "a", "b", "a", "b"]
    known.gate.release()
    assert await reads.of("a")  # nothing is left behind


async def test_what_one_asks_for_is_refused_to_nobody_else(known: Directory, reads: CoalescedReads[Found]) -> None:
    known.refuses["odd"] = ValueError("odd")
    tasks = await begun(reads, "a", "odd", "b")
    for _ in range(5):
        known.gate.release()
    first, odd, other = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(odd, ValueError)
    assert [first[0].key, other[0].key] == ["a", "b"]  # type: ignore[index]
    assert known.asked == [("a",), ("odd", "b"), ("odd",), ("b",)]


async def test_a_directory_that_is_away_is_away_for_all_at_once(known: Directory, reads: CoalescedReads[Found]) -> None:
    known.refuses["b"] = Unavailable()
    tasks = await begun(reads, "a", "b", "c")
    for _ in range(2):
        known.gate.release()
    first, *others = await asyncio.gather(*tasks, return_exceptions=True)
    assert first == [("a", 0), ("a", 0)]
    assert all(isinstance(each, Unavailable) for each in others)
    assert len(known.asked) == 2  # not one by one: it would take as long for each


async def test_a_read_that_takes_long_is_not_waited_for(known: Directory, reads: CoalescedReads[Found]) -> None:
    """Who waits for a connection would else wait twice as long behind somebody who does."""
    tasks = await begun(reads, "a", "b", "c")
    assert await known.begun.get() == ("a",)
    assert await known.begun.get() == ("b", "c")  # beside the first, which hangs
    tasks += await begun(reads, "d")
    assert await known.begun.get() == ("d",)
    for _ in range(3):
        known.gate.release()
    assert [rows[0].key for rows in await asyncio.gather(*tasks)] == ["a", "b", "c", "d"]
    known.gate.release()
    assert await asyncio.wait_for(reads.of("a"), 10)


@pytest.mark.parametrize("cancelled", [0, 1, 2])
async def test_a_request_that_ends_takes_nothing_from_others(
    known: Directory, reads: CoalescedReads[Found], cancelled: int
) -> None:
    tasks = await begun(reads, "a", "b", "b")
    tasks[cancelled].cancel()
    for _ in range(2):
        known.gate.release()
    rest = [task for task in tasks if task is not tasks[cancelled]]
    for rows in await asyncio.wait_for(asyncio.gather(*rest), 10):
        assert len(rows) == 2
    assert tasks[cancelled].cancelled()
    known.gate.release()
    assert await asyncio.wait_for(reads.of("a"), 10)


@pytest.mark.parametrize("kind", list(CredentialKind))
@pytest.mark.parametrize("times", [1, 10])
async def test_requests_of_one_moment_cost_two_statements(world: World, kind: CredentialKind, times: int) -> None:
    headers = [await world.headers(who, world.one if who.endswith("one") else world.two, kind) for who in PEOPLE]

    async def call(given: dict[str, str]) -> object:
        return await world.services.identity.authenticate(given["Authorization"], given.get("X-Service-Org"))

    alone = [await call(given) for given in headers]  # each has proved itself, and noted its use
    await world.services.identity.close()
    statements: list[str] = []
    world.database.observers.append(statements.append)
    together = await asyncio.gather(*[call(given) for given in headers * times])
    assert together == alone * times
    assert len(statements) == 2


async def test_a_revoked_key_ends_among_calls_that_hold(world: World) -> None:
    """Calls go on all the time: none that began after the key was revoked is let in."""
    ended = await world.headers("member@one", world.one, CredentialKind.ORGANIZATION_KEY)
    holds = await world.headers("admin@one", world.one, CredentialKind.ORGANIZATION_KEY)
    identity = world.services.identity
    is_over = False

    async def go_on(headers: dict[str, str]) -> None:
        while not is_over:
            await identity.authenticate(headers["Authorization"], None)

    await identity.authenticate(ended["Authorization"], None)
    others = [asyncio.create_task(go_on(holds)) for _ in range(8)]
    _, key_id, _ = secrets.parse(ended["Authorization"].removeprefix("Bearer ")) or ("", "", "")
    async with world.database.directory(writing=True) as session:
        found = await statements.with_memberships(session, [key_id])
        credential = await session.find(Credential, id=found[0].id)
        assert credential is not None
        await session.update(credential, revoked_at=now())
    refused = [identity.authenticate(ended["Authorization"], None) for _ in range(20)]
    answers = await asyncio.gather(*refused, return_exceptions=True)
    is_over = True
    await asyncio.gather(*others)
    assert all(isinstance(answer, Unauthenticated) for answer in answers), answers


async def test_no_request_waits_for_what_is_read_behind_it(world: World) -> None:
    """Decision 1189: looks at the credentials of streams read on their own, and together with each other."""
    headers = [await world.headers(who, world.one, CredentialKind.SESSION) for who in PEOPLE[:3]]
    identity = world.services.identity
    aside = identity.aside()
    tokens = [given["Authorization"] for given in headers]
    expected = [await identity.authenticate(token, None) for token in tokens]
    gate, begun, statements = asyncio.Event(), asyncio.Event(), list[str]()
    world.database.observers.append(statements.append)
    read = aside._memberships._read

    async def slow(keys: Sequence[str]) -> Sequence[object]:
        begun.set()
        await gate.wait()
        return await read(keys)

    aside._memberships._read = slow
    looks = [asyncio.create_task(aside.authenticate(token, None)) for token in tokens]
    await begun.wait()
    assert await asyncio.wait_for(identity.authenticate(tokens[0], None), 10) == expected[0]
    assert len(statements) == 1
    gate.set()
    assert await asyncio.gather(*looks) == expected
    assert len(statements) == 3
