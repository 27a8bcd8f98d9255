"""Questions are read in full or declined: answers as the reference SQL has them, paraphrases, follow-ups, outsiders.

Decisions 275 to 277 and 282 to 284.
"""

from __future__ import annotations

import json
import re
import sqlite3
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import asyncpg
import pytest

from contract.analytics_results import ChartKind, Result
from contract.catalog import CATALOG
from contract.vocabulary import SortDirection
from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.analytics_queries import prepare
from resolvers.charts import chart_of
from resolvers.explanations import explain
from resolvers.questions.decline import EXAMPLES
from resolvers.questions.plans import Declined, Plan
from resolvers.questions.reading import read
from resolvers.shared.context import Context
from storage.tables import Account, Campaign, Deal, PipelineStage
from tests.analytics.crm import NOW, fill
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")
HERE = Path(__file__).parent
REFERENCES = [
    line.split("\t") for line in (HERE / "reference.txt").read_text().splitlines() if not line.startswith("#")
]
BLOCKS = [block.splitlines() for block in (HERE / "questions.txt").read_text().split("\n", 1)[1].strip().split("\n\n")]
OUTSIDERS = (HERE / "outsiders.txt").read_text().splitlines()


async def context(one: Tenant, role: str = "member") -> Context:
    return await one.gateway.world.context(one.subject(role), one.organization)


async def asked(one: Tenant, question: str, previous: AnalyticsQuery | None = None, **more: Any) -> Plan | Declined:
    zone, present = more.get("zone", "UTC"), more.get("present", NOW)
    return await read(await context(one), question, zone, present, previous)


async def planned(one: Tenant, question: str, previous: AnalyticsQuery | None = None, **more: Any) -> Plan:
    found = await asked(one, question, previous, **more)
    assert isinstance(found, Plan), (question, found)
    return found


async def refused(one: Tenant, question: str, previous: AnalyticsQuery | None = None) -> Declined:
    found = await asked(one, question, previous)
    assert isinstance(found, Declined), (question, found)
    return found


async def answer(one: Tenant, plan: Plan) -> Result:
    """What the plan comes to on the day of the tests."""
    ctx = await context(one)
    prepared = prepare(plan.query, frozenset(ctx.caller.scopes), NOW)
    async with ctx.reading() as session:
        rows, truncated = await prepared.rows(session)
        statement = prepared.statement(session.dialect)
    chart = chart_of(prepared.columns, rows, is_list=not plan.query.measures, wanted=plan.chart)
    return Result(prepared.columns, rows, truncated, statement, chart, 0)


NAMES = {
    **dict.fromkeys(("deals", "meetings", "contacts", "leads", "campaigns", "closed"), "count"),
    **{"amount": "value_sum", "owner_id": "owner", "won": "won_count", "last_meeting": "last_meeting_at"},
    **{"score": "health_score", "trend": "health_trend", "days": "stage_days"},
}
ORDERED = {"1", "3", "7", "11", "15", "17", "19", "23", "27", "31", "33", "39"}


def plain(value: object) -> object:
    """A value as both have it: numbers exact to the fourth decimal, times to the second."""
    match value:
        case int() | float() | Decimal():
            return Decimal(str(value)).quantize(Decimal("0.0001")).normalize()
        case datetime():
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
        case date():
            return value.isoformat()
        case str() if re.fullmatch(r"-?\d+\.\d+", value):
            return plain(Decimal(value))
        case str() if re.match(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d", value):
            return value[:19].replace(" ", "T")
    return value


async def referred(one: Tenant, url: str, sql: str) -> list[dict[str, Any]]:
    """The rows of the reference SQL over the organization's tables."""
    sql = sql.replace("user_demo_member", one.subject())
    for table in ("deals", "accounts", "pipeline_stages", "activities", "contacts", "leads", "health_snapshots"):
        sql = re.sub(
            rf"\b(FROM|JOIN) {table}\b(?! (?:[a-z]{{1,2}}|AS)\b)",
            rf"\1 (SELECT * FROM {table} WHERE org_id = '{one.id}') AS {table}",
            sql,
        )
        sql = re.sub(
            rf"\b(FROM|JOIN) {table} ([a-z]{{1,2}})\b",
            rf"\1 (SELECT * FROM {table} WHERE org_id = '{one.id}') AS \2",
            sql,
        )
    for table in ("campaigns", "stage_changes"):
        sql = sql.replace(f"FROM {table}", f"FROM (SELECT * FROM {table} WHERE org_id = '{one.id}') AS {table}")
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite+aiosqlite:///"))
        try:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(sql).fetchall()]
        finally:
            connection.close()
    server = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        await server.execute("SET TIME ZONE 'UTC'")
        await server.execute("SELECT set_config('crm.org_id', $1, false)", one.id)
        return [dict(row) for row in await server.fetch(sql)]
    finally:
        await server.close()


