"""Meetings: the listing, and what a rep does with them (specification 2.1, 4.1)."""

from collections.abc import Collection
from typing import Annotated, ClassVar

from pydantic import Field

from contract.criteria import ListQuery, Selection
from contract.errors import NotFound
from contract.limits import ATTENDEES_MAX
from contract.scopes import ScopeGroup
from contract.vocabulary import MANUAL_METADATA_KEYS, ActivitySource, ActivityType, MeetingState
from jobs.sync.merge import overridden_by
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, Line, Moment, RequiredLine, Text, WebAddress, not_null
from resolvers.shared.lists import PageResult, by_id, page_of
from resolvers.shared.record_inputs import fields_of, references_of
from resolvers.shared.tagging import Names, tag_new
from storage.base import JsonDict, now
from storage.columns import CREATE, UPDATE
from storage.new_rows import new_row
from storage.queries import files, listables, records, sync, tags
from storage.rows import ActivityRow
from storage.statements import parsed
from storage.tables import Activity, SyncedMeeting
from storage.tables.activities import writable
from storage.tenancy.sessions import TenantSession

_REFERENCES = references_of(Activity)
_IS_MEETING = Activity.type == "meeting"


class Attendee(Input):
    """Someone at the meeting."""

    name: Line | None = None
    email: Line | None = None


class Metadata(Input):
    """The keys that manual logging writes; `started_at` and `ended_at` come from synchronisation only."""

    transcript: Text | None = None
    recording_url: WebAddress | None = None
    attendees: Annotated[list[Attendee], Field(max_length=ATTENDEES_MAX)] | None = None
    location: Line | None = None
    provider: Line | None = None


@fields_of(Activity, CREATE, only=writable(ActivityType.MEETING, CREATE))
class MeetingLog(Input):
    """A meeting logged by hand."""

    subject: RequiredLine
    metadata: Metadata | None = None
    tags: Names | None = None


class MeetingCompletion(Input):
    """Says when a meeting was done."""

    at: Moment | None = None


@fields_of(Activity, UPDATE, only=writable(ActivityType.MEETING, UPDATE))
class MeetingUpdate(Input):
    """Changes to a meeting; null clears a field that may be empty."""

    filled: ClassVar[tuple[str, ...]] = ("subject",)

    metadata: Metadata | None = None


@requires(ScopeGroup.MEETINGS_READ, finds=(listables.MEETINGS,))
async def get_meeting(ctx: Context, meeting_id: str, selection: Selection | None = None) -> ActivityRow | None:
    """The meeting, or None."""
    return await by_id(ctx, listables.MEETINGS, meeting_id, selection)


