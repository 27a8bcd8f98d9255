"""Decides what is kept of an event, and what a meeting becomes of the calendars that show it. No I/O."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from contract.integrations import (
    PARTICIPANTS_MAX,
    VISIBILITY_WIDTH,
    ParticipantResponse,
    SyncedField,
    SyncVisibility,
)
from jobs.sync.identity import address_key
from providers.accounts.ports import Guest, Said
from storage.base import JsonDict


def restricted(said: Said, visibility: SyncVisibility, known: Collection[str], *, wanted: bool = False) -> Said:
    """Keep what may be kept of an event. `known` are the addresses of contacts; `wanted` opens what is private."""
    if said.is_private and not wanted:
        return Said(is_private=True, is_cancelled=said.is_cancelled)
    if visibility is SyncVisibility.EVERYTHING:
        return said
    plain = Said(
        time_zone=said.time_zone,
        is_private=said.is_private,
        is_cancelled=said.is_cancelled,
        is_meeting=said.is_meeting,
        declined=said.declined,
        is_record=said.is_record,
    )
    if visibility is SyncVisibility.NOTHING:
        return plain
    return replace(
        plain,
        subject=said.subject,
        guests=tuple(guest for guest in said.guests if address_key(guest.email) in known),
    )


_TEXTS = ("subject", "text", "place", "conference_url", "url", "time_zone", "recording_url", "transcript")
_MARKS = ("is_private", "is_cancelled", "declined", "is_record")


def as_document(said: Said) -> JsonDict:
    """Write what was said as JSON, without what is usual."""
    plain: JsonDict = {name: value for name in _TEXTS if (value := getattr(said, name)) is not None}
    plain |= {name: True for name in _MARKS if getattr(said, name)}
    if not said.is_meeting:
        plain["is_meeting"] = False
    if said.guests:
        plain["guests"] = [[g.email, g.name, g.response.value, g.is_organizer] for g in said.guests]
    return plain


def from_document(kept: JsonDict) -> Said:
    """Read what was said from the JSON that was kept."""
    plain = {name: value for name, value in kept.items() if name != "guests"}
    guests = tuple(
        Guest(email, name, ParticipantResponse(response), organizes)
        for email, name, response, organizes in kept.get("guests", ())
    )
    return Said(**plain, guests=guests)


@dataclass(frozen=True, slots=True)
class Shown:
    """A meeting as one connection shows it: the oldest and widest of them says what the meeting is."""

    said: Said
    starts_at: datetime
    ends_at: datetime
    all_day: bool
    visibility: SyncVisibility
    own: frozenset[str]
    is_first: bool
    made_at: datetime


@dataclass(frozen=True, slots=True)
class Wanted:
    """The planned state of a meeting, before what members changed of it."""

    fields: JsonDict
    place: str | None
    participants: list[JsonDict]
    ends_at: datetime
    all_day: bool
    time_zone: str | None
    conference_url: str | None
    held: tuple[datetime, datetime]
    """When it was held, as far as anybody knows better than what was planned."""
    recording_url: str | None = None
    transcript: str | None = None


def merged(shown: Sequence[Shown]) -> Wanted:
    """The meeting of all that show it: the fields of the one that shows most, and everybody who takes part.

    A recording says when it was held, and has the times that were planned where nobody else has any (decision 980).
    """
    ordered = sorted(shown, key=_precedence)
    lead = ordered[0]
    planned = next((each for each in ordered if not each.said.is_record), lead)
    record = next((each for each in ordered if each.said.is_record), planned)
    minutes = max(0, round((planned.ends_at - planned.starts_at).total_seconds() / 60))
    fields: JsonDict = {
        "subject": lead.said.subject,
        "body": lead.said.text,
        "due_at": planned.starts_at,
        "duration_minutes": 1_440 * max(1, round(minutes / 1_440)) if planned.all_day else minutes,
    }
    return Wanted(
        fields,
        lead.said.place,
        _participants(ordered),
        planned.ends_at,
        planned.all_day,
        planned.said.time_zone,
        lead.said.conference_url,
        (record.starts_at, record.ends_at),
        next((each.said.recording_url for each in ordered if each.said.recording_url), None),
        next((each.said.transcript for each in ordered if each.said.transcript), None),
    )


def _precedence(shown: Shown) -> tuple[int, bool, bool, datetime]:
    """Who shows most comes first; of those a calendar, then who came first."""
    return -VISIBILITY_WIDTH[shown.visibility], shown.said.is_record, not shown.is_first, shown.made_at


def _participants(ordered: Sequence[Shown]) -> list[JsonDict]:
    """Everybody, each address once. On responses the organizer's calendar counts, else each owner's on their own."""
    organizers = {address_key(g.email) for each in ordered for g in each.said.guests if g.is_organizer}
    found: dict[str, JsonDict] = {}
    for each in ordered:
        for guest in each.said.guests:
            key = address_key(guest.email)
            there = found.get(key)
            if there is None:
                if len(found) < PARTICIPANTS_MAX:
                    found[key] = {
                        "name": guest.name,
                        "email": key,
                        "response": guest.response.value,
                        "organizer": guest.is_organizer,
                    }
                continue
            there["name"] = there["name"] or guest.name
            if each.own & organizers or key in each.own:
                there["response"] = guest.response.value
    return list(found.values())


FIELDS = {
    "subject": SyncedField.SUBJECT,
    "body": SyncedField.BODY,
    "due_at": SyncedField.DUE_AT,
    "duration_minutes": SyncedField.DURATION,
    "completed_at": SyncedField.COMPLETED_AT,
    "account_id": SyncedField.ACCOUNT,
    "deal_id": SyncedField.DEAL,
    "contact_id": SyncedField.CONTACT,
}
"""The columns of a meeting that synchronisation writes."""
DETAILS = {
    "location": SyncedField.LOCATION,
    "attendees": SyncedField.ATTENDEES,
    "recording_url": SyncedField.RECORDING_URL,
    "transcript": SyncedField.TRANSCRIPT,
}
"""The keys of its metadata that synchronisation writes."""


def overridden_by(changed: Collection[str], before: JsonDict | None, after: JsonDict | None) -> list[str]:
    """The fields that a member took over by changing these columns, and the metadata from the one to the other."""
    taken = {FIELDS[name].value for name in changed if name in FIELDS}
    if "details" in changed:
        was, now = before or {}, after or {}
        taken |= {field.value for key, field in DETAILS.items() if was.get(key) != now.get(key)}
    return sorted(taken)


def written(
    wanted: Wanted,
    details: JsonDict | None,
    overridden: Collection[str],
    completed_at: datetime | None,
    present: datetime,
) -> JsonDict:
    """The columns of the meeting that are the provider's to write, with their values."""
    fields = {name: value for name, value in wanted.fields.items() if FIELDS[name] not in overridden}
    kept = dict(details or {})
    kept["started_at"], kept["ended_at"] = (_text(each) for each in wanted.held)
    attendees = [{"name": each["name"], "email": each["email"]} for each in wanted.participants]
    said = {"location": wanted.place, "attendees": attendees or None}
    said |= {"recording_url": wanted.recording_url, "transcript": wanted.transcript}
    for key, value in said.items():
        if DETAILS[key] in overridden:
            continue
        kept.pop(key, None)
        if value is not None:
            kept[key] = value
    fields["details"] = kept
    if SyncedField.COMPLETED_AT not in overridden:
        is_held = wanted.ends_at <= present
        fields["completed_at"] = (completed_at or wanted.ends_at) if is_held else None
        if is_held and completed_at is not None and completed_at != wanted.ends_at:
            fields["completed_at"] = wanted.ends_at
    return fields


def unspoken(details: JsonDict | None, overridden: Collection[str]) -> JsonDict:
    """The columns of a meeting that was marked private, without the words of the provider; members' own stay."""
    blank: JsonDict = {name: None for name in ("subject", "body") if FIELDS[name] not in overridden}
    kept = {key: value for key, value in (details or {}).items() if key not in DETAILS or DETAILS[key] in overridden}
    return {**blank, "details": kept}


def said_less(
    details: JsonDict | None, overridden: Collection[str], visibility: SyncVisibility, people: Sequence[JsonDict]
) -> JsonDict:
    """The columns of a meeting that no calendar shows, with no more words of the provider than this; members' own stay.

    `people` are those who may be named.
    """
    if visibility is SyncVisibility.EVERYTHING:
        return {}
    bare = unspoken(details, overridden)
    if visibility is SyncVisibility.NOTHING:
        return bare
    bare.pop("subject", None)
    if people and "attendees" in (details or {}) and DETAILS["attendees"] not in overridden:
        attendees = [{"name": each["name"], "email": each["email"]} for each in people]
        bare["details"] = {**bare["details"], "attendees": attendees}
    return bare


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
