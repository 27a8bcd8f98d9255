"""Meetings counted and added up: equal to what the listing adds up to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from storage.base import now
from storage.tables import Account, Activity, Deal
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

PERIOD = "{ start }"
FIGURES = "count completedCount accountCount totalMinutes averageMinutes"
AGGREGATE = f"""query($by: [MeetingDimension!], $zone: String! = "UTC", $order: MeetingAggregateOrder, $first: Int) {{
  meetingAggregate(groupBy: $by, timeZone: $zone, orderBy: $order, first: $first) {{
      groups {{ key {{ ownerId accountId account {{ name }} industry dealId deal {{ name }} source state dueAt {PERIOD}
        completedAt {PERIOD} createdAt {PERIOD} }} {FIGURES} }} total {{ {FIGURES} }} groupCount truncated }} }}"""
LIST = """{ meetings(first: 500) { nodes { ownerId accountId account { industry } dealId source state dueAt completedAt
  createdAt durationMinutes } } }"""


def summed(meetings: list[dict[str, Any]]) -> dict[str, Any]:
    minutes = [m["durationMinutes"] for m in meetings if m["durationMinutes"] is not None]
    twentieths = (20 * sum(minutes) + len(minutes)) // (2 * len(minutes)) if minutes else None
    return {
        "count": len(meetings),
        "completedCount": sum(m["completedAt"] is not None for m in meetings),
        "accountCount": len({m["accountId"] for m in meetings} - {None}),
        "totalMinutes": sum(minutes),
        "averageMinutes": None if twentieths is None else twentieths / 10,
    }


async def fill(tenant: Tenant, random: Random) -> None:
    accounts = [Account(name=name, industry=industry) for name, industry in (("b", "x"), ("a", None))]
    deals = [Deal(name="d"), Deal(name="c")]
    await tenant.add(*accounts, *deals)
    present = now()
    moments = [None, present - timedelta(days=40), present + timedelta(days=3), datetime(2026, 1, 1, 3, tzinfo=UTC)]
    meetings = [
        Activity(
            subject="m",
            owner_id=random.choice([None, "ada", "Zed"]),
            account_id=random.choice([None, *(account.id for account in accounts)]),
            deal_id=random.choice([None, *(deal.id for deal in deals)]),
            source=random.choice(["manual", "zoom"]),
            due_at=random.choice(moments),
            completed_at=random.choice([None, None, present]),
            created_at=present - timedelta(days=random.randrange(90)),
            duration_minutes=random.choice([None, 15, 50, 1]),
        )
        for _ in range(40)
    ]
    await tenant.add(*meetings)


NAMES = {"OWNER": "ownerId", "ACCOUNT": "accountId", "DEAL": "dealId", "SOURCE": "source", "STATE": "state"}
MOMENTS = {"DUE_AT": "dueAt", "COMPLETED_AT": "completedAt", "CREATED_AT": "createdAt"}


def key_of(meeting: dict[str, Any], dimension: str) -> Any:
    if dimension == "INDUSTRY":
        return meeting["account"] and meeting["account"]["industry"]
    if dimension in NAMES:
        return meeting[NAMES[dimension]]
    at = meeting[MOMENTS[dimension]]
    return at and datetime.fromisoformat(at).astimezone(ZoneInfo("America/New_York")).date().replace(day=1).isoformat()


def shown_key(group: dict[str, Any], dimension: str) -> Any:
    if dimension in MOMENTS:
        period = group["key"][MOMENTS[dimension]]
        return period and period["start"]
    return group["key"][NAMES.get(dimension, "industry")]


@pytest.mark.long_on("postgresql")
async def test_the_groups_are_what_the_listing_adds_up_to(one: Tenant) -> None:
    await fill(one, Random(1))
    meetings = (await one.ask(LIST))["nodes"]
    dimensions = [*NAMES, *MOMENTS, "INDUSTRY"]
    for number, dimension in enumerate(dimensions):
        for by in ([dimension], [dimension, dimensions[number - 3]]):
            expected: dict[Any, list[Any]] = {}
            for meeting in meetings:
                expected.setdefault(tuple(key_of(meeting, d) for d in by), []).append(meeting)
            answer = await one.ask(AGGREGATE, by=by, zone="America/New_York", first=500)
            found = {
                tuple(shown_key(group, d) for d in by): {n: v for n, v in group.items() if n != "key"}
                for group in answer["groups"]
            }
            assert found == {key: summed(these) for key, these in expected.items()}
            assert answer["total"] == summed(meetings)
            assert answer["groupCount"] == len(expected)


async def test_the_order_of_the_groups(one: Tenant) -> None:
    await fill(one, Random(2))
    for field, name in (("COUNT", "count"), ("TOTAL_MINUTES", "totalMinutes")):
        for direction in ("ASC", "DESC"):
            answer = await one.ask(AGGREGATE, by=["OWNER"], order={"field": field, "direction": direction})
            found = [group[name] for group in answer["groups"]]
            assert found == sorted(found, reverse=direction == "DESC")
    by_account = await one.ask(AGGREGATE, by=["ACCOUNT"])
    assert [(group["key"]["account"] or {}).get("name") for group in by_account["groups"]] == ["a", "b", None]
    by_deal = await one.ask(AGGREGATE, by=["DEAL"], order={"direction": "DESC"})
    assert [(group["key"]["deal"] or {}).get("name") for group in by_deal["groups"]] == ["d", "c", None]


async def test_what_cannot_be_asked(one: Tenant) -> None:
    error = await one.error(AGGREGATE, by=["OWNER", "DEAL", "STATE"], zone="Mars")
    fields = [problem["field"] for problem in error["extensions"]["problems"]]
    assert fields == [["groupBy"], ["timeZone"]]
