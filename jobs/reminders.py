"""Reminders of tasks: each is the event task_reminded once, in the transaction that takes it off its task.

Upkeep looks each second at the organizations that have one due (decision 231), so what was due while no worker was
there is told by the first one that comes.
"""

from contract.vocabulary import SYSTEM_ACTOR
from jobs.due import do_due
from storage.base import JsonDict, now
from storage.database import Database
from storage.new_rows import new_row
from storage.queries import activities
from storage.queries.records import append_events, lock_organization
from storage.queries.watches import put_off
from storage.rows import ActivityRow
from storage.tables import Event, ReminderWatch
from storage.tables.activities import LINKS

BATCH = 500
"""The number of reminders in a transaction; the others follow in the next."""


async def remind(database: Database) -> None:
    """Tell the reminders that are due, of any organization; a read alone where none is."""

    async def tell_those_of(org_id: str) -> None:
        while await _remind(database, org_id):
            pass

    await do_due(database, ReminderWatch, tell_those_of)


async def _remind(database: Database, org_id: str) -> bool:
    """Tell a batch; whether there may be more."""
    async with database.writing(org_id) as session:
        tasks = await activities.take_due(session, now(), BATCH)
        if tasks:
            await append_events(session, [_told(task) for task in tasks])
        await lock_organization(session)
        await put_off(session, ReminderWatch, await activities.next_reminder(session))
    return len(tasks) == BATCH


def _told(task: ActivityRow) -> Event:
    """The draft of the event on a reminder."""
    links = {name: getattr(task, name) for name in LINKS}
    moment = None if task.remind_at is None else task.remind_at.isoformat()
    data: JsonDict = {"task_id": task.id, **links, "owner_id": task.owner_id, "remind_at": moment}
    return new_row(Event, sequence=0, type="task_reminded", area="crm", actor=SYSTEM_ACTOR, data=data)
