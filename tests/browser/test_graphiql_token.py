"""Where GraphiQL keeps the token: in the tab's session storage, and nowhere else (decision 92)."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.support.graphiql import run, storage

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]


async def test_the_token_stays_in_the_tab(offline: Any, live_server: str, live_token: str) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/graphql")
    await page.get_by_label("Token").fill(live_token)
    await expect(page.get_by_role("button", name="Ada Admin")).to_be_visible()
    await run(page)
    await page.reload()
    await expect(page.get_by_label("Token")).to_have_value(live_token)
    assert live_token in (await storage(page, "sessionStorage")).values()
    assert await storage(page, "localStorage") == {}
    assert await page.context.cookies() == []
    other = await page.context.new_page()
    await other.goto(f"{live_server}/graphql")
    await expect(other.get_by_label("Token")).to_have_value("")


async def test_the_token_is_hidden_until_asked_for(offline: Any, live_server: str, live_token: str) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/graphql")
    token = page.get_by_label("Token")
    await token.fill(live_token)
    await expect(token).to_have_attribute("type", "password")
    await page.get_by_role("button", name="Show", exact=True).click()
    await expect(token).to_have_attribute("type", "text")


async def test_a_ready_link_fills_the_bar_and_leaves_the_address(
    offline: Any, live_server: str, live_link: str, live_token: str, live_organization: str
) -> None:
    page: Page = offline.page
    await page.goto(live_link)
    await expect(page.get_by_label("Token")).to_have_value(live_token)
    await expect(page.get_by_label("Organization")).to_have_value(live_organization)
    assert page.url == f"{live_server}/graphql"
    assert (await run(page)).status == 200
    await page.goto(f"{live_server}/docs")
    await page.go_back()
    assert page.url == f"{live_server}/graphql"


async def test_a_token_can_be_forgotten(offline: Any, live_link: str, live_token: str) -> None:
    # Decision 168.
    page: Page = offline.page
    await page.goto(live_link)
    await page.get_by_role("button", name="Ada Admin").click()
    await page.get_by_role("button", name="Forget the token").click()
    await expect(page.get_by_label("Token")).to_have_value("")
    await expect(page.get_by_role("status")).to_have_text("Paste a token to run operations")
    kept = await storage(page, "sessionStorage")
    assert [name for name, value in kept.items() if live_token in value] == []