def shown(result: Result, query: AnalyticsQuery, names: list[str]) -> list[list[object]]:
    """The columns of the answer that the reference has."""
    columns = [column.name for column in result.columns]
    rows = []
    for row in result.rows:
        found = dict(zip(columns, row, strict=True))
        values: list[object] = []
        for name in names:
            if name == "month":
                values.append(str(found[query.by[0]])[:7])
            elif name == "quarter":
                values.append("this quarter" if str(found["close_date"]) >= "2026-10" else "last quarter")
            else:
                values.append(plain(found[NAMES[name] if name in NAMES and name not in columns else name]))
        rows.append(values)
    return rows


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda one: f"question-{one[0]}")
async def test_answers_are_those_of_the_reference(one: Tenant, surface_url: str, reference: list[str]) -> None:
    number, question, chart, postgresql, sqlite = reference
    await fill(one)
    sql = sqlite if surface_url.startswith("sqlite") and sqlite != "=" else postgresql
    expected = await referred(one, surface_url, sql)
    assert expected
    plan = await planned(one, question)
    result = await answer(one, plan)
    found = shown(result, plan.query, list(expected[0]))
    wanted = [[plain(value) for value in row.values()] for row in expected]
    if number in ORDERED:
        assert found == wanted
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    assert result.chart.kind.value == chart


@pytest.mark.parametrize("block", BLOCKS, ids=lambda one: re.sub(r"\W+", "-", one[1]))
async def test_paraphrases_are_read_to_one_query(one: Tenant, block: list[str]) -> None:
    expected = json.loads(block[0].replace('"me"', json.dumps(one.subject())))
    assert len(block) == 5
    for question in block[1:]:
        assert (await planned(one, question)).query.plan == expected, question


async def test_questions_outside_of_the_catalogue_are_declined_with_their_words(one: Tenant) -> None:
    await fill(one)
    assert len(OUTSIDERS) >= 40
    for line in OUTSIDERS:
        question, words = line.split("\t")
        found = await refused(one, question)
        assert set(words.split(",")) <= {word.casefold() for word in found.unread}, (question, found)
        assert len(found.suggestions) == 3


async def test_every_example_is_read(one: Tenant) -> None:
    assert set(EXAMPLES) == set(CATALOG)
    for examples in EXAMPLES.values():
        for question in examples:
            await planned(one, question)


async def test_any_figure_of_the_catalogue_is_read_by_any_dimension(one: Tenant) -> None:
    nouns = {"research_results": "research results", "enrollments": "recipients"}
    for entity in CATALOG.values():
        noun = nouns.get(entity.name, entity.name)
        for dimension in entity.dimensions.values():
            if dimension.is_date or dimension.name in ("value", "name", "email", "company_name", "subject"):
                continue
            plan = await planned(one, f"How many {noun} by {dimension.name.replace('_', ' ')}?")
            assert (plan.query.measures, plan.query.by) == (["count"], [dimension.name])
            if dimension.values is not None:
                for value in dimension.values:
                    plan = await planned(one, f"How many {noun} with {dimension.name} {value.value.replace('_', ' ')}?")
                    assert [(c.field, c.value) for c in plan.query.where] == [(dimension.name, value.value)]
            if dimension.kind.value == "text" and dimension.name != "tag":
                plan = await planned(one, f"How many {noun} have no {dimension.name.replace('_', ' ')}?")
                assert [(c.field, c.op.value) for c in plan.query.where] == [(dimension.name, "is_null")]
        for measure in entity.measures:
            plan = await planned(one, f"{measure.replace('_', ' ')} of {noun} by {_grouping(entity.name)}")
            assert measure in plan.query.measures, measure


def _grouping(entity: str) -> str:
    return {"research_results": "status", "campaigns": "status", "enrollments": "status"}.get(entity, "owner")


async def test_words_of_the_organization_are_values(one: Tenant) -> None:
    await fill(one)
    cases = {
        "Deals in Legal review": {"stage": "Legal review"},
        "How many deals from the website?": {"source": "Website"},
        "Deals in the software industry by owner": {"industry": "Software"},
        "Open deals at Acme 0": {"status": "open", "account": "Acme 0"},
        'Contacts of "Birch 1"': {"account": "Birch 1"},
        "Recipients of campaign Autumn by status": {"campaign": "Autumn"},
        "How many deals are owned by The member?": {"owner": one.subject()},
        "Leads tagged VIP": {"tag": "VIP"},
        "Won deals in EUR": {"status": "won", "currency": "EUR"},
    }
    for question, expected in cases.items():
        with statements(one.gateway.world.database) as sent:
            found = await read(context := await _context(one), question, "UTC", NOW)
        assert isinstance(found, Plan), (question, found)
        assert {c.field: c.value for c in found.query.where} == expected, question
        assert len([text for text in sent if "memberships" not in text]) <= 1
        assert context is not None


