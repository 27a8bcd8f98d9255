"""A hundred thousand records move while clients write through both doors: nothing is lost, and writes wait a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy.engine import URL

from storage.database import Database
from storage.postgres.organization_copy import connect
from storage.seeding import Plan
from storage.seeding.activities import activities
from storage.seeding.generate import records
from storage.seeding.load import Loader
from storage.seeding.plan import blueprints
from tests.faults.load import Load, writing
from tests.faults.test_mover_killed import Moving, moving
from tests.support.moving import three_servers

pytestmark = pytest.mark.long

PLAN = Plan(1, accounts=10_000, contacts=30_000, deals=20_000, meetings=40_000)
RECORDS = 100_000
REFUSED_SECONDS = 1.0
SEEDED = ("accounts", "contacts", "deal_contacts", "activities", "stage_changes")
"""What the clients leave alone: of each an own digest has to be as it was."""
DIGEST = "SELECT md5(string_agg(md5(t::text), '' ORDER BY md5(t::text))) FROM {} AS t WHERE org_id = $1"
GAPS = "SELECT count(*) - max(sequence) FROM events WHERE org_id = $1"
LIES = "SELECT (exists(SELECT 1 FROM deals WHERE org_id = $1), exists(SELECT 1 FROM deals WHERE org_id = $2))"
UNTOLD = """SELECT count(*) FROM unnest($2::uuid[], $3::text[]) AS told (id, name)
LEFT JOIN deals AS d ON d.org_id = $1 AND d.id = told.id AND d.name = told.name
LEFT JOIN (SELECT (data ->> 'deal_id')::uuid AS id, count(*) AS number FROM events
  WHERE org_id = $1 AND type = 'deal_created' GROUP BY 1) AS e ON e.id = told.id
WHERE d.id IS NULL OR e.number IS DISTINCT FROM 1"""
"""The acknowledged deals that are not there, or of which the log does not tell once."""


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, URL]]:
    with three_servers() as urls:
        yield urls


async def fill(url: str, organization: str) -> None:
    database = Database(url, statement_seconds=None)
    try:
        plan = replace(next(blueprints(PLAN)), fixed_id=organization)
        some, reachable = records(plan)
        async with database.writing(organization) as session:
            for rows in (*some, *activities(plan, reachable)):
                await Loader(database.sql).insert(session, rows)
    finally:
        await database.close()


async def digests(connection: asyncpg.Connection, organization: str) -> dict[str, str]:
    return {table: await connection.fetchval(DIGEST.format(table), organization) for table in SEEDED}


def refused(load: Load) -> float:
    """The longest time between two acknowledged writes in which one was refused, as the clients saw it."""
    answers, longest = sorted(load.at, key=lambda answer: answer[0]), 0.0
    good = [index for index, (_, outcome, _) in enumerate(answers) if outcome in (200, 201)]
    for before, after in pairwise(good):
        if after - before > 1:  # others came in between
            longest = max(longest, answers[after][0] - answers[before][0])
    return longest


async def move(moves: Moving, to: str) -> tuple[int, float]:
    """Give the command until writers leave it a moment: the rows, and for how long writes were refused."""
    await moves.move(to)
    _, _, rows, seconds = (moves.folder / "out").read_text().split("\t")
    return int(rows), float(seconds)


async def test_a_large_organization_moves_while_it_is_written_to(urls: dict[str, URL], tmp_path: Path) -> None:
    async with moving(urls, tmp_path) as moves:
        live = moves.live
        organization = await live.organization()
        other = await live.organization("org_two")
        await fill(live.url, organization)
        await live.create("Stays", live.token("stranger", "org_two"))
        at = {name: await connect(urls[name]) for name in ("directory", "north", "south")}
        before = await digests(at["directory"], organization)
        async with writing(live, clients=4) as load:
            for to in ("north", "south", "directory"):
                await load.until(len(load.acknowledged) + 50)
                began = len(load.at)
                rows, seconds = await move(moves, to)
                seen = refused(replace(load, at=load.at[began:]))
                print(f"{to}: {rows} rows, writes refused for {seconds:.3f} s, {seen:.3f} s by the clients")
                assert rows > RECORDS
                assert max(seconds, seen) <= REFUSED_SECONDS
                assert await digests(at[to], organization) == before
                lies = {name: await one.fetchval(LIES, organization, other) for name, one in at.items()}
                assert lies == {name: (to == name, name == "directory") for name in at}, "of each its own rows alone"
        assert load.outcomes.keys() <= {200, 201, 503}, load.outcomes
        told = list(load.acknowledged.items())
        untold = await at["directory"].fetchval(UNTOLD, organization, [i for i, _ in told], [name for _, name in told])
        assert (untold, await at["directory"].fetchval(GAPS, organization)) == (0, 0)
        print(f"{len(told)} writes acknowledged, {load.outcomes[503]} refused")
        await asyncio.gather(*(one.close() for one in at.values()))
        assert "Traceback" not in live.service.log.read_text()
