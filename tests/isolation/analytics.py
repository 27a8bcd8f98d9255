"""The rows of analytics in the tables of all operations and paths, and what their paths answer beside their twins."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import httpx

from contract.aggregates import AccountDimension, CampaignDimension, DealDimension, LeadDimension, MeetingDimension
from storage.tables import (
    Account,
    Activity,
    Campaign,
    Deal,
    Enrollment,
    HealthSnapshot,
    Lead,
    PipelineStage,
    StageChange,
    Tag,
    TagLink,
)
from tests.isolation.requests import Case, Rest, by_id, q
from tests.isolation.surfaces import Surfaces, camel

_FIELD = "{ name description kind values isDate }"
CATALOG = f"""{{ analyticsCatalog {{ entities {{ name description dimensions {_FIELD} measures {_FIELD} links }}
  tables {{ name columns {{ name label kind unit currencyColumn }} }} sqlAvailable dialect functions examples }} }}"""
_LINKED = {"field": "contacts", "op": "exists"}
QUERY = """query($input: AnalyticsQueryInput!) { analyticsQuery(input: $input) { columns { name label kind unit
  currencyColumn } rows rowCount truncated sql { text parameters dialect tables filters digest }
  chart { kind spec } } }"""

SQL = "SELECT d.name, a.name AS account FROM deals d LEFT JOIN accounts a ON a.id = d.account_id ORDER BY d.id"
SQL_QUERY = """query($sql: String!, $first: Int) { sqlQuery(sql: $sql, first: $first) { columns { name label kind unit
  currencyColumn } rows rowCount truncated sql { text parameters dialect tables filters digest }
  chart { kind spec } } }"""

CASES: dict[str, Case] = {
    "deal_aggregates.aggregate_deals": Case(
        "CRM_READ",
        (
            Rest("GET", "/deals/aggregate?group_by=account,stage&account_id=<account>"),
            q(
                "query($a: ID!) { dealAggregate(groupBy: [ACCOUNT, STAGE], filter: {accountId: {eq: $a}})"
                " { groups { key { account { name } stage { name } } values { currency sum } } total { count } } }",
                a="<account>",
            ),
        ),
    ),
    "meeting_aggregates.aggregate_meetings": Case(
        "MEETINGS_READ",
        (
            Rest("GET", "/activities/meetings/aggregate?group_by=account,deal&account_id=<account>"),
            q(
                "query($a: ID!) { meetingAggregate(groupBy: [ACCOUNT, DEAL], filter: {accountId: {eq: $a}})"
                " { groups { key { account { name } deal { name } } count } total { count } } }",
                a="<account>",
            ),
        ),
    ),
    "lead_aggregates.aggregate_leads": Case(
        "CRM_READ",
        (
            Rest("GET", "/leads/aggregate?group_by=tag,owner"),
            q("{ leadAggregate(groupBy: [TAG, OWNER]) { groups { key { tag ownerId } count } total { count } } }"),
        ),
    ),
    "campaign_aggregates.aggregate_campaigns": Case(
        "OUTREACH_READ",
        (
            Rest("GET", "/outreach/campaigns/aggregate?group_by=campaign,enrollment_status"),
            q(
                "{ campaignAggregate(groupBy: [CAMPAIGN, ENROLLMENT_STATUS]) { groups { key { campaign { name } }"
                " enrolledCount } total { count } } }"
            ),
        ),
    ),
    "analytics_queries.run_query": Case(
        "DATA_ACCESS",
        (
            Rest("POST", "/analytics/query", {"entity": "deals", "by": ["account"], "where": [_LINKED]}),
            q(QUERY, input={"entity": "deals", "by": ["account"], "where": [_LINKED | {"op": "EXISTS"}]}),
        ),
    ),
    "account_aggregates.aggregate_accounts": Case(
        "CRM_READ",
        (
            Rest("GET", "/accounts/aggregate?group_by=industry,owner"),
            q("{ accountAggregate(groupBy: [INDUSTRY, OWNER]) { groups { key { industry ownerId } count } } }"),
        ),
    ),
    "account_aggregates.health_of": Case(
        "MEETINGS_READ",
        (
            q(
                "query($a: ID!) { accountAggregate(groupBy: [OWNER], filter: {id: {eq: $a}})"
                " { groups { averageHealth count } } }",
                a="<account>",
            ),
        ),
        below=("account_aggregates.aggregate_accounts",),
        direct=(SimpleNamespace(count=0), "count"),
    ),
    "forecast.forecast_deals": Case(
        "CRM_READ",
        (
            Rest("GET", "/deals/forecast?account_id=<account>&months=1"),
            q(
                "query($a: ID!) { dealForecast(filter: {accountId: {eq: $a}})"
                " { undated { count totals { amount } } } }",
                a="<account>",
            ),
        ),
    ),
    "funnel.funnel_of_deals": Case(
        "CRM_READ",
        (
            Rest("GET", "/deals/funnel?account_id=<account>"),
            q(
                "query($a: ID!) { dealFunnel(filter: {accountId: {eq: $a}}) { stages { entered here } } }",
                a="<account>",
            ),
        ),
    ),
    "analytics_runs.ask": Case(
        "DATA_ACCESS",
        (
            Rest("POST", "/analytics/ask", {"question": "deals", "conversation_id": "<conversation>"}),
            q(
                "subscription($i: AnalyticsAskInput!) { analyticsAsk(input: $i) { runId } }",
                i={"question": "deals", "conversationId": "<conversation>"},
            ),
        ),
    ),
    "analytics_runs.get_run": Case(
        "DATA_ACCESS",
        (
            Rest("GET", "/analytics/runs/<question>"),
            q("query($id: ID!) { analyticsRun(id: $id) { id question } }", id="<question>"),
        ),
    ),
    "analytics_runs.list_runs": Case(
        "DATA_ACCESS",
        (
            Rest("GET", "/analytics/runs?conversation_id=<conversation>"),
            q("query($c: ID) { analyticsRuns(conversationId: $c) { nodes { id question } } }", c="<conversation>"),
        ),
    ),
    "analytics_runs.watch_run": Case(
        "DATA_ACCESS",
        (
            Rest("GET", "/analytics/runs/<question>/events"),
            q("subscription($id: ID!) { analyticsRunEvents(id: $id) { sequence } }", id="<question>"),
        ),
    ),
    "analytics_runs.cancel_run": Case(
        "DATA_ACCESS",
        (
            Rest("POST", "/analytics/runs/<question>/cancel"),
            by_id("analyticsRunCancel", "question", "run { id }"),
        ),
    ),
    "analytics_runs.delete_conversation": Case(
        "DATA_ACCESS",
        (
            Rest("DELETE", "/analytics/conversations/<conversation>"),
            by_id("analyticsConversationDelete", "conversation", "deletedId"),
        ),
    ),
    "sql_queries.run_sql": Case(
        "DATA_ACCESS",
        (
            Rest("POST", "/analytics/sql", {"sql": SQL}),
            q(SQL_QUERY, sql=SQL),
        ),
    ),
    "analytics.get_catalog": Case("DATA_ACCESS", (Rest("GET", "/analytics/catalog"), q(CATALOG))),
}
PATHS: dict[tuple[str, str], tuple[str | None, bool, int, str | None]] = {
    ("GET", "/deals/aggregate"): ("CRM_READ", True, 200, "Query.dealAggregate"),
    ("GET", "/activities/meetings/aggregate"): ("MEETINGS_READ", True, 200, "Query.meetingAggregate"),
    ("GET", "/leads/aggregate"): ("CRM_READ", True, 200, "Query.leadAggregate"),
    ("GET", "/outreach/campaigns/aggregate"): ("OUTREACH_READ", True, 200, "Query.campaignAggregate"),
    ("GET", "/accounts/aggregate"): ("CRM_READ", True, 200, "Query.accountAggregate"),
    ("GET", "/deals/forecast"): ("CRM_READ", True, 200, "Query.dealForecast"),
    ("GET", "/deals/funnel"): ("CRM_READ", True, 200, "Query.dealFunnel"),
    ("POST", "/analytics/query"): ("DATA_ACCESS", True, 200, "Query.analyticsQuery"),
    ("POST", "/analytics/sql"): ("DATA_ACCESS", True, 200, "Query.sqlQuery"),
    ("GET", "/analytics/catalog"): ("DATA_ACCESS", True, 200, "Query.analyticsCatalog"),
    ("POST", "/analytics/ask"): ("DATA_ACCESS", True, 200, "Subscription.analyticsAsk"),
    ("GET", "/analytics/runs"): ("DATA_ACCESS", True, 200, "Query.analyticsRuns"),
    ("GET", "/analytics/runs/{run_id}"): ("DATA_ACCESS", True, 200, "Query.analyticsRun"),
    ("GET", "/analytics/runs/{run_id}/events"): ("DATA_ACCESS", True, 200, "Subscription.analyticsRunEvents"),
    ("POST", "/analytics/runs/{run_id}/cancel"): ("DATA_ACCESS", True, 202, "Mutation.analyticsRunCancel"),
    ("DELETE", "/analytics/conversations/{conversation_id}"): (
        *("DATA_ACCESS", True, 204, "Mutation.analyticsConversationDelete"),
    ),
}
_RUN = [
    *("id", "conversation_id", "question", "status", "planner", "plan", "result", "explanation", "unread"),
    *("suggestions", "error", "created_at", "finished_at"),
]
KEYS: dict[tuple[str, str], list[str]] = {
    ("/analytics/ask", "POST"): _RUN,
    ("/analytics/runs", "GET"): _RUN,
    ("/analytics/runs/{run_id}", "GET"): _RUN,
    ("/analytics/runs/{run_id}/cancel", "POST"): _RUN,
    ("/analytics/catalog", "GET"): ["entities", "tables", "sql_available", "dialect", "functions", "examples"],
    ("/analytics/sql", "POST"): ["columns", "rows", "row_count", "truncated", "sql", "chart", "duration_ms"],
    ("/deals/forecast", "GET"): ["months", "overdue", "undated", "later"],
    ("/deals/funnel", "GET"): ["stages"],
    ("/analytics/query", "POST"): ["columns", "rows", "row_count", "truncated", "sql", "chart", "duration_ms"],
}


async def _query(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    stage = PipelineStage(name="S", probability=33)
    await world.add(world.one, stage, Deal(name="1", value=Decimal("0.0001"), stage_id=stage.id), Deal(name="2"))
    asked: list[dict[str, Any]] = [
        {"entity": "deals", "measures": ["value_sum", "count"], "by": ["stage"], "grain": "week"},
        {"entity": "deals", "where": [{"field": "value", "op": "is_not_null"}], "order_by": [{"field": "value"}]},
    ]
    for body in asked:
        path = (await surfaces.rest("POST", "/analytics/query", body)).json()
        said = body | {"grain": body.get("grain", "month").upper()}
        said["where"] = [one | {"op": one["op"].upper()} for one in body.get("where", [])]
        orders = said.pop("order_by", [])
        graph = await surfaces.graphql(QUERY, input=said | {"orderBy": orders})
        path.pop("duration_ms")
        path["chart"]["kind"] = path["chart"]["kind"].upper()
        for column in path["columns"]:
            column["kind"] = column["kind"].upper()
            column["currencyColumn"] = column.pop("currency_column")
        assert {camel(name): value for name, value in path.items()} == graph
    refused = await surfaces.rest("POST", "/analytics/query", {"entity": "deals", "by": ["stages"]})
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["loc"] == ["body", "by", 0]


async def _sql(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    await world.add(world.one, Deal(name="1", value=Decimal("0.0001")), Deal(name="2"))
    for body in ({"sql": "SELECT name, value, currency FROM deals ORDER BY name"}, {"sql": SQL, "limit": 1}):
        path = (await surfaces.rest("POST", "/analytics/sql", body)).json()
        graph = await surfaces.graphql(SQL_QUERY, sql=body["sql"], first=body.get("limit", 1000))
        path.pop("duration_ms")
        path["chart"]["kind"] = path["chart"]["kind"].upper()
        for column in path["columns"]:
            column["kind"] = column["kind"].upper()
            column["currencyColumn"] = column.pop("currency_column")
        assert {camel(name): value for name, value in path.items()} == graph
    refused = await surfaces.rest("POST", "/analytics/sql", {"sql": "SELECT org_id FROM deals"})
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "sql"])


async def _catalog(surfaces: Surfaces) -> None:
    body = (await surfaces.rest("GET", "/analytics/catalog")).json()
    shown = body["entities"]
    assert "Pipeline value by stage" in body["examples"]
    for table in body["tables"]:
        for column in table["columns"]:
            column["kind"], column["currencyColumn"] = column["kind"].upper(), column.pop("currency_column")
    for entity in shown:
        for one in (*entity["dimensions"], *entity["measures"]):
            one["kind"], one["isDate"] = one["kind"].upper(), one.pop("is_date")
    assert {camel(name): value for name, value in body.items()} == await surfaces.graphql(CATALOG)


_DEAL_FIGURES = """count values { currency count valued sum average minimum maximum } weighted { currency amount count }
  unweightedCount openCount wonCount lostCount winRate salesCycleDays"""
_PERIOD = "{ start end label }"
_DEAL_KEY = f"""stage {{ id name position type probability }} owner: ownerId account {{ id name domain }} industry
  status currency source geoScope closeDate {_PERIOD} createdAt {_PERIOD} closedAt {_PERIOD}"""


def _said(value: Any) -> Any:
    """An answer of a path as GraphQL says it, but for amounts, which are numbers in both."""
    if isinstance(value, dict):
        return {camel(name): _said(inner) for name, inner in value.items()}
    return [_said(inner) for inner in value] if isinstance(value, list) else value


def _numbers(value: Any) -> Any:
    """An answer of GraphQL with its amounts as numbers, and its enums in lower case."""
    if isinstance(value, dict):
        return {name: _number(name, inner) for name, inner in value.items()}
    return [_numbers(inner) for inner in value] if isinstance(value, list) else value


def _number(name: str, value: Any) -> Any:
    if name in ("sum", "average", "minimum", "maximum", "amount") and value is not None:
        return Decimal(value)
    return value.lower() if name in _ENUMS and isinstance(value, str) else _numbers(value)


_ENUMS = ("status", "geoScope", "type", "state", "healthTrend", "source", "enrollmentStatus")


def _exact(response: httpx.Response) -> Any:
    return json.loads(response.text, parse_float=Decimal)


def _same(path: Any, graph: Any, by: Sequence[str]) -> None:
    """Both surfaces tell the same groups; a path's keys have what was asked for alone."""
    shown = _numbers(graph)
    for group in shown["groups"]:
        assert {name: value for name, value in group["key"].items() if name not in by and value is not None} == {}
        group["key"] = {name: group["key"][name] for name in by}
    assert _said(path) == shown


