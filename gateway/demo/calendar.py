"""The demo's calendar: of its administrator, relative to today, and changing by itself every minute.

The connection to it is read within the process, so that no setting has to allow loopback.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request
from starlette.responses import Response

from contract.demo import ADMIN, SALES
from contract.integrations import DEMO_POLL_SECONDS, IntegrationProvider
from jobs.sync import sources
from jobs.sync.sources import Secret
from providers.accounts.ical import LocalFeed
from resolvers.integration_feeds import connect as connect_feed
from storage.base import new_id, now
from storage.database import Database
from storage.new_rows import new_row
from storage.queries import sync
from storage.queries.demo_guest import guest_of
from storage.tables import Integration

PATH: Final = "/demo/calendar.ics"
NAME: Final = "demo-calendar"
_OWNER: Final = f"{ADMIN}@crm.example"
_COLLEAGUE: Final = "user_demo_member@crm.example"


async def connect(database: Database, pepper: bytes, organization: str, subject: str) -> None:
    """Connect the calendar for the administrator, unless it is connected already."""
    async with database.writing(organization) as session:
        await sync.lock(session)
        guest = await guest_of(session)
        secret = Secret(local=f"{NAME}?{urlencode({'guest': guest})}")
        integration_id = new_id()
        key = sources.account_key(pepper, Secret(local=NAME), integration_id)
        if await session.find(Integration, provider="ical", account_key=key, owner_id=subject) is not None:
            return
        integration = new_row(
            Integration,
            org_id=organization,
            id=integration_id,
            provider=IntegrationProvider.ICAL.value,
            owner_id=subject,
            name="Demo calendar",
            account_key=key,
            sealed=sources.sealed_secret(pepper, integration_id, secret),
            poll_seconds=DEMO_POLL_SECONDS,
        )
        await connect_feed(session, integration)


def endpoint(database: Database) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint that shows the calendar, as the connection reads it now."""

    async def answer(_request: Request) -> Response:
        async with database.reading(SALES) as session:
            guest = await guest_of(session)
        content = made(urlencode({"guest": guest}), now())
        return Response(content, media_type="text/calendar", headers={"Cache-Control": "no-store"})

    return answer


def made(asked: str, present: datetime) -> bytes:
    """The calendar as of a moment; `asked` names the guest from outside."""
    guest = parse_qs(asked).get("guest", ["guest@harbor.example"])[0]
    today = present.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    monday = today - timedelta(days=today.weekday())
    # A minute's worth of change: within the hour from four o'clock tomorrow.
    moved = today + timedelta(days=1, hours=16, minutes=present.minute)
    events = [
        _event("review", "Quarterly review", today + timedelta(days=2, hours=9), 60, (guest,), place="Room 4"),
        _event("kick-off", "Kick-off", today - timedelta(days=3) + timedelta(hours=13), 45, (guest,)),
        _event("call", "Call that moves every minute", moved, 30, (guest,), url="https://meet.google.com/abc-defg-hij"),
        _event("weekly", "Weekly check-in", monday + timedelta(hours=8, minutes=30), 30, (guest,), more=_WEEKLY),
        _event("private", "Dentist", today + timedelta(days=1, hours=7), 60, (guest,), more=("CLASS:PRIVATE",)),
        _event("team", "Team meeting", today + timedelta(days=1, hours=10), 30, (_COLLEAGUE,)),
        _event("off", "Demo that was called off", today + timedelta(days=4), 60, (guest,), more=("STATUS:CANCELLED",)),
        _day("fair", "Trade fair", (today + timedelta(days=7)).date(), guest),
    ]
    head = ("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//CRM gateway//Demo//EN", f"X-WR-CALNAME:{_OWNER}")
    return "\r\n".join([*head, *(line for event in events for line in event), "END:VCALENDAR", ""]).encode()


_WEEKLY: Final = ("RRULE:FREQ=WEEKLY;COUNT=8",)


def _event(
    uid: str,
    subject: str,
    start: datetime,
    minutes: int,
    guests: tuple[str, ...],
    *,
    place: str | None = None,
    url: str | None = None,
    more: tuple[str, ...] = (),
) -> list[str]:
    lines = [f"DTSTART:{start:%Y%m%dT%H%M%SZ}", f"DTEND:{start + timedelta(minutes=minutes):%Y%m%dT%H%M%SZ}"]
    lines += [f"LOCATION:{place}"] if place else []
    lines += [f"X-GOOGLE-CONFERENCE:{url}"] if url else []
    return _around(uid, subject, [*lines, *more], guests)


def _day(uid: str, subject: str, day: date, guest: str) -> list[str]:
    return _around(uid, subject, [f"DTSTART;VALUE=DATE:{day:%Y%m%d}"], (guest,))


def _around(uid: str, subject: str, lines: list[str], guests: tuple[str, ...]) -> list[str]:
    people = [f"ATTENDEE;PARTSTAT=ACCEPTED:mailto:{guest}" for guest in guests]
    named = [f"UID:demo-{uid}@crm.example", f"SUMMARY:{subject}", f"ORGANIZER;CN=Ada Admin:mailto:{_OWNER}"]
    return ["BEGIN:VEVENT", *named, *lines, *people, "END:VEVENT"]


FEEDS: Final[Mapping[str, LocalFeed]] = {NAME: made}
"""The calendars of a process that serves the demo."""
