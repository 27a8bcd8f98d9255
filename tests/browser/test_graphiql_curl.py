"""The copied curl command does what the page does, and holds no token (decision 93)."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.support.graphiql import open_tab, ready, write

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

COPY = "Copy as curl"


async def _copied(page: Page) -> str:
    await page.get_by_role("button", name=COPY).click()
    await expect(page.get_by_role("status")).to_have_text("Copied; the command takes the token from CRM_TOKEN")
    command: str = await page.evaluate("() => navigator.clipboard.readText()")
    return command


def _run(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        check=False,
        text=True,
        timeout=20,
    )


async def test_the_command_runs_with_its_variables_and_the_organization(
    offline: Any, live_link: str, live_token: str
) -> None:
    page: Page = offline.page
    await page.goto(live_link)
    await ready(page)
    await page.get_by_label("Organization").select_option("Demo Partners")
    await open_tab(page, "Search")
    command = await _copied(page)
    assert live_token not in command
    assert "--header 'X-Service-Org: 22222222-2222-4222-8222-222222222222'" in command
    done = _run(command, CRM_TOKEN=live_token)
    assert done.returncode == 0
    hits = json.loads(done.stdout)["data"]["search"]
    assert len(hits) > 1


async def test_the_shell_asks_for_a_token_that_is_missing(offline: Any, live_link: str) -> None:
    page: Page = offline.page
    await page.goto(live_link)
    await ready(page)
    done = _run(await _copied(page))
    assert done.returncode != 0
    assert done.stdout == ""
    assert "CRM_TOKEN: has to hold the token" in done.stderr


async def test_nothing_in_an_operation_gets_out_of_its_quotes(
    offline: Any, live_link: str, live_token: str, tmp_path: Any
) -> None:
    page: Page = offline.page
    await page.goto(live_link)
    await ready(page)
    words = "it's $(touch mark) `touch mark` \\u00e9! '; touch mark; '"
    await write(page, f"query Odd {{ search(query: {json.dumps(words)}) {{ snippet }} viewer {{ name }} }}")
    done = _run(f"cd {tmp_path} && {await _copied(page)}", CRM_TOKEN=live_token)
    assert done.returncode == 0
    assert json.loads(done.stdout)["data"]["viewer"] == {"name": "Ada Admin"}
    assert list(tmp_path.glob("mark")) == []


async def test_a_copied_subscription_streams(offline: Any, live_link: str, live_token: str) -> None:
    page: Page = offline.page
    await page.goto(live_link)
    await ready(page)
    await open_tab(page, "LiveEvents")
    command = await _copied(page)
    done = _run(f"{command.rstrip()} --max-time 3", CRM_TOKEN=live_token)
    assert done.returncode == 28  # curl's word for the time that is over: the stream goes on
    told = [json.loads(line[6:]) for line in done.stdout.splitlines() if line.startswith("data: ")]
    assert {event["data"]["events"]["type"] for event in told[:5]} == {"deal_created"}
