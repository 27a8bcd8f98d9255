"""Looks after files: ends uploads that nobody goes on with, empties the trash, and removes bytes that no row names."""

import logging
from datetime import timedelta

from contract.limits import TRASH_DAYS
from contract.vocabulary import SYSTEM_ACTOR
from providers.artifacts import Artifacts
from storage.base import JsonDict, now
from storage.database import Database
from storage.new_rows import new_row
from storage.queries import files, folders, uploads
from storage.queries.records import append_events
from storage.tables import Event, File

_log = logging.getLogger(__name__)

BATCH = 100
TRASHED = timedelta(days=TRASH_DAYS)
_AFTER_TROUBLE = timedelta(minutes=1)


async def remove_leftovers(database: Database, store: Artifacts) -> bool:
    """Remove a batch of the bytes that no row names; whether there may be more. A read alone where there are none.

    What the store does not remove now is tried again later.
    """
    async with database.directory() as session:
        due = await files.leftovers(session, now(), BATCH)
    gone, left = [], []
    for _, name in due:  # each is a call of the store
        try:
            await store.delete(name)
            gone.append(name)
        except OSError:
            left.append(name)
    if due:
        async with database.directory(writing=True) as session:
            await files.forget_leftovers(session, gone)
            await files.put_leftovers_off(session, left, now() + _AFTER_TROUBLE)
    if left:
        _log.warning("bytes of files could not be removed; it is tried again number=%d", len(left))
    return len(due) == BATCH and not left


async def prune(database: Database, org_id: str) -> bool:
    """End a batch of old uploads, and purge one of old trash; whether there was any. Where not, it only reads."""
    before = now() - TRASHED
    async with database.reading(org_id) as session:
        are_late = await uploads.are_late(session)
        old = bool(await files.in_trash_since(session, before, 1) or await folders.in_trash_since(session, before, 1))
    if are_late:
        async with database.writing(org_id) as session:
            await files.lock_usage(session)
            await uploads.expire(session)
    if old:
        async with database.writing(org_id) as session:
            await files.lock_usage(session)
            gone = await files.in_trash_since(session, before, BATCH)
            await files.purge(session, gone)
            if len(gone) < BATCH:
                await folders.forget(session, await folders.in_trash_since(session, before, BATCH))
            if gone:
                await append_events(session, [_purged(file) for file in gone])
    return old or are_late


def _purged(file: File) -> Event:
    """The draft of the event on a file that has been in the trash for too long."""
    data: JsonDict = {"file_id": file.id}
    return new_row(Event, sequence=0, type="file_purged", area="crm", actor=SYSTEM_ACTOR, data=data)
