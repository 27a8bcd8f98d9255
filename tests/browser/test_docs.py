from __future__ import annotations

from typing import Any, Literal

import pytest
from playwright.async_api import Page, expect

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_swagger_ui_lists_the_paths_with_the_network_cut(offline: Any, live_server: str) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/docs")
    await expect(page.locator(".opblock-summary-path", has_text="/activities/meetings").first).to_be_visible()
    # The page draws a long list as it is scrolled; a reader of it looks for the path.
    await page.get_by_placeholder("Filter by tag or path").fill("deals")
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


async def test_a_path_is_tried_out_with_the_token(
    offline: Any, live_server: str, live_token: str, live_organization: str
) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/docs")
    await page.get_by_label("Token").fill(f"Bearer {live_token}\n")
    await page.get_by_label("Organization", exact=True).fill(live_organization)
    # The page draws a long list as it is scrolled; a reader of it looks for the path.
    await page.get_by_placeholder("Filter by tag or path").fill("deals")
    path = page.locator("#operations-deals-deals_listing")
    await path.locator(".opblock-summary-control").click()
    await path.get_by_role("button", name="Execute").click()
    await expect(path.locator(".live-responses-table .response-col_status").last).to_contain_text("200")
    await expect(path.locator(".live-responses-table .response-col_description").last).to_contain_text("stage_id")
    await expect(path.locator(".curl")).to_contain_text(live_organization)
    assert await page.evaluate("localStorage.length") == 0
    assert await page.evaluate("sessionStorage.getItem('crm-gateway:token')") == live_token
    assert await page.evaluate("document.cookie") == ""
    await page.goto("about:blank")
    await page.goto(f"{live_server}/docs")
    await expect(page.get_by_label("Token")).to_have_value(live_token)
    assert offline.elsewhere == []
    assert offline.complaints == []


async def test_an_organization_key_is_sent_without_an_organization(offline: Any, live_server: str) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/docs")
    await page.get_by_label("Organization", exact=True).fill("org")
    await page.get_by_label("Token").fill("ak_0.nothing")
    await expect(page.get_by_label("Organization", exact=True)).to_be_disabled()


@pytest.mark.parametrize(("width", "scheme"), [(1360, "light"), (390, "dark")])
async def test_the_first_page_needs_no_sideways_scrolling(
    offline: Any, live_server: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    page: Page = offline.page
    await page.emulate_media(color_scheme=scheme)
    await page.set_viewport_size({"width": width, "height": 820})
    await page.goto(f"{live_server}/")
    await expect(page.get_by_role("heading", name="CRM gateway")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(246, 247, 250)", "dark": "rgb(16, 21, 31)"}[scheme]
    assert offline.elsewhere == []
    assert offline.complaints == []
