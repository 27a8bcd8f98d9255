"""Records show another tag at once, and get their next version by jobs where they are many (decision 1104)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select
from sqlmodel import col

from contract.vocabulary import JobStatus
from jobs import tagged_records
from resolvers.tags import TagsApply, apply_tags
from storage.queries import tags
from storage.tables import Account, Deal, Event, Job, Lead, Tag
from tests.jobs.conftest import Workers, until
from tests.jobs.test_lead_tags import change
from tests.support.world import World


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tags, "TAG_COPIES_MAX", 5)
    monkeypatch.setattr(tagged_records, "TAG_COPIES_BATCH", 2)
    monkeypatch.setattr(tagged_records, "TAG_TOUCHES_TOGETHER", 3)


@pytest.mark.parametrize("what", ["rename", "merge", "delete"])
async def test_records_follow_a_tag_that_many_have(
    world: World, workers: Workers, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Also after an attempt that was cut off, each once."""
    mine = [*(Deal(name=f"{n}") for n in range(4)), Account(name="a"), Lead(name="l")]
    others = [Deal(name="other"), Lead(name="other")]
    await world.add(world.one, *mine, *others)
    ctx = await world.context("admin@one", world.one)
    await apply_tags(ctx, TagsApply(ids=[record.id for record in mine], add=["vip", "fair"]))
    await apply_tags(ctx, TagsApply(ids=[record.id for record in others], add=["fair"]))
    touched, batches = tags.touch, list[Any]()

    async def touch(session: Any, kind: Any, ids: Any) -> None:
        batches.append(ids)
        await touched(session, kind, ids)
        if len(batches) == 2:
            raise RuntimeError("cut off")

    monkeypatch.setattr(tags, "touch", touch)
    monkeypatch.setattr("jobs.attempts.pause", lambda _: timedelta(seconds=0.2))
    async with world.database.reading(world.one.id) as session:
        rows = await session.rows(select(col(Tag.id), col(Tag.name)).where(col(Tag.org_id) == world.one.id))
    await change(world, what, {row.name: row.id for row in rows})
    async with world.database.reading(world.one.id) as session:
        jobs = [row.id for row in await session.rows(select(col(Job.id)).where(col(Job.org_id) == world.one.id))]
    assert len(jobs) == 4  # deals in two parts, accounts, leads
    workers.start()
    for job in jobs:
        await until(world, job, JobStatus.SUCCEEDED)
    async with world.database.reading(world.one.id) as session:
        versions = {
            row.id: row.version
            for model in (Deal, Account, Lead)
            for row in await session.rows(
                select(col(model.id), col(model.version)).where(col(model.org_id) == world.one.id)
            )
        }
        told = [
            row.data["ids"]
            for row in await session.rows(
                select(col(Event.data)).where(col(Event.org_id) == world.one.id, col(Event.type) == "records_tagged")
            )
        ]
    assert versions == {record.id: 3 for record in mine} | {record.id: 2 for record in others}
    assert sorted(i for ids in told[2:] for i in ids) == sorted(record.id for record in mine[:5])
