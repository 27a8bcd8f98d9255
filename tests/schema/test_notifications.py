"""Notifications of callers: noted in the change log, and handed over as they were given (decision 418)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from providers.notifications import Notification, WorkflowActors
from storage.base import new_id
from storage.tables import Campaign, Deal, Event
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

EMIT = """mutation($i: NotificationInput!) { notificationEmit(input: $i)
  { eventId userErrors { code message field } } }"""


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[Notification]:
    """What the service hands over."""
    kept: list[Notification] = []
    monkeypatch.setattr(WorkflowActors, "hand", lambda _actors, notification: kept.append(notification))
    return kept


async def test_it_is_noted_without_its_data_and_handed_over_with_it(one: Tenant, handed: list[Notification]) -> None:
    deal = Deal(name="d")
    await one.add(deal)
    data = {"pages": 12, "signed_by": "Ada", "record_id": "theirs"}
    done = await one.ask(EMIT, i={"type": "contract_signed", "data": data, "recordId": deal.id})
    assert done["userErrors"] == []
    [(id, type, area, noted)] = await one.rows(Event.id, Event.type, Event.area, Event.data)
    assert (id, type, area) == (done["eventId"], "notification_emitted", "crm")
    assert noted == {"type": "contract_signed", "record_id": deal.id}
    [notification] = handed
    assert (notification.id, notification.type) == (id, "contract_signed")
    assert orjson.loads(orjson.dumps(notification.data)) == {**data, "record_id": deal.id}
    assert notification.counted_as == "notification_emitted"


async def test_numbers_keep_their_digits(one: Tenant, handed: list[Notification]) -> None:
    text = '{"type": "t", "data": {"exact": 0.1000000000000000055, "large": 123456789012345678901234567890}}'
    headers = {**one.headers(), "Content-Type": "application/json"}
    answer = await one.gateway.http.post("/notifications", content=text, headers=headers)
    assert answer.status_code == 202, answer.text
    [notification] = handed
    assert notification.id == answer.json()["event_id"]
    assert orjson.dumps(notification.data).decode() == (
        '{"exact":0.1000000000000000055,"large":123456789012345678901234567890}'
    )


async def test_what_is_refused_is_neither_noted_nor_handed_over(
    one: Tenant, two: Tenant, handed: list[Notification]
) -> None:
    theirs, campaign = Deal(name="theirs"), Campaign(name="c", provider="local")
    await two.add(theirs)
    await one.add(campaign)
    wrong: list[tuple[dict[str, Any], list[str]]] = [
        ({"type": ""}, ["input", "type"]),
        ({"type": "x" * 65}, ["input", "type"]),
        ({"type": "Deal"}, ["input", "type"]),
        ({"type": "a\n"}, ["input", "type"]),
        ({"type": "deal_created"}, ["input", "type"]),
        ({"type": "notification_emitted"}, ["input", "type"]),
        ({"type": "t", "data": [1]}, ["input", "data"]),
        ({"type": "t", "data": {"x": "y" * 32 * 1024}}, ["input", "data"]),
        ({"type": "t", "data": {"x": "\x00"}}, ["input", "data"]),
        ({"type": "t", "recordId": theirs.id}, ["input", "recordId"]),
        ({"type": "t", "recordId": new_id()}, ["input", "recordId"]),
        ({"type": "t", "recordId": "x"}, ["input", "recordId"]),
    ]
    for input, field in wrong:
        done = await one.ask(EMIT, i=input)
        assert (done["eventId"], [(e["code"], e["field"]) for e in done["userErrors"]]) == (
            None,
            [("VALIDATION", field)],
        ), input
    without_outreach = await one.scoped("deals:manage")
    done = await one.ask(EMIT, without_outreach, i={"type": "t", "recordId": campaign.id})
    assert done["userErrors"][0]["field"] == ["input", "recordId"]  # who may not read it is not told that it is there
    assert await one.rows(Event.id) == []
    assert handed == []
    assert (await one.ask(EMIT, i={"type": "t", "data": None}))["userErrors"] == []


async def test_a_key_emits_once(one: Tenant, handed: list[Notification]) -> None:
    headers = {**one.headers(), "Idempotency-Key": new_id()}
    first, second = [await one.ask(EMIT, headers, i={"type": "t", "data": {"x": 1}}) for _ in range(2)]
    assert first == second
    assert len(handed) == 1