async def _deal_aggregate(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    account = Account(name="A", domain="a.example", industry="x")
    stages = [PipelineStage(name="S", probability=33), PipelineStage(name="W", type="won", position=1)]
    made = datetime(2026, 3, 1, tzinfo=UTC)
    deals = [
        Deal(name="1", value=Decimal("0.0001"), currency="EUR", stage_id=stages[0].id, account_id=account.id),
        Deal(name="2", value=Decimal("999999999999999.9999"), currency="EUR", close_date=date(2026, 2, 3)),
        Deal(name="3", value=None, currency="USD", geo_scope="local", source="web", owner_id="ada"),
        Deal(
            name="4",
            value=Decimal(10),
            stage_id=stages[1].id,
            status="won",
            created_at=made,
            closed_at=made + timedelta(days=2, hours=1),
        ),
    ]
    await world.add(world.one, account, *stages, *deals)
    figures, key = _DEAL_FIGURES, _DEAL_KEY
    for by in DealDimension:
        for order in ("KEY", "COUNT", "SUM"):
            currency = ', currency: "EUR"' if order == "SUM" else ""
            path = f"/deals/aggregate?group_by={by.value}&grain=quarter&order_by={order.lower()}&order=desc"
            found = _exact(await surfaces.rest("GET", path + ("&currency=EUR" if currency else "")))
            arguments = f"groupBy: [{by.name}], grain: QUARTER, orderBy: {{field: {order}, direction: DESC{currency}}}"
            parts = f"groups {{ key {{ {key} }} {figures} }} total {{ {figures} }} groupCount truncated"
            graph = await surfaces.graphql(f"{{ dealAggregate({arguments}) {{ {parts} }} }}")
            _same(found, graph, [camel(by.value)])
    found = _exact(await surfaces.rest("GET", "/deals/aggregate?limit=900&currency_in=EUR,USD&created_from=2026-03-02"))
    assert found["total"]["count"] == 3
    assert found["group_count"] == 1
    for path, at in (
        ("group_by=stage,owner,status", "group_by"),
        ("group_by=stage&group_by=stage", "group_by"),
        ("group_by=size", "group_by"),
        ("time_zone=Mars", "time_zone"),
        ("order_by=sum", "currency"),
        ("order_by=sum&currency=euros", "currency"),
        ("grain=decade", "grain"),
        ("limit=-1", "limit"),
    ):
        refused = await surfaces.rest("GET", f"/deals/aggregate?{path}")
        assert refused.status_code == 422, path
        assert [one["loc"][:2] for one in refused.json()["detail"]] == [["query", at]]


async def _meeting_aggregate(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    account, deal = Account(name="A", domain="a.example"), Deal(name="D")
    due = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    meetings = [
        Activity(subject="1", account_id=account.id, due_at=due, duration_minutes=45),
        Activity(subject="2", deal_id=deal.id, completed_at=due, duration_minutes=20, source="zoom", owner_id="ada"),
        Activity(subject="3"),
    ]
    await world.add(world.one, account, deal, *meetings)
    figures = "count completedCount accountCount totalMinutes averageMinutes"
    key = f"""owner: ownerId account {{ id name domain }} industry deal {{ id name stageId }} source state
      dueAt {_PERIOD} completedAt {_PERIOD} createdAt {_PERIOD}"""
    for by in MeetingDimension:
        path = f"/activities/meetings/aggregate?group_by={by.value}&grain=day&time_zone=Asia/Tokyo&order_by=count"
        arguments = f'groupBy: [{by.name}], grain: DAY, timeZone: "Asia/Tokyo", orderBy: {{field: COUNT}}'
        parts = f"groups {{ key {{ {key} }} {figures} }} total {{ {figures} }} groupCount truncated"
        graph = await surfaces.graphql(f"{{ meetingAggregate({arguments}) {{ {parts} }} }}")
        _same(json.loads((await surfaces.rest("GET", path)).text), graph, [camel(by.value)])
    none = await surfaces.rest("GET", "/activities/meetings/aggregate?unlinked_account=true&unlinked_deal=true")
    assert none.json()["total"]["count"] == 1
    late = await surfaces.rest("GET", "/activities/meetings/aggregate?from=2026-03-01T23:30:00Z&to=2026-03-02")
    assert late.json()["total"]["count"] == 1


async def _lead_aggregate(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    made = datetime(2026, 3, 1, tzinfo=UTC)
    leads = [
        Lead(name="1", status="converted", created_at=made, converted_at=made + timedelta(days=3), source="manual"),
        Lead(name="2", status="disqualified", disqualified_reason="r", owner_id="ada"),
        Lead(name="3"),
    ]
    tag = Tag(name="VIP", folded_name="vip")
    await world.add(world.one, *leads, tag)
    await world.add(world.one, TagLink(kind="lead", record_id=leads[0].id, tag_id=tag.id))
    figures = "count convertedCount disqualifiedCount conversionRate averageDaysToConvert"
    key = f"status source owner: ownerId tag disqualifiedReason createdAt {_PERIOD} convertedAt {_PERIOD}"
    for by in LeadDimension:
        parts = f"groups {{ key {{ {key} }} {figures} }} total {{ {figures} }} groupCount truncated"
        graph = await surfaces.graphql(f"{{ leadAggregate(groupBy: [{by.name}], grain: WEEK) {{ {parts} }} }}")
        found = await surfaces.rest("GET", f"/leads/aggregate?group_by={by.value}&grain=week")
        _same(json.loads(found.text), graph, [camel(by.value)])
    one = await surfaces.rest("GET", "/leads/aggregate?status=disqualified&owner_id=ada")
    assert one.json()["total"]["count"] == 1


async def _campaign_aggregate(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    campaigns = [Campaign(name="A", status="active", provider="x"), Campaign(name="B", provider="x")]
    at = datetime(2026, 3, 1, tzinfo=UTC)
    recipients = [
        Enrollment(campaign_id=campaigns[0].id, email=f"{s}@x.example", email_key=s, status=s, enrolled_at=at)
        for s in ("replied", "bounced", "active")
    ]
    await world.add(world.one, *campaigns)
    await world.add(world.one, *recipients)
    figures = "count enrolledCount repliedCount bouncedCount unsubscribedCount replyRate bounceRate"
    key = f"campaign {{ id name status }} status enrollmentStatus enrolledAt {_PERIOD} createdAt {_PERIOD}"
    for by in CampaignDimension:
        parts = f"groups {{ key {{ {key} }} {figures} }} total {{ {figures} }} groupCount truncated"
        graph = await surfaces.graphql(f"{{ campaignAggregate(groupBy: [{by.name}], grain: YEAR) {{ {parts} }} }}")
        found = await surfaces.rest("GET", f"/outreach/campaigns/aggregate?group_by={by.value}&grain=year")
        _same(json.loads(found.text), graph, [camel(by.value)])
    some = await surfaces.rest("GET", "/outreach/campaigns/aggregate?status=active&order_by=reply_rate")
    assert some.json()["total"]["enrolled_count"] == 3


async def _account_aggregate(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    accounts = [Account(name="A", industry="x", owner_id="ada"), Account(name="B", industry="x"), Account(name="C")]
    await world.add(world.one, *accounts)
    snapshots = [
        HealthSnapshot(account_id=account.id, score=score, trend=trend, formula_version="1")
        for account, score, trend in zip(accounts, (40, 51), ("stable", None), strict=False)
    ]
    await world.add(world.one, Deal(name="D", account_id=accounts[0].id), *snapshots)
    figures = "count withOpenDealsCount scoredCount averageHealth"
    key = f"industry owner: ownerId healthTrend createdAt {_PERIOD}"
    for by in AccountDimension:
        parts = f"groups {{ key {{ {key} }} {figures} }} total {{ {figures} }} groupCount truncated"
        graph = await surfaces.graphql(
            f"{{ accountAggregate(groupBy: [{by.name}], orderBy: {{field: AVERAGE_HEALTH}}) {{ {parts} }} }}"
        )
        found = await surfaces.rest("GET", f"/accounts/aggregate?group_by={by.value}&order_by=average_health")
        _same(json.loads(found.text), graph, [camel(by.value)])
    some = await surfaces.rest("GET", "/accounts/aggregate?industry=x&owner_id=ada")
    assert some.json()["total"] == {
        **{"count": 1, "with_open_deals_count": 1},
        **{"scored_count": 1, "average_health": 40.0},
    }
    for path, at in (
        ("group_by=industry,owner,created_at", "group_by"),
        ("group_by=owner&group_by=owner", "group_by"),
        ("time_zone=Mars", "time_zone"),
        ("order_by=sum", "order_by"),
    ):
        refused = await surfaces.rest("GET", f"/accounts/aggregate?{path}")
        assert refused.status_code == 422, path
        assert [one["loc"][:2] for one in refused.json()["detail"]] == [["query", at]]


_TOTAL = "{ currency amount count }"
_SLOT = f"{{ count totals {_TOTAL} weighted {_TOTAL} unweightedCount }}"


async def _flowing_deals(surfaces: Surfaces) -> None:
    """Gives the organization deals that close this year and later, and that went through stages."""
    world = surfaces.gateway.world
    stages = [PipelineStage(name="S", probability=33), PipelineStage(name="W", type="won", position=1)]
    deals = [
        Deal(name="1", value=Decimal("0.0001"), currency="EUR", stage_id=stages[0].id, close_date=date(2000, 1, 1)),
        Deal(name="2", value=Decimal("999999999999999.9999"), currency="EUR", close_date=date(9999, 12, 31)),
        Deal(name="3", currency="USD", stage_id=stages[1].id, status="won", close_date=date(2026, 2, 1)),
        Deal(name="4", value=Decimal(7), currency="USD"),
    ]
    at = datetime(2026, 1, 1, tzinfo=UTC)
    await world.add(world.one, *stages, *deals)
    moves = [(deals[0], None, stages[0]), (deals[2], None, stages[0]), (deals[2], stages[0], stages[1])]
    changes = [
        StageChange(
            deal_id=deal.id, from_stage_id=before and before.id, to_stage_id=after.id, at=at + timedelta(days=n)
        )
        for n, (deal, before, after) in enumerate(moves)
    ]
    await world.add(world.one, *changes)


async def _deal_forecast(surfaces: Surfaces) -> None:
    await _flowing_deals(surfaces)
    graph = await surfaces.graphql(
        f"""{{ dealForecast(from: "2026-01-15", months: 2, timeZone: "Asia/Tokyo") {{
          months {{ period {_PERIOD} open {_SLOT} won {_TOTAL} }} overdue {_SLOT} undated {_SLOT} later {_SLOT} }} }}"""
    )
    found = await surfaces.rest("GET", "/deals/forecast?from=2026-01-15&months=2&time_zone=Asia/Tokyo")
    assert _said(_exact(found)) == _numbers(graph)
    assert [len(month["won"]) for month in graph["months"]] == [0, 1]
    assert [graph[name]["count"] for name in ("overdue", "undated", "later")] == [1, 1, 1]


async def _deal_funnel(surfaces: Surfaces) -> None:
    await _flowing_deals(surfaces)
    figures = "entered here advanced lost conversionRate averageDays"
    graph = await surfaces.graphql(
        f"{{ dealFunnel {{ stages {{ stage {{ id name position type probability }} {figures} }} }} }}"
    )
    assert _said((await surfaces.rest("GET", "/deals/funnel")).json()) == _numbers(graph)
    assert [(one["entered"], one["advanced"], one["averageDays"]) for one in graph["stages"]] == [
        (2, 1, 1.0),
        (1, 0, None),
    ]


async def _questions(surfaces: Surfaces) -> None:
    asked = (await surfaces.rest("POST", "/analytics/ask", {"question": "how many deals"})).json()
    graph = await surfaces.graphql(
        "query($id: ID!) { analyticsRun(id: $id) { id conversationId question status planner explanation createdAt"
        " finishedAt result { rows rowCount truncated } } }",
        id=asked["id"],
    )
    path = (await surfaces.rest("GET", f"/analytics/runs/{asked['id']}")).json()
    assert path == asked
    result = {camel(name): path["result"][name] for name in ("rows", "row_count", "truncated")}
    said = {camel(name): value for name, value in path.items() if camel(name) in graph}
    assert said | {"status": said["status"].upper(), "planner": said["planner"].upper(), "result": result} == graph
    listed = (await surfaces.rest("GET", "/analytics/runs")).json()
    page = await surfaces.graphql("{ analyticsRuns { nodes { id } } }")
    assert [run["id"] for run in listed] == [run["id"] for run in page["nodes"]] == [asked["id"]]


async def _questions_ended(surfaces: Surfaces) -> None:
    asked = [(await surfaces.rest("POST", "/analytics/ask", {"question": "how many deals"})).json() for _ in range(2)]
    cancelled = await surfaces.rest("POST", f"/analytics/runs/{asked[0]['id']}/cancel")
    assert (cancelled.status_code, cancelled.json()) == (202, asked[0])
    graph = await surfaces.graphql(
        "mutation($id: ID!) { analyticsRunCancel(id: $id) { run { id status } userErrors { code } } }",
        id=asked[1]["id"],
    )
    assert graph == {"run": {"id": asked[1]["id"], "status": "SUCCEEDED"}, "userErrors": []}
    forgotten = await surfaces.rest("DELETE", f"/analytics/conversations/{asked[0]['conversation_id']}")
    assert forgotten.status_code == 204
    deleted = await surfaces.graphql(
        "mutation($id: ID!) { analyticsConversationDelete(id: $id) { deletedId userErrors { code } } }",
        id=asked[1]["conversation_id"],
    )
    assert deleted == {"deletedId": asked[1]["conversation_id"], "userErrors": []}
    assert (await surfaces.rest("GET", "/analytics/runs")).json() == []


COMPARED: dict[str, Callable[[Surfaces], Awaitable[None]]] = {
    "Query.dealAggregate": _deal_aggregate,
    "Query.meetingAggregate": _meeting_aggregate,
    "Query.leadAggregate": _lead_aggregate,
    "Query.campaignAggregate": _campaign_aggregate,
    "Query.accountAggregate": _account_aggregate,
    "Query.dealForecast": _deal_forecast,
    "Query.dealFunnel": _deal_funnel,
    "Query.analyticsQuery": _query,
    "Query.sqlQuery": _sql,
    "Query.analyticsCatalog": _catalog,
    **dict.fromkeys(
        ("Query.analyticsRun", "Query.analyticsRuns", "Subscription.analyticsAsk", "Subscription.analyticsRunEvents"),
        _questions,
    ),
    **dict.fromkeys(("Mutation.analyticsRunCancel", "Mutation.analyticsConversationDelete"), _questions_ended),
}
