"""The example page of analytics as its readers use it, with nobody to reach but the service (decision 305)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Locator, Page, Route, expect

from contract.analytics_results import ChartKind, ResultColumn
from contract.catalog import ColumnKind
from resolvers.charts import chart_of
from tests.support.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="session")

SERVE = Path(__file__).parents[2] / "examples" / "analytics" / "serve.py"
STEPS = ["run_started", "plan", "sql", "columns", "rows", "chart", "explanation", "run_finished"]
LONG = "The Honourable Company of Long Names, Registered Abroad · " * 4 + "W" * 200
STAGE = ResultColumn("stage", "Stage", ColumnKind.TEXT)
DAY = ResultColumn("due_at", "Due at", ColumnKind.DATE)
COUNT = ResultColumn("count", "Count", ColumnKind.INTEGER)
DAYS = [f"{2020 + index // 336}-{index // 28 % 12 + 1:02}-{index % 28 + 1:02}" for index in range(1_000)]
NUMBER, TABLE, BAR, LINE, STACKED = ChartKind
SHOWN: dict[str, tuple[ChartKind, list[ResultColumn], list[list[Any]]]] = {
    "one figure": (NUMBER, [COUNT], [[1_234_567]]),
    "bars of long names": (BAR, [STAGE, COUNT], [[f"{index} {LONG}", index] for index in range(30)]),
    "one bar": (BAR, [STAGE, COUNT], [["Won", 3]]),
    "no bar": (BAR, [STAGE, COUNT], []),
    "a line of a thousand": (LINE, [DAY, COUNT], [[day, index % 50] for index, day in enumerate(DAYS)]),
    "a line of one": (LINE, [DAY, COUNT], [[DAYS[0], 1]]),
    "parts of long names": (
        STACKED,
        [DAY, STAGE, COUNT],
        [[day, f"{part} {LONG}", 1 + part] for day in DAYS[:12] for part in range(8)],
    ),
    "a thousand records": (
        TABLE,
        [STAGE, DAY],
        [[f"{LONG if index == 5 else index}", DAYS[0]] for index in range(1_000)],
    ),
}


@pytest.fixture(scope="module")
def live_server(live: Service) -> Iterator[str]:
    """The page's address, which takes the place of the service's: the browser reaches no other."""
    serving = subprocess.Popen(
        [sys.executable, SERVE, "0"],
        env=os.environ | {"CRM_URL": live.address},
        stdout=subprocess.PIPE,
        text=True,
    )
    with serving:
        assert serving.stdout is not None
        yield serving.stdout.readline().split()[-1].rstrip("/")
        serving.terminate()


async def test_the_page_is_under_its_policy_and_others_are_not_passed_on(live_server: str, live_token: str) -> None:
    caller = {"Authorization": f"Bearer {live_token}"}
    async with httpx.AsyncClient(base_url=live_server) as http:
        page = await http.get("/")
        assert (await http.get("/viewer", headers=caller)).json()["name"] == "Ada Admin"
        assert (await http.get("/viewer")).status_code == 401
        assert (await http.get("/deals", headers=caller)).status_code == 404
        asked = await http.post("/graphql", headers=caller, json={"query": "{ viewer { name } }"})
        assert asked.status_code == 404
    assert page.headers["content-security-policy"].startswith(
        "default-src 'none'; script-src 'self'; style-src 'self';"
    )
    assert "unsafe" not in page.headers["content-security-policy"]


async def signed_in(page: Page, address: str, token: str, organization: str) -> None:
    await page.goto(address)
    await page.get_by_label("Token").fill(f"Bearer {token}\n")
    await page.get_by_label("Organization").fill(organization)
    await page.keyboard.press("Enter")
    await expect(page.locator("#who")).to_have_text("Ada Admin, Demo Sales")


async def asked(page: Page, question: str) -> Locator:
    """The answer, as a reader sees it who types the question."""
    await page.get_by_label("Question", exact=True).fill(question)
    await page.keyboard.press("Enter")
    answer = page.get_by_role("article", name=question, exact=True)
    await expect(answer.get_by_role("heading")).to_be_visible()
    await expect(answer).not_to_have_attribute("aria-busy", "true")
    return answer


async def test_a_question_is_asked_followed_up_and_declined(
    offline: Any, live_server: str, live_token: str, live_organization: str
) -> None:
    page: Page = offline.page
    await signed_in(page, live_server, live_token, live_organization)
    await expect(page.locator("#examples button").first).to_be_visible()
    answer = await asked(page, "How many meetings did each person have last month?")
    assert await answer.locator(".steps code").all_text_contents() == STEPS
    await expect(answer.get_by_text("Assumed: last month is")).to_be_visible()
    await expect(answer.get_by_label("SQL")).to_contain_text("FROM activities")
    await expect(answer.get_by_role("img", name="Chart: Count")).to_be_visible()
    await expect(answer.locator(".chart svg .mark-rect.role-mark path")).not_to_have_count(0)
    await expect(answer.get_by_role("cell", name="user_demo_admin")).to_be_visible()
    await expect(page.locator("#status[role=status]")).to_contain_text("Count: the highest is")
    await expect(page.get_by_label("Question", exact=True)).to_be_focused()

    followed = await asked(page, "by month")
    await expect(followed.get_by_role("columnheader", name="Due at")).to_be_visible()
    declined = await asked(page, "deals by shoe size")
    assert await declined.locator(".steps code").all_text_contents() == [STEPS[0], STEPS[-1]]
    await expect(declined).to_contain_text("Not understood: by, shoe, size.")
    instead = declined.locator(".suggestions button").first
    question = await instead.inner_text()
    await instead.click()
    answer = page.get_by_role("article").last
    await expect(answer.get_by_role("heading")).to_have_text(question)
    await expect(answer.locator(".steps code")).to_have_count(len(STEPS))

    await page.get_by_role("button", name="New conversation").click()
    await page.get_by_role("button", name="How many open deals do we have?").click()
    await expect(page.get_by_label("Question", exact=True)).to_be_focused()
    await expect(page.get_by_role("article").locator(".figure dd")).to_have_text("39")
    await page.get_by_role("button", name="New conversation").click()
    alone = await asked(page, "by owner")
    await expect(alone).to_contain_text("Declined.")
    await page.get_by_label("Token").fill("nobody")
    refused = await asked(page, "How many open deals do we have?")
    await expect(refused.locator(".error")).to_have_text("Valid credential required")
    assert offline.elsewhere == []
    assert [said for said in offline.complaints if "401" not in said] == []


async def test_the_statement_that_was_shown_is_edited_and_run(
    offline: Any, live_server: str, live_token: str, live_organization: str
) -> None:
    page: Page = offline.page
    await signed_in(page, live_server, live_token, live_organization)
    answer = await asked(page, "How many open deals do we have?")
    await expect(answer.locator(".figure dd")).to_have_text("39")
    await answer.get_by_role("button", name="Edit").click()
    statement = answer.get_by_role("textbox", name="SQL")
    await expect(statement).to_be_focused()
    shown = await statement.input_value()
    assert "deals.status = 'open'" in shown
    await statement.fill("SELECT token FROM credentials")
    await answer.get_by_role("button", name="Run").click()
    await expect(answer.get_by_role("alert")).to_have_text(
        "sql: names: there is no table credentials (line 1, column 19)"
    )
    await expect(statement).to_be_focused()
    await expect(page.get_by_role("article")).to_have_count(1)

    await statement.fill(shown.replace("'open'", "'won'"))
    await answer.get_by_role("button", name="Run").click()
    edited = page.get_by_role("article").last
    await expect(edited.get_by_role("heading", name="Your SQL")).to_be_focused()
    await expect(edited.locator(".figure dd")).to_have_text("12")
    await expect(answer.get_by_role("alert")).to_have_text("")
    await expect(answer.locator(".figure dd")).to_have_text("39")
    assert offline.elsewhere == []
    assert [said for said in offline.complaints if "422" not in said] == []


async def test_every_kind_of_answer_is_shown_in_a_narrow_window(
    offline: Any, live_server: str, live_token: str, live_organization: str
) -> None:
    page: Page = offline.page
    await page.set_viewport_size({"width": 390, "height": 820})
    await signed_in(page, live_server, live_token, live_organization)
    await page.route("**/analytics/ask", _made_up)
    for name, (kind, _, rows) in SHOWN.items():
        answer = await asked(page, name)
        await expect(answer.locator(".chart svg")).to_have_count(int(kind not in (NUMBER, TABLE) and bool(rows)))
        await expect(answer.locator("tbody tr")).to_have_count(0 if kind is NUMBER else len(rows))
        await expect(answer.get_by_label("SQL")).to_have_text("""SELECT NULL, '$1?', "$1", 'it''s'""")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390, name
    assert offline.elsewhere == []
    assert offline.complaints == []


async def test_an_answer_that_is_cut_off_is_followed_to_its_end(
    offline: Any, live_server: str, live_token: str, live_organization: str
) -> None:
    page: Page = offline.page
    steps = _written("one bar")
    heard = []

    async def cut(route: Route) -> None:
        await route.fulfill(content_type="text/event-stream", body="".join(steps[:3]) + steps[3][:20])

    async def rest(route: Route) -> None:
        heard.append((route.request.url, await route.request.header_value("Last-Event-ID")))
        await route.fulfill(content_type="text/event-stream", body="".join(steps[3:]))

    await signed_in(page, live_server, live_token, live_organization)
    await page.route("**/analytics/ask", cut)
    await page.route("**/analytics/runs/**", rest)
    answer = await asked(page, "one bar")
    assert heard == [(f"{live_server}/analytics/runs/run/events", "3")]
    assert await answer.locator(".steps code").all_text_contents() == STEPS
    assert offline.complaints == []


async def _made_up(route: Route) -> None:
    await route.fulfill(
        content_type="text/event-stream", body="".join(_written(route.request.post_data_json["question"]))
    )


def _written(name: str) -> list[str]:
    """The steps of an answer with these rows, as the service would write them."""
    _, columns, rows = SHOWN[name]
    described = [
        {"name": c.name, "label": c.label, "kind": c.kind, "unit": c.unit, "currency_column": c.currency_column}
        for c in columns
    ]
    chart = chart_of(columns, rows)
    text = """SELECT NULL, '$1?', "$1", 'it''s'"""
    statement = {"text": text, "parameters": [], "dialect": "postgresql", "tables": [], "filters": []}
    told: list[tuple[str, Any]] = [
        ("run_started", {"run_id": "run", "conversation_id": "conversation", "question": name}),
        ("plan", {"planner": "parser", "query": {}, "assumptions": [], "follows_run_id": None}),
        ("sql", statement),
        ("columns", {"columns": described}),
        *(("rows", {"offset": at, "rows": rows[at : at + 100]}) for at in range(0, len(rows), 100)),
        ("chart", {"kind": chart.kind, "spec": chart.spec}),
        ("explanation", {"text": f"There are {len(rows)}."}),
        ("run_finished", {"status": "succeeded", "row_count": len(rows), "unread": [], "suggestions": []}),
    ]
    return [f"id: {at}\nevent: {kind}\ndata: {json.dumps(data)}\n\n" for at, (kind, data) in enumerate(told, 1)]
