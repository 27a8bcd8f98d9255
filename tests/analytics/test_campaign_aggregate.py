"""Campaigns and their recipients, counted: a campaign without recipients is there, and each one once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from storage.tables import Campaign, Enrollment
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

FIGURES = "count enrolledCount repliedCount bouncedCount unsubscribedCount replyRate bounceRate"
AGGREGATE = f"""query($filter: CampaignFilter, $by: [CampaignDimension!], $order: CampaignAggregateOrder) {{
  campaignAggregate(filter: $filter, groupBy: $by, orderBy: $order, grain: DAY) {{
    groups {{ key {{ campaign {{ name }} status enrollmentStatus enrolledAt {{ label }} createdAt {{ label }} }}
      {FIGURES} }}
    total {{ {FIGURES} }} groupCount truncated }} }}"""


async def fill(tenant: Tenant) -> None:
    first, second = Campaign(name="b", status="active", provider="x"), Campaign(name="a", status="paused", provider="x")
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    statuses = [(first, "replied"), (first, "bounced"), (first, "active")]
    statuses += [(second, "replied"), (second, "unsubscribed")]
    await tenant.add(first, second, Campaign(name="c", provider="x"))
    recipients = [
        Enrollment(campaign_id=campaign.id, email=f"{n}@x.example", email_key=str(n), status=status, enrolled_at=at)
        for n, (campaign, status) in enumerate(statuses)
    ]
    await tenant.add(*recipients)


def figures(*numbers: Any) -> dict[str, Any]:
    return dict(zip(FIGURES.split(), numbers, strict=True))


TOTAL = figures(3, 5, 2, 1, 1, 40.0, 20.0)


async def grouped(tenant: Tenant, by: list[str], **more: Any) -> list[tuple[Any, ...]]:
    answer = await tenant.ask(AGGREGATE, by=by, **more)
    assert answer["total"] == TOTAL
    keys = [{name: value for name, value in group["key"].items() if value is not None} for group in answer["groups"]]
    numbers = [{name: value for name, value in group.items() if name != "key"} for group in answer["groups"]]
    return list(zip(keys, numbers, strict=True))


async def test_campaigns_with_their_recipients(one: Tenant) -> None:
    await fill(one)
    assert await grouped(one, ["CAMPAIGN"]) == [
        ({"campaign": {"name": "a"}}, figures(1, 2, 1, 0, 1, 50.0, 0.0)),
        ({"campaign": {"name": "b"}}, figures(1, 3, 1, 1, 0, 33.3, 33.3)),
        ({"campaign": {"name": "c"}}, figures(1, 0, 0, 0, 0, None, None)),
    ]
    by_rate = await grouped(one, ["CAMPAIGN"], order={"field": "BOUNCE_RATE", "direction": "DESC"})
    assert [key["campaign"]["name"] for key, _ in by_rate] == ["b", "a", "c"]
    assert await grouped(one, ["ENROLLMENT_STATUS"], order={"field": "ENROLLED_COUNT", "direction": "DESC"}) == [
        ({"enrollmentStatus": "REPLIED"}, figures(2, 2, 2, 0, 0, 100.0, 0.0)),
        ({"enrollmentStatus": "ACTIVE"}, figures(1, 1, 0, 0, 0, 0.0, 0.0)),
        ({"enrollmentStatus": "BOUNCED"}, figures(1, 1, 0, 1, 0, 0.0, 100.0)),
        ({"enrollmentStatus": "UNSUBSCRIBED"}, figures(1, 1, 0, 0, 1, 0.0, 0.0)),
        ({}, figures(1, 0, 0, 0, 0, None, None)),
    ]
    assert await grouped(one, ["ENROLLED_AT"]) == [
        ({"enrolledAt": {"label": "2026-03-01"}}, figures(2, 5, 2, 1, 1, 40.0, 20.0)),
        ({}, figures(1, 0, 0, 0, 0, None, None)),
    ]
    both = await grouped(one, ["STATUS", "ENROLLMENT_STATUS"])
    assert sum(numbers["enrolledCount"] for _, numbers in both) == 5
    whole = await one.ask("{ campaignAggregate(groupBy: [STATUS]) { groups { count } total { count } } }")
    assert whole == {"groups": [{"count": 1}] * 3, "total": {"count": 3}}


async def test_of_some_campaigns_and_of_none(one: Tenant) -> None:
    await fill(one)
    answer = await one.ask(AGGREGATE, filter={"status": {"eq": "ACTIVE"}})
    assert answer["total"] == figures(1, 3, 1, 1, 0, 33.3, 33.3)
    none = await one.ask(AGGREGATE, filter={"name": {"eq": "none"}}, by=["CAMPAIGN"])
    assert (none["groups"], none["total"]) == ([], figures(0, 0, 0, 0, 0, None, None))
    error = await one.error(AGGREGATE, by=["STATUS", "STATUS"])
    assert [problem["field"] for problem in error["extensions"]["problems"]] == [["groupBy"]]
