"""Transfers of ownership: each record moves once, whatever happens to who moves it (decision 226)."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlmodel import col

from contract.scopes import Role
from contract.vocabulary import JobStatus, OwnedKind
from jobs import ownership
from resolvers.members import remove_member
from resolvers.ownership import OwnershipTransfer, transfer_ownership
from storage.base import now
from storage.queries import members
from storage.tables import Account, Activity, Contact, Deal, Event, Lead, RecordChange
from tests.jobs.conftest import Workers, until
from tests.jobs.test_processes import process
from tests.support.world import World

LEAVER, HEIR = "member@one", "viewer@one"
MODELS: tuple[Any, ...] = (Account, Contact, Deal, Lead, Activity)


async def fill(world: World, number: int, owner: str = LEAVER) -> None:
    async with world.database.writing(world.one.id) as session:
        for n in range(number):
            await session.insert(
                Account(name=f"A{n}", owner_id=owner),
                Contact(last_name=f"C{n}", owner_id=owner),
                Deal(name=f"D{n}", owner_id=owner, status="open" if n % 2 else "won"),
                Lead(name=f"L{n}", owner_id=owner),
                Activity(subject=f"M{n}", owner_id=owner),
            )


async def ask(world: World, **more: Any) -> Any:
    context = await world.context("admin@one", world.one)
    wanted = OwnershipTransfer.model_validate({"from": LEAVER, "to": HEIR, **more})
    return await transfer_ownership(context, wanted)


async def owners(world: World, model: Any) -> Counter[str]:
    async with world.database.reading(world.one.id) as session:
        rows = await session.rows(select(model.owner_id).where(model.org_id == world.one.id))
    return Counter(row.owner_id for row in rows)


async def moved(world: World) -> Counter[tuple[str, str]]:
    """How often the change log says of each record that it moved."""
    async with world.database.reading(world.one.id) as session:
        statement = select(Event.data).where(
            col(Event.org_id) == world.one.id, col(Event.type) == "ownership_transferred"
        )
        events = [row.data for row in await session.rows(statement)]
    assert all((data["from"], data["to"]) == (LEAVER, HEIR) for data in events)
    return Counter((data["kind"], identifier) for data in events for identifier in data["ids"])


async def histories(world: World) -> Counter[str]:
    """The kinds of the records that are told of their new owner, each once and by who asked for it."""
    async with world.database.reading(world.one.id) as session:
        rows = await session.find_all(select(RecordChange).where(col(RecordChange.org_id) == world.one.id))
    assert {(r.type, r.actor, r.former_owner) for r in rows} == {("ownership_transferred", "admin@one", LEAVER)}
    assert all(row.fields == {"owner_id": [LEAVER, HEIR]} for row in rows)
    assert len({row.subject_id for row in rows}) == len(rows)
    return Counter(row.subject_kind for row in rows)


async def versions(world: World) -> set[int]:
    found = set()
    async with world.database.reading(world.one.id) as session:
        for model in MODELS[:4]:
            found |= {
                row.version for row in await session.rows(select(model.version).where(model.org_id == world.one.id))
            }
    return found


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten records; a process of its own has those of a thousand."""
    monkeypatch.setattr(ownership, "TRANSFER_BATCH", 10)


async def test_what_a_dry_run_counts_is_what_a_run_moves(world: World, workers: Workers) -> None:
    await fill(world, 25)
    counted = await ask(world, dry_run=True)
    assert (counted.counts.total, counted.job) == (125, None)
    done = await ask(world)
    assert done.counts == counted.counts
    workers.start()
    job = await until(world, done.job.id, JobStatus.SUCCEEDED, JobStatus.FAILED)
    assert (job.status, job.progress) == (JobStatus.SUCCEEDED, 1.0)
    for model in MODELS:
        assert await owners(world, model) == {HEIR: 25}
    told = await moved(world)
    assert (len(told), set(told.values())) == (125, {1})
    assert await versions(world) == {2}
    async with world.database.reading(world.one.id) as session:
        statement = select(Event.data).where(col(Event.org_id) == world.one.id, col(Event.area) == "admin")
        assert {len(row.data["ids"]) for row in await session.rows(statement)} == {10, 5}
    assert await histories(world) == Counter(dict.fromkeys(("account", "contact", "deal", "lead"), 25))


