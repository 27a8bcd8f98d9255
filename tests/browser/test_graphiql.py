"""GraphiQL: it loads from the service alone, runs operations, and says in words what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.async_api import Page, Request, expect

from tests.support.graphiql import open_tab, ready, run, write

pytestmark = pytest.mark.asyncio(loop_scope="session")

SALES, PARTNERS = "Demo Sales", "Demo Partners"
_AT_ONCE = """
new MutationObserver((_, observer) => {
  const button = document.querySelector(".graphiql-execute-button");
  if (!button) return;
  observer.disconnect();
  window.editors = document.querySelectorAll(".view-lines").length;
  button.click();
}).observe(document, { childList: true, subtree: true });
"""
"""Presses the button at the moment when it appears."""
MARKED_MS = 1_500
"""So long after a text the editor has marked it."""


async def test_the_first_example_runs_with_the_network_cut(
    offline: Any, live_server: str, live_token: str, live_organization: str
) -> None:
    page: Page = offline.page
    answer = await page.goto(f"{live_server}/graphql")
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "script-src" not in policy
    assert "default-src 'self'" in policy
    await ready(page)
    await expect(page.get_by_role("status")).to_have_text("Paste a token to run operations")

    await page.get_by_label("Token").fill(f"  Bearer {live_token}\n")
    await expect(page.get_by_role("status")).to_have_text("Kept in this tab only")
    ran = await run(page)

    sent = await ran.request.all_headers()
    assert sent["authorization"] == f"Bearer {live_token}"
    assert "cookie" not in sent
    assert ran.status == 200
    nodes = (await ran.json())["data"]["meetings"]["nodes"]
    assert len(nodes) == 5
    shown = page.locator(".graphiql-response .view-lines")
    await expect(shown).to_contain_text(nodes[0]["subject"])
    assert offline.elsewhere == []
    assert offline.complaints == []


async def test_beside_an_answer_stands_what_it_cost_and_where_there_is_none_how_to_run(
    offline: Any, live_link: str
) -> None:
    """Decision 901."""
    page: Page = offline.page
    await page.goto(live_link)
    await ready(page)
    hint = page.get_by_text("Run the operation with")
    await expect(hint).to_be_visible()
    nodes = (await (await run(page)).json())["data"]["meetings"]["nodes"]
    times = [datetime.fromisoformat(node["dueAt"]) for node in nodes]
    assert times == sorted(times)
    assert times[0] > datetime.now(UTC)
    await expect(hint).to_be_hidden()
    await expect(page.locator(".answer-cost")).to_have_text(re.compile(r"Cost 1 point · [\d,]+ of 2,000 left"))
    shown = page.locator(".graphiql-response .view-lines")
    await expect(shown).to_contain_text(nodes[0]["subject"])
    answer = await page.evaluate("JSON.parse(sessionStorage.getItem('graphiql:tabState')).tabs[0].response")
    assert "throttle" not in (answer or "")
    faces = "[...document.fonts].filter((face) => face.weight === '700' && face.status === 'loaded').length"
    assert await page.evaluate(faces) >= 1
    assert offline.complaints == []


async def test_whoever_is_as_quick_as_the_button_gets_an_answer(offline: Any, code_link: str) -> None:
    """The button is there before the editors and the credential are (decision 1163)."""
    page: Page = offline.page
    sent: list[str] = []
    page.on("request", lambda asked: sent.append(asked.headers.get("authorization", "")) if _is_read(asked) else None)
    await page.add_init_script(_AT_ONCE)
    await page.goto(code_link)
    await expect(page.locator(".graphiql-response .view-lines")).to_contain_text("nodes")
    assert await page.evaluate("window.editors") == 0
    [credential] = sent
    assert credential.startswith("Bearer ")
    assert offline.complaints == []


async def test_no_box_is_drawn_around_a_dash(offline: Any, live_link: str) -> None:
    """Decision 1149."""
    page: Page = offline.page
    await page.goto(live_link)
    await ready(page)
    await open_tab(page, "DealBoard")
    await run(page)
    await expect(page.locator(".graphiql-response .view-lines")).to_contain_text("–")
    await page.wait_for_timeout(MARKED_MS)
    assert await page.locator(".unicode-highlight").count() == 0


async def test_a_mutation_takes_an_idempotency_key(offline: Any, live_link: str) -> None:
    """Decision 901: under the key it is done once."""
    page: Page = offline.page
    await page.goto(live_link)
    await ready(page)
    field = page.get_by_label("Idempotency-Key")
    await page.get_by_role("button", name="New key").click()
    key = await field.input_value()
    assert len(key) == 32
    read = await run(page)
    assert "idempotency-key" not in await read.request.all_headers()
    await open_tab(page, "CreateDeal")
    first = await run(page)
    assert (await first.request.all_headers())["idempotency-key"] == key
    again = await run(page)
    assert "idempotency-replayed" in await again.all_headers()
    assert (await again.json())["data"] == (await first.json())["data"]
    assert offline.complaints == []


async def test_the_schema_is_there_to_be_read_without_a_token(offline: Any, live_server: str) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/graphql")
    await ready(page)
    await page.get_by_role("button", name="Show Documentation Explorer").click()
    roots = page.locator(".graphiql-doc-explorer-content")
    for name in ("Query", "Mutation", "Subscription"):
        await expect(roots.get_by_role("link", name=name, exact=True)).to_be_visible()


async def test_the_bar_says_who_is_calling_and_with_which_scopes(offline: Any, live_link: str) -> None:
    page: Page = offline.page
    await page.goto(live_link)
    who = page.get_by_role("button", name="Ada Admin · 25 scopes")
    # By keyboard alone.
    await who.focus()
    await page.keyboard.press("Enter")
    said = page.get_by_role("region", name="Who am I")
    await expect(said).to_contain_text("user_demo_admin")
    await expect(said).to_contain_text("session token")
    await expect(said).to_contain_text(SALES)
    await expect(said.get_by_role("listitem").filter(has_text="outreach")).to_have_text(
        "outreach manage, provision, read"
    )
    await page.keyboard.press("Escape")
    await expect(said).to_be_hidden()
    assert offline.complaints == []


async def test_another_organization_gives_other_answers(offline: Any, live_link: str) -> None:
    page: Page = offline.page
    await page.goto(live_link)
    picker = page.get_by_label("Organization")
    await expect(picker.get_by_role("option")).to_have_text([PARTNERS, SALES])
    await expect(picker).to_have_value("11111111-1111-4111-8111-111111111111")
    await expect(page.get_by_role("button", name="Ada Admin")).to_be_visible()
    first = await run(page)
    assert (await first.request.all_headers())["x-service-org"] == "11111111-1111-4111-8111-111111111111"

    await picker.select_option(PARTNERS)
    await page.get_by_role("button", name="Ada Admin").click()
    await expect(page.get_by_role("region", name="Who am I")).to_contain_text(f"Acts in{PARTNERS}")
    await page.keyboard.press("Escape")
    second = await run(page)
    assert (await second.request.all_headers())["x-service-org"] == "22222222-2222-4222-8222-222222222222"
    of_sales, of_partners = [
        {node["subject"] for node in (await answer.json())["data"]["meetings"]["nodes"]} for answer in (first, second)
    ]
    assert of_partners
    assert not of_sales & of_partners
    await page.reload()
    await expect(picker.locator("option:checked")).to_have_text(PARTNERS)


async def test_an_organization_of_others_gives_way_to_the_tokens_own(
    offline: Any, live_server: str, live_token: str
) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/graphql#token={live_token}&org=33333333-3333-4333-8333-333333333333")
    await expect(page.get_by_label("Organization").locator("option:checked")).to_have_text(SALES)
    answer = await run(page)
    assert "x-service-org" not in await answer.request.all_headers()
    assert answer.status == 200


async def test_who_is_in_several_organizations_is_asked_for_one(
    offline: Any, live_server: str, token_of: Callable[..., str]
) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/graphql")
    await page.get_by_label("Token").fill(token_of("user_demo_member"))
    await expect(page.get_by_role("status")).to_have_text("Choose an organization")
    await page.get_by_label("Organization").select_option(PARTNERS)
    await expect(page.get_by_role("status")).to_have_text("Kept in this tab only")
    assert (await run(page)).status == 200


async def test_who_is_in_one_organization_is_not_asked(
    offline: Any, live_server: str, token_of: Callable[..., str]
) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/graphql")
    await page.get_by_label("Token").fill(token_of("user_demo_viewer"))
    await expect(page.get_by_label("Organization").locator("option:checked")).to_have_text(SALES)
    await expect(page.get_by_role("status")).to_have_text("Kept in this tab only")


async def test_a_refusal_for_want_of_a_scope_is_said_in_words(
    offline: Any, live_server: str, token_of: Callable[..., str]
) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/graphql")
    await page.get_by_label("Token").fill(token_of("user_demo_viewer"))
    await expect(page.get_by_role("status")).to_have_text("Kept in this tab only")
    await ready(page)
    await write(page, "query Who { webhooks { url } }")
    await _run_here(page)
    await expect(page.get_by_role("status")).to_have_text("Not allowed: webhooks needs organizations:manage")
    shown = page.locator(".graphiql-response .view-lines")
    await expect(shown).to_contain_text("Insufficient permissions")
    await expect(shown).to_contain_text("FORBIDDEN")


async def _run_here(page: Page) -> None:
    await page.keyboard.press("Control+Enter")


async def test_a_refused_organization_key_is_said_in_words(
    offline: Any, live_server: str, live_organization: str
) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/graphql#token=ak_0.none&org={live_organization}")
    await expect(page.get_by_role("status")).to_have_text("The service refused this token")
    await expect(page.get_by_label("Organization")).to_be_disabled()
    answer = await run(page)  # a bad credential does not take the schema away
    sent = await answer.request.all_headers()
    assert sent["authorization"] == "Bearer ak_0.none"
    assert "x-service-org" not in sent
    assert answer.status == 401
    shown = page.locator(".graphiql-response .view-lines")
    await expect(shown).to_contain_text("UNAUTHENTICATED")
    await expect(shown).to_contain_text("Valid credential required")


async def test_an_organization_key_shows_its_organization(offline: Any, live_link: str) -> None:
    page: Page = offline.page
    await page.goto(live_link)
    await ready(page)
    await write(page, 'mutation Key { organizationKeyCreate(input: {name: "Page"}) { patKey } }')
    async with page.expect_response(lambda found: "organizationKeyCreate" in (found.request.post_data or "")) as made:
        await _run_here(page)
    key = (await (await made.value).json())["data"]["organizationKeyCreate"]["patKey"]
    await page.get_by_label("Token").fill(key)
    picker = page.get_by_label("Organization")
    await expect(picker).to_be_disabled()
    await expect(picker.locator("option:checked")).to_have_text(SALES)
    await expect(page.get_by_role("status")).to_have_text("Kept in this tab only")
    await open_tab(page, "Meetings")
    answer = await run(page)
    assert "x-service-org" not in await answer.request.all_headers()
    assert answer.status == 200


async def test_the_field_picker_knows_the_schema(offline: Any, live_server: str) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/graphql")
    await page.get_by_role("button", name="Show GraphiQL Explorer").click()
    await expect(page.locator(".graphiql-explorer-root")).to_contain_text("pipelineStages")
    assert offline.complaints == []


async def test_everything_is_reached_by_keyboard_and_nothing_holds_it(offline: Any, live_link: str) -> None:
    page: Page = offline.page
    await page.goto(live_link)
    await ready(page)
    await expect(page.get_by_role("button", name="Ada Admin")).to_be_visible()
    visited = []
    while len(visited) < 80 and visited.count("CRM gateway") < 2:
        await page.keyboard.press("Tab")
        visited.append(await page.evaluate(_FOCUSED))
    wanted = ("Show", "Show GraphiQL Explorer", "LiveEvents", "Execute query (Ctrl-Enter)", "Copy as curl", "Variables")
    assert [name for name in wanted if name not in visited] == []
    assert visited.count("CRM gateway") == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_what_the_bar_says_can_be_read(offline: Any, live_link: str, scheme: Any) -> None:
    page: Page = offline.page
    await page.emulate_media(color_scheme=scheme)
    await page.goto(live_link)
    await page.get_by_role("button", name="Ada Admin").click()
    contrasts: list[list[Any]] = await page.evaluate(_CONTRASTS)
    assert len(contrasts) > 15
    # WCAG 2.1, 1.4.3 (AA).
    assert [found for found in contrasts if found[1] < 4.5] == []


@pytest.mark.parametrize("width", [360, pytest.param(720, marks=pytest.mark.long), 1360])
async def test_nothing_is_cut_off_at_any_width(offline: Any, live_link: str, width: int) -> None:
    page: Page = offline.page
    await page.set_viewport_size({"width": width, "height": 760})
    await page.goto(live_link)
    await ready(page)
    assert await page.evaluate("() => document.documentElement.scrollWidth") == width
    for part in (page.get_by_label("Token"), page.get_by_label("Organization"), page.locator(".graphiql-response")):
        box = await part.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["width"] > 100
    button = page.get_by_role("button", name=re.compile("^Execute query"))
    await expect(button).to_be_in_viewport(ratio=1)


_FOCUSED = """() => {
  const { activeElement } = document;
  return activeElement.getAttribute("aria-label") ?? activeElement.textContent.trim();
}"""

# The ratio of each text of the bar to what is behind it.
_CONTRASTS = """() => {
  const numbers = (color) => color.match(/[0-9.]+/g).map(Number);
  const light = (color) => numbers(color).slice(0, 3)
    .map((part) => part / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const isClear = (color) => numbers(color)[3] === 0;
  const behind = (element) => {
    while (isClear(getComputedStyle(element).backgroundColor)) element = element.parentElement;
    return getComputedStyle(element).backgroundColor;
  };
  return [...document.querySelectorAll(".bar *")]
    .filter((element) => element.checkVisibility() && [...element.childNodes].some((n) => n.nodeType === 3))
    .map((element) => {
      const pair = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a);
      return [element.textContent, (pair[0] + 0.05) / (pair[1] + 0.05)];
    });
}"""


def _is_read(request: Request) -> bool:
    """Whether it asks for the meetings of the first tab."""
    return (
        request.method == "POST"
        and "meetings" in (request.post_data or "")
        and "__schema" not in str(request.post_data)
    )