async def _context(one: Tenant) -> Context:
    return await context(one)


async def test_a_question_of_the_catalogue_alone_asks_the_database_nothing(one: Tenant) -> None:
    ctx = await context(one)
    with statements(one.gateway.world.database) as sent:
        assert isinstance(await read(ctx, "Pipeline value by stage", "UTC", NOW), Plan)
    assert sent == []


async def test_two_readings_are_declined_with_both(one: Tenant) -> None:
    dated = await refused(one, "How many deals this month?")
    assert dated.suggestions == ("How many deals created this month", "How many deals closing this month")
    for text in dated.suggestions:
        await planned(one, text)
    await one.add(Account(name="Twin"), PipelineStage(name="Twin"), Deal(name="other"))
    named = await refused(one, "How many deals in Twin?")
    assert named.unread == ("Twin",)
    assert sorted(named.suggestions) == ["How many deals in account Twin", "How many deals in stage Twin"]
    for text in named.suggestions:
        await planned(one, text)


async def test_names_of_another_organization_are_no_values(one: Tenant, two: Tenant) -> None:
    await two.add(Account(name="Hidden"), Campaign(name="Secret", provider="local"))
    assert "Hidden" in (await refused(one, "Deals at Hidden")).unread
    assert "Secret" in (await refused(one, "Recipients of campaign Secret")).unread


async def test_scopes_decide_what_can_be_asked(one: Tenant) -> None:
    world = one.gateway.world
    subject = await world.join(one.subject("narrow"), one.organization, scopes=["data:access"])
    ctx = await world.context(subject, one.organization)
    for question in (
        "Meetings per month",
        "Accounts with the worst health",
        "Campaigns by status",
        "Accounts never met",
    ):
        found = await read(ctx, question, "UTC", NOW)
        assert isinstance(found, Declined)
        assert not any("eeting" in text or "ampaign" in text or "ealth" in text for text in found.suggestions)
    assert isinstance(await read(ctx, "Pipeline value by stage", "UTC", NOW), Plan)


def bounds(plan: Plan) -> list[Any]:
    return [one.value for one in plan.query.where if one.op.value in ("gte", "lt")]


async def test_the_zone_says_which_day_it_is(one: Tenant) -> None:
    late = datetime(2026, 11, 22, 12, tzinfo=UTC)  # the 23rd in Auckland, where a week begins with it
    assert bounds(await planned(one, "Meetings today", present=late)) == ["2026-11-22", "2026-11-23"]
    there = await planned(one, "Meetings today", present=late, zone="Pacific/Auckland")
    assert bounds(there) == ["2026-11-23", "2026-11-24"]
    assert there.query.time_zone == "Pacific/Auckland"
    assert bounds(await planned(one, "Meetings this week", present=late)) == ["2026-11-16", "2026-11-23"]
    week = await planned(one, "Meetings this week", present=late, zone="Pacific/Auckland")
    assert bounds(week) == ["2026-11-23", "2026-11-30"]
    year = await planned(one, "Deals won per month this year")
    assert year.assumptions == ("this year is 2026-01-01 to 2026-12-31, by closing day",)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("last month", ["2026-10-01", "2026-11-01"]),
        ("last 30 days", ["2026-10-23", "2026-11-23"]),
        ("in Q1", ["2026-01-01", "2026-04-01"]),
        ("in October 2025", ["2025-10-01", "2025-11-01"]),
        ("since 2026-03-05", ["2026-03-05"]),
        ("before March", ["2026-03-01"]),
        ("between January and March", ["2026-01-01", "2026-04-01"]),
        ("in the next 2 weeks", ["2026-11-22", "2026-12-07"]),
        ("yesterday", ["2026-11-21", "2026-11-22"]),
        ("in 2025", ["2025-01-01", "2026-01-01"]),
    ],
)
async def test_times_in_words(one: Tenant, words: str, expected: list[str]) -> None:
    assert bounds(await planned(one, f"How many meetings {words}?")) == expected


FOLLOW_UPS = [
    ("Deals won last quarter by owner", "and last month?", "How many deals were won last month by owner?"),
    ("How many open deals do we have?", "by owner", "Open deals by owner"),
    ("Won amount by owner this year", "only EUR", "Won amount by owner this year in EUR"),
    ("Pipeline value by stage", "what about by owner?", "Pipeline value by owner"),
    ("Meetings per month", "and per week?", "Meetings per week"),
    ("Meetings by source", "only mine", "My meetings by source"),
    ("How many leads by status?", "How many open deals do we have?", "How many open deals do we have?"),
    ("Top 10 open deals by value", "top 5", "Top 5 open deals by value"),
    ("Win rate by owner", "and win rate by industry", "Win rate by industry"),
    ("Meetings per owner last month", "by month", "Meetings by month last month"),
    ("Meetings per owner last month", "by week and owner", "Meetings by week and owner last month"),
]


