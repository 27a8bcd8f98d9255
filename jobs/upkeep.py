"""Looks after what a worker has beside the jobs that are due: reminders, schedules of reports, webhooks that are
behind, answers whose process ended, roll-ups, jobs that ended long ago, old questions and threads, old trash and
uploads, old runs of reports, exports and messages, history that is kept for a time, bytes that no file has, watches
that are missing, logins that are over, and idempotency keys that have expired.
"""

import time
from datetime import timedelta
from functools import partial

from contract.limits import MAILS_PER_DAY
from contract.retention import Retention
from jobs import (
    analytics_upkeep,
    chat_upkeep,
    exports_upkeep,
    files_upkeep,
    logins_upkeep,
    mails,
    reminders,
    report_runs,
    report_schedules,
    retention,
    roll_ups,
    watches_upkeep,
    webhooks,
)
from providers.artifacts import Artifacts
from storage.base import now
from storage.clusters import on_each_server
from storage.database import Database
from storage.queries import idempotency, jobs
from storage.queries.organizations import all_ids

TURN_SECONDS = 1.0
KEPT = timedelta(days=30)
"""The time for which a job that has ended can still be asked for (decision 72)."""
_ROUND_SECONDS = 3_600.0


class Upkeep:
    """Takes turns of a second; in each it tells the reminders that are due, has the reports mailed that are, wakes the
    webhooks, folds what was written, removes bytes that no file has from the store, and looks at one organization's old
    jobs, trash, uploads, questions, runs of reports, exports, messages, history, watches and empty cells. What is kept
    for a time is `kept` for so many days.
    """

    def __init__(
        self,
        database: Database,
        kept: Retention = Retention(),  # noqa: B008  # frozen
        store: Artifacts | None = None,
        mails_per_day: int = MAILS_PER_DAY,
    ) -> None:
        self._database = database
        self._store = store
        self._mails_per_day = mails_per_day
        self._folding = roll_ups.Folding(database)
        self._kept = kept
        self._waiting: list[str] = []
        self._has_keys = False
        self._has_logins = False
        self._next_round = 0.0

    async def turn(self) -> float:
        """The seconds until the next turn."""
        await reminders.remind(self._database)
        await report_schedules.fire(self._database, self._mails_per_day)
        await webhooks.wake(self._database)
        await analytics_upkeep.interrupt(self._database)
        await self._folding.turn()
        if self._store is not None:
            remove = partial(files_upkeep.remove_leftovers, store=self._store)
            await on_each_server(self._database, remove)
        await self._prune()
        if self._has_keys:
            self._has_keys = await self._forget_keys()
        if self._has_logins:
            self._has_logins = await logins_upkeep.forget(self._database)
        return TURN_SECONDS

    async def _forget_keys(self) -> bool:
        found = []

        async def forget(server: Database) -> None:
            found.append(await forget_keys(server))

        await on_each_server(self._database, forget)
        return any(found)

    async def _prune(self) -> None:
        if not self._waiting and time.monotonic() >= self._next_round:
            self._next_round = time.monotonic() + _ROUND_SECONDS
            self._has_keys = self._has_logins = True
            async with self._database.directory() as session:
                self._waiting = list(await all_ids(session))
        if self._waiting:
            org_id = self._waiting.pop()  # what goes wrong with one's is nobody else's trouble (decision 993)
            more = [
                await prune(self._database, org_id),
                await analytics_upkeep.prune(self._database, org_id, timedelta(days=self._kept.questions)),
                await chat_upkeep.prune(self._database, org_id, self._kept.chats),
                await files_upkeep.prune(self._database, org_id),
                await report_runs.prune(self._database, org_id),
                await mails.prune(self._database, org_id),
                await exports_upkeep.prune(self._database, org_id),
                await retention.prune(self._database, org_id, self._kept),
            ]
            if any(more):
                self._waiting.insert(0, org_id)  # behind the others
            else:
                await watches_upkeep.mend(self._database, org_id)
                await roll_ups.tidy(self._database, org_id)


async def forget_keys(database: Database) -> bool:
    """Forget a batch of the idempotency keys that have expired; whether there were any."""
    moment = now()
    async with database.directory() as session:
        found = await idempotency.expired(session, moment)
    if found:
        async with database.directory(writing=True) as session:
            await idempotency.forget(session, found, moment)
    return bool(found)


async def prune(database: Database, org_id: str) -> bool:
    """Forget a batch of the jobs that ended too long ago; whether there were any. A read alone where there are none."""
    before = now() - KEPT
    async with database.reading(org_id) as session:
        found = await jobs.ended_before(session, before)
    if found:
        async with database.writing(org_id) as session:
            await jobs.forget(session, found)
    return bool(found)
