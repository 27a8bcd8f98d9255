from __future__ import annotations

from typing import Any, Literal

import pytest
from playwright.async_api import Page, expect

from tests.support.service import Service

_MADE_FIRST = {
    "/exports/{export_id}",
    "/files/signed/{token}",
    "/chat/approvals/{approval_id}",
}
"""What the demo has none of: the description's example stands there until a POST of the page made one."""

_READ_EVERYTHING = """async () => {
  const { specSelectors } = ui.getSystem();
  const headers = { Authorization: `Bearer ${sessionStorage.getItem("crm-gateway:token")}` };
  const told = [];
  for (const [path, { get }] of Object.entries(specSelectors.specJson().toJS().paths)) {
    if (!get) continue;
    const values = specSelectors.parameterValues([path, "get"]);
    const query = new URLSearchParams();
    let address = path.slice(1);
    for (const { name, in: place, required, example } of get.parameters) {
      const value = values.get(`${place}.${name}`) ?? (required ? example : undefined) ?? "";
      if (place === "path") address = address.replace(`{${name}}`, encodeURIComponent(value));
      if (place === "query" && value) query.set(name, value);
    }
    const response = await fetch(`${address}?${query}`, { headers });
    const text = await response.text(); // all of it: an organization has two exports at once
    told.push([path, address, response.status, response.ok ? "" : text]);
  }
  return told;
}"""

_RENDERED = """async (token) => {
  const reports = "results(first: 5) { nodes { cxReport { artifacts { url } } } }";
  const query = `{ researchRuns(first: 1) { nodes { ${reports} } } }`;
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  for (let tries = 0; tries < 300; tries++) {
    const response = await fetch("graphql", { method: "POST", headers, body: JSON.stringify({ query }) });
    const { data } = await response.json();
    if (JSON.stringify(data).includes("/media/")) return true;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return false;
}"""

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
    await expect(page.get_by_role("status")).to_have_text("Kept in this tab only")
    # Another organization is chosen, and then the one that the token names.
    organizations = page.get_by_label("Organization", exact=True)
    await organizations.select_option(label="Demo Partners")
    await expect(page.locator("#who-button")).to_contain_text("Ada Admin")
    await organizations.select_option(live_organization)
    await page.locator("#who-button").click()
    await expect(page.get_by_label("Who am I")).to_contain_text("user_demo_admin")
    await page.keyboard.press("Escape")
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


async def test_every_read_runs_as_it_stands(offline: Any, live_server: str, live_token: str) -> None:
    """Decisions 985 and 1071."""
    page: Page = offline.page
    await page.goto(f"{live_server}/docs")
    assert await page.evaluate(_RENDERED, live_token)  # by a job, a while after the start
    await _with_token(page, live_server, live_token)
    told = await page.evaluate(_READ_EVERYTHING)
    assert len(told) > 80
    assert [address for _, address, _, _ in told if "//" in address or address.endswith("/")] == []
    assert {path for path, _, status, _ in told if status == 404} == _MADE_FIRST
    assert [row for row in told if row[2] not in (200, 204, 404)] == []


async def test_what_was_made_is_the_next_example(offline: Any, live_server: str, live_token: str) -> None:
    """Decision 985."""
    page: Page = offline.page
    await _with_token(page, live_server, live_token)
    await page.get_by_placeholder("Filter by tag or path").fill("exports")
    made = page.locator("#operations-exports-exports_create")
    await made.locator(".opblock-summary-control").click()
    await expect(made.get_by_role("button", name="Show the", exact=False)).to_be_visible()
    await expect(made.locator(".response[data-code='422']")).to_be_hidden()
    await made.get_by_role("button", name="Execute").click()
    await expect(made.locator(".live-responses-table .response-col_status").last).to_contain_text("202")
    read = page.locator("#operations-exports-exports_read")
    await read.locator(".opblock-summary-control").click()
    await expect(read.locator("tr[data-param-name=export_id] input")).not_to_have_value("")
    assert offline.complaints == []


async def test_an_organization_key_is_sent_without_an_organization(
    offline: Any, live: Service, live_server: str
) -> None:
    page: Page = offline.page
    key = next(line.partition("=")[2] for line in live.banner if line.startswith("export TOKEN="))
    await _with_token(page, live_server, key)
    organizations = page.get_by_label("Organization", exact=True)
    await expect(organizations).to_be_disabled()
    await expect(organizations.locator("option:checked")).to_have_text("Demo Sales")


async def test_the_theme_is_the_systems_until_one_is_chosen(offline: Any, live_server: str) -> None:
    page: Page = offline.page
    await page.emulate_media(color_scheme="dark")
    await page.goto(f"{live_server}/docs")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert await page.evaluate(ground) == "rgb(33, 42, 59)"
    await page.get_by_role("button", name="Light").click()
    assert await page.evaluate(ground) == "rgb(255, 255, 255)"
    await page.reload()
    assert await page.evaluate(ground) == "rgb(255, 255, 255)"


async def _with_token(page: Page, server: str, token: str) -> None:
    await page.goto(f"{server}/health")
    await page.evaluate("token => sessionStorage.setItem('crm-gateway:token', token)", token)
    await page.goto(f"{server}/docs")
    await page.wait_for_selector("html[data-examples]:not([data-examples='0'])", state="attached")


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
