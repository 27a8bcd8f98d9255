"""The activities of one organization, one after the other: there may be millions."""

from collections.abc import Callable, Iterator
from datetime import datetime, time, timedelta

from contract.vocabulary import ActivitySource
from storage.base import JsonDict
from storage.seeding import words
from storage.seeding.generate import Reachable, Rows, moments
from storage.seeding.plan import Blueprint, Ids, Row
from storage.tables import Activity, ReminderWatch

ACTIVITY = (
    *("id", "type", "subject", "body", "due_at", "completed_at", "duration_minutes", "metadata"),
    *("account_id", "deal_id", "contact_id", "owner_id", "source", "direction", "created_at"),
)

# Cycles whose lengths have no common factor: every source meets every state and every way of being linked.
_S = ActivitySource
_SOURCES = (
    *(_S.MANUAL, _S.CALENDAR, _S.MANUAL, _S.ZOOM, _S.IMPORT, _S.MANUAL, _S.GMAIL, _S.CALENDAR),
    *(_S.OUTLOOK, _S.MANUAL, _S.SLACK, _S.CALENDAR, _S.ZOOM, _S.MANUAL, _S.CALENDAR),
)
_HELD, _HELD_UNDATED, _OVERDUE, _UNSCHEDULED, _AHEAD = range(5)
_STATES = (
    *(_HELD, _HELD, _AHEAD, _HELD, _OVERDUE, _HELD, _HELD, _UNSCHEDULED),
    *(_HELD, _HELD, _AHEAD, _HELD, _HELD_UNDATED, _HELD, _HELD, _HELD),
)
_ALL, _ACCOUNT_AND_CONTACT, _ACCOUNT, _CONTACT, _NOTHING = range(5)
_LINKS = (_ALL, _ALL, _ACCOUNT_AND_CONTACT, _ALL, _ACCOUNT, _ALL, _NOTHING, _ALL, _ACCOUNT_AND_CONTACT, _CONTACT, _ALL)
_DURATIONS = (30, 60, 45, None, 30, 15, 90)
_PROVIDERS = {
    _S.CALENDAR: "google_meet",
    _S.GMAIL: "google_meet",
    _S.OUTLOOK: "teams",
    _S.SLACK: "slack",
    _S.ZOOM: "zoom",
}
_FURTHEST = 120
_DAY = timedelta(days=1)


