"""Feeds as texts, connections to them, and the jobs that read them, done at once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import update
from sqlmodel import col

from jobs.attempts import Attempt, Claim
from jobs.long_places import LongPlaces
from jobs.sync import sources
from jobs.sync.sources import Secret
from providers.outbound import Outbound
from resolvers.integration_feeds import connect
from storage.base import new_id, now
from storage.new_rows import new_row
from storage.queries import jobs, organizations
from storage.tables import Integration, QueuedJob
from tests.support.tenants import Tenant

TODAY = now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def stamp(moment: datetime) -> str:
    return f"{moment:%Y%m%dT%H%M%SZ}"


def at(days: int, hours: int = 9) -> datetime:
    """So many days from today, at this hour."""
    return TODAY + timedelta(days=days, hours=hours)


def event(
    uid: str, *more: str, start: datetime | None = None, subject: str = "Talk", guest: str = "bob@out.example"
) -> str:
    """An event of an hour with a guest from outside."""
    begins = at(3) if start is None else start
    lines = [
        *("BEGIN:VEVENT", f"UID:{uid}", f"SUMMARY:{subject}", f"DTSTART:{stamp(begins)}"),
        f"DTEND:{stamp(begins + timedelta(hours=1))}",
        *([f"ATTENDEE;CN=Bob Out:mailto:{guest}"] if guest else []),
        *more,
        "END:VEVENT",
    ]
    return "\r\n".join(lines)


def feed(*events: str) -> str:
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *events, "END:VCALENDAR", ""])


async def upload(tenant: Tenant, *events: str, role: str = "member", **more: Any) -> str:
    """Connect an uploaded feed and have it read; the connection's identifier."""
    body = {"name": "Calendar", "content": feed(*events), **more}
    response = await tenant.gateway.rest("POST", "/integrations/feeds", tenant.headers(role), body)
    assert response.status_code == 201, response.text
    await work(tenant)
    made: str = response.json()["id"]
    return made


async def replaced(tenant: Tenant, integration_id: str, *events: str) -> None:
    """Replace the content of the feed and have it read."""
    headers = tenant.headers() | {"Content-Type": "text/calendar"}
    path = f"/integrations/{integration_id}/feed"
    response = await tenant.gateway.http.put(path, content=feed(*events).encode(), headers=headers)
    assert response.status_code == 200, response.text
    await work(tenant)


async def by_address(tenant: Tenant, url: str, role: str = "member") -> str:
    """Connect a feed at an address of this machine, past the check that members' addresses go through."""
    pepper, identifier = tenant.gateway.runtime.ports.pepper, new_id()
    secret = Secret(url=url)
    row = new_row(
        Integration,
        org_id=tenant.id,
        id=identifier,
        provider="ical",
        owner_id=tenant.subject(role),
        name="By address",
        account_key=sources.account_key(pepper, secret, identifier),
        sealed=sources.sealed_secret(pepper, identifier, secret),
        poll_seconds=900,
    )
    async with tenant.gateway.world.database.writing(tenant.id) as session:
        await connect(session, row)
    return identifier


async def work(tenant: Tenant, *, anyway: bool = False, long: LongPlaces | None = None) -> list[str]:
    """Do the organization's jobs that are due, or all of them anyway; how the attempts ended.

    Unless `long` is given there is a place for whatever takes long.
    """
    database = tenant.gateway.world.database
    ports = replace(tenant.gateway.runtime.ports, outbound=Outbound(allow_loopback=True))
    ended = []
    if anyway:
        await hurry(tenant)
    async with database.directory() as session:
        others = [org_id for org_id in await organizations.all_ids(session) if org_id != tenant.id]
    crowded: Collection[str] | None = () if long is None else None if long.are_all_taken else long.crowded
    for _ in range(100):
        holder, until = new_id(), now() + timedelta(seconds=60)
        async with database.directory(writing=True) as session:
            row = await jobs.claim(session, holder, until, avoiding=others, avoiding_long=crowded)
        if row is None:
            break
        attempt = Attempt(database, ports, Claim(row.org_id, row.job_id, holder), long=long)
        ended.append((await attempt.make()).value)
    await ports.outbound.close()
    return ended


async def hurry(tenant: Tenant) -> None:
    """Have everything that waits in the organization's queue be due, as if what providers ask to wait had passed."""
    async with tenant.gateway.world.database.writing(tenant.id) as session:
        passed = now() - timedelta(seconds=1)
        await session.execute(update(QueuedJob).where(col(QueuedJob.org_id) == tenant.id).values(due_at=passed))
        waiting = col(Integration.org_id) == tenant.id, col(Integration.retry_at).is_not(None)
        await session.execute(update(Integration).where(*waiting).values(retry_at=passed))


async def items(tenant: Tenant, integration_id: str, role: str = "member", **asked: str) -> dict[str, Any]:
    """The items by their titles."""
    response = await tenant.gateway.http.get(
        f"/integrations/{integration_id}/items", params=asked, headers=tenant.headers(role)
    )
    assert response.status_code == 200, response.text
    return {each["subject"]: each for each in response.json()}


async def meetings(tenant: Tenant) -> dict[str, Any]:
    """The meetings of the organization by their titles."""
    fields = (
        "id subject body dueAt durationMinutes completedAt state source metadata accountId dealId contactId ownerId "
        "participants { name email response isInternal isOrganizer contact { id } } "
        "sync { uid recurrenceId allDay timeZone conferenceUrl cancelledAt overriddenFields dealCandidates { id } "
        "sources { integrationId ownerId url } }"
    )
    page = await tenant.ask(f"{{ meetings(first: 500) {{ nodes {{ {fields} }} }} }}")
    return {each["subject"]: each for each in page["nodes"]}


async def connection(tenant: Tenant, integration_id: str, role: str = "member") -> Any:
    response = await tenant.gateway.rest("GET", f"/integrations/{integration_id}", tenant.headers(role))
    assert response.status_code == 200, response.text
    return response.json()
