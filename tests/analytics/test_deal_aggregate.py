"""Deals counted and added up: equal to what the listing adds up to, on both databases, to the last digit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from storage.tables import Account, Deal, PipelineStage
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

FIGURES = """count values { currency count valued sum average minimum maximum } weighted { currency amount count }
  unweightedCount openCount wonCount lostCount winRate salesCycleDays"""
PERIOD = "{ start end label }"
KEY = f"""key {{ stage {{ id name }} ownerId accountId account {{ name }} industry status currency source geoScope
  closeDate {PERIOD} createdAt {PERIOD} closedAt {PERIOD} }}"""
AGGREGATE = f"""query($filter: DealFilter, $by: [DealDimension!], $grain: DateGrain! = MONTH, $zone: String! = "UTC",
  $order: DealAggregateOrder, $first: Int) {{
  dealAggregate(filter: $filter, groupBy: $by, grain: $grain, timeZone: $zone, orderBy: $order, first: $first) {{
    groups {{ {KEY} {FIGURES} }} total {{ {KEY} {FIGURES} }} groupCount truncated }} }}"""
LIST = """query($filter: DealFilter, $after: String) { deals(filter: $filter, first: 500, after: $after) {
  nodes { id value currency status ownerId source geoScope closeDate createdAt closedAt accountId
    account { industry name } stage { id position probability } } pageInfo { hasNextPage endCursor } } }"""


async def aggregate(tenant: Tenant, **variables: Any) -> Any:
    return await tenant.ask(AGGREGATE, **variables)


async def listed(tenant: Tenant, filter: Any = None) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = (await tenant.ask(LIST, filter=filter))["nodes"]
    return nodes


def half_up(value: Decimal, decimals: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def summed(deals: list[dict[str, Any]]) -> dict[str, Any]:
    """What these deals come to, added up one by one."""
    of_currency: dict[str, list[dict[str, Any]]] = {}
    for deal in deals:
        of_currency.setdefault(deal["currency"], []).append(deal)
    values, weighted = [], []
    for currency, these in sorted(of_currency.items()):
        amounts = [Decimal(deal["value"]) for deal in these if deal["value"] is not None]
        values.append(
            {
                "currency": currency,
                "count": len(these),
                "valued": len(amounts),
                "sum": sum(amounts, Decimal(0)),
                "average": half_up(sum(amounts, Decimal(0)) / len(amounts), 4) if amounts else None,
                "minimum": min(amounts, default=None),
                "maximum": max(amounts, default=None),
            }
        )
        weighed = [d for d in these if d["status"] == "OPEN" and (d["stage"] or {}).get("probability") is not None]
        if weighed:
            amount = sum((Decimal(d["value"] or 0) * d["stage"]["probability"] for d in weighed), Decimal(0)) / 100
            weighted.append({"currency": currency, "amount": amount, "count": len(weighed)})
    opened, won, lost = ([d for d in deals if d["status"] == status] for status in ("OPEN", "WON", "LOST"))
    unweighted = [d for d in opened if d["value"] is not None and (d["stage"] or {}).get("probability") is None]
    lengths = [moment(d["closedAt"]) - moment(d["createdAt"]) for d in won if d["closedAt"]]
    micros = sum(length // timedelta(microseconds=1) for length in lengths)
    ended = len(won) + len(lost)
    return {
        "count": len(deals),
        "values": values,
        "weighted": weighted,
        "unweightedCount": len(unweighted),
        "openCount": len(opened),
        "wonCount": len(won),
        "lostCount": len(lost),
        "winRate": float(half_up(Decimal(100 * len(won)) / ended, 1)) if ended else None,
        "salesCycleDays": float(half_up(Decimal(micros) / (86_400_000_000 * len(lengths)), 1)) if lengths else None,
    }


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def figures(group: dict[str, Any]) -> dict[str, Any]:
    """The figures of an answer, its amounts as numbers."""
    money = ("sum", "average", "minimum", "maximum", "amount")
    shown = {name: value for name, value in group.items() if name != "key"}
    for name in ("values", "weighted"):
        shown[name] = [{n: decimal(v) if n in money else v for n, v in one.items()} for one in shown[name]]
    return shown


def first_day(day: date, grain: str) -> date:
    months = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
    if grain in months:
        return date(day.year, (day.month - 1) // months[grain] * months[grain] + 1, 1)
    return day - timedelta(days=day.weekday() if grain == "WEEK" else 0)


def key_of(dimension: str, grain: str, zone: str) -> Callable[[dict[str, Any]], Any]:
    """Finds the key of a listed deal in the dimension."""

    def day(deal: dict[str, Any]) -> Any:
        if dimension == "CLOSE_DATE":
            found = deal["closeDate"] and date.fromisoformat(deal["closeDate"])
        else:
            at = deal["createdAt" if dimension == "CREATED_AT" else "closedAt"]
            found = at and moment(at).astimezone(ZoneInfo(zone)).date()
        return found and first_day(found, grain).isoformat()

    return {
        "STAGE": lambda deal: deal["stage"] and deal["stage"]["id"],
        "OWNER": lambda deal: deal["ownerId"],
        "ACCOUNT": lambda deal: deal["accountId"],
        "INDUSTRY": lambda deal: deal["account"] and deal["account"]["industry"],
        "STATUS": lambda deal: deal["status"],
        "CURRENCY": lambda deal: deal["currency"],
        "SOURCE": lambda deal: deal["source"],
        "GEO_SCOPE": lambda deal: deal["geoScope"],
    }.get(dimension, day)


def shown_key(dimension: str) -> Callable[[dict[str, Any]], Any]:
    """Finds the key of a group of the answer in the dimension."""
    names = {"STAGE": "stage", "OWNER": "ownerId", "ACCOUNT": "accountId", "GEO_SCOPE": "geoScope"}
    names |= {"CLOSE_DATE": "closeDate", "CREATED_AT": "createdAt", "CLOSED_AT": "closedAt"}
    name = names.get(dimension, dimension.lower())

    def found(group: dict[str, Any]) -> Any:
        value = group["key"][name]
        return value and (value["id"] if name == "stage" else value["start"] if isinstance(value, dict) else value)

    return found


AMOUNTS = [None, "0.0001", "999999999999999.9999", "0", "12.5", "0.3333", "100000", "99999.9999", "1000000.0001"]
DAYS = [None, date(2026, 1, 1), date(2025, 12, 29), date(9999, 12, 31), date(1, 1, 1)]
MOMENTS = [
    datetime(2026, 3, 29, 0, 59, 59, 999999, tzinfo=UTC),
    datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
    datetime(2025, 12, 31, 23, 30, tzinfo=UTC),
    datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC),
    datetime(2026, 10, 31, 10, 59, 59, tzinfo=UTC),
    datetime(1969, 7, 20, 20, 17, tzinfo=UTC),
]


async def fill(tenant: Tenant, random: Random, size: int = 60) -> None:
    """Gives the organization deals of every kind."""
    chances = [None, 0, 33, 100]
    stages = [PipelineStage(name=f"S{n}", position=3 - n, probability=chance) for n, chance in enumerate(chances)]
    stages += [PipelineStage(name="W", position=8, type="won"), PipelineStage(name="L", position=9, type="lost")]
    accounts = [Account(name=name, industry=industry) for name, industry in (("b", "x"), ("B", None), ("a", "x"))]
    await tenant.add(*stages, *accounts)
    deals = []
    for _ in range(size):
        stage = random.choice([None, *stages])
        status = "open" if stage is None else stage.type
        made = random.choice(MOMENTS)
        amount = random.choice(AMOUNTS)
        deals.append(
            Deal(
                name="d",
                value=None if amount is None else Decimal(amount),
                currency=random.choice(["EUR", "USD", "JPY"]),
                stage_id=None if stage is None else stage.id,
                status=status,
                owner_id=random.choice([None, "Zed", "ada", "zed"]),
                account_id=random.choice([None, *(account.id for account in accounts)]),
                source=random.choice([None, "Ä", "web"]),
                geo_scope=random.choice([None, "local", "regional"]),
                close_date=random.choice(
                    [None, date(2026, 1, 1), date(2025, 12, 29), date(9999, 12, 31), date(1, 1, 1)]
                ),
                created_at=made,
                closed_at=None if status == "open" else made + timedelta(microseconds=random.randrange(10**13)),
            )
        )
    await tenant.add(*deals)


DIMENSIONS = [
    *("STAGE", "OWNER", "ACCOUNT", "INDUSTRY", "STATUS", "CURRENCY", "SOURCE", "GEO_SCOPE", "CLOSE_DATE", "CREATED_AT"),
    "CLOSED_AT",
]


@pytest.mark.long_on("postgresql")
async def test_the_groups_are_what_the_listing_adds_up_to(one: Tenant) -> None:
    await fill(one, Random(1))
    deals = await listed(one)
    assert len(deals) == 60
    for number, dimension in enumerate(DIMENSIONS):
        other = DIMENSIONS[(number + 4) % len(DIMENSIONS)]
        for by in ([dimension], [dimension, other]):
            for grain, zone in (("DAY", "Pacific/Auckland"), ("WEEK", "UTC"), ("MONTH", "Europe/London")):
                expected: dict[Any, list[Any]] = {}
                for deal in deals:
                    expected.setdefault(tuple(key_of(d, grain, zone)(deal) for d in by), []).append(deal)
                answer = await aggregate(one, by=by, grain=grain, zone=zone, first=500)
                found = {tuple(shown_key(d)(group) for d in by): figures(group) for group in answer["groups"]}
                assert sorted(map(str, found)) == sorted(map(str, expected)), (by, grain)
                assert found == {key: summed(these) for key, these in expected.items()}
                assert figures(answer["total"]) == summed(deals)
                assert (answer["groupCount"], answer["truncated"]) == (len(expected), False)


async def test_everything_is_one_group_also_of_nothing(one: Tenant) -> None:
    empty = await aggregate(one)
    assert [figures(group) for group in empty["groups"]] == [summed([])] == [figures(empty["total"])]
    assert (empty["groupCount"], empty["truncated"]) == (1, False)
    by_stage = await aggregate(one, by=["STAGE"])
    assert (by_stage["groups"], by_stage["groupCount"], by_stage["truncated"]) == ([], 0, False)
    assert figures(by_stage["total"]) == summed([])
    await fill(one, Random(2), 12)
    whole = await aggregate(one, first=0)
    assert (whole["groups"], whole["groupCount"], whole["truncated"]) == ([], 1, True)
    assert figures(whole["total"]) == summed(await listed(one))


def nulls_last(values: list[Any], *, descending: bool) -> list[Any]:
    there = sorted((value for value in values if value is not None), reverse=descending)
    return there + [None] * (len(values) - len(there))


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
async def test_the_order_of_the_groups(one: Tenant, direction: str) -> None:
    await fill(one, Random(3), 80)
    down = direction == "DESC"

    def amount(name: str) -> Callable[[dict[str, Any]], Any]:
        return lambda group: next((v[name] for v in group["values"] if v["currency"] == "EUR"), Decimal(0))

    def weighted(group: dict[str, Any]) -> Any:
        return next((v["amount"] for v in group["weighted"] if v["currency"] == "EUR"), Decimal(0))

    measures: dict[str, Callable[[dict[str, Any]], Any]] = {
        "COUNT": lambda group: group["count"],
        "SUM": amount("sum"),
        "WEIGHTED": weighted,
        "WIN_RATE": lambda group: group["winRate"],
        "SALES_CYCLE_DAYS": lambda group: group["salesCycleDays"],
    }
    for field, measure in measures.items():
        order: dict[str, Any] = {"field": field, "direction": direction}
        if field in ("SUM", "WEIGHTED"):
            order["currency"] = "eur"
        by_key = [shown_key("CREATED_AT")(g) for g in (await aggregate(one, by=["CREATED_AT"]))["groups"]]
        groups = (await aggregate(one, by=["CREATED_AT"], order=order))["groups"]
        found = [measure(figures(group)) for group in groups]
        assert found == nulls_last(found, descending=down)
        places = [by_key.index(shown_key("CREATED_AT")(group)) for group in groups]
        for number in range(1, len(groups)):  # ties are in the order of the keys
            assert found[number - 1] != found[number] or places[number - 1] < places[number]
    stages = [g["key"]["stage"] for g in (await aggregate(one, by=["STAGE"], order={"direction": direction}))["groups"]]
    names = [stage["name"] for stage in stages[:-1]]
    assert stages[-1] is None
    assert names == ["S3", "S2", "S1", "S0", "W", "L"][:: -1 if down else 1]
    owners = [
        g["key"]["ownerId"] for g in (await aggregate(one, by=["OWNER"], order={"direction": direction}))["groups"]
    ]
    assert owners == nulls_last(["Zed", "ada", "zed", None], descending=down)
    accounts = [
        (g["key"]["account"] or {}).get("name")
        for g in (await aggregate(one, by=["ACCOUNT"], order={"direction": direction}))["groups"]
    ]
    assert accounts == nulls_last(["B", "a", "b", None], descending=down)


async def test_the_total_is_also_of_groups_that_are_not_listed(one: Tenant) -> None:
    await fill(one, Random(4))
    whole, cut = [await aggregate(one, by=["OWNER", "STATUS"], first=size) for size in (500, 2)]
    assert cut["groups"] == whole["groups"][:2]
    assert cut["total"] == whole["total"]
    assert (cut["groupCount"], cut["truncated"], whole["truncated"]) == (len(whole["groups"]), True, False)


async def test_the_filter_decides_what_is_counted(one: Tenant) -> None:
    await fill(one, Random(5))
    for filter in (
        {"status": {"eq": "WON"}},
        {"or": [{"currency": {"eq": "EUR"}}, {"value": {"gt": "100"}}]},
        {"account": {"industry": {"eq": "x"}}},
        {"name": {"eq": "none"}},
    ):
        answer = await aggregate(one, filter=filter, by=["INDUSTRY", "STAGE"])
        deals = await listed(one, filter)
        assert figures(answer["total"]) == summed(deals)
        assert sum(group["count"] for group in answer["groups"]) == len(deals)


PERIODS = [
    ("DAY", "2026-01-01", "2026-01-02", "2026-01-01"),
    ("WEEK", "2025-12-29", "2026-01-05", "2026-W01"),
    ("MONTH", "2026-01-01", "2026-02-01", "2026-01"),
    ("QUARTER", "2026-01-01", "2026-04-01", "2026-Q1"),
    ("YEAR", "2026-01-01", "2027-01-01", "2026"),
]


@pytest.mark.parametrize(("grain", "start", "end", "label"), PERIODS)
async def test_periods(one: Tenant, grain: str, start: str, end: str, label: str) -> None:
    last = Deal(name="last", close_date=date(9999, 12, 31), created_at=datetime(2025, 12, 31, 12, 0, tzinfo=UTC))
    await one.add(Deal(name="d", close_date=date(2026, 1, 1), created_at=last.created_at), last)
    answer = await aggregate(one, by=["CLOSE_DATE"], grain=grain)
    assert answer["groups"][0]["key"]["closeDate"] == {"start": start, "end": end, "label": label}
    assert answer["groups"][1]["key"]["closeDate"]["end"] == "9999-12-31"
    # In Auckland the year has begun already.
    [group] = (await aggregate(one, by=["CREATED_AT"], grain=grain, zone="Pacific/Auckland"))["groups"]
    assert group["key"]["createdAt"] == {"start": start, "end": end, "label": label}
    assert group["count"] == 2


REFUSED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("three", {"by": ["STAGE", "OWNER", "STATUS"]}, ["groupBy"]),
    ("twice", {"by": ["STAGE", "STAGE"]}, ["groupBy"]),
    ("zone", {"zone": "Mars/Olympus"}, ["timeZone"]),
    ("machine", {"zone": "localtime"}, ["timeZone"]),
    ("many", {"first": 501}, ["first"]),
    ("few", {"first": -1}, ["first"]),
    ("sum", {"order": {"field": "SUM"}}, ["orderBy", "currency"]),
    ("weighted", {"order": {"field": "WEIGHTED", "currency": None}}, ["orderBy", "currency"]),
    ("count", {"order": {"field": "COUNT", "currency": "EUR"}}, ["orderBy", "currency"]),
    ("no currency", {"order": {"field": "SUM", "currency": "euros"}}, ["orderBy", "currency"]),
]


@pytest.mark.parametrize(("name", "variables", "at"), REFUSED, ids=[name for name, _, _ in REFUSED])
async def test_what_cannot_be_asked(one: Tenant, name: str, variables: dict[str, Any], at: list[str]) -> None:
    error = await one.error(AGGREGATE, **variables)
    assert error["extensions"]["code"] == "VALIDATION"
    assert [problem["field"] for problem in error["extensions"]["problems"]] == [at]


async def test_it_is_one_statement_of_what_is_selected(one: Tenant) -> None:
    await fill(one, Random(6))
    with statements(one.gateway.world.database) as sent:
        await one.ask('{ dealAggregate(groupBy: [SOURCE], timeZone: "Europe/Paris") { groups { count } } }')
    [text] = [each for each in sent if "memberships" not in each]
    assert "pipeline_stages" not in text
    assert "value" not in text
    assert "min(" not in text.lower()
    with statements(one.gateway.world.database) as sent:
        await one.ask("{ dealAggregate(groupBy: [STAGE, ACCOUNT]) { groups { key { stage { name } account { name } }"
                      " winRate values { minimum } weighted { amount } } total { count } } }")  # fmt: skip
    assert len([each for each in sent if "memberships" not in each]) == 3  # with those of the stages and the accounts
