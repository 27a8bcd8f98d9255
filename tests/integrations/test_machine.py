"""Calendars that change, members who edit, providers that fail and workers that are killed, in any order.

Whatever happened: once all is read, the meetings are those of the calendars by the rules, with what members made their
own; each is there once, and one that is shown all the time stays the same one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from unittest.mock import patch

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple, rule

from jobs.sync import lifecycle
from tests.support.calendars import INSIDE, LASTS, OUTSIDE, Copy, Event, Key, Schedule, Series, put
from tests.support.consents import connected
from tests.support.feeds import at, by_address, work
from tests.support.gateway import Gateway, open_gateway
from tests.support.google import CLIENT_ID, CLIENT_SECRET, Account, Fault, Google, google_server
from tests.support.machines import own_database, run_machine
from tests.support.tenants import Tenant, new_tenant
from tests.support.web import Asked, Reply, Web, open_web

T = TypeVar("T")
EVENTS, PATH = "/events", "/calendar.ics"
MEETINGS = """{ meetings(first: 500) { nodes { id subject dueAt completedAt ownerId participants { email }
  sync { uid recurrenceId cancelledAt overriddenFields sources { integrationId } } } } }"""
ERRORS = "userErrors { code message }"
EDIT = f"mutation($id: ID!, $i: MeetingUpdateInput!) {{ meetingUpdate(id: $id, input: $i) {{ {ERRORS} }} }}"
DELETE = f"mutation($id: ID!) {{ meetingDelete(id: $id) {{ deletedId {ERRORS} }} }}"
RELEASE = f"mutation($id: ID!) {{ meetingSyncRelease(id: $id) {{ {ERRORS} }} }}"
OWNERS = {"first": "member", "second": "admin", "feed": "member"}
"""The calendars, by name, with their owners' roles. Two are at Google, the third is a feed."""
CALENDARS = tuple(OWNERS)
NAMES = st.sampled_from(CALENDARS)
WHICH = st.integers(0, 59)
"""Which of the meetings that are there, however many: what is drawn is never of the database, which a run that is
slower, or was killed at another moment, leaves in another state; Hypothesis takes that for another machine."""
_IS_WORKING: ContextVar[bool] = ContextVar("is_working", default=False)
"""In what the worker does, and nothing else."""


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


