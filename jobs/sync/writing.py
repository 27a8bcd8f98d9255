"""Writes what a page makes of meetings: a statement for each table and kind of change, however many there are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from contract.integrations import SyncedField
from contract.vocabulary import ActivitySource
from jobs.sync.match import Match
from jobs.sync.merge import FIELDS, Wanted, unspoken, written
from storage.base import JsonDict, Stored, with_copies
from storage.new_rows import new_row
from storage.queries import sync
from storage.tables import Activity, SyncedMeeting, SyncOccurrence
from storage.tenancy.sessions import TenantSession

R = TypeVar("R", bound=Stored)
ACTIVITY = (*FIELDS, "details", "owner_id", "version", "updated_at", "folded_subject", "folded_owner_id")
KNOWN = (
    *("meeting_id", "all_day", "time_zone", "conference_url", "cancelled_at", "shown_by", "pending_end"),
    *("overridden", "participants", "deal_candidates"),
)
_OCCURRENCE = (
    *("subject", "folded_subject", "starts_at", "ends_at", "all_day", "is_recurring", "outcome", "reason"),
    *("explanation", "decision", "meeting_id", "seen_at"),
)


def as_changed(row: R, **values: object) -> R:
    """The row as it would be."""
    changed: R = row._replace(**values)  # type: ignore[attr-defined]  # a named tuple
    return changed


@dataclass(slots=True)
class Outcome:
    """The meetings that were made, changed and removed, by identifier."""

    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Plan:
    """The writes to come. `wanted` has for each meeting what it is to be, whom it is about, and whether it is new.

    `without` are the meetings that nobody shows any more, `private` those of them that were marked so, `owners` the new
    owners of those that were handed on.
    """

    owner: str | None
    before: Mapping[str, SyncedMeeting]
    meetings: Mapping[str, Activity]
    wanted: list[tuple[SyncedMeeting, Wanted, Match, bool]] = field(default_factory=list)
    without: list[SyncedMeeting] = field(default_factory=list)
    private: frozenset[str] = frozenset()
    owners: dict[str, str | None] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    keeps_worked_on: bool = True
    source: ActivitySource = ActivitySource.CALENDAR
    occurrences: list[SyncOccurrence] = field(default_factory=list)
    known_occurrences: frozenset[str] = frozenset()


async def apply(session: TenantSession, plan: Plan, present: datetime) -> Outcome:
    """Write the plan: meetings before what names them, and deletions the other way around."""
    outcome = Outcome()
    new: list[Activity] = []
    changed: list[Activity] = []
    synced: list[SyncedMeeting] = []
    for known, wanted, match, is_new in plan.wanted:
        meeting_id = known.meeting_id or ""
        there = None if is_new else plan.meetings.get(meeting_id)
        meeting, known = _settled(session, plan, known, wanted, match, there, present)
        synced.append(known)
        if there is None:
            new.append(meeting)
            outcome.created.append(meeting.id)
        elif meeting != there:
            version = there.version + 1
            changed.append(as_changed(meeting, version=version, updated_at=present))
            outcome.updated.append(meeting.id)
    if plan.lost:
        await sync.delete_each(session, SyncOccurrence, plan.lost)
    removed = [each for each in plan.without if not (each.overridden and plan.keeps_worked_on)]
    for each in plan.without:
        if each.overridden and plan.keeps_worked_on:
            meeting_id = each.meeting_id or ""
            shown_by = plan.owner if each.cancelled_at is None else each.shown_by
            known = as_changed(each, cancelled_at=each.cancelled_at or present, shown_by=shown_by, pending_end=None)
            if meeting_id in plan.private and (there := plan.meetings.get(meeting_id)) is not None:
                known = as_changed(known, participants=[], conference_url=None, deal_candidates=[])
                bare = with_copies(Activity, unspoken(there.details, each.overridden))
                changed.append(as_changed(there, **bare, version=there.version + 1, updated_at=present))
                outcome.updated.append(meeting_id)
            synced.append(known)
    if new:
        await session.insert(*new)
    if changed:
        await session.update_each(changed, *ACTIVITY)
    await _write_known(session, plan, synced)
    await _write_occurrences(session, plan)
    if removed:
        outcome.removed = [each.meeting_id for each in removed if each.meeting_id is not None]
        await sync.delete_meetings(session, outcome.removed)
    return outcome


async def _write_known(session: TenantSession, plan: Plan, synced: list[SyncedMeeting]) -> None:
    fresh = [each for each in synced if each.id not in plan.before]
    other = [each for each in synced if each.id in plan.before and plan.before[each.id] != each]
    if fresh:
        await session.insert(*fresh)
    if other:
        await session.update_each(other, *KNOWN)


async def _write_occurrences(session: TenantSession, plan: Plan) -> None:
    fresh = [each for each in plan.occurrences if each.id not in plan.known_occurrences]
    other = [each for each in plan.occurrences if each.id in plan.known_occurrences]
    if fresh:
        await session.insert(*fresh)
    if other:
        await session.update_each(other, *_OCCURRENCE)


def _settled(
    session: TenantSession,
    plan: Plan,
    known: SyncedMeeting,
    wanted: Wanted,
    match: Match,
    there: Activity | None,
    present: datetime,
) -> tuple[Activity, SyncedMeeting]:
    """The meeting and what is known of it, as they are to be; only links that are empty are filled."""
    held = None if there is None else there.completed_at
    details: JsonDict | None = None if there is None else there.details
    fields = written(wanted, details, known.overridden, held, present)
    if there is None:
        fields |= {"contact_id": match.contact_id, "account_id": match.account_id, "deal_id": match.deal_id}
        meeting = new_row(
            Activity,
            org_id=session.org_id,
            id=known.meeting_id or "",
            type="meeting",
            source=plan.source.value,
            owner_id=plan.owner,
            **fields,
        )
    else:
        fields |= _links(there, match, known)
        owner = plan.owners.get(there.id, there.owner_id)
        meeting = as_changed(there, **with_copies(Activity, {**fields, "owner_id": owner}))
    open_end = fields.get("completed_at", held) is None and SyncedField.COMPLETED_AT not in known.overridden
    known = as_changed(
        known,
        all_day=wanted.all_day,
        time_zone=wanted.time_zone,
        conference_url=wanted.conference_url,
        cancelled_at=None,
        shown_by=None,
        pending_end=wanted.ends_at if open_end else None,
        participants=wanted.participants,
        deal_candidates=list(match.candidates) if meeting.deal_id is None else [],
    )
    return meeting, known


def _links(there: Activity, match: Match, known: SyncedMeeting) -> JsonDict:
    found: JsonDict = {}
    for name, value in (("contact_id", match.contact_id), ("account_id", match.account_id)):
        if getattr(there, name) is None and value is not None and FIELDS[name] not in known.overridden:
            found[name] = value
    fits = there.account_id in (None, match.account_id)
    if there.deal_id is None and match.deal_id is not None and fits and SyncedField.DEAL not in known.overridden:
        found["deal_id"] = match.deal_id
    return found
