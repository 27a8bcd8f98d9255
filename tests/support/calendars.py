"""One schedule in several calendars, at Google and as a feed; and what is to become of it here, by the rules alone.

An event has the same words and times in all calendars that have it, as an invitation does. Whether it is there, private
or declined is each calendar's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.support import feeds, google
from tests.support.feeds import stamp
from tests.support.google import Account, Google

Key = tuple[str, str]
LASTS = timedelta(hours=1)
OUTSIDE, INSIDE = "bob@out.example", "colleague@example.com"


@dataclass
class Copy:
    """An event in one calendar."""

    is_there: bool = True
    is_private: bool = False
    declined: bool = False


@dataclass
class Event:
    """An event, or an occurrence of a series, which was to start at `first` then."""

    uid: str
    start: datetime
    subject: str
    guests: tuple[str, ...]
    copies: dict[str, Copy]
    first: datetime | None = None

    @property
    def key(self) -> Key:
        """What it is known by here."""
        return f"{self.uid}@google.com", "" if self.first is None else f"{self.first:%Y-%m-%dT%H:%M:%SZ}"

    @property
    def id(self) -> str:
        """What Google calls it."""
        return self.uid if self.first is None else f"{self.uid}_{stamp(self.first)}"

    def shown_by(self, owners: dict[str, str | None]) -> dict[str, set[str]]:
        """The calendars in which it is a meeting, with who takes part by each. `owners` are their owners' addresses."""
        found = {}
        for name, copy in self.copies.items():
            if copy.is_there and not copy.is_private and not copy.declined and OUTSIDE in self.guests:
                found[name] = {*self.guests, owners[name]} - {None}
        return found


@dataclass
class Series:
    """What the text of a feed says of a series: when it begins, and what its occurrences are like unless changed."""

    first: datetime
    count: int
    subject: str
    guests: tuple[str, ...]


@dataclass
class Schedule:
    """All events that ever were, and the series of which some are."""

    events: list[Event] = field(default_factory=list)
    series: dict[str, Series] = field(default_factory=dict)
    number: int = 0

    def add(self, start: datetime, guests: tuple[str, ...], calendars: Iterable[str], count: int = 1) -> list[Event]:
        """A new event, or a weekly series; the events."""
        self.number += 1
        uid, subject = f"event{self.number}", f"Event {self.number}"
        if count > 1:
            return self.begin(uid, Series(start, count, subject, guests), calendars)
        made = Event(uid, start, subject, guests, {name: Copy() for name in calendars})
        self.events.append(made)
        return [made]

    def begin(self, uid: str, series: Series, calendars: Iterable[str]) -> list[Event]:
        """The occurrences of a series, in place of those that it had."""
        self.series[uid] = series
        firsts = [series.first + timedelta(weeks=number) for number in range(series.count)]
        made = [Event(uid, at, series.subject, series.guests, {n: Copy() for n in calendars}, at) for at in firsts]
        self.events += made
        return made

    def of(self, uid: str) -> list[Event]:
        """The event, or the occurrences that the series has now."""
        series = self.series.get(uid)
        found = [event for event in self.events if event.uid == uid]
        if series is None:
            return found
        firsts = {series.first + timedelta(weeks=number) for number in range(series.count)}
        return [event for event in found if event.first in firsts]

    def text(self, name: str) -> str:
        """The feed with this name."""
        parts: list[str] = []
        for event in self.events:
            if event.first is None and event.copies.get(name, Copy(is_there=False)).is_there:
                parts.append(_component(event, event.copies[name]))
        for uid, series in self.series.items():
            shown = [event for event in self.of(uid) if name in event.copies]
            if not any(event.copies[name].is_there for event in shown):
                continue
            gone = (f"EXDATE:{stamp(e.first)}" for e in shown if e.first and not e.copies[name].is_there)
            usual = Event(uid, series.first, series.subject, series.guests, {})
            parts.append(_component(usual, Copy(), f"RRULE:FREQ=WEEKLY;COUNT={series.count}", *gone))
            for event in shown:
                told = _component(event, event.copies[name])
                if event.first and event.copies[name].is_there and told != _component(_at(usual, event.first), Copy()):
                    parts.append(_component(event, event.copies[name], f"RECURRENCE-ID:{stamp(event.first)}"))
        return feeds.feed(*parts)


def _at(usual: Event, start: datetime) -> Event:
    return Event(usual.uid, start, usual.subject, usual.guests, {})


def _component(event: Event, copy: Copy, *more: str) -> str:
    guests = [f"ATTENDEE:mailto:{each}" for each in event.guests]
    kind = ["CLASS:PRIVATE"] if copy.is_private else []
    uid = event.key[0]
    return feeds.event(uid, *guests, *kind, *more, start=event.start, subject=event.subject, guest="")


def put(provider: Google, account: Account, name: str, *events: Event) -> None:
    """Have the account's calendar show these as they are now."""
    for event in events:
        copy = event.copies.get(name)
        if copy is None:
            continue
        if not copy.is_there:
            provider.cancel(account, event.id)
            continue
        own = {"email": account.email, "self": True, "responseStatus": "declined" if copy.declined else "accepted"}
        guests: list[dict[str, Any] | str] = [own, *event.guests]
        more: dict[str, Any] = {"subject": event.subject, "visibility": "private" if copy.is_private else "default"}
        if event.first is None:
            provider.put(account, google.meeting(event.uid, event.start, *guests, **more))
        else:
            told = google.occurrence(event.uid, event.first, event.start, **more)
            provider.put(account, told | {"attendees": google.meeting("", event.start, *guests)["attendees"]})