def activities(plan: Blueprint, reachable: Reachable) -> list[Rows]:
    """The meetings, and a few activities that are none; in the demo tasks and notes too."""
    count = plan.sizes.meetings
    rows = [
        _unchanged(ACTIVITY, _meetings(plan, reachable, count), "meetings"),
        _unchanged(ACTIVITY, _others(plan, reachable, -(-count // 50))),
    ]
    if plan.logged and reachable.deals:
        soon = plan.present + timedelta(minutes=5)
        rows.append(_unchanged((*ACTIVITY, "remind_at", "priority", "is_pinned"), _to_do(plan, reachable, soon)))
        rows.append(Rows(ReminderWatch, ("next_at",), [(soon,)]))
    return rows


def _unchanged(columns: tuple[str, ...], rows: Iterator[Row], unit: str = "") -> Rows:
    """Activities that were last changed when they were made."""
    made = columns.index("created_at")
    return Rows(Activity, (*columns, "updated_at"), ((*row, row[made]) for row in rows), unit)


def _to_do(plan: Blueprint, reachable: Reachable, soon: datetime) -> Iterator[Row]:
    """A task and a note on some of the deals: some tasks are late, some done, and the first has a reminder soon."""
    ids, owners = Ids(plan.key, "to do"), plan.owners
    for index, (deal, account) in enumerate(reachable.deals[:12]):
        due = plan.present + _DAY * (index - 4)
        done = due if index % 4 == 1 and due < plan.present else None
        links = (None if account is None else reachable.accounts[account][0], deal, None)
        owner, made = owners[index % len(owners)], plan.present - _DAY * 10
        after = (*links, owner, _S.MANUAL.value, None, made)
        reminder = soon if index == 5 else None
        priority = ("normal", "high", "low")[index % 3]
        yield (ids(2 * index), "task", "Send the offer", None, due, done, None, None, *after, reminder, priority, False)
        text = words.NOTES[index % len(words.NOTES)]
        pinned = index % 5 == 0
        yield (ids(2 * index + 1), "note", None, text, None, None, None, None, *after, None, "normal", pinned)


def _meetings(plan: Blueprint, reachable: Reachable, count: int) -> Iterator[Row]:
    random, ids, owners = plan.random("meeting"), Ids(plan.key, "meeting"), plan.owners
    draw, today = random.random, datetime.combine(plan.present.date(), time(), plan.present.tzinfo)
    for index, created in enumerate(moments(plan, count, random)):
        state, source = _STATES[index % len(_STATES)], _SOURCES[index % len(_SOURCES)]
        account, deal, contact = _links(reachable, _LINKS[index % len(_LINKS)], draw)
        owner = None if index % 17 == 16 else owners[int(draw() * len(owners))]
        minutes = _DURATIONS[index % len(_DURATIONS)]
        due, completed = _times(state, created, today, minutes or 30, draw)
        topic = words.TOPICS[int(draw() * len(words.TOPICS))]
        subject = None if index % 37 == 36 else topic if account is None else f"{topic} with {account[1]}"
        yield (
            *(ids(index), "meeting", subject),
            words.NOTES[int(draw() * len(words.NOTES))] if draw() < 0.25 else None,
            *(due, completed, minutes),
            _metadata(index, source, due, completed, minutes or 30, contact, owner),
            account and account[0],
            deal,
            contact and contact[0],
            *(owner, source.value, None, created),
        )


def _times(
    state: int, created: datetime, today: datetime, minutes: int, draw: Callable[[], float]
) -> tuple[datetime | None, datetime | None]:
    """`due_at` and `completed_at`: past ones end before today, so that they are past whatever the hour."""
    if state == _UNSCHEDULED:
        return None, None
    if state == _HELD_UNDATED:
        return None, created
    slot = timedelta(minutes=8 * 60 + 15 * int(draw() * 38))
    if state == _AHEAD:
        # Cubed: most of what is ahead is near.
        return _workday(today + _DAY * (1 + int(_FURTHEST * draw() ** 3)), 1) + slot, None
    midnight = created - timedelta(hours=created.hour, minutes=created.minute, seconds=created.second)
    day = min(midnight.replace(microsecond=0) + _DAY * int(1 + 14 * draw()), today - _DAY)
    due = _workday(day, -1) + slot
    return due, None if state == _OVERDUE else max(due + timedelta(minutes=minutes), created)


def _workday(day: datetime, step: int) -> datetime:
    """The day, or the next one in this direction that is no weekend."""
    while day.weekday() > 4:
        day += _DAY * step
    return day


def _links(reachable: Reachable, kind: int, draw: Callable[[], float]) -> tuple[Row | None, str | None, Row | None]:
    """The account, the deal and the contact; they belong together where there are such."""
    account, deal, contact = None, None, None
    if kind == _ALL and reachable.deals:
        deal, account = reachable.deals[int(draw() * len(reachable.deals))]
    if account is None and kind in (_ALL, _ACCOUNT, _ACCOUNT_AND_CONTACT) and reachable.accounts:
        account = int(draw() * len(reachable.accounts)) if deal is None else None
    if kind == _CONTACT and reachable.contacts:
        contact = reachable.contacts[int(draw() * len(reachable.contacts))]
    elif kind in (_ALL, _ACCOUNT_AND_CONTACT) and account is not None and reachable.people[account]:
        people = reachable.people[account]
        contact = reachable.contacts[people[int(draw() * len(people))]]
    return None if account is None else reachable.accounts[account], deal, contact


def _metadata(
    index: int,
    source: ActivitySource,
    due: datetime | None,
    completed: datetime | None,
    minutes: int,
    contact: Row | None,
    owner: str | None,
) -> JsonDict | None:
    """The five documented keys for a meeting logged by hand; a synced one also says when it began and ended."""
    if source is _S.IMPORT or index % 13 == 12:
        return None
    attendees = [] if contact is None else [{"name": contact[1], "email": contact[2]}]
    if source is _S.MANUAL:
        return {
            "transcript": f"{owner or 'Host'}: Thank you for your time." if completed else None,
            "recording_url": f"https://recordings.example/{index}" if completed and index % 2 else None,
            "attendees": attendees,
            "location": words.PLACES[index % len(words.PLACES)],
            "provider": None,
        }
    details: JsonDict = {"provider": _PROVIDERS[source], "attendees": attendees}
    if completed and due:
        details["started_at"] = _zulu(due)
        details["ended_at"] = _zulu(due + timedelta(minutes=minutes))
    return details


def _zulu(moment: datetime) -> str:
    return moment.isoformat()[:19] + "Z"


def _others(plan: Blueprint, reachable: Reachable, count: int) -> Iterator[Row]:
    random, ids, owners = plan.random("activity"), Ids(plan.key, "activity"), plan.owners
    for index, created in enumerate(moments(plan, count, random)):
        kind, direction = ("email", "call")[index % 2], ("outbound", "inbound")[index // 2 % 2]
        account, deal, contact = _links(reachable, _LINKS[index % len(_LINKS)], random.random)
        subject = "Follow-up" if kind == "email" else "Phone call"
        yield (
            *(ids(index), kind, subject, None, created, created, None, None),
            *(account and account[0], deal, contact and contact[0]),
            *(random.choice(owners), _S.MANUAL.value, direction, created),
        )
