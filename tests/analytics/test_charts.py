"""Charts are valid Vega-Lite 6 and draw no row upon another, no two currencies on one axis (decisions 274 and 304).

The schema is the one that vega-lite itself publishes, in the version that examples/analytics draws with.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from contract.analytics_results import Chart, ChartKind, ResultColumn
from contract.catalog import ColumnKind
from resolvers.charts import GROUPS_MAX, chart_of
from tests.analytics.crm import fill
from tests.analytics.test_questions import REFERENCES, answer, planned
from tests.support.node import node_for
from tests.support.tenants import Tenant

EXAMPLE = Path(__file__).parents[2] / "examples" / "analytics"
STAGE = ResultColumn("stage", "Stage", ColumnKind.TEXT)
STAGE_ID = ResultColumn("stage_id", "Stage id", ColumnKind.ID)
DAY = ResultColumn("due_at", "Due at", ColumnKind.DATE)
MOMENT = ResultColumn("created_at", "Created at", ColumnKind.DATETIME)
CURRENCY = ResultColumn("currency", "Currency", ColumnKind.TEXT)
COUNT = ResultColumn("count", "Count", ColumnKind.INTEGER)
RATE = ResultColumn("win_rate", "Win rate", ColumnKind.FLOAT, "percent")
SUM = ResultColumn("value_sum", "Value sum", ColumnKind.DECIMAL, "money", "currency")
DAYS = [f"{2020 + index // 336}-{index // 28 % 12 + 1:02}-{index % 28 + 1:02}" for index in range(1_000)]
LONG = "The Honourable Company of Long Names, Registered Abroad · " * 4
NUMBER, TABLE, BAR, LINE, STACKED = ChartKind


@pytest.fixture(scope="module")
def valid() -> Callable[[Any], list[str]]:
    """What the published schema has against a specification."""
    node_for(EXAMPLE, "no chart was checked")
    published = json.loads((EXAMPLE / "node_modules/vega-lite/build/vega-lite-schema.json").read_text())
    validator = Draft7Validator(published)
    return lambda spec: [error.message[:300] for error in validator.iter_errors(spec)]


CASES: dict[str, tuple[ChartKind, list[ResultColumn], list[list[Any]]]] = {
    "a figure": (NUMBER, [COUNT], [[3]]),
    "a figure of nothing": (NUMBER, [COUNT], []),
    "an amount of each currency": (TABLE, [CURRENCY, SUM], [["EUR", "1"], ["USD", "2"]]),
    "bars": (BAR, [STAGE, STAGE_ID, RATE], [["Won", "1", 50.0], [None, None, 0.0]]),
    "bars, one row": (BAR, [STAGE, COUNT], [["Won", 1]]),
    "bars, no row": (BAR, [STAGE, COUNT], []),
    "bars, long names": (BAR, [STAGE, COUNT], [[f"{LONG}{index}", index] for index in range(GROUPS_MAX)]),
    "bars of one currency": (BAR, [STAGE, CURRENCY, SUM], [["Won", "EUR", "1.5"], ["Lost", "EUR", None]]),
    "bars of two currencies": (BAR, [STAGE, CURRENCY, SUM], [["Won", "EUR", "1.5"], ["Won", "JPY", "900"]]),
    "amounts of who knows which currency": (TABLE, [STAGE, replace(SUM, currency_column=None)], [["Won", "1"]]),
    "more bars than can be told apart": (TABLE, [STAGE, COUNT], [[str(index), 1] for index in range(1_000)]),
    "two accounts of one name": (TABLE, [STAGE, STAGE_ID, COUNT], [["Acme", "1", 1], ["Acme", "2", 1]]),
    "two texts": (TABLE, [STAGE, ResultColumn("owner", "Owner", ColumnKind.TEXT), COUNT], [["Won", "Ada", 1]]),
    "a name that is a path": (TABLE, [ResultColumn("a.b[0]", "A", ColumnKind.TEXT), COUNT], [["Won", 1]]),
    "a line": (LINE, [DAY, COUNT], [[day, index] for index, day in enumerate(DAYS)]),
    "a line, one row": (LINE, [DAY, COUNT], [[DAYS[0], 1]]),
    "a line, no row": (LINE, [DAY, COUNT], []),
    "a line of months": (LINE, [DAY, COUNT], [[f"2026-{month:02}-01", month] for month in range(1, 13)]),
    "a line of moments": (LINE, [MOMENT, COUNT], [["2026-11-23T10:00:00Z", 1], ["2026-11-24T10:00:00.5Z", 2]]),
    "lines of two currencies": (LINE, [DAY, CURRENCY, SUM], [[DAYS[0], "EUR", "1"], [DAYS[0], "JPY", "900"]]),
    "bars in parts": (STACKED, [DAY, STAGE, COUNT], [[day, stage, 1] for day in DAYS[:500] for stage in ("Won", None)]),
    "bars in parts, one row": (STACKED, [DAY, STAGE, COUNT], [[DAYS[0], LONG, 1]]),
    "bars in parts, no row": (STACKED, [DAY, STAGE, CURRENCY, SUM], []),
    "parts of two currencies": (
        STACKED,
        [DAY, STAGE, CURRENCY, SUM],
        [[DAYS[0], "Won", code, "1"] for code in ("EUR", "JPY")],
    ),
    "more parts than can be told apart": (TABLE, [DAY, STAGE, COUNT], [[DAYS[0], str(n), 1] for n in range(1_000)]),
    "records": (TABLE, [STAGE, DAY], [["Won", day] for day in DAYS]),
}


@pytest.mark.parametrize("case", CASES, ids=lambda name: name.replace(" ", "-"))
def test_a_chart_is_what_its_columns_say_and_valid(valid: Callable[[Any], list[str]], case: str) -> None:
    kind, columns, rows = CASES[case]
    chart = chart_of(columns, rows)
    assert chart.kind is kind
    assert (chart.spec is None) is (kind in (NUMBER, TABLE))
    if chart.spec is not None:
        assert valid(chart.spec) == []
        assert set(chart.spec) <= {"$schema", "data", "mark", "encoding", "title", "resolve"}
        assert chart.spec["data"].keys() == {"name", "format"}
        _keeps_currencies_apart(chart, columns, rows)


def _keeps_currencies_apart(chart: Chart, columns: list[ResultColumn], rows: list[list[Any]]) -> None:
    assert chart.spec is not None
    encoding = chart.spec["encoding"]
    codes = {row[columns.index(CURRENCY)] for row in rows} if CURRENCY in columns else set()
    assert ("row" in encoding) is (len(codes) > 1)
    if len(codes) > 1:
        [axis] = [name for name, channel in encoding.items() if channel["field"] == SUM.name]
        assert encoding["row"]["field"] == CURRENCY.name
        assert chart.spec["resolve"] == {"scale": {axis: "independent"}}
    elif codes:
        assert chart.spec["title"] == "Value sum (EUR)"


@pytest.mark.asyncio(loop_scope="session")
async def test_charts_of_answers_are_valid(valid: Callable[[Any], list[str]], one: Tenant) -> None:
    await fill(one)
    questions = [question for _, question, *_ in REFERENCES] + ["Deals created by month and stage"]
    charts = [(await answer(one, await planned(one, question))).chart for question in questions]
    drawn = [chart for chart in charts if chart.spec is not None]
    assert {chart.kind for chart in drawn} == {BAR, LINE, STACKED}
    assert {json.dumps(chart.spec): valid(chart.spec) for chart in drawn if valid(chart.spec)} == {}


def test_what_is_wanted_is_drawn_where_it_can_be(valid: Callable[[Any], list[str]]) -> None:
    few, many = [[day, 1] for day in DAYS[:GROUPS_MAX]], [[day, 1] for day in DAYS]
    bars = chart_of([DAY, COUNT], few, wanted=BAR)
    assert bars.kind is BAR
    assert valid(bars.spec) == []
    assert chart_of([DAY, COUNT], many, wanted=BAR).kind is LINE
    assert chart_of([STAGE, COUNT], [["Won", 1]], wanted=TABLE).kind is TABLE
    named = chart_of([STAGE, COUNT], [["Won", 1]], is_list=True, label="stage", wanted=BAR)
    assert named.kind is BAR
    assert valid(named.spec) == []
    assert chart_of([STAGE, COUNT], [["Won", 1]], is_list=True, label="stage").kind is TABLE


def test_months_have_a_mark_each() -> None:
    months = chart_of([DAY, COUNT], [["2026-01-01", 1], ["2026-02-01", 2]]).spec
    days = chart_of([DAY, COUNT], [["2026-01-01", 1], ["2026-01-02", 2]]).spec
    assert months is not None
    assert days is not None
    assert months["encoding"]["x"]["axis"] == {"format": "%Y-%m-%d", "tickCount": "month"}
    assert "axis" not in days["encoding"]["x"]


def test_the_figure_is_the_one_that_the_explanation_is_about() -> None:
    drawn = chart_of([STAGE, COUNT, RATE], [["Won", 1, 50.0]]).spec
    assert drawn is not None
    assert drawn["encoding"]["x"]["field"] == RATE.name
    assert drawn["title"] == "Win rate (%)"
    amounts = chart_of([STAGE, CURRENCY, SUM, COUNT], [["Won", "EUR", "1", 1]]).spec
    assert amounts is not None
    assert amounts["encoding"]["x"]["field"] == SUM.name


def test_the_check_finds_what_is_no_chart(valid: Callable[[Any], list[str]]) -> None:
    assert valid({"mark": "cake", "data": {"name": "rows"}, "encoding": {}}) != []
    assert valid({"mark": "bar", "data": {"name": "rows"}, "encoding": {"x": {"feld": "a"}}}) != []
