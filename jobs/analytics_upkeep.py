"""Ends the answers whose process is no more, and forgets what is kept of questions long enough (decision 286)."""

from datetime import timedelta
from functools import partial

from contract.analytics_events import AnalyticsRunStatus, EventType, last_step
from jobs.due import do_due
from storage.base import now
from storage.database import Database
from storage.queries import analytics_runs as runs
from storage.queries.records import lock_organization
from storage.queries.watches import put_off
from storage.tables import AnalyticsWatch


async def interrupt(database: Database) -> None:
    """End the runs whose leases are over, of any organization; a read alone where no organization has one."""
    await do_due(database, AnalyticsWatch, partial(_interrupt, database))


async def _interrupt(database: Database, org_id: str) -> None:
    status = AnalyticsRunStatus.INTERRUPTED
    async with database.writing(org_id) as session:
        await lock_organization(session)
        moment = now()
        for run in await runs.abandoned(session, moment):  # of an organization there are ten at most
            await session.update(run, status=status.value, finished_at=moment)
            duration = int((moment - run.created_at).total_seconds() * 1000)
            step = EventType.RUN_FINISHED, last_step(status, duration)
            await runs.append(session, run.id, await runs.last_sequence(session, run.id) + 1, [step])
        await put_off(session, AnalyticsWatch, await runs.next_lease(session))


async def prune(database: Database, org_id: str, kept: timedelta) -> bool:
    """Forget a batch of old answers' steps and of old questions; whether there were any."""
    moment = now()
    async with database.reading(org_id) as session:
        steps = await runs.with_old_events(session, moment - runs.EVENTS_KEPT)
        questions = await runs.old_runs(session, moment - kept)
    if not steps and not questions:
        return False
    async with database.writing(org_id) as session:
        if steps:
            await runs.forget_events(session, steps)
        if questions:
            await runs.forget_runs(session, questions, moment - kept)
    return True
