"""A link must not sign anybody in: what GraphiQL makes of `#code=…`, `#token=…` and `#org=…` (decision 166)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from playwright.async_api import Page, Request, Route, expect

from tests.support.graphiql import open_tab, press_run, ready, run, storage, write

pytestmark = pytest.mark.asyncio(loop_scope="session")

SALES, PARTNERS = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
OTHER_SITE = "http://evil.example/"


def _long(value: str) -> Any:
    """A case that another stands for where time is short: each opens the page once or twice, seconds of work."""
    return pytest.param(value, marks=pytest.mark.long)


async def _bar(page: Page) -> tuple[str, str]:
    """The token and the organization in the bar."""
    await ready(page)
    token = await page.get_by_label("Token").input_value()
    return token, (await storage(page, "sessionStorage")).get("crm-gateway:organization", "")


async def _led_to(page: Page, address: str, attributes: str = "") -> None:
    """Follow a link on a page of another site."""

    async def answer(route: Route) -> None:
        html = f'<!doctype html><a href="{address.replace("&", "&amp;")}" {attributes}>Look</a>'
        await route.fulfill(content_type="text/html", body=html)

    await page.route(f"{OTHER_SITE}**", answer)
    await page.goto(OTHER_SITE)
    await page.get_by_role("link").click()
    await page.wait_for_url("**/graphql")


@pytest.fixture
def other_token(token_of: Callable[..., str]) -> str:
    """A token of somebody else."""
    return token_of("user_demo_member", "--org", PARTNERS)


async def _signed_in(page: Page, live_link: str) -> None:
    await page.goto(live_link)
    await expect(page.get_by_role("button", name="Ada Admin")).to_be_visible()


@pytest.mark.parametrize("attributes", ["", *map(_long, ('rel="noreferrer"', 'referrerpolicy="unsafe-url"'))])
async def test_another_site_replaces_no_token_without_a_word(
    offline: Any, live_link: str, live_server: str, live_token: str, other_token: str, attributes: str
) -> None:
    page: Page = offline.page
    await _signed_in(page, live_link)
    await _led_to(page, f"{live_server}/graphql#token={other_token}&org={PARTNERS}", attributes)
    dialog = page.get_by_role("dialog", name="Replace what this tab keeps?")
    await expect(dialog).to_contain_text("Another site led here")
    await expect(dialog).to_contain_text(f"ends in …{live_token[-4:]}")
    await expect(dialog).to_contain_text(f"ends in …{other_token[-4:]}")
    assert page.url == f"{live_server}/graphql"
    assert await _bar(page) == (live_token, SALES)
    await page.keyboard.press("Enter")  # as somebody does who was typing: the button that keeps has the focus
    await expect(dialog).to_be_hidden()
    assert await _bar(page) == (live_token, SALES)
    sent = (await (await run(page)).request.all_headers())["authorization"]
    assert sent == f"Bearer {live_token}"


@pytest.mark.parametrize("attributes", [_long(""), 'rel="noreferrer"'])
async def test_another_site_signs_nobody_in_who_was_nobody(
    offline: Any, live_server: str, other_token: str, attributes: str
) -> None:
    page: Page = offline.page
    await _led_to(page, f"{live_server}/graphql#token={other_token}&org={PARTNERS}", attributes)
    dialog = page.get_by_role("dialog", name="Use what this link brings?")
    await expect(dialog).to_contain_text("Another site led here")
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    assert await _bar(page) == ("", "")
    await page.reload()
    await expect(page.get_by_role("status")).to_have_text("Paste a token to run operations")
    await expect(dialog).to_be_hidden()


async def test_a_link_is_used_where_the_reader_says_so(
    offline: Any, live_link: str, live_server: str, other_token: str
) -> None:
    page: Page = offline.page
    await _signed_in(page, live_link)
    await run(page)
    await page.goto(f"{live_server}/graphql#token={other_token}&org={PARTNERS}")  # no new page: the fragment alone
    dialog = page.get_by_role("dialog", name="Replace what this tab keeps?")
    await expect(dialog).to_contain_text("A link was opened here")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Token")).to_have_value(other_token)
    await expect(page.get_by_label("Organization").locator("option:checked")).to_have_text("Demo Partners")
    await expect(page.locator(".graphiql-response .view-lines")).to_have_text("")
    assert offline.complaints == []


@pytest.mark.parametrize("fragment", ["org={org}", _long("org={org}&token="), _long("token=&org={org}")])
async def test_an_organization_alone_throws_no_token_away(
    offline: Any, live_link: str, live_server: str, live_token: str, fragment: str
) -> None:
    page: Page = offline.page
    await _signed_in(page, live_link)
    await page.goto("about:blank")
    await page.goto(f"{live_server}/graphql#{fragment.format(org=PARTNERS)}")
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Demo Partners")
    assert await _bar(page) == (live_token, SALES)
    await dialog.get_by_role("button", name="Use the link").click()
    await expect(page.get_by_label("Organization").locator("option:checked")).to_have_text("Demo Partners")
    assert await _bar(page) == (live_token, PARTNERS)


async def test_nothing_is_asked_where_nothing_would_change(offline: Any, live_link: str, live_token: str) -> None:
    page: Page = offline.page
    await _signed_in(page, live_link)
    await page.goto("about:blank")
    await page.goto(live_link)
    assert await _bar(page) == (live_token, SALES)
    await expect(page.get_by_role("dialog")).to_be_hidden()


async def test_the_demo_s_link_signs_in_once(offline: Any, live_server: str, code_link: str) -> None:
    page: Page = offline.page
    await page.goto(code_link)
    await expect(page.get_by_role("button", name="Ada Admin · 25 scopes")).to_be_visible()
    assert page.url == f"{live_server}/graphql"
    token, organization = await _bar(page)
    assert organization == SALES
    assert token not in code_link
    assert (await run(page)).status == 200

    second = await page.context.new_page()
    await second.goto(code_link)
    await expect(second.get_by_role("status")).to_contain_text("The code of this link was used already")
    assert await _bar(second) == ("", "")


async def test_a_code_is_kept_until_the_reader_says_so(
    offline: Any, live_link: str, live_token: str, code_link: str
) -> None:
    page: Page = offline.page
    await _signed_in(page, live_link)
    await _led_to(page, code_link)
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("a new one of the demo")
    await page.keyboard.press("Escape")
    assert await _bar(page) == (live_token, SALES)
    await page.goto("about:blank")
    await page.goto(code_link)  # it was not used up
    await dialog.get_by_role("button", name="Use the link").click()
    await expect(dialog).to_be_hidden()
    await expect(page.get_by_label("Token")).not_to_have_value(live_token)
    await expect(page.get_by_role("button", name="Ada Admin")).to_be_visible()


@pytest.mark.parametrize("name", ["token", _long("code")])
async def test_no_link_signs_in_where_the_service_is_not_on_this_machine(
    offline: Any, live_server: str, live_token: str, code_link: str, name: str
) -> None:
    page: Page = offline.page
    asked: list[str] = []

    async def far_away(route: Route, request: Request) -> None:
        asked.append(request.url)
        there = request.url.replace("http://crm.example", live_server)
        await route.fulfill(response=await route.fetch(url=there))

    await page.route("http://crm.example/**", far_away)
    fragment = {"token": f"token={live_token}&org={SALES}", "code": code_link.partition("#")[2]}[name]
    await page.goto(f"http://crm.example/graphql#{fragment}")
    await expect(page.get_by_role("status")).to_contain_text("The link’s token was not taken")
    assert page.url == "http://crm.example/graphql"
    assert await _bar(page) == ("", "")
    assert not any("demo" in address for address in asked)
    await page.unroute_all(behavior="ignoreErrors")  # files of the editor may still be on their way


async def test_forgetting_forgets_tabs_history_and_answers(
    offline: Any, live_link: str, live_server: str, live_token: str
) -> None:
    page: Page = offline.page
    await _signed_in(page, live_link)
    await ready(page)
    await write(page, "query Secretive { viewer { subject } }")
    await run(page)
    await expect(page.locator(".graphiql-response .view-lines")).to_contain_text("user_demo_admin")
    await page.wait_for_function("Object.values(sessionStorage).some((value) => value.includes('Secretive'))")
    await page.keyboard.type(" ")  # a change that is not stored yet
    await page.get_by_role("button", name="Ada Admin").click()
    await page.get_by_role("button", name="Forget the token").click()
    await expect(page.get_by_label("Token")).to_have_value("")
    await expect(page.get_by_role("status")).to_have_text("Paste a token to run operations")
    await ready(page)
    await page.wait_for_timeout(700)  # GraphiQL stores half a second late
    kept = await storage(page, "sessionStorage")
    assert [name for name, value in kept.items() if "Secretive" in value or live_token in value] == []
    assert await storage(page, "localStorage") == {}
    assert "user_demo_admin" not in await page.content()
    assert "Secretive" not in await page.content()
    await page.get_by_role("button", name="Show History").click()
    await expect(page.locator(".graphiql-history")).not_to_contain_text("Secretive")


async def test_tabs_with_the_same_token_forget_it_together(
    offline: Any, live_link: str, live_server: str, other_token: str
) -> None:
    page: Page = offline.page
    await _signed_in(page, live_link)
    graphql_field, stranger = await page.context.new_page(), await page.context.new_page()
    await _signed_in(graphql_field, live_link)
    await stranger.goto(f"{live_server}/graphql#token={other_token}")
    await expect(stranger.get_by_label("Token")).to_have_value(other_token)
    await page.get_by_role("button", name="Ada Admin").click()
    await page.get_by_role("button", name="Forget the token").click()
    await expect(graphql_field.get_by_label("Token")).to_have_value("")
    await expect(page.get_by_label("Token")).to_have_value("")
    await expect(stranger.get_by_label("Token")).to_have_value(other_token)


@pytest.mark.parametrize("what", ["token", "organization"])
async def test_a_change_clears_the_answers_of_all_tabs(
    offline: Any, live_link: str, other_token: str, what: str
) -> None:
    page: Page = offline.page
    await _signed_in(page, live_link)
    shown = page.locator(".graphiql-response .view-lines")
    await run(page)
    await expect(shown).to_contain_text("subject")
    await open_tab(page, "DealBoard")
    await run(page)
    await expect(shown).to_contain_text("data")
    if what == "token":
        await page.get_by_label("Token").fill(other_token)
    else:
        await page.get_by_label("Organization").select_option("Demo Partners")
    await expect(shown).to_have_text("")
    await open_tab(page, "Meetings")
    await expect(shown).to_have_text("")


async def test_an_answer_that_comes_after_the_change_is_not_shown(offline: Any, live_link: str) -> None:
    page: Page = offline.page
    await _signed_in(page, live_link)
    await ready(page)
    held: asyncio.Queue[Route] = asyncio.Queue()

    async def hold(route: Route) -> None:
        if "meetings" in (route.request.post_data or ""):
            held.put_nowait(route)
        else:
            await route.continue_()

    await page.route("**/graphql", hold)
    await press_run(page)
    await expect(page.get_by_role("button", name="Stop query")).to_be_visible()
    route = await asyncio.wait_for(held.get(), 30)
    await page.get_by_label("Organization").select_option("Demo Partners")
    await route.continue_()
    shown = page.locator(".graphiql-response .view-lines")
    await expect(shown).to_contain_text("its answer is not shown")
    await expect(shown).not_to_contain_text("nodes")


async def test_the_page_opens_sockets_to_its_own_host_alone(offline: Any, live_link: str, live_server: str) -> None:
    page: Page = offline.page
    answer = await page.goto(live_link)
    assert answer is not None
    host = live_server.removeprefix("http://")
    [connect] = [part for part in answer.headers["content-security-policy"].split("; ") if "connect-src" in part]
    assert connect == f"connect-src 'self' ws://{host} wss://{host}"
    blocked = await page.evaluate(_CONNECT, ["ws://evil.example/", "wss://evil.example/graphql", "ws://127.0.0.1:9/"])
    assert blocked == ["connect-src"] * 3
    assert await page.evaluate(_CONNECT, [f"ws://{host}/graphql"]) == ["open"]
    await ready(page)
    await expect(page.get_by_label("Organization")).to_be_enabled()
    await open_tab(page, "LiveEvents")
    await press_run(page)
    await expect(page.locator(".graphiql-response .view-lines")).to_contain_text('"type"')


_CONNECT = """(addresses) => Promise.all(addresses.map((address) => new Promise((resolve) => {
  addEventListener("securitypolicyviolation", (event) => {
    if (new URL(event.blockedURI).host === new URL(address).host) resolve(event.effectiveDirective);
  });
  try {
    const socket = new WebSocket(address, "graphql-transport-ws");
    socket.onopen = () => resolve("open");
    setTimeout(() => resolve("neither"), 5000);
  } catch (error) {
    resolve(String(error));
  }
})))"""