_CUT = b'{"items": [{"id": "event1", "status'
_AGAIN = _json({"items": [], "nextPageToken": "CPpage-0"})
FAULTS: dict[str, list[Fault]] = {
    "limited": [Fault(EVENTS, 429, headers={"Retry-After": "60"})],
    "away": [Fault(EVENTS, 503)],
    "broken": [Fault(EVENTS, 500)],
    "away at the second page": [Fault(EVENTS, 503, skips=1)],
    "cut off once": [Fault(EVENTS, 200, _CUT)],
    "cut off": [Fault(EVENTS, 200, _CUT)] * 3,
    "forgotten": [Fault(EVENTS, 410, _json({"error": {"code": 410, "errors": [{"reason": "fullSyncRequired"}]}}))],
    "page comes again": [Fault(EVENTS, 200, _AGAIN)] * 2,
    "no end": [Fault(EVENTS, 200, _json({"items": []}))],
    "empty": [Fault(EVENTS, 200, _json({"items": [], "nextSyncToken": "CPsync-0"}))],
    "token ends": [Fault(EVENTS, 401)],
}
_CALENDAR = {"Content-Type": "text/calendar"}
BAD: dict[str, list[Reply]] = {
    "limited": [Reply(b"", 429, {"Retry-After": "60"})],
    "away": [Reply(b"", 503, {})],
    "broken": [Reply(b"", 500, {})],
    "cut off": [Reply(b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a", 200, _CALENDAR)],
    "no end": [Reply(b"<html>Sign in</html>")],
    "forgotten": [Reply(b"", 404, {})],
    "empty": [Reply(b"BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n", 200, _CALENDAR)],
}
PASSING = frozenset({"limited", "cut off once", "forgotten", "token ends"})
"""Faults that no breaker counts, or not to its end."""


class Killed(BaseException):
    """The worker is there no more."""


@dataclass
class Seen:
    """A meeting as a client sees it."""

    id: str
    subject: str
    owner: str | None
    due_at: datetime
    completed_at: datetime | None
    people: set[str]
    sources: set[str]
    is_cancelled: bool
    overridden: set[str]


@dataclass
class Own:
    """What a member made of a meeting."""

    fields: dict[str, Any] = field(default_factory=dict)
    is_removed: bool = False


class Calendars(RuleBasedStateMachine):
    """One organization with two members, their three calendars, and what is done to all of it."""

    gateway: Gateway
    google: Google
    web: Web
    runner: asyncio.Runner

    events: Bundle[list[Event]] = Bundle("events")

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @initialize(target=events)
    def begin(self) -> Any:
        self.one: Tenant = self.run(new_tenant(self.gateway))
        self.schedule, self.own = Schedule(), dict[Key, Own]()
        self.accounts: dict[str, Account] = {}
        self.connections: dict[str, str] = {}
        self.doubtful, self.failures, self.edits = set[str](), 0, 0
        self.replies: list[Reply] = []
        self.web.replies[PATH] = self.answer
        for name in ("first", "second"):
            self.accounts[name] = self.google.account()
            connecting = connected(self.one, self.google, self.accounts[name], OWNERS[name])
            self.connections[name] = self.run(connecting)
        self.connections["feed"] = self.run(by_address(self.one, self.web.url + PATH))
        self.run(work(self.one))
        everywhere = self.changed(self.schedule.add(at(2), (OUTSIDE,), CALENDARS))
        weekly = self.changed(self.schedule.add(at(-1), (OUTSIDE,), ("first", "feed"), 3))
        shared = self.changed(self.schedule.add(at(4), (OUTSIDE,), ("first", "second")))
        self.synchronise("first")
        return multiple(everywhere, weekly, shared)

    def answer(self, asked: Asked) -> Reply:
        """The feed: what it says instead first, if there is anything."""
        if self.replies:
            return self.replies.pop(0)
        return Reply(self.schedule.text("feed").encode(), 200, _CALENDAR)

    def changed(self, events: list[Event]) -> list[Event]:
        for name, account in self.accounts.items():
            put(self.google, account, name, *events)
        return events

    @rule(
        target=events,
        days=st.integers(-4, 20),
        calendars=st.sets(st.sampled_from(CALENDARS), min_size=1),
        is_outside=st.sampled_from([True, True, True, False]),
        count=st.sampled_from([1, 1, 2, 4]),
    )
    def create(self, days: int, calendars: set[str], is_outside: bool, count: int) -> list[Event]:
        guests = (OUTSIDE,) if is_outside else (INSIDE,)
        hour = self.schedule.number % 12
        return self.changed(self.schedule.add(at(days, hour), guests, sorted(calendars), count))

    @rule(events=events, which=st.integers(0, 3), days=st.integers(-3, 9))
    def move(self, events: list[Event], which: int, days: int) -> None:
        event = events[which % len(events)]
        event.start += timedelta(days=days, minutes=15)
        self.changed([event])

    @rule(events=events, which=st.none() | st.integers(0, 3))
    def rename(self, events: list[Event], which: int | None) -> None:
        self.edits += 1
        chosen = events if which is None else [events[which % len(events)]]
        for event in chosen:
            event.subject = f"{event.uid} renamed {self.edits}"
        self.changed(chosen)

    @rule(events=events, is_outside=st.booleans())
    def invite(self, events: list[Event], is_outside: bool) -> None:
        events[0].guests = (OUTSIDE, INSIDE) if is_outside else (INSIDE,)
        self.changed(events[:1])

    @rule(events=events, which=st.integers(0, 3), name=NAMES, copy=st.builds(Copy, *[st.booleans()] * 3))
    def change_in_one(self, events: list[Event], which: int, name: str, copy: Copy) -> None:
        """It is cancelled, comes back, is private or declined in one calendar alone."""
        event = events[which % len(events)]
        if name in event.copies and event in self.schedule.of(event.uid):
            copy.declined = copy.declined and name != "feed"  # which does not say so
            event.copies[name] = copy
            self.changed([event])

    @rule(events=events)
    def cancel(self, events: list[Event]) -> None:
        for event in events:
            event.copies = {name: Copy(is_there=False) for name in event.copies}
        self.changed(events)

    @rule(target=events, events=events, hours=st.sampled_from([1, 24]), left=st.integers(1, 3))
    def change_series(self, events: list[Event], hours: int, left: int) -> list[Event]:
        """The series is at another time from now on, and is as long as that: its occurrences are others."""
        uid = events[0].uid
        series = self.schedule.series.get(uid)
        if series is None:
            return events
        before = self.schedule.of(uid)
        calendars = sorted({name for event in before for name in event.copies})
        self.cancel(before)
        self.schedule.series.pop(uid)
        first = series.first + timedelta(hours=hours)
        while any(event.first == first for event in self.schedule.events if event.uid == uid):
            first += timedelta(hours=1)
        return self.changed(self.schedule.begin(uid, Series(first, left, series.subject, series.guests), calendars))

    def meetings(self) -> dict[Key, Seen]:
        """All meetings, none of which is there twice."""
        found: dict[Key, Seen] = {}
        for each in self.run(self.one.ask(MEETINGS))["nodes"]:
            told = each["sync"]
            key = told["uid"], told["recurrenceId"] or ""
            assert key not in found, f"{key} is there twice"
            found[key] = Seen(
                each["id"],
                each["subject"],
                each["ownerId"],
                datetime.fromisoformat(each["dueAt"]),
                None if each["completedAt"] is None else datetime.fromisoformat(each["completedAt"]),
                {person["email"] for person in each["participants"]},
                {source["integrationId"] for source in told["sources"]},
                told["cancelledAt"] is not None,
                set(told["overriddenFields"]),
            )
        return found

    @rule(which=WHICH, days=st.none() | st.integers(1, 5))
    def edit(self, which: int, days: int | None) -> None:
        """A member changes the title of a meeting, or when it is. Who says what is there has changed nothing.

        That is decision 20: so it is, too, where a field was given back and the calendar was not read since.
        """
        if found := self.meetings():
            key = sorted(found)[which % len(found)]
            self.edits += 1
            wanted: dict[str, Any] = {"subject": f"Mine {self.edits}"} if days is None else {"dueAt": at(days, 20)}
            is_change = "dueAt" not in wanted or wanted["dueAt"] != found[key].due_at
            told = {name: v.isoformat() if isinstance(v, datetime) else v for name, v in wanted.items()}
            assert self.run(self.one.ask(EDIT, id=found[key].id, i=told))["userErrors"] == []
            if is_change:
                self.own.setdefault(key, Own()).fields |= wanted

    @rule(which=WHICH)
    def delete(self, which: int) -> None:
        if found := self.meetings():
            key = sorted(found)[which % len(found)]
            assert self.run(self.one.ask(DELETE, id=found[key].id))["userErrors"] == []
            self.own[key] = Own(is_removed=True)

    @rule(which=WHICH)
    def release(self, which: int) -> None:
        """A member gives all fields of a meeting back, which is still to be."""
        if found := sorted(key for key, each in self.meetings().items() if each.overridden and not each.is_cancelled):
            key = found[which % len(found)]
            assert self.run(self.one.ask(RELEASE, id=self.meetings()[key].id))["userErrors"] == []
            self.own.pop(key)

    @rule(name=NAMES, is_full=st.booleans())
    def read(self, name: str, is_full: bool) -> None:
        self.look(name, is_full=is_full)

    @rule(name=NAMES, fault=st.sampled_from(sorted(FAULTS)), is_full=st.booleans())
    def read_on_a_bad_day(self, name: str, fault: str, is_full: bool) -> None:
        self.look(name, fault, is_full=is_full)

    @rule(name=NAMES, killed_at=st.integers(1, 14), is_full=st.booleans())
    def read_and_die(self, name: str, killed_at: int, is_full: bool) -> None:
        self.look(name, None, killed_at, is_full=is_full)

    @rule(name=NAMES, fault=st.sampled_from(sorted(FAULTS)), killed_at=st.integers(1, 14))
    def read_and_die_on_a_bad_day(self, name: str, fault: str, killed_at: int) -> None:
        self.look(name, fault, killed_at)

    def look(self, name: str, fault: str | None = None, killed_at: int | None = None, *, is_full: bool = False) -> None:
        """A calendar is read, as far as the provider and the worker come."""
        if fault == "empty" and name in self.doubtful:  # two that agree are believed
            fault = None
        if fault not in PASSING and fault is not None and name != "feed":
            if self.failures == 3:  # the breaker would open
                return
            self.failures += 1
        before = self.meetings()
        if fault is not None and name == "feed":
            self.replies = list(BAD.get(fault, ()))
        elif fault is not None:
            self.google.faults = [
                Fault(each.path, each.status, each.body, each.headers, each.skips) for each in FAULTS[fault]
            ]
        self.ask(name, is_full=is_full)
        with suppress(Killed), ExitStack() as stack:
            if killed_at is not None:
                stack.enter_context(self.killed(killed_at))
            self.run(self.working())
        self.google.faults, self.replies = [], []
        self.doubtful = self.doubtful | {name} if fault == "empty" else self.doubtful
        if fault is None and killed_at is None:
            self.doubtful.discard(name)
            self.failures = 0 if name != "feed" else self.failures
        self.is_kept(before)

    def synchronise(self, name: str, *, is_full: bool = False) -> None:
        self.ask(name, is_full=is_full)
        self.run(self.working())

    async def working(self) -> None:
        """What is due is done."""
        told = _IS_WORKING.set(True)
        try:
            await work(self.one, anyway=True)
        finally:
            _IS_WORKING.reset(told)

    def ask(self, name: str, *, is_full: bool = False) -> None:
        path, headers = f"/integrations/{self.connections[name]}/sync", self.one.headers(OWNERS[name])
        body = {"full": True} if is_full else {}
        answer = self.run(self.gateway.rest("POST", path, headers, body))
        assert answer.status_code == 202, answer.text

    def killed(self, at: int) -> Any:
        """From this commit on nothing of the worker reaches the database.

        What others read and write meanwhile does not count: how much that is, time decides.
        """
        database, left = self.gateway.world.database, [at]
        end = database.end

        async def ended(taken: Any, organization: str | None, *, commit: bool) -> None:
            left[0] -= commit and _IS_WORKING.get()
            if left[0] > 0 or not commit or not _IS_WORKING.get():
                await end(taken, organization, commit=commit)
                return
            await end(taken, organization, commit=False)
            raise Killed

        return patch.object(database, "end", ended)

    def expected(self, event: Event) -> dict[str, set[str]]:
        owners = {name: account.email for name, account in self.accounts.items()} | {"feed": None}
        return {self.connections[name]: people for name, people in event.shown_by(owners).items()}

    def is_kept(self, before: dict[Key, Seen]) -> None:
        """What a calendar shows that showed it before is the meeting that it was."""
        after = self.meetings()
        for event in self.schedule.events:
            there = before.get(event.key)
            if there is not None and there.sources & self.expected(event).keys():
                assert event.key in after, f"{event} is lost"
                assert after[event.key].id == there.id, f"{event} is another one"

    def teardown(self) -> None:
        if not hasattr(self, "one"):
            return
        for _ in range(2):  # a large removal is confirmed by a second pass
            for name in CALENDARS:
                self.synchronise(name)
        at_rest = self.is_as_the_calendars_say()
        for name in CALENDARS:
            self.synchronise(name, is_full=True)
        assert self.is_as_the_calendars_say() == at_rest

    def is_as_the_calendars_say(self) -> dict[Key, Seen]:
        found = self.meetings()
        wanted: set[Key] = set()
        for event in self.schedule.events:
            shown, own = self.expected(event), self.own.get(event.key, Own())
            if own.is_removed or not (shown or own.fields):
                continue
            wanted.add(event.key)
            assert event.key in found, f"{event} is lost"
            meeting = found[event.key]
            assert (meeting.sources, meeting.is_cancelled) == (set(shown), not shown), event
            assert meeting.overridden == {{"dueAt": "DUE_AT"}.get(each, each.upper()) for each in own.fields}, event
            assert meeting.subject == own.fields.get("subject", meeting.subject if not shown else event.subject), event
            assert meeting.due_at == own.fields.get("dueAt", meeting.due_at if not shown else event.start), event
            if shown and not own.fields:
                owners = {self.one.subject(OWNERS[name]) for name, mine in self.connections.items() if mine in shown}
                assert meeting.owner in owners, event
            if shown:
                assert meeting.people == set().union(*shown.values()), event
                ends = event.start + LASTS
                assert meeting.completed_at == (ends if ends <= datetime.now(UTC) else None), event
        assert set(found) == wanted
        return found


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def machine_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from own_database("calendars", request, tmp_path_factory)


@pytest.fixture(scope="module")
def machine(machine_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Calendars]]:
    """The machine over an application and providers of its own: what it does is no coroutine."""
    # What is to be tried again is so by the next reading, and not by this one where it takes longer than two seconds.
    with asyncio.Runner() as runner, google_server() as google, patch.object(lifecycle, "_FIRST_WAIT", 600.0):
        google.page, google.rotates = 2, False  # a token that is rotated as the worker dies is lost (decision 575)
        opened = open_gateway(
            machine_url,
            tmp_path_factory.mktemp("machine") / "data",
            google_client_id=CLIENT_ID,
            google_client_secret=CLIENT_SECRET,
            google_base_url=google.url,
            public_url="http://gateway",
        )
        gateway, served = runner.run(opened.__aenter__()), open_web({})
        web = runner.run(served.__aenter__())
        try:
            yield type("Calendars", (Calendars,), {"gateway": gateway, "google": google, "web": web, "runner": runner})
        finally:
            runner.run(served.__aexit__(None, None, None))
            runner.run(opened.__aexit__(None, None, None))


def test_a_few_days_of_calendars(machine: type[Calendars]) -> None:
    run_machine(machine, 3, 12, is_random=False)


@pytest.mark.long
@pytest.mark.soak
def test_many_days_of_calendars(machine: type[Calendars]) -> None:
    run_machine(machine, 150, 40, is_random=True)