async def test_only_what_is_open_and_of_the_kinds(world: World, workers: Workers) -> None:
    await fill(world, 12)
    async with world.database.writing(world.one.id) as session:
        await session.insert(
            Activity(type="task", owner_id=LEAVER), Activity(type="task", owner_id=LEAVER, completed_at=now())
        )
    counted = await ask(world, open_only=True, dry_run=True)
    done = await ask(world, open_only=True)
    workers.start()
    await until(world, done.job.id, JobStatus.SUCCEEDED)
    assert [await owners(world, model) for model in (Account, Deal, Activity)] == [
        {LEAVER: 12},
        {LEAVER: 6, HEIR: 6},
        {LEAVER: 13, HEIR: 1},
    ]
    assert counted.counts.total == 7 == len(await moved(world))
    done = await ask(world, kinds=[OwnedKind.ACCOUNT])
    await until(world, done.job.id, JobStatus.SUCCEEDED)
    assert await owners(world, Account) == {HEIR: 12}
    assert await owners(world, Lead) == {LEAVER: 12}


async def test_an_attempt_that_was_cut_off_goes_on_where_it_was(
    world: World, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was moved on is given back meanwhile: it stays with whom it was given to."""
    await fill(world, 25)
    done = await ask(world)
    noted, batches, cut = ownership._note, 0, asyncio.Event()

    async def note(*arguments: Any) -> None:
        nonlocal batches
        batches += 1
        if batches in (3, 6):
            cut.set()
            raise RuntimeError("cut off")
        await noted(*arguments)

    monkeypatch.setattr(ownership, "_note", note)
    monkeypatch.setattr("jobs.attempts.pause", lambda _: timedelta(seconds=0.2))
    back: list[str] = []

    async def give_back() -> None:
        async with world.database.writing(world.one.id) as session:
            first = next(iter(sorted(identifier for _, identifier in await moved(world))))
            back.append(first)
            await session.execute(
                update(Account)
                .where(col(Account.org_id) == world.one.id, col(Account.id) == first)
                .values(owner_id=LEAVER)
            )

    workers.start()
    await cut.wait()
    await give_back()
    await until(world, done.job.id, JobStatus.SUCCEEDED)
    told = await moved(world)
    assert (len(told), set(told.values())) == (125, {1})
    assert await owners(world, Account) == {HEIR: 24, LEAVER: 1}
    assert batches > 13


@pytest.mark.parametrize("whose", ["who asked", "the heir"])
async def test_who_may_no_more_has_a_job_that_ends(world: World, workers: Workers, whose: str) -> None:
    await fill(world, 15)
    await world.join("second@one", world.one, role=Role.ADMIN)
    done = await ask(world)
    async with world.database.writing(world.one.id) as session:
        if whose == "who asked":
            await members.put_membership(session, "admin@one", role=Role.MEMBER, scopes=Role.MEMBER.scopes)
        else:
            await members.remove_membership(session, HEIR)
    workers.start()
    job = await until(world, done.job.id, JobStatus.FAILED)
    assert "no a" in job.error
    assert "0 records" in job.error
    assert await owners(world, Deal) == {LEAVER: 15}


async def test_a_removal_hands_over_also_of_who_removes_themselves(world: World, workers: Workers) -> None:
    await world.join("second@one", world.one, role=Role.ADMIN)
    for leaver in (LEAVER, "admin@one"):
        await fill(world, 3, leaver)
        context = await world.context("admin@one", world.one)
        done = await remove_member(context, leaver, "second@one")
        assert done.job is not None
        if not workers.started:
            workers.start()
        await until(world, done.job.id, JobStatus.SUCCEEDED)
    assert await owners(world, Deal) == {"second@one": 6}


@pytest.mark.long
async def test_a_killed_transfer_is_resumed(world: World, database_url: str, tmp_path: Path) -> None:
    """By `kill -9`, three times, with batches of the usual size."""
    await fill(world, 3_000)
    done = await ask(world)
    for _ in range(3):
        before = len(await moved(world))
        with process(tmp_path, "worker", CRM_DATABASE_URL=database_url) as worker:
            await more_moved(world, before)
            worker.send_signal(signal.SIGKILL)
            worker.wait()
    with process(tmp_path, "worker", CRM_DATABASE_URL=database_url):
        await until(world, done.job.id, JobStatus.SUCCEEDED)
    told = await moved(world)
    assert (len(told), set(told.values())) == (15_000, {1})
    for model in MODELS:
        assert await owners(world, model) == {HEIR: 3_000}
    assert await versions(world) == {2}


async def more_moved(world: World, number: int) -> None:
    """Wait until more records than these have moved."""
    async with asyncio.timeout(60):
        while True:
            if len(await moved(world)) > number:
                return
            await asyncio.sleep(0.01)
