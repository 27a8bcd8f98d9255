"""A tag that many leads have is changed at once; what the leads show of it follows by a job (decision 192)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select
from sqlmodel import col

from contract.vocabulary import JobStatus
from jobs import lead_tags
from resolvers.tags import TagMerge, TagsApply, TagUpdate, apply_tags, delete_tag, merge_tags, update_tag
from storage.queries import tags
from storage.tables import Job, Lead, Tag
from tests.jobs.conftest import Workers, until
from tests.support.statements import statements
from tests.support.world import World

MANY, ALONE = 7, "of its own"


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tags, "TAG_COPIES_MAX", 5)
    monkeypatch.setattr(lead_tags, "TAG_COPIES_BATCH", 3)


async def tagged(world: World, number: int, *names: str) -> dict[str, str]:
    """So many leads with these tags, and one that has another; the tags by their names."""
    ctx = await world.context("admin@one", world.one)
    for size, given in ((number, names), (1, (ALONE,))):
        leads = [Lead(name=f"L{n}") for n in range(size)]
        await world.add(world.one, *leads)
        await apply_tags(ctx, TagsApply(ids=[lead.id for lead in leads], add=list(given)))
    async with world.database.reading(world.one.id) as session:
        rows = await session.rows(select(col(Tag.id), col(Tag.name)).where(col(Tag.org_id) == world.one.id))
    return {row.name: row.id for row in rows}


async def shown(world: World) -> list[list[str]]:
    async with world.database.reading(world.one.id) as session:
        rows = await session.rows(select(col(Lead.tags)).where(col(Lead.org_id) == world.one.id).order_by(col(Lead.id)))
    return [row.tags for row in rows]


async def jobs(world: World) -> list[str]:
    async with world.database.reading(world.one.id) as session:
        return [row.id for row in await session.rows(select(col(Job.id)).where(col(Job.org_id) == world.one.id))]


async def change(world: World, what: str, ids: dict[str, str]) -> None:
    ctx = await world.context("admin@one", world.one)
    if what == "rename":
        await update_tag(ctx, ids["vip"], TagUpdate(name="key"))
    elif what == "merge":
        merged = await merge_tags(ctx, ids["fair"], TagMerge.model_validate({"from": [ids["vip"]]}))
        assert merged.moved == 0  # they had it
    else:
        await delete_tag(ctx, ids["vip"])


AFTER = {"rename": ["key", "fair"], "merge": ["fair"], "delete": ["fair"]}


@pytest.mark.parametrize("what", AFTER)
async def test_leads_follow_a_tag_that_many_have(world: World, workers: Workers, what: str) -> None:
    ids = await tagged(world, MANY, "vip", "fair")
    await change(world, what, ids)
    assert await shown(world) == [["vip", "fair"]] * MANY + [[ALONE]]
    async with world.database.reading(world.one.id) as session:
        names = {row.name for row in await session.rows(select(col(Tag.name)).where(col(Tag.org_id) == world.one.id))}
    assert names == {*AFTER[what], ALONE}
    [job] = await jobs(world)
    workers.start()
    await until(world, job, JobStatus.SUCCEEDED)
    assert await shown(world) == [AFTER[what]] * MANY + [[ALONE]]


@pytest.mark.parametrize("what", AFTER)
async def test_a_tag_that_few_have_needs_no_job(world: World, what: str) -> None:
    await change(world, what, await tagged(world, 5, "vip", "fair"))
    assert await shown(world) == [AFTER[what]] * 5 + [[ALONE]]
    assert await jobs(world) == []


async def test_a_cut_off_attempt_goes_on_and_what_is_right_is_not_written(
    world: World, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    await change(world, "rename", await tagged(world, MANY, "vip", "fair"))
    copied, batches = tags.copy_names_that_differ, list[Any]()

    async def copy(session: Any, ids: Any) -> None:
        batches.append(ids)
        if len(batches) == 2:
            raise RuntimeError("cut off")
        await copied(session, ids)

    monkeypatch.setattr(tags, "copy_names_that_differ", copy)
    monkeypatch.setattr("jobs.attempts.pause", lambda _: timedelta(seconds=0.2))
    [job] = await jobs(world)
    workers.start()
    await until(world, job, JobStatus.SUCCEEDED)
    assert [len(ids) for ids in batches] == [3, 3, 3, 2]
    assert batches[1] == batches[2]
    assert await shown(world) == [["key", "fair"]] * MANY + [[ALONE]]
    async with world.database.writing(world.one.id) as session:
        changed: list[int] = []
        executed = session.execute

        async def counted(statement: Any) -> int:
            changed.append(await executed(statement))
            return changed[-1]

        monkeypatch.setattr(session, "execute", counted)
        await copied(session, [i for ids in batches for i in ids])
    assert changed == [0]


async def test_a_tag_of_many_leads_takes_the_statements_of_any(world: World) -> None:
    sent = []
    for number in (MANY, 3 * MANY):
        ids = await tagged(world, number, f"vip {number}", f"fair {number}")
        ctx = await world.context("admin@one", world.one)
        with statements(world.database) as texts:
            await update_tag(ctx, ids[f"vip {number}"], TagUpdate(name=f"key {number}"))
            await delete_tag(ctx, ids[f"fair {number}"])
        sent.append(texts)
    assert sent[0] == sent[1]
