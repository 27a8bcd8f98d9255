"""Does the jobs that are due, in this process and one after the other, as a worker would."""

from __future__ import annotations

from datetime import timedelta

from jobs.attempts import Attempt, Claim, Outcome
from storage.base import new_id, now
from storage.queries import jobs
from tests.support.gateway import Gateway


async def work_off(gateway: Gateway, most: int = 100) -> list[Outcome]:
    """The outcomes of the attempts at all that is due, or at so many."""
    outcomes: list[Outcome] = []
    database = gateway.world.database
    while len(outcomes) < most:
        holder = new_id()
        async with database.directory(writing=True) as session:
            row = await jobs.claim(session, holder, now() + timedelta(seconds=30), avoiding=())
        if row is None:
            break
        outcomes.append(await Attempt(database, gateway.runtime.ports, Claim(row.org_id, row.job_id, holder)).make())
    return outcomes
