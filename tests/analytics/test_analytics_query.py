"""Semantic queries: the same figures as the aggregates and the lists, on both databases, by names of the catalogue."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import pytest

from contract.catalog import CATALOG
from contract.errors import Problems
from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.analytics_queries import answer, prepare
from resolvers.explanations import explain
from storage.tables import Deal
from tests.analytics.crm import fill
from tests.support.rules import SCOPES
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUERY = """query($input: AnalyticsQueryInput!) { analyticsQuery(input: $input) { columns { name label kind unit
  currencyColumn } rows rowCount truncated sql { text parameters dialect tables filters digest }
  chart { kind spec } } }"""


async def run(tenant: Tenant, entity: str, headers: Any = None, **query: Any) -> dict[str, Any]:
    found: dict[str, Any] = await tenant.ask(QUERY, headers, input={"entity": entity, **query})
    return found


async def objects(tenant: Tenant, entity: str, **query: Any) -> list[dict[str, Any]]:
    found = await run(tenant, entity, **query)
    names = [column["name"] for column in found["columns"]]
    return [dict(zip(names, row, strict=True)) for row in found["rows"]]


async def names(tenant: Tenant, entity: str, *where: dict[str, Any], **query: Any) -> list[Any]:
    rows = (await run(tenant, entity, where=list(where), **query))["rows"]
    return sorted(row[0] for row in rows)


def has(field: str, op: str = "EQ", value: Any = None, **more: Any) -> dict[str, Any]:
    return {"field": field, "op": op, **({} if value is None else {"value": value}), **more}


async def test_every_answer_can_be_explained(one: Tenant) -> None:
    """Also of queries that the parser does not make: those that were saved and verified are explained as well."""
    await fill(one)
    random, explained = Random(3), 0
    for entity in CATALOG.values():
        for _ in range(15):
            query = AnalyticsQuery.model_validate(
                {
                    "entity": entity.name,
                    "measures": random.sample([*entity.measures], random.randint(0, min(3, len(entity.measures)))),
                    "by": random.sample([*entity.dimensions], random.randint(0, 2)),
                    "first": random.choice([0, 1, 1000]),
                    "where": [{"field": random.choice([*entity.dimensions]), "op": "is_not_null"}],
                }
            )
            try:
                prepared = prepare(query, frozenset(SCOPES))
            except Problems:  # groups without a figure
                continue
            async with one.gateway.world.database.reading(one.id) as session:
                result = await answer(prepared, session, prepared.statement(session.dialect))
            assert explain(query, result)
            explained += 1
    assert explained > 50


async def test_every_name_of_the_catalogue_is_answered(one: Tenant) -> None:
    await fill(one)
    for entity in CATALOG.values():
        whole = await objects(one, entity.name, measures=["count"])
        listed = await run(one, entity.name)
        assert whole == [{"count": listed["rowCount"]}]
        assert listed["rowCount"] > 0
        for name in entity.dimensions:
            groups = await objects(one, entity.name, measures=["count"], by=[name])
            if name != "tag":
                assert sum(group["count"] for group in groups) == listed["rowCount"], (entity.name, name)
            nulls = await names(one, entity.name, has(name, "IS_NULL"))
            others = await names(one, entity.name, has(name, "IS_NOT_NULL"))
            assert len(nulls) + len(others) == listed["rowCount"]
        for name in entity.measures:
            found = await run(one, entity.name, measures=[name], orderBy=[{"field": name, "direction": "DESC"}])
            money = any(c["unit"] == "money" for c in found["columns"])
            assert [c["name"] for c in found["columns"]] == (["currency"] if money else []) + [name]
        for name, target in entity.links.items():
            some = await names(one, entity.name, has(name, "EXISTS"))
            none = await names(one, entity.name, has(name, "MISSING"))
            assert len(some) + len(none) == listed["rowCount"], (entity.name, name, target)
            assert some


DEALS = """query($by: [DealDimension!]) { dealAggregate(groupBy: $by, first: 500) { groups { key { stage { name }
  ownerId industry status currency } count values { currency sum average valued } weighted { currency amount }
  wonCount lostCount winRate salesCycleDays } } }"""


async def test_figures_are_those_of_the_aggregates(one: Tenant) -> None:
    await fill(one)
    measures = ["count", "won_count", "lost_count", "win_rate", "sales_cycle_days"]
    for by, key in (("owner", "ownerId"), ("industry", "industry"), ("stage", "stage"), ("status", "status")):
        groups = (await one.ask(DEALS, by=[by.upper()]))["groups"]
        found = await objects(one, "deals", measures=measures, by=[by])
        expected = []
        for group in groups:
            value = group["key"][key]
            value = value["name"] if isinstance(value, dict) else value
            figures = [group[n] for n in ("count", "wonCount", "lostCount", "winRate", "salesCycleDays")]
            expected.append([value.lower() if by == "status" else value, *figures])
        assert [[row[name] for name in (by, *measures)] for row in found] == expected
        amounts = await objects(one, "deals", measures=["value_sum", "value_average", "weighted_sum"], by=[by])
        flat = [
            (value["sum"], value["average"], value["currency"])
            for group in groups
            for value in group["values"]
            if value["valued"]
        ]
        assert [
            (row["value_sum"], row["value_average"], row["currency"]) for row in amounts if row["value_sum"] is not None
        ] == flat
        weighed = [(one["amount"], one["currency"]) for group in groups for one in group["weighted"]]
        rows = [(row["weighted_sum"], row["currency"]) for row in amounts if row["weighted_sum"] is not None]
        assert rows == [(amount, currency) for amount, currency in weighed if Decimal(amount)]


async def test_amounts_are_exact_and_in_their_order(one: Tenant) -> None:
    values = ["0.0001", "999999999999999.9999", "999999999999999.9998", None]
    await one.add(*(Deal(name=str(n), value=v and Decimal(v), source=str(n % 2)) for n, v in enumerate(values)))
    found = await objects(one, "deals", measures=["value_sum", "value_average"])
    assert found == [{"currency": "USD", "value_sum": "1999999999999999.9998", "value_average": "666666666666666.6666"}]
    for measure in ("value_sum", "value_average"):
        order = [{"field": measure, "direction": "DESC"}]
        by = await objects(one, "deals", measures=[measure], by=["source"], orderBy=order)
        assert [row["source"] for row in by] == (["0", "1"] if measure == "value_sum" else ["1", "0"])
    rows = await run(one, "deals", by=["value"], orderBy=[{"field": "value", "direction": "DESC"}])
    assert [row[1] for row in rows["rows"]] == [values[1], values[2], values[0], None]
    assert [c["name"] for c in rows["columns"]] == ["name", "value", "owner", "currency"]
    assert rows["columns"][1]["currencyColumn"] == "currency"
    assert await names(one, "deals", has("value", "GT", "0.00009999")) == ["0", "1", "2"]
    assert await names(one, "deals", has("value", "LTE", 0.0001)) == ["0"]
    assert await names(one, "deals", has("value", "LT", 10**20)) == ["0", "1", "2"]
    assert await names(one, "deals", has("value", "NEQ", "0.0001")) == ["1", "2", "3"]
    assert await names(one, "deals", has("value", "EQ", "0.00015")) == []


async def test_conditions_and_links(one: Tenant) -> None:
    await fill(one)
    everything = await objects(one, "deals", by=["status", "close_date"])
    open_ones = sorted(row["name"] for row in everything if row["status"] == "open")
    assert await names(one, "deals", has("status", value="open")) == open_ones
    assert await names(one, "deals", has("status", "NEQ", "open"), has("status", "IN", ["won", "lost"])) == sorted(
        row["name"] for row in everything if row["status"] != "open"
    )
    late = [row["name"] for row in everything if row["close_date"] and row["close_date"] < "2026-11-22"]
    assert await names(one, "deals", has("close_date", "LT", "2026-11-22")) == sorted(late)
    day = "2026-11-02"  # the first deal was made on it, at ten o'clock in UTC
    assert await names(one, "deals", has("created_at", "EQ", day)) == ["Deal 00"]
    assert await names(one, "deals", has("created_at", "GT", day)) == []
    assert await names(one, "deals", has("created_at", "GTE", day), timeZone="Pacific/Auckland") == ["Deal 00"]
    assert await names(one, "deals", has("created_at", "GTE", "2026-11-03"), timeZone="Pacific/Kiritimati") == [
        "Deal 00"
    ]
    assert len(await names(one, "deals", has("created_at", "NEQ", day))) == 59
    with_open = has("deals", "EXISTS", where=[has("status", value="open")])
    without = has("deals", "MISSING", where=[has("status", value="open")])
    assert len(await names(one, "accounts", with_open)) + len(await names(one, "accounts", without)) == 8
    people = has("contacts", "EXISTS", where=[has("title", value="CEO"), has("account", "EXISTS")])
    nested = await names(one, "accounts", has("deals", "EXISTS", where=[people]))
    assert nested
    assert set(nested) < set(await names(one, "accounts"))
    assert await names(one, "leads", has("tag", value="VIP"), has("tag", value="Fair")) == ["Lead 00"]
    tagged, none = (
        await names(one, "leads", has("tag", "IS_NOT_NULL")),
        await names(one, "leads", has("tag", "IS_NULL")),
    )
    assert (len(tagged), len(none)) == (14, 26)
    assert len(await names(one, "leads", has("tag", "NEQ", "VIP"))) == 40 - len(
        await names(one, "leads", has("tag", value="VIP"))
    )


async def test_the_statement_is_shown_without_the_wall(one: Tenant) -> None:
    """With its values in their places (decision 274)."""
    await fill(one)
    where = [has("status", value="open"), has("meetings", "MISSING", where=[has("due_at", "GTE", "2026-11-01")])]
    with statements(one.gateway.world.database) as sent:
        found = await run(one, "deals", measures=["value_sum"], by=["stage"], where=where)
    of_records = [text for text in sent if "memberships" not in text]
    assert len(of_records) == 1
    assert "org_id" in of_records[0]
    sql = found["sql"]
    assert "org_id" not in sql["text"]
    assert one.id not in sql["text"]
    assert sql["parameters"] == []
    assert "LIMIT 1000" in sql["text"]
    assert "deals.status = 'open'" in sql["text"]
    assert "'2026-11-01T00:00:00Z'" in sql["text"]
    assert sorted(sql["tables"]) == ["activities", "deals", "pipeline_stages"]
    assert sql["filters"] == ["status is open", "no meetings with due at is at least 2026-11-01"]
    assert len(sql["digest"]) == 64
    chart = found["chart"]
    assert chart["kind"] == "BAR"
    assert chart["spec"]["encoding"]["row"]["field"] == "currency"
    assert chart["spec"]["resolve"] == {"scale": {"x": "independent"}}


@pytest.mark.parametrize(
    ("query", "field", "words"),
    [
        ({"entity": "deal"}, ["entity"], "the nearest are deals"),
        ({"entity": "deals", "measures": ["valu_sum"]}, ["measures", "0"], "value_sum, value_average, weighted_sum"),
        ({"entity": "deals", "by": ["stages"]}, ["by", "0"], "stage"),
        ({"entity": "deals", "by": ["stage", "owner", "status"]}, ["by"], "2"),
        ({"entity": "deals", "by": ["stage", "stage"]}, ["by"], "twice"),
        ({"entity": "deals", "where": [{"field": "size", "value": 1}]}, ["where", "0", "field"], "nearest"),
        ({"entity": "deals", "where": [{"field": "status", "value": "gone"}]}, ["where", "0", "value"], "open, won"),
        ({"entity": "deals", "where": [{"field": "value", "value": "much"}]}, ["where", "0", "value"], "a number"),
        ({"entity": "deals", "where": [{"field": "name", "value": 1}]}, ["where", "0", "value"], "a text"),
        ({"entity": "deals", "where": [{"field": "close_date", "value": "May"}]}, ["where", "0", "value"], "a day"),
        ({"entity": "deals", "where": [{"field": "name", "op": "IN", "value": "a"}]}, ["where", "0", "value"], "list"),
        (
            {"entity": "deals", "where": [{"field": "name", "op": "IS_NULL", "value": 1}]},
            ["where", "0", "value"],
            "not",
        ),
        ({"entity": "deals", "where": [{"field": "stage", "op": "EXISTS"}]}, ["where", "0", "field"], "a link"),
        (
            {"entity": "deals", "where": [{"field": "account", "op": "EXISTS", "where": [{"field": "x", "value": 1}]}]},
            ["where", "0", "where", "0", "field"],
            "accounts",
        ),
        (
            {"entity": "deals", "measures": ["count"], "orderBy": [{"field": "name"}]},
            ["orderBy", "0", "field"],
            "count",
        ),
        ({"entity": "deals", "first": 1001}, ["first"], "1000"),
        ({"entity": "deals", "timeZone": "Mars"}, ["timeZone"], "zone"),
    ],
)
async def test_what_cannot_be_asked_is_named(one: Tenant, query: Any, field: list[str], words: str) -> None:
    error = await one.error(QUERY, input=query)
    assert error["extensions"]["code"] == "VALIDATION"
    [problem] = error["extensions"]["problems"]
    assert [str(part) for part in problem["field"]] == ["input", *field]
    assert words in problem["message"]


async def test_scopes_open_what_is_behind_the_door(one: Tenant) -> None:
    await fill(one)
    headers = await one.scoped("data:access")
    assert (await run(one, "deals", headers, measures=["count"]))["rows"] == [[60]]
    for query in (
        {"entity": "meetings"},
        {"entity": "accounts", "by": ["health_trend"]},
        {"entity": "accounts", "measures": ["health_average"]},
        {"entity": "accounts", "orderBy": [{"field": "last_meeting_at"}]},
        {"entity": "deals", "where": [{"field": "meetings", "op": "EXISTS"}]},
        {"entity": "contacts", "where": [{"field": "meetings", "op": "MISSING"}]},
        {"entity": "campaigns", "measures": ["count"]},
    ):
        error = await one.error(QUERY, headers, input=query)
        assert error["extensions"]["code"] == "FORBIDDEN", query
    none = await one.scoped("deals:read", name="other")
    error = await one.error(QUERY, none, input={"entity": "deals"})
    assert error["extensions"]["required_scopes"] == ["data:access"]


async def test_what_is_cut_says_so(one: Tenant) -> None:
    await one.add(*(Deal(name=f"{n:02}{'x' * 480}") for n in range(12)))
    cut = await run(one, "deals", first=11, orderBy=[{"field": "name"}])
    assert (cut["rowCount"], cut["truncated"]) == (11, True)
    whole = await run(one, "deals", first=12)
    assert (whole["rowCount"], whole["truncated"]) == (12, False)
    none = await run(one, "deals", first=0)
    assert (none["rows"], none["truncated"]) == ([], True)
    await one.add(*(Deal(name=f"{n}{'y' * 490}", source="z" * 490, owner_id="o" * 400) for n in range(900)))
    large = await run(one, "deals", by=["source"], where=[has("source", "IS_NOT_NULL")])
    assert large["truncated"]
    assert 600 < large["rowCount"] < 900


@pytest.mark.parametrize("name", ["measures", "by", "where", "order_by"])
@pytest.mark.parametrize("given", [{}, "", 0, False])
async def test_what_is_no_list_is_refused(one: Tenant, name: str, given: object) -> None:
    answer = await one.gateway.rest("POST", "/analytics/query", one.headers("admin"), {"entity": "deals", name: given})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", name]
