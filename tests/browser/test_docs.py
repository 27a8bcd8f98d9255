from __future__ import annotations

from typing import Any

from playwright.async_api import Page, expect


async def test_swagger_ui_lists_the_paths_with_the_network_cut(offline: Any, live_server: str) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/docs")
    await expect(page.locator(".opblock-summary-path", has_text="/activities/meetings").first).to_be_visible()
    await expect(page.locator(".opblock-summary-path", has_text="/deals").first).to_be_visible()
    assert offline.elsewhere == []
    assert offline.complaints == []


async def test_the_first_page_leads_to_graphiql(offline: Any, live_server: str) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/")
    await page.get_by_role("link", name="/graphql", exact=True).click()
    await expect(page.get_by_label("Token")).to_be_visible()
    assert offline.elsewhere == []
    assert offline.complaints == []