@requires(ScopeGroup.MEETINGS_READ)
async def list_meetings(
    ctx: Context, listing: ListQuery, selection: Selection | None = None, *, with_links: bool = False
) -> PageResult[ActivityRow]:
    """A page of the meetings; `with_links` brings the summaries of account, deal and contact on each row."""
    return await page_of(ctx, listables.MEETINGS_WITH_LINKS if with_links else listables.MEETINGS, listing, selection)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def log_meeting(ctx: Context, input: MeetingLog) -> ActivityRow | None:
    """Log a meeting by hand; the caller owns it."""
    fields = input.given()
    names = fields.pop("tags", None) or []
    details = _metadata(None, fields.pop("metadata", None))
    meeting = new_row(
        Activity,
        **fields,
        details=details,
        type="meeting",
        source=ActivitySource.MANUAL.value,
        owner_id=ctx.caller.subject,
    )
    async with ctx.writing() as session:
        meeting = changes.as_changed(meeting, await changes.check_references(session, fields, _REFERENCES))
        await session.insert(meeting)
        await tag_new(session, meeting, names)
        references = {name: getattr(meeting, name) for name in _REFERENCES}
        await changes.append_event(ctx, session, "meeting_logged", {"meeting_id": meeting.id, **references})
        row = await records.one(session, listables.MEETINGS, meeting.id)
    ctx.forget()
    return row


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_meeting(
    ctx: Context, meeting_id: str, input: MeetingUpdate, *, seen: Collection[int] | None = None
) -> ActivityRow | None:
    """Change a meeting; of its metadata only the documented keys, so that what synchronisation wrote stays."""
    fields = input.given()
    version = fields.pop("expected_version", None)
    not_null(fields, *input.filled)
    async with ctx.writing() as session:
        meeting = await _to_change(session, meeting_id)
        changes.expect(meeting, version, seen)
        fields |= await changes.check_references(session, fields, _REFERENCES)
        if "metadata" in fields:
            fields["details"] = _metadata(meeting.details, fields.pop("metadata"))
        before = meeting.details
        meeting, names = await changes.apply(session, meeting, fields)
        await take_over(session, meeting, names, before)
        changed = ["metadata" if name == "details" else name for name in names]
        if changed:
            await changes.append_event(
                ctx, session, "meeting_updated", {"meeting_id": meeting.id, "changed": sorted(changed)}
            )
        row = await records.one(session, listables.MEETINGS, meeting.id)
    ctx.forget()
    return row


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def complete_meeting(ctx: Context, meeting_id: str, input: MeetingCompletion) -> ActivityRow | None:
    """Mark a meeting done, at this time or now; one that is done keeps its time unless told one (decision 19)."""
    async with ctx.writing() as session:
        meeting = await _to_change(session, meeting_id)
        completed = {"completed_at": input.at or meeting.completed_at or now()}
        meeting, names = await changes.apply(session, meeting, completed)
        if names:
            await take_over(session, meeting, names)
            await changes.append_event(ctx, session, "meeting_completed", {"meeting_id": meeting.id})
        row = await records.one(session, listables.MEETINGS, meeting.id)
    ctx.forget()
    return row


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def delete_meeting(ctx: Context, meeting_id: str) -> str:
    """Delete a meeting."""
    async with ctx.writing() as session:
        meeting = await _to_change(session, meeting_id)
        await sync.forget_meeting(session, meeting.id)
        await tags.unlink(session, [meeting.id])
        await files.unlink_record(session, "activity", meeting.id)
        await session.delete(meeting)
        await changes.append_event(ctx, session, "meeting_deleted", {"meeting_id": meeting.id})
    ctx.forget()
    return meeting.id


async def take_over(
    session: TenantSession, meeting: Activity, changed: Collection[str], before: JsonDict | None = None
) -> None:
    """Note which fields of a synchronised meeting are the member's from now on: no run writes them (decision 368)."""
    if meeting.source == ActivitySource.MANUAL or not changed:
        return
    taken = overridden_by(changed, before, meeting.details)
    known = await session.find(SyncedMeeting, meeting_id=meeting.id) if taken else None
    if known is not None and not set(taken) <= set(known.overridden):
        await session.update(known, overridden=sorted({*known.overridden, *taken}))


async def _to_change(session: TenantSession, meeting_id: str) -> Activity:
    meeting = await records.lock_for_update(session, Activity, meeting_id, _IS_MEETING)
    if meeting is None:
        raise NotFound(field=("id",))
    return meeting


def metadata_of(meeting: Activity | ActivityRow) -> object:
    """The metadata as what it stands for. A row that was just written has it under the name that Python leaves it."""
    return parsed(getattr(meeting, "details", meeting.metadata))


def _metadata(current: JsonDict | None, given: Metadata | None) -> JsonDict | None:
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


def state_of(meeting: ActivityRow) -> MeetingState:
    """Says what the meeting's times say about it now: done, never scheduled, still ahead, or overdue."""
    if meeting.completed_at is not None:
        return MeetingState.COMPLETED
    if meeting.due_at is None:
        return MeetingState.UNSCHEDULED
    return MeetingState.SCHEDULED if meeting.due_at > now() else MeetingState.OVERDUE
