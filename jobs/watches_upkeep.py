"""Sees that whatever an organization has due is looked for: nobody would come to a moment that no watch has.

Watches are written with what they are for. They are missing where rows came another way, as those of an organization
that was put back from `org export`, which has none (decision 625). Its jobs have no place in the queue either.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from storage.database import Database
from storage.queries import activities, analytics_runs, chat_runs, jobs, report_schedules
from storage.queries.records import lock_organization
from storage.queries.watches import Watch, is_watched, watch
from storage.tables import AnalyticsWatch, ChatWatch, ReminderWatch, ReportWatch
from storage.tenancy.sessions import TenantSession

NEXT: Sequence[tuple[Watch, Callable[[TenantSession], Awaitable[datetime | None]]]] = (
    (ReminderWatch, activities.next_reminder),
    (ReportWatch, report_schedules.next_moment),
    (AnalyticsWatch, analytics_runs.next_lease),
    (ChatWatch, chat_runs.next_lease),
)
"""When the next of each is due, by the watch of it."""


async def mend(database: Database, org_id: str) -> None:
    """Have what is due looked for where nobody would (decision 950). Reads alone where nothing is missing."""
    async with database.reading(org_id) as session:
        is_whole = not await _unwatched(session)
        is_queued = not await jobs.without_place(session)
    if not is_whole:
        async with database.writing(org_id) as session:
            await lock_organization(session)
            for table, moment in await _unwatched(session):  # of four
                await watch(session, table, moment)
    while not is_queued:  # a batch each time; whoever else does so meanwhile takes nothing away
        async with database.writing(org_id) as session:
            is_queued = not await jobs.put_back(session)


async def _unwatched(session: TenantSession) -> list[tuple[Watch, datetime]]:
    """The watches that are missing or too late, and the moments that they ought to have."""
    found = []
    for table, next_of in NEXT:  # each is a table of its own
        moment = await next_of(session)
        if moment is not None and not await is_watched(session, table, moment):
            found.append((table, moment))
    return found
