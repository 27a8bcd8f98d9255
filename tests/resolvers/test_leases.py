"""Leases of one process: renewed together by one task, and told where they are lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from time import monotonic

import pytest

from contract.errors import Unavailable
from resolvers.shared.leases import Lease, Leases

pytestmark = pytest.mark.asyncio(loop_scope="function")  # where nobody else has a task


class Table:
    """Where leases are kept: who asked for which of them, and whose they are no more."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.taken: set[str] = set()
        self.raises: Exception | None = None

    async def renew(self, org_id: str, holders: Sequence[str]) -> frozenset[str]:
        self.asked.append((org_id, tuple(sorted(holders))))
        await asyncio.sleep(0)
        if self.raises is not None:
            raise self.raises
        return frozenset(holders) - self.taken


async def test_those_of_an_organization_are_renewed_in_one_statement() -> None:
    leases, table, before = Leases(), Table(), len(asyncio.all_tasks())
    with ExitStack() as held:
        mine = [Lease("one", f"a{number}", 0.3) for number in range(20)]
        others = Lease("two", "b", 0.3)
        for lease in (*mine, others):
            held.enter_context(leases.holding(lease, table.renew))
        until = others.until
        async with asyncio.timeout(30):
            while others.until == until or mine[0].until <= until:
                assert len(asyncio.all_tasks()) - before <= 3  # one, and one for each organization
                await asyncio.sleep(0.01)
        assert {len(holders) for org_id, holders in table.asked if org_id == "one"} == {20}
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == before


@pytest.mark.parametrize("raised", [None, Unavailable(), LookupError("broken")])
async def test_who_has_lost_a_lease_is_told_and_no_other(raised: Exception | None) -> None:
    """Once that is known: a database that is away, or a look that breaks, says nothing."""
    leases, table, lost = Leases(), Table(), []
    kept = Lease("one", "kept", 0.3, lambda: lost.append("kept"))
    gone = Lease("one", "gone", 0.3, lambda: lost.append("gone"))
    table.taken, table.raises = {"gone"}, raised
    with leases.holding(kept, table.renew), leases.holding(gone, table.renew):
        async with asyncio.timeout(30):
            while len(table.asked) < 2:  # noqa: ASYNC110 # the table tells nobody
                await asyncio.sleep(0.01)
            assert lost == [] if raised else set(lost) == {"gone"}
            table.raises = None
            while not lost:  # noqa: ASYNC110 # the same
                await asyncio.sleep(0.01)
    assert set(lost) == {"gone"}


async def test_what_has_ended_meanwhile_is_not_told() -> None:
    leases, lost = Leases(), list[str]()
    asked, goes_on, told = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def renew(_org_id: str, _holders: Sequence[str]) -> frozenset[str]:
        asked.set()
        await goes_on.wait()
        return frozenset()

    def lose(name: str) -> None:
        lost.append(name)
        told.set()

    ends, stays = (Lease("one", name, 0.3, partial(lose, name)) for name in "ab")
    async with asyncio.timeout(30):
        with leases.holding(stays, renew):
            with leases.holding(ends, renew):
                await asked.wait()
            goes_on.set()
            await told.wait()
    assert lost == ["b"]


async def test_who_has_many_organizations_renews_in_time() -> None:
    """Though each turn of the loop takes long."""
    leases, left, names = Leases(), list[float](), [str(number) for number in range(200)]
    held = {name: Lease(name, name, 1.0) for name in names}

    async def renew(org_id: str, holders: Sequence[str]) -> frozenset[str]:
        left.append(held[org_id].until - monotonic())
        return frozenset(holders)

    with ExitStack() as holding:
        for lease in held.values():
            holding.enter_context(leases.holding(lease, renew))
        until = monotonic() + 1.5
        while monotonic() < until:
            time.sleep(0.005)  # noqa: ASYNC251 # a busy loop
            await asyncio.sleep(0)
    assert len(left) >= 2 * len(names)
    assert min(left) > 0.2
