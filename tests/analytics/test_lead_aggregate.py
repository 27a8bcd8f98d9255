"""Leads counted: equal to what the listing adds up to; by tag a lead is in several groups, and once in the total."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest

from storage.tables import Lead, Tag, TagLink
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

FIGURES = "count convertedCount disqualifiedCount conversionRate averageDaysToConvert"
PERIOD = "{ start end }"
AGGREGATE = f"""query($filter: LeadFilter, $by: [LeadDimension!], $order: LeadAggregateOrder, $first: Int) {{
  leadAggregate(filter: $filter, groupBy: $by, orderBy: $order, first: $first) {{
    groups {{ key {{ status source ownerId tag disqualifiedReason createdAt {PERIOD} convertedAt {PERIOD} }}
      {FIGURES} }}
    total {{ {FIGURES} }} groupCount truncated }} }}"""
MADE = datetime(2026, 1, 15, tzinfo=UTC)


async def fill(tenant: Tenant) -> None:
    def lead(status: str, days: float | None = None, **fields: Any) -> Lead:
        at = None if days is None else MADE + timedelta(days=days)
        return Lead(name="l", status=status, created_at=MADE, converted_at=at, **fields)

    leads = [
        lead("converted", 1.05, owner_id="ada", source="manual"),
        lead("converted", 2.1, owner_id="ada"),
        lead("disqualified", disqualified_reason="no budget"),
        lead("new", owner_id="ben"),
        lead("working"),
        lead("new"),
        lead("new"),
    ]
    tags = [Tag(name="vip", folded_name="vip"), Tag(name="Berlin", folded_name="berlin")]
    await tenant.add(*leads, *tags)
    links = [(0, 0), (0, 1), (1, 0), (2, 1)]
    await tenant.add(*(TagLink(kind="lead", record_id=leads[n].id, tag_id=tags[t].id, position=t) for n, t in links))


def expected(count: int, converted: int, disqualified: int, days: float | None) -> dict[str, Any]:
    rate = (Decimal(100 * converted) / count).quantize(Decimal("0.1"), ROUND_HALF_UP)
    return {
        "count": count,
        "convertedCount": converted,
        "disqualifiedCount": disqualified,
        "conversionRate": float(rate),
        "averageDaysToConvert": days,
    }


async def grouped(tenant: Tenant, by: str, key: str, **more: Any) -> tuple[list[Any], Any]:
    answer = await tenant.ask(AGGREGATE, by=[by], **more)
    groups = [(g["key"][key], {n: v for n, v in g.items() if n != "key"}) for g in answer["groups"]]
    assert answer["groupCount"] == len(groups)
    return groups, answer["total"]


async def test_leads_by_tag(one: Tenant) -> None:
    await fill(one)
    groups, total = await grouped(one, "TAG", "tag")
    assert groups == [
        ("Berlin", expected(2, 1, 1, 1.1)),
        ("vip", expected(2, 2, 0, 1.6)),
        (None, expected(4, 0, 0, None)),
    ]
    assert total == expected(7, 2, 1, 1.6)


async def test_leads_by_what_they_are(one: Tenant) -> None:
    await fill(one)
    groups, total = await grouped(one, "OWNER", "ownerId")
    assert groups == [
        ("ada", expected(2, 2, 0, 1.6)),
        ("ben", expected(1, 0, 0, None)),
        (None, expected(4, 0, 1, None)),
    ]
    assert total == expected(7, 2, 1, 1.6)
    by_rate, _ = await grouped(one, "OWNER", "ownerId", order={"field": "CONVERSION_RATE", "direction": "DESC"})
    assert [owner for owner, _ in by_rate] == ["ada", "ben", None]
    by_count, _ = await grouped(one, "STATUS", "status", order={"field": "COUNT", "direction": "DESC"})
    assert [status for status, _ in by_count] == ["NEW", "CONVERTED", "DISQUALIFIED", "WORKING"]
    reasons, _ = await grouped(one, "DISQUALIFIED_REASON", "disqualifiedReason")
    assert [reason for reason, _ in reasons] == ["no budget", None]
    sources, _ = await grouped(one, "SOURCE", "source")
    assert [(source, figures["count"]) for source, figures in sources] == [("MANUAL", 1), ("SCAN_CARD", 6)]
    months, _ = await grouped(one, "CONVERTED_AT", "convertedAt")
    assert [month for month, _ in months] == [{"start": "2026-01-01", "end": "2026-02-01"}, None]


async def test_of_no_leads(one: Tenant) -> None:
    answer = await one.ask(AGGREGATE, by=["TAG"])
    assert (answer["groups"], answer["groupCount"], answer["truncated"]) == ([], 0, False)
    assert answer["total"] == {
        "count": 0,
        "convertedCount": 0,
        "disqualifiedCount": 0,
        "conversionRate": None,
        "averageDaysToConvert": None,
    }
    error = await one.error(AGGREGATE, by=["TAG", "TAG"], first=501)
    assert [problem["field"] for problem in error["extensions"]["problems"]] == [["groupBy"], ["first"]]
