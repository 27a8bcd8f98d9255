"""What open deals are expected to bring by month: equal to what the listing adds up to, to the last digit."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from resolvers import forecast
from storage.tables import Deal, PipelineStage
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

TOTAL = "{ currency amount count }"
SLOT = f"{{ count totals {TOTAL} weighted {TOTAL} unweightedCount }}"
FORECAST = f"""query($filter: DealFilter, $from: Date, $months: Int, $zone: String! = "UTC") {{
  dealForecast(filter: $filter, from: $from, months: $months, timeZone: $zone) {{
    months {{ period {{ start end label }} open {SLOT} won {TOTAL} }}
    overdue {SLOT} undated {SLOT} later {SLOT} }} }}"""
LIST = """query($filter: DealFilter) { deals(filter: $filter, first: 500) {
  nodes { value currency status closeDate stage { probability } } } }"""
NOW = datetime(2026, 3, 31, 23, 30, tzinfo=UTC)
AMOUNTS = [None, "0.0001", "999999999999999.9999", "0", "12.5", "0.3333"]
DAYS = [
    *(None, date(1, 1, 1), date(2026, 3, 1), date(2026, 3, 30), date(2026, 3, 31), date(2026, 4, 1), date(2026, 4, 30)),
    *(date(2026, 5, 1), date(2026, 8, 31), date(2026, 9, 1), date(2027, 2, 28), date(9999, 12, 31)),
]


@pytest.fixture(autouse=True)
def _present(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "now", lambda: NOW)


async def fill(tenant: Tenant, random: Random, size: int = 120) -> None:
    stages = [
        PipelineStage(name=f"S{n}", position=n, probability=chance) for n, chance in enumerate((None, 0, 33, 100))
    ]
    stages += [PipelineStage(name="W", position=8, type="won", probability=100)]
    stages += [PipelineStage(name="L", position=9, type="lost")]
    await tenant.add(*stages)
    deals = []
    for _ in range(size):
        stage, amount = random.choice([None, *stages]), random.choice(AMOUNTS)
        deals.append(
            Deal(
                name="d",
                value=None if amount is None else Decimal(amount),
                currency=random.choice(["EUR", "USD", "JPY"]),
                stage_id=None if stage is None else stage.id,
                status="open" if stage is None else stage.type,
                close_date=random.choice(DAYS),
            )
        )
    await tenant.add(*deals)


def totals(deals: list[dict[str, Any]], amount: Callable[[dict[str, Any]], Decimal]) -> list[dict[str, Any]]:
    found = []
    for currency in sorted({deal["currency"] for deal in deals}):
        these = [deal for deal in deals if deal["currency"] == currency]
        found.append({"currency": currency, "amount": sum(map(amount, these), Decimal(0)), "count": len(these)})
    return found


def value(deal: dict[str, Any]) -> Decimal:
    return Decimal(deal["value"] or 0)


def slot(deals: list[dict[str, Any]]) -> dict[str, Any]:
    weighed = [deal for deal in deals if (deal["stage"] or {}).get("probability") is not None]
    others = [deal for deal in deals if deal not in weighed]
    return {
        "count": len(deals),
        "totals": totals(deals, value),
        "weighted": totals(weighed, lambda deal: value(deal) * deal["stage"]["probability"] / 100),
        "unweightedCount": sum(deal["value"] is not None for deal in others),
    }


def following(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def expected(deals: list[dict[str, Any]], first: date, months: int, today: date) -> dict[str, Any]:
    """The forecast, added up deal by deal."""
    for deal in deals:
        deal["day"] = deal["closeDate"] and date.fromisoformat(deal["closeDate"])
    opened, won = ([d for d in deals if d["status"] == status] for status in ("OPEN", "WON"))
    shown, start = [], first.replace(day=1)
    for _ in range(months):
        end = following(start)
        inside = [[d for d in part if d["day"] and start <= d["day"] < end] for part in (opened, won)]
        shown.append(
            {
                "period": {"start": start.isoformat(), "end": end.isoformat(), "label": start.isoformat()[:7]},
                "open": slot([d for d in inside[0] if d["day"] >= today]),
                "won": totals(inside[1], value),
            }
        )
        start = end
    return {
        "months": shown,
        "overdue": slot([d for d in opened if d["day"] and d["day"] < today]),
        "undated": slot([d for d in opened if d["day"] is None]),
        "later": slot([d for d in opened if d["day"] and d["day"] >= start and d["day"] >= today]),
    }


def numbers(answer: Any) -> Any:
    """The answer with its amounts as numbers."""
    if isinstance(answer, dict):
        return {name: Decimal(one) if name == "amount" else numbers(one) for name, one in answer.items()}
    return [numbers(one) for one in answer] if isinstance(answer, list) else answer


ASKED: list[dict[str, Any]] = [
    {},
    {"months": 1},
    {"months": 24, "from": "2025-12-31"},
    {"zone": "Pacific/Auckland"},
    {"zone": "America/Los_Angeles", "months": 5},
    {"from": "2026-08-15", "months": 2},
    {"from": "2020-02-29", "months": 3},
    {"from": "0001-01-01", "months": 2},
    {"filter": {"or": [{"currency": {"eq": "EUR"}}, {"value": {"gt": "1"}}]}},
]


async def test_it_is_what_the_listing_adds_up_to(one: Tenant) -> None:
    await fill(one, Random(1))
    for asked in ASKED:
        deals = (await one.ask(LIST, filter=asked.get("filter")))["nodes"]
        today = NOW.astimezone(ZoneInfo(asked.get("zone", "UTC"))).date()
        first = date.fromisoformat(asked["from"]) if "from" in asked else today
        answer = numbers(await one.ask(FORECAST, **asked))
        assert answer == expected(deals, first, asked.get("months", 6), today), asked


async def test_every_month_is_listed_also_of_nothing(one: Tenant) -> None:
    answer = await one.ask(FORECAST, months=None)
    assert [month["period"]["label"] for month in answer["months"]] == [f"2026-{n:02}" for n in range(3, 9)]
    assert numbers(answer) == expected([], NOW.date(), 6, NOW.date())


async def test_today_is_not_overdue_and_the_zone_says_which_day_that_is(one: Tenant) -> None:
    await one.add(Deal(name="d", value=Decimal(1), close_date=NOW.date()))
    here, ahead = [await one.ask(FORECAST, zone=zone, months=2) for zone in ("UTC", "Pacific/Auckland")]
    assert [month["open"]["count"] for month in here["months"]] == [1, 0]
    assert here["overdue"]["count"] == 0
    assert [month["period"]["label"] for month in ahead["months"]] == ["2026-04", "2026-05"]
    assert ahead["overdue"]["count"] == 1


async def test_deals_before_the_first_month_are_in_no_part(one: Tenant) -> None:
    """They are neither overdue nor later, and the months begin where the caller said (decision 259)."""
    await one.add(Deal(name="d", value=Decimal(1), close_date=NOW.date() + timedelta(days=40)))
    answer = await one.ask(FORECAST, **{"from": "2027-01-01"})
    parts = [month["open"] for month in answer["months"]] + [answer[name] for name in ("overdue", "undated", "later")]
    assert sum(part["count"] for part in parts) == 0


async def test_the_last_month_that_there_is(one: Tenant) -> None:
    await one.add(Deal(name="d", close_date=date(9999, 12, 31)), Deal(name="d", close_date=date(9999, 11, 30)))
    answer = await one.ask(FORECAST, **{"from": "9999-11-01", "months": 2})
    assert [month["open"]["count"] for month in answer["months"]] == [1, 1]
    assert answer["months"][1]["period"] == {"start": "9999-12-01", "end": "9999-12-31", "label": "9999-12"}
    assert answer["later"]["count"] == 0


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"months": 25}, "months"),
    ({"months": 0}, "months"),
    ({"zone": "Mars/Olympus"}, "timeZone"),
    ({"from": "9999-12-01", "months": 2}, "from"),
]


@pytest.mark.parametrize(("variables", "at"), REFUSED)
async def test_what_cannot_be_asked(one: Tenant, variables: dict[str, Any], at: str) -> None:
    error = await one.error(FORECAST, **variables)
    assert error["extensions"]["code"] == "VALIDATION"
    assert [problem["field"] for problem in error["extensions"]["problems"]] == [[at]]
    query = "&".join(f"{ {'zone': 'time_zone'}.get(name, name) }={value}" for name, value in variables.items())
    refused = await one.gateway.rest("GET", f"/deals/forecast?{query}", one.headers())
    assert refused.status_code == 422
    assert [part["loc"] for part in refused.json()["detail"]] == [["query", {"timeZone": "time_zone"}.get(at, at)]]


async def test_the_path_says_the_same(one: Tenant) -> None:
    await fill(one, Random(2))
    graph = numbers(await one.ask(FORECAST, filter={"currency": {"in": ["EUR", "JPY"]}}, months=3, zone="Asia/Tokyo"))
    path = "/deals/forecast?months=3&time_zone=Asia/Tokyo&currency_in=EUR,JPY"
    found = await one.gateway.rest("GET", path, one.headers())
    shown = json.loads(found.text.replace("unweighted_count", "unweightedCount"), parse_float=Decimal)
    assert shown == graph


async def test_it_is_one_statement_of_what_is_selected(one: Tenant) -> None:
    await fill(one, Random(3), 20)
    for query, words in (
        ("{ dealForecast { months { open { count } } } }", set()),
        ("{ dealForecast { months { won { amount } } } }", {"value"}),
        ("{ dealForecast { overdue { weighted { amount } } } }", {"value", "pipeline_stages"}),
    ):
        with statements(one.gateway.world.database) as sent:
            await one.ask(query)
        [text] = [each for each in sent if "memberships" not in each]
        assert {word for word in ("value", "pipeline_stages") if word in text} == words
