"""Meetings whose end has passed count as held: a job of each organization looks every minute (decision 369)."""

from contract.integrations import HELD_SECONDS, SyncedField
from contract.vocabulary import SYSTEM_ACTOR
from jobs.sync.events import IDS_MAX
from jobs.sync.writing import as_changed
from jobs.work import Run, work
from storage.base import now
from storage.new_rows import new_row
from storage.queries import sync
from storage.queries.records import append_events
from storage.tables import Event

KIND = "meetings_held"
EVERY = HELD_SECONDS


@work(KIND)
async def hold(run: Run) -> None:
    """Note of each synchronised meeting that has ended when that was, unless a member has said so."""
    async with run.reading() as session:
        if not await sync.to_be_held(session, now()):
            return
    while await _batch(run):
        pass


async def _batch(run: Run) -> bool:
    """A batch in a transaction; whether there may be more."""
    async with run.writing() as session:
        await sync.lock(session)
        present = now()
        known = await sync.to_be_held(session, present)
        ends = {each.meeting_id: each.pending_end for each in known if each.meeting_id is not None}
        said = {each.meeting_id for each in known if SyncedField.COMPLETED_AT in each.overridden}
        meetings = await sync.meetings(session, list(ends)) if ends else {}
        changed = [
            as_changed(meeting, completed_at=ends[meeting.id], version=meeting.version + 1, updated_at=present)
            for meeting in meetings.values()
            if meeting.completed_at is None and meeting.id not in said
        ]
        if changed:
            await session.update_each(changed, "completed_at", "version", "updated_at")
        if known:
            await session.update_each([as_changed(each, pending_end=None) for each in known], "pending_end")
        ids = [meeting.id for meeting in changed]
        events = [_told(ids[place : place + IDS_MAX], run.job_id) for place in range(0, len(ids), IDS_MAX)]
        if events:
            await append_events(session, events)
        return len(known) == sync.BATCH


def _told(ids: list[str], request_id: str) -> Event:
    data = {"meeting_ids": ids}
    return new_row(
        Event, sequence=0, type="meetings_held", area="crm", actor=SYSTEM_ACTOR, request_id=request_id, data=data
    )
