"""Looks after exports that ended: after seven days they are forgotten, and their files are gone (decision 852)."""

from datetime import timedelta

from contract.limits import EXPORT_DAYS
from contract.vocabulary import SYSTEM_ACTOR
from storage.base import now
from storage.database import Database
from storage.new_rows import new_row
from storage.queries import exports, files
from storage.queries.records import append_events
from storage.tables import Event, File

BATCH = 20
KEPT = timedelta(days=EXPORT_DAYS)


async def prune(database: Database, org_id: str) -> bool:
    """Forget a batch of old exports with their files; whether there were any. A read alone where there are none."""
    before = now() - KEPT
    async with database.reading(org_id) as session:
        found = bool(await exports.old(session, before, 1))
    if found:
        async with database.writing(org_id) as session:
            await files.lock_usage(session)
            gone = await exports.old(session, before, BATCH)
            there = await files.among(session, [one.file_id for one in gone if one.file_id is not None])
            await files.purge(session, there)
            for one in gone:  # a few in an hour
                await session.delete(one)
            if there:
                await append_events(session, [_purged(file) for file in there])
    return found


def _purged(file: File) -> Event:
    """The draft of the event on the file of an export."""
    return new_row(Event, sequence=0, type="file_purged", area="crm", actor=SYSTEM_ACTOR, data={"file_id": file.id})
