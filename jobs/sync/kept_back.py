"""Keeps less of meetings that stay though no calendar shows them any more: what members wrote is theirs, and stays."""

from collections.abc import Collection, Sequence
from datetime import datetime

from contract.integrations import SyncVisibility
from jobs.sync.identity import address_key
from jobs.sync.merge import said_less
from jobs.sync.writing import ACTIVITY, KNOWN, as_changed
from storage.base import with_copies
from storage.queries import sync
from storage.tables import Activity, SyncedMeeting
from storage.tenancy.sessions import TenantSession


async def keep_less(
    session: TenantSession, known: Sequence[SyncedMeeting], visibility: SyncVisibility, present: datetime
) -> list[str]:
    """Keep no more of these meetings than this; those that showed more. The caller holds the lock."""
    contacts: Collection[str] = ()
    if visibility is SyncVisibility.SUBJECT_ONLY:
        people = {address_key(guest["email"]) for each in known for guest in each.participants}
        contacts = await sync.contacts(session, people) if people else ()
    there = await sync.meetings(session, [each.meeting_id for each in known if each.meeting_id is not None])
    changed: dict[str, Activity] = {}
    less: list[SyncedMeeting] = []
    for each in known:
        meeting = there.get(each.meeting_id or "")
        if meeting is None:
            continue
        bare = _bare(each, visibility, contacts)
        if bare != each:
            less.append(bare)
        columns = said_less(meeting.details, each.overridden, visibility, bare.participants)
        if any(getattr(meeting, name) != value for name, value in columns.items()):
            moved = {**columns, "version": meeting.version + 1, "updated_at": present}
            changed[meeting.id] = as_changed(meeting, **with_copies(Activity, moved))
    if changed:
        await session.update_each(list(changed.values()), *ACTIVITY)
    if less:
        await session.update_each(less, *KNOWN)
    return sorted(changed.keys() | {each.meeting_id for each in less if each.meeting_id is not None})


def _bare(known: SyncedMeeting, visibility: SyncVisibility, contacts: Collection[str]) -> SyncedMeeting:
    """Drop what may not be known of the meeting; the deals that would fit it tell nothing of the calendar."""
    if visibility is SyncVisibility.EVERYTHING:
        return known
    people = known.participants if visibility is SyncVisibility.SUBJECT_ONLY else []
    shown = [each for each in people if address_key(each["email"]) in contacts]
    return as_changed(known, participants=shown, conference_url=None)
