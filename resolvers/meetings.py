"""Meetings: the listing, and what a rep does with them (specification 2.1, 4.1)."""

from typing import Annotated, Any

from pydantic import Field

from contract.criteria import Listing, Selection
from contract.errors import NotFound
from contract.limits import ATTENDEES_MAX
from contract.scopes import ScopeGroup
from contract.vocabulary import MANUAL_METADATA_KEYS, ActivitySource, MeetingState
from resolvers import changes
from resolvers.access import requires
from resolvers.context import Context
from resolvers.inputs import Input, Line, Moment, RequiredLine, Text, not_null
from resolvers.lists import PageOf, by_id, page_of
from resolvers.record_inputs import fields_of
from resolvers.writing import references_of
from storage.base import now
from storage.columns import CREATE, UPDATE
from storage.queries import nouns, records
from storage.sessions import TenantSession
from storage.tables import Activity

_REFERENCES = references_of(Activity)
_IS_MEETING = Activity.type == "meeting"


class Attendee(Input):
    """Someone at the meeting."""

    name: Line | None = None
    email: Line | None = None


class Metadata(Input):
    """The keys that manual logging writes; `started_at` and `ended_at` come from synchronisation only."""

    transcript: Text | None = None
    recording_url: Line | None = None
    attendees: Annotated[list[Attendee], Field(max_length=ATTENDEES_MAX)] | None = None
    location: Line | None = None
    provider: Line | None = None


@fields_of(Activity, CREATE)
class MeetingLog(Input):
    """A meeting logged by hand."""

    subject: RequiredLine
    metadata: Metadata | None = None


class MeetingCompletion(Input):
    """When a meeting was done."""

    at: Moment | None = None


@fields_of(Activity, UPDATE)
class MeetingUpdate(Input):
    """Changes to a meeting; null clears a field that may be empty."""

    metadata: Metadata | None = None


@requires(ScopeGroup.MEETINGS_READ, finds=(nouns.MEETINGS,))
async def get_meeting(ctx: Context, meeting_id: str, selection: Selection | None = None) -> Any:
    """The meeting, or None."""
    return await by_id(ctx, nouns.MEETINGS, meeting_id, selection)


@requires(ScopeGroup.MEETINGS_READ)
async def list_meetings(
    ctx: Context, listing: Listing, selection: Selection | None = None, *, with_links: bool = False
) -> PageOf:
    """A page of the meetings; `with_links` brings the summaries of account, deal and contact on each row."""
    return await page_of(ctx, nouns.MEETINGS_WITH_LINKS if with_links else nouns.MEETINGS, listing, selection)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def log_meeting(ctx: Context, input: MeetingLog) -> Any:
    """Log a meeting by hand; the caller owns it."""
    fields = input.given()
    details = _metadata(None, fields.pop("metadata", None))
    meeting = Activity(
        **fields, details=details, type="meeting", source=ActivitySource.MANUAL.value, owner_id=ctx.caller.subject
    )
    async with ctx.writing() as session:
        await changes.check_references(session, fields, _REFERENCES)
        session.add(meeting)
        references = {name: getattr(meeting, name) for name in _REFERENCES}
        await changes.note(ctx, session, "meeting_logged", {"meeting_id": meeting.id, **references})
        row = await records.one(session, nouns.MEETINGS, meeting.id)
    ctx.forget()
    return row


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_meeting(ctx: Context, meeting_id: str, input: MeetingUpdate) -> Any:
    """Change a meeting; of its metadata only the documented keys, so that what synchronisation wrote stays."""
    fields = input.given()
    not_null(fields, "subject")
    async with ctx.writing() as session:
        meeting = await _to_change(session, meeting_id)
        await changes.check_references(session, fields, _REFERENCES)
        if "metadata" in fields:
            fields["details"] = _metadata(meeting.details, fields.pop("metadata"))
        changed = ["metadata" if name == "details" else name for name in changes.apply(meeting, fields)]
        if changed:
            await changes.note(ctx, session, "meeting_updated", {"meeting_id": meeting.id, "changed": sorted(changed)})
        row = await records.one(session, nouns.MEETINGS, meeting.id)
    ctx.forget()
    return row


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def complete_meeting(ctx: Context, meeting_id: str, input: MeetingCompletion) -> Any:
    """Mark a meeting done, at this time or now; one that is done keeps its time unless told one (decision 19)."""
    async with ctx.writing() as session:
        meeting = await _to_change(session, meeting_id)
        if changes.apply(meeting, {"completed_at": input.at or meeting.completed_at or now()}):
            await changes.note(ctx, session, "meeting_completed", {"meeting_id": meeting.id})
        row = await records.one(session, nouns.MEETINGS, meeting.id)
    ctx.forget()
    return row


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def delete_meeting(ctx: Context, meeting_id: str) -> str:
    """Delete a meeting."""
    async with ctx.writing() as session:
        meeting = await _to_change(session, meeting_id)
        await session.delete(meeting)
        await changes.note(ctx, session, "meeting_deleted", {"meeting_id": meeting.id})
    ctx.forget()
    return meeting.id


async def _to_change(session: TenantSession, meeting_id: str) -> Activity:
    meeting = await records.to_change(session, Activity, meeting_id, _IS_MEETING)
    if meeting is None:
        raise NotFound(field=("id",))
    return meeting


def _metadata(current: dict[str, Any] | None, given: Metadata | None) -> dict[str, Any] | None:
    """The metadata after the change: a given key is set, a null one removed, and None removes all documented keys.

    What synchronisation wrote stays (decision 18).
    """
    result = dict(current or {})
    named = dict.fromkeys(MANUAL_METADATA_KEYS) if given is None else given.given()
    for key, value in named.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = [a.given() for a in value] if key == "attendees" else value
    return result or None


def state_of(meeting: Any) -> MeetingState:
    """Says what the meeting's times say about it now: done, never scheduled, still ahead, or overdue."""
    if meeting.completed_at is not None:
        return MeetingState.COMPLETED
    if meeting.due_at is None:
        return MeetingState.UNSCHEDULED
    return MeetingState.SCHEDULED if meeting.due_at > now() else MeetingState.OVERDUE
