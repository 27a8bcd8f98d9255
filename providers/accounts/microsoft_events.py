"""One event of an Outlook calendar, as Microsoft Graph shows it: who, when, where, and what is said of it.

A view of a calendar shows a series by its occurrences, most of which have nothing but their times, and by its master,
which has the rest. So a series is one item here, with what its master says and the occurrences that there are
(decision 920).
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from importlib import import_module
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from contract.integrations import OCCURRENCES_MAX, PLACE_KEPT, SUBJECT_KEPT, TEXT_KEPT, ParticipantResponse
from contract.web_address import is_web_address
from providers.accounts.calls import Json
from providers.accounts.ical_events import YEARS, joining, plain
from providers.accounts.ports import Gone, Guest, Occurrence, Said, Seen
from providers.accounts.recurrence import as_midnight, moment
from providers.accounts.shown import People, changed, identifier_of, objects, text_of, within

_AWAY = ("oof", "workingElsewhere")
_RESPONSES = {
    "accepted": ParticipantResponse.ACCEPTED,
    "organizer": ParticipantResponse.ACCEPTED,
    "declined": ParticipantResponse.DECLINED,
    "tentativelyAccepted": ParticipantResponse.TENTATIVE,
}
_ALONE = ("occurrence", "exception")  # no sets: what is told of a field may be anything, also an object
MASTER = "seriesMaster"


class _Unreadable(Exception):
    """The event cannot be understood; the words say why."""


def zone_of(name: object) -> tzinfo | None:
    """The zone of a Windows name, or one of the IANA database; None for one that nobody knows."""
    if not isinstance(name, str) or not name:
        return None
    if name.upper() in ("UTC", "GMT"):
        return UTC
    # Zones are looked for in files, and whoever invites chooses the name: it may be a folder's, or too long for one.
    if " " not in name:  # which none of the database's names has
        with suppress(ZoneInfoNotFoundError, ValueError, OSError):
            return ZoneInfo(name)
    with suppress(ValueError, OSError):
        found: object = import_module("icalendar.timezone").tzp.timezone(name)  # loaded when it is first needed
        return found if isinstance(found, ZoneInfo) else None
    return None


@dataclass(slots=True)
class Series:
    """A series as a round of changes shows it: its master, if it does, and those of its occurrences that it has."""

    id: str
    master: Json | None = None
    occurrences: dict[str, Json] | None = None

    def add(self, event: Json) -> None:
        """Add an occurrence; one that comes again is as it came last."""
        there = self.occurrences = {} if self.occurrences is None else self.occurrences
        there[str(event.get("id"))] = event


def series_id(event: Json) -> str | None:
    """The series that the event belongs to, or is; None for a single one."""
    if event.get("type") == MASTER:
        return identifier_of(event.get("id"))
    return identifier_of(event.get("seriesMasterId")) if event.get("type") in _ALONE else None


def change_of(event: Json) -> Seen | Gone | None:
    """Read a single event; None for what has no identifier, and so can never be found again."""
    identifier = identifier_of(event.get("id"))
    if identifier is None:
        return None
    if "@removed" in event:
        return Gone(identifier)
    changed_at = changed(event.get("lastModifiedDateTime"))
    seen = Seen(identifier, _uid(event, identifier), _said(event), changed_at=changed_at)
    try:
        occurrence = _occurrence(event, event)
    except _Unreadable as error:
        return replace(seen, problem="unreadable", note=f"{error}.")
    return replace(seen, occurrences=(occurrence,), starts_at=occurrence.starts_at)


def series_of(identifier: str, master: Json, events: Iterable[Json]) -> Seen:
    """Read a series with its occurrences: what these say otherwise than their master is theirs alone."""
    said = _said(master)
    seen = Seen(identifier, _uid(master, identifier), said, is_recurring=True)
    found: dict[str, Occurrence] = {}
    for event in events:
        own = _said(event) if event.get("type") == "exception" and "subject" in event else None
        try:
            occurrence = _occurrence(event, master, of_series=True)
        except _Unreadable as error:
            seen = replace(seen, note=f"{error}, of an occurrence that is left out.")
            continue
        found[occurrence.recurrence] = replace(occurrence, said=None if own == said else own)
    if seen.note is not None and not found:
        return replace(seen, problem="unreadable")
    ordered = sorted(found.values(), key=lambda each: each.starts_at)
    starts_at = ordered[0].starts_at if ordered else None
    if len(ordered) > OCCURRENCES_MAX:
        note = f"The series has over {OCCURRENCES_MAX} occurrences in the days that are followed."
        return replace(seen, problem="too_many", note=note, starts_at=starts_at)
    return replace(seen, occurrences=tuple(ordered), starts_at=starts_at)


def _uid(event: Json, identifier: str) -> str:
    return identifier_of(event.get("iCalUId")) or identifier


def _occurrence(event: Json, master: Json, *, of_series: bool = False) -> Occurrence:
    """The time of an event; a bare occurrence has of its master whether it is a day, and in which zone."""
    is_day = _either(event, master, "isAllDay") is True
    zone = zone_of(_either(event, master, "originalStartTimeZone")) or UTC
    starts = _time(event.get("start"), zone, is_day=is_day)
    ends = _time(event.get("end") or event.get("start"), zone, is_day=is_day)
    if is_day:
        ends = max(ends, starts + timedelta(hours=23))  # a day of the clocks' change has as many
    recurrence = ""
    if of_series:
        first = starts if event.get("originalStart") is None else _first(event["originalStart"], zone, is_day=is_day)
        recurrence = first.astimezone(zone).date().isoformat() if is_day else first.strftime("%Y-%m-%dT%H:%M:%SZ")
    return Occurrence(recurrence, starts, max(starts, ends), is_day)


def _either(event: Json, master: Json, name: str) -> object:
    return event[name] if event.get(name) is not None else master.get(name)


def _time(value: object, zone: tzinfo, *, is_day: bool) -> datetime:
    """The moment; of a day, its midnight in the event's zone. Raises _Unreadable."""
    told = value if isinstance(value, dict) else {}
    return _moment(told.get("dateTime"), zone_of(told.get("timeZone") or "UTC"), zone, is_day=is_day)


