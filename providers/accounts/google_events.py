"""One event of a Google calendar, as its interface shows it: who, when, where, and what is said of it.

Series come as their single occurrences, each an event of its own with the series' iCalUID and the start that it had at
first (decision 574).
"""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from contract.integrations import PLACE_KEPT, SUBJECT_KEPT, TEXT_KEPT, ParticipantResponse
from contract.web_address import is_web_address
from providers.accounts.calls import Json
from providers.accounts.ical_events import YEARS, joining, plain
from providers.accounts.ports import Gone, Guest, Occurrence, Said, Seen
from providers.accounts.recurrence import as_midnight, moment
from providers.accounts.shown import People, changed, identifier_of, objects, text_of

_NO_MEETING = ("birthday", "focusTime", "outOfOffice", "workingLocation")
_RESPONSES = {
    "accepted": ParticipantResponse.ACCEPTED,
    "declined": ParticipantResponse.DECLINED,
    "tentative": ParticipantResponse.TENTATIVE,
}


class _Unreadable(Exception):
    """The event cannot be understood; the words say why."""


def zone_of(name: object) -> tzinfo:
    """The calendar's zone; UTC for one that nobody knows."""
    try:
        return ZoneInfo(name) if isinstance(name, str) else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def change_of(event: Json, zone: tzinfo) -> Seen | Gone | None:
    """Read the event; None for what has no identifier, and so can never be found again."""
    identifier = identifier_of(event.get("id"))
    if identifier is None:
        return None
    if event.get("status") == "cancelled":  # of one that was deleted nothing else need be there
        return Gone(identifier)
    uid = identifier_of(event.get("iCalUID")) or identifier
    said = _said(event)
    seen = Seen(
        identifier,
        uid,
        said,
        is_recurring=isinstance(event.get("recurringEventId"), str),
        sequence=_sequence(event.get("sequence")),
        changed_at=changed(event.get("updated")),
    )
    try:
        occurrence = _occurrence(event, zone)
    except _Unreadable as error:
        return replace(seen, problem="unreadable", note=f"{error}.")
    return replace(seen, occurrences=(occurrence,), starts_at=occurrence.starts_at)


def _occurrence(event: Json, zone: tzinfo) -> Occurrence:
    starts, is_day = _time(event.get("start"), zone)
    ends, _ = _time(event.get("end") or event.get("start"), zone)
    if is_day:
        ends = max(ends, starts + timedelta(hours=23))  # a day of the clocks' change has as many
    recurrence = ""
    if isinstance(event.get("recurringEventId"), str):
        first, was_day = _time(event.get("originalStartTime") or event.get("start"), zone)
        recurrence = first.astimezone(zone).date().isoformat() if was_day else first.strftime("%Y-%m-%dT%H:%M:%SZ")
    return Occurrence(recurrence, starts, max(starts, ends), is_day)


def _time(value: object, zone: tzinfo) -> tuple[datetime, bool]:
    """The moment, and whether it is a day's beginning. Raises _Unreadable."""
    told = value if isinstance(value, dict) else {}
    try:
        if isinstance(told.get("date"), str):
            day = date.fromisoformat(told["date"])
            found, is_day = moment(as_midnight(day), zone), True
        else:
            clock = datetime.fromisoformat(str(told.get("dateTime")))
            own = zone_of(told.get("timeZone")) if told.get("timeZone") else zone
            found = clock.astimezone(UTC) if clock.tzinfo else moment(clock, own)
            is_day = False
    except (ValueError, OverflowError):
        raise _Unreadable("A time cannot be understood") from None
    if found.year not in YEARS:
        raise _Unreadable("A time lies before 1900 or after 2200")
    return found.replace(microsecond=0), is_day


def _said(event: Json) -> Said:
    text = text_of(event.get("description"), 4 * TEXT_KEPT)
    place = text_of(event.get("location"), PLACE_KEPT)
    url = text_of(event.get("htmlLink"), PLACE_KEPT)
    start = event.get("start")
    zone = start.get("timeZone") if isinstance(start, dict) else None
    own = [each for each in objects(event.get("attendees")) if each.get("self") is True]
    return Said(
        subject=text_of(event.get("summary"), SUBJECT_KEPT),
        text=None if text is None else plain(text)[:TEXT_KEPT] or None,
        place=place,
        conference_url=_conference(event) or joining(place, text),
        url=url if url and is_web_address(url) else None,
        time_zone=zone if isinstance(zone, str) and zone_of(zone) is not UTC else None,
        guests=_guests(event),
        is_private=event.get("visibility") in ("private", "confidential"),
        is_meeting=event.get("eventType") not in _NO_MEETING,
        declined=any(each.get("responseStatus") == "declined" for each in own),
    )


def _conference(event: Json) -> str | None:
    data = event.get("conferenceData")
    entries = objects(data.get("entryPoints")) if isinstance(data, dict) else []
    videos = [each.get("uri") for each in entries if each.get("entryPointType") == "video"]
    for found in (*videos, event.get("hangoutLink")):
        if isinstance(found, str) and len(found) <= PLACE_KEPT and is_web_address(found):
            return found
    return None


def _guests(event: Json) -> tuple[Guest, ...]:
    """Says who takes part, each address once, the organizer first; rooms and resources are nobody."""
    people = People()
    organizer = event.get("organizer")
    attendees = [each for each in objects(event.get("attendees")) if each.get("resource") is not True]
    if isinstance(organizer, dict) and attendees:
        _add(people, organizer, ParticipantResponse.ACCEPTED, is_organizer=True)
    for each in attendees:
        response = _RESPONSES.get(str(each.get("responseStatus")), ParticipantResponse.NO_RESPONSE)
        _add(people, each, response, is_organizer=each.get("organizer") is True)
    return people.guests


def _add(people: People, person: Json, response: ParticipantResponse, *, is_organizer: bool) -> None:
    email = str(person.get("email", "")).strip()
    if not email.lower().endswith("@group.calendar.google.com"):  # a calendar that has events of its own is nobody
        people.add(email, person.get("displayName"), response, is_organizer=is_organizer)


def _sequence(value: object) -> int:
    return min(max(value, 0), 2**31 - 1) if isinstance(value, int) else 0
