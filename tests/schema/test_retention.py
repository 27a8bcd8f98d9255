"""What is kept for a time: who asks for what is gone is told so, and what has a use stays (decisions 1005 to 1007)."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import count

import pytest

from contract.retention import Retention
from jobs.retention import prune
from storage.base import first_id_at, now
from storage.tables import (
    Account,
    Campaign,
    Deal,
    Enrollment,
    Event,
    EventCounter,
    HealthFactor,
    HealthSnapshot,
    OutreachMessage,
    PipelineStage,
    StageChange,
    Webhook,
)
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

EVENTS = "query($after: String) { events(after: $after) { nodes { cursor data } } }"
CHANGES = """query($since: DateTime!, $after: String) { changes(since: $since, after: $after, first: 2) {
  nodes { data } pageInfo { endCursor } } }"""
WATCH = "subscription($after: String) { events(after: $after) { data } }"
DAY = timedelta(days=1)
_numbers = count(1)


async def _log(tenant: Tenant, ages: list[int]) -> None:
    """An event for each age in days, in the log's order."""
    for number, age in enumerate(ages, 1):
        at = now() - age * DAY
        event = Event(sequence=number, type="deal_created", area="crm", actor="a", occurred_at=at, data={"n": number})
        await tenant.add(event)
    async with tenant.gateway.world.database.writing(tenant.id) as session:
        counter = await session.find(EventCounter, lock=True)
        assert counter is not None
        await session.update(counter, last=len(ages))


async def _prune(tenant: Tenant, kept: Retention) -> None:
    while await prune(tenant.gateway.world.database, tenant.id, kept):
        pass


async def _left(tenant: Tenant) -> list[int]:
    return sorted(number for (number,) in await tenant.rows(Event.sequence))


async def test_a_cursor_older_than_the_log_is_refused_and_never_an_empty_page(one: Tenant, two: Tenant) -> None:
    for tenant in (one, two):
        await _log(tenant, [90, 60, 60, 20, 10])
    cursors = [node["cursor"] for node in (await one.ask(EVENTS))["nodes"]]
    changes = await one.ask(CHANGES, since=(now() - 100 * DAY).isoformat())
    await _prune(one, Retention(events=30))
    assert await _left(one) == [4, 5]
    assert await _left(two) == [1, 2, 3, 4, 5], "another organization's log is its own"

    assert [node["data"]["n"] for node in (await one.ask(EVENTS))["nodes"]] == [4, 5], "who begins gets what there is"
    assert [node["data"]["n"] for node in (await one.ask(EVENTS, after=cursors[2]))["nodes"]] == [4, 5]
    error = await one.error(EVENTS, after=cursors[1])
    assert error["extensions"]["code"] == "CURSOR_EXPIRED", error
    assert error["path"] == ["events"]
    told = await one.gateway.http.post(
        "/graphql",
        json={"query": WATCH, "variables": {"after": cursors[0]}},
        headers={**one.headers(), "Accept": "text/event-stream"},
    )
    assert "CURSOR_EXPIRED" in told.text, told.text

    error = await one.error(CHANGES, since=(now() - 100 * DAY).isoformat(), after=changes["pageInfo"]["endCursor"])
    assert error["extensions"]["code"] == "CURSOR_EXPIRED", error
    error = await one.error(CHANGES, since=(now() - 61 * DAY).isoformat())
    assert error["extensions"]["code"] == "CURSOR_EXPIRED", error
    path = await one.gateway.http.get("/changes?since=2020-01-01T00:00:00Z", headers=one.headers())
    assert path.status_code == 410, path.text
    assert path.json()["code"] == "cursor_expired", path.text
    since = (now() - 59 * DAY).isoformat()
    assert [node["data"]["n"] for node in (await one.ask(CHANGES, since=since))["nodes"]] == [4, 5]


async def test_the_newest_that_is_gone_counts_and_not_the_last(one: Tenant) -> None:
    """The log is in the order of the commits, which moments need not be in."""
    await _log(one, [60, 90])
    await _prune(one, Retention(events=30))
    error = await one.error(CHANGES, since=(now() - 61 * DAY).isoformat())
    assert error["extensions"]["code"] == "CURSOR_EXPIRED", error


async def test_what_a_webhook_has_still_to_tell_stays(one: Tenant) -> None:
    await _log(one, [90, 90, 90])
    hook = Webhook(url="https://1.1.1.1/", secret="x", created_by="a", cursor=1)
    await one.add(hook)
    await _prune(one, Retention(events=30))
    assert await _left(one) == [2, 3]
    async with one.gateway.world.database.writing(one.id) as session:
        found = await session.find(Webhook, id=hook.id, lock=True)
        assert found is not None
        await session.update(found, active=False)
    await _prune(one, Retention(events=30))
    assert await _left(one) == []


def _aged(at: datetime) -> str:
    """An identifier that was made then."""
    return f"{first_id_at(at)[:-8]}{next(_numbers):08x}"


async def test_of_moves_and_snapshots_the_last_one_stays(one: Tenant) -> None:
    account, deal, still, stage = Account(name="A"), Deal(name="D"), Deal(name="S"), PipelineStage(name="P")
    await one.add(account, deal, still, stage)
    for age in (900, 700, 500, 100):
        at = now() - age * DAY
        await one.add(StageChange(deal_id=deal.id, to_stage_id=stage.id, at=at, id=_aged(at)))
        snapshot = HealthSnapshot(account_id=account.id, score=50, snapshot_at=at, formula_version="1", id=_aged(at))
        await one.add(snapshot)
    at = now() - 900 * DAY
    await one.add(StageChange(deal_id=still.id, to_stage_id=stage.id, at=at, id=_aged(at)))
    await _prune(one, Retention(stage_changes=600, health=50))
    moves = await one.rows(StageChange.deal_id, StageChange.at)
    assert sorted((now() - at).days for of, at in moves if of == deal.id) == [100, 500]
    assert [(now() - at).days for of, at in moves if of == still.id] == [900], "it has stood there since"
    assert [(now() - at).days for (at,) in await one.rows(HealthSnapshot.snapshot_at)] == [100]
    assert await one.rows(HealthFactor.id) == []


async def test_of_outreach_that_is_over_who_must_not_be_written_to_stays(one: Tenant) -> None:
    old = now() - 300 * DAY
    over = Campaign(name="Over", status="completed", provider="local", updated_at=old)
    running = Campaign(name="Running", status="active", provider="local", updated_at=old)
    await one.add(over, running)
    for campaign in (over, running):
        for status in ("completed", "unsubscribed", "bounced"):
            address = f"{status}@example.com"
            enrollment = Enrollment(
                campaign_id=campaign.id, email=address, email_key=address, status=status, enrolled_at=old, id=_aged(old)
            )
            await one.add(enrollment)
            message = OutreachMessage(
                campaign_id=campaign.id,
                enrollment_id=enrollment.id,
                step=0,
                sender="a",
                recipient=address,
                subject="s",
                body="b",
            )
            await one.add(message)
    await _prune(one, Retention(outreach=200))
    left = await one.rows(Enrollment.campaign_id, Enrollment.status)
    assert sorted(status for of, status in left if of == over.id) == ["bounced", "unsubscribed"]
    assert len([status for of, status in left if of == running.id]) == 3
    assert len(await one.rows(OutreachMessage.id)) == 5


async def test_without_a_setting_everything_stays(one: Tenant) -> None:
    await _log(one, [4_000])
    assert not await prune(one.gateway.world.database, one.id, Retention())
    assert await _left(one) == [1]