def _first(value: object, zone: tzinfo, *, is_day: bool) -> datetime:
    """The moment at which an occurrence was to start at first, which is told in UTC. Raises _Unreadable."""
    return _moment(value, UTC, zone, is_day=is_day)


def _moment(value: object, told: tzinfo | None, zone: tzinfo, *, is_day: bool) -> datetime:
    if told is None:
        raise _Unreadable("A time is of a zone that nobody knows")
    try:
        clock = datetime.fromisoformat(str(value))
        told = clock.tzinfo or told
        clock = clock.replace(tzinfo=None)
        # A day is told by its midnight, whatever the zone; one that was converted is not midnight any more.
        is_midnight = is_day and clock.time() == datetime.min.time()
        found = moment(as_midnight(_day(clock, told, zone, is_midnight=is_midnight)), zone) if is_day else None
        found = found or moment(clock, told).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _Unreadable("A time cannot be understood") from None
    if found.year not in YEARS:
        raise _Unreadable("A time lies before 1900 or after 2200")
    return found.replace(microsecond=0)


def _day(clock: datetime, told: tzinfo, zone: tzinfo, *, is_midnight: bool) -> date:
    return clock.date() if is_midnight else moment(clock, told).astimezone(zone).date()


def _said(event: Json) -> Said:
    text = text_of(within(event.get("body"), "content"), 4 * TEXT_KEPT)
    place = text_of(within(event.get("location"), "displayName"), PLACE_KEPT)
    url = text_of(event.get("webLink"), PLACE_KEPT)
    zone = zone_of(event.get("originalStartTimeZone"))
    guests = _guests(event)
    return Said(
        subject=text_of(event.get("subject"), SUBJECT_KEPT),
        text=None if text is None else plain(text)[:TEXT_KEPT] or None,
        place=place,
        conference_url=_conference(event) or joining(place, text),
        url=url if url and is_web_address(url) else None,
        time_zone=getattr(zone, "key", None),
        guests=guests,
        is_private=event.get("sensitivity") not in (None, "normal"),  # decision 921
        is_cancelled=event.get("isCancelled") is True,
        is_meeting=bool(guests) or event.get("showAs") not in _AWAY,
        declined=within(event.get("responseStatus"), "response") == "declined",
    )


def _conference(event: Json) -> str | None:
    for found in (within(event.get("onlineMeeting"), "joinUrl"), event.get("onlineMeetingUrl")):
        if isinstance(found, str) and len(found) <= PLACE_KEPT and is_web_address(found):
            return found
    return None


def _guests(event: Json) -> tuple[Guest, ...]:
    """Says who takes part, each address once, the organizer first; rooms and resources are nobody."""
    people = People()
    attendees = [each for each in objects(event.get("attendees")) if each.get("type") != "resource"]
    if attendees:
        _add(people, event.get("organizer"), ParticipantResponse.ACCEPTED, is_organizer=True)
    for each in attendees:
        told = str(within(each.get("status"), "response"))
        _add(people, each, _RESPONSES.get(told, ParticipantResponse.NO_RESPONSE), is_organizer=told == "organizer")
    return people.guests


def _add(people: People, person: object, response: ParticipantResponse, *, is_organizer: bool) -> None:
    address = within(person, "emailAddress")
    people.add(within(address, "address"), within(address, "name"), response, is_organizer=is_organizer)