@pytest.mark.parametrize(("first", "second", "same"), FOLLOW_UPS)
async def test_a_follow_up_changes_the_last_plan(one: Tenant, first: str, second: str, same: str) -> None:
    before = await planned(one, first)
    after = await planned(one, second, before.query)
    expected = await planned(one, same)

    def conditions(plan: Plan) -> list[str]:
        return sorted(repr(one.model_dump()) for one in plan.query.where)

    assert conditions(after) == conditions(expected)
    assert after.query.model_copy(update={"where": []}) == expected.query.model_copy(update={"where": []})
    assert after.follows == (not second.startswith("How many"))


async def test_the_first_of_periods_are_those_with_the_highest_figure(one: Tenant) -> None:
    before = await planned(one, "Meetings per month")
    after = await planned(one, "top 2", before.query)
    assert [(one.field, one.direction) for one in after.query.order_by] == [("count", SortDirection.DESC)]
    assert after.query.first == 2


@pytest.mark.parametrize(
    "first", ["Average health by industry", "Accounts with the worst health", "Which accounts have no open deal?"]
)
async def test_a_follow_up_guesses_no_date_either(one: Tenant, first: str) -> None:
    """Decision 1017."""
    before = await planned(one, first)
    for question, words in (("and last month?", "last"), ("by month", "month")):
        assert words in " ".join((await refused(one, question, before.query)).unread)
    assert (await planned(one, "by owner", before.query)).query.by == ["owner"]


async def test_follow_ups_need_something_to_follow(one: Tenant) -> None:
    before = await planned(one, "Meetings by source")
    for question in ("and last month?", "by owner", "only EUR", "top 5", "as a table"):
        assert (await refused(one, question)).unread, question
    table = await planned(one, "as a table", before.query)
    assert (table.chart, table.query, table.follows) == (ChartKind.TABLE, before.query, True)
    for question in ("and in Paris?", "by shoe size", "why?", "only EUR"):
        assert (await refused(one, question, before.query)).unread, question


ODD = """not without with no by per each and or in at of last this 60 10 EUR Acme "x" '' « 2026-13-45 99999999 9e9 %
who which most top over under between since for days month compare status open won tag named é 会議 %s {0}"""
WORDS = sorted({word for examples in EXAMPLES.values() for text in examples for word in text.split()} | {*ODD.split()})


async def test_any_words_are_read_or_declined(one: Tenant) -> None:
    random, ctx = Random(11), await context(one)
    previous = (await planned(one, "Meetings by source")).query
    for number in range(600):
        text = " ".join(random.choices(WORDS, k=random.randrange(1, 25)))
        found = await read(ctx, text, "UTC", NOW, previous if number % 3 == 0 else None)
        if isinstance(found, Plan):
            prepare(found.query, frozenset(ctx.caller.scopes), NOW)
        else:
            assert len(found.suggestions) <= 3
    for text in (
        "by " * 333,
        "without " * 125,
        "no open " * 125,
        "(" * 1000,
        "deals with " * 90,
        "9" * 1000,
        "\u0301" * 999,
        "",
    ):
        assert isinstance(await read(ctx, text, "UTC", NOW), Declined)


async def test_explanations_have_the_figures_of_the_rows(one: Tenant) -> None:
    await fill(one)
    for block in BLOCKS:
        plan = await planned(one, block[1])
        result = await answer(one, plan)
        text = explain(plan.query, result)
        assert text.endswith(".")
        told = [str(value) for row in result.rows for value in row] + [
            format(Decimal(str(value)).quantize(Decimal("0.01")), "f").rstrip("0").rstrip(".")
            for row in result.rows
            for value in row
            if isinstance(value, int | float) or (isinstance(value, str) and re.fullmatch(r"-?\d+\.\d+", value))
        ]
        told += [] if result.rows else list(result.sql.filters)
        for number in re.findall(r"\d+(?:[.,]\d+)?", text):
            assert any(number in one for one in told), (block[1], number, text)
        amounts = [c for c in result.columns if c.unit == "money" and c.name in plan.query.measures]
        if amounts and result.rows:
            assert re.search(r"EUR|USD|GBP", text), text


async def test_an_empty_answer_names_its_conditions(one: Tenant) -> None:
    plan = await planned(one, "Which open deals are overdue?")
    text = explain(plan.query, await answer(one, plan))
    assert text == "No deals were found where status is open and close date is under 2026-11-22."
