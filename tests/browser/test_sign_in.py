"""Signing in with a browser: from the command line's link into GraphiQL and /docs, without a pasted token."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Page, expect

from tests.support.graphiql import run, storage
from tests.support.login import PASSWORD
from tests.support.service import SCRIPT, Service, environment

pytestmark = pytest.mark.asyncio(loop_scope="session")

MEMBER = "user_demo_member"
"""Somebody else than the member whose token other tests have."""


@pytest.fixture
def link(live: Service, live_folder: Path) -> Callable[[str], str]:
    """Prints a link for the member: `login` or `password`."""

    def printed(kind: str) -> str:
        port = live.address.rpartition(":")[2]
        done = subprocess.run(
            [SCRIPT, "member", f"{kind}-link", "--user", MEMBER],
            env=environment(live_folder, PORT=port),
            capture_output=True,
            check=True,
            text=True,
        )
        return done.stdout.strip()

    return printed


async def _shown(page: Page, name: str) -> None:
    """Keep a picture where somebody wants to look at it."""
    if folder := os.environ.get("PICTURES"):
        await page.screenshot(path=Path(folder) / f"{name}.png")


SCHEMES: Sequence[Literal["light", "dark"]] = ("light", "dark") if "PICTURES" in os.environ else ("light",)
"""Colors make a difference to who looks at the pictures alone."""


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_from_a_link_by_keyboard_into_graphiql_and_docs(
    offline: Any, live_server: str, link: Callable[[str], str], scheme: Literal["light", "dark"]
) -> None:
    page: Page = offline.page
    await page.emulate_media(color_scheme=scheme)
    await page.goto(link("password"))
    await expect(page.get_by_label("New password")).to_be_focused()
    await _shown(page, f"password-{scheme}")
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press("Tab")
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Signed in")).to_be_visible()
    await _shown(page, f"account-{scheme}")
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("heading", name="Signed out")).to_be_visible()

    await page.goto(f"{live_server}/graphql")
    await _shown(page, f"graphiql-before-{scheme}")
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_label("E-mail address")).to_be_focused()
    await page.keyboard.type("mia@demo.example")
    await page.keyboard.press("Tab")
    await page.keyboard.type("not the password")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("do not fit together")
    await _shown(page, f"login-{scheme}")
    email = await page.get_by_label("E-mail address").input_value()
    assert email == "mia@demo.example"
    await page.get_by_label("E-mail address").fill(MEMBER)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.locator(".bar-who")).to_be_visible()
    assert page.url == f"{live_server}/graphql"
    await page.get_by_label("Organization").select_option("Demo Sales")
    assert (await run(page)).status == 200
    await expect(page.locator(".graphiql-response .view-lines")).to_contain_text("nodes")
    await _shown(page, f"graphiql-{scheme}")
    await expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_hidden()
    kept = await storage(page, "sessionStorage")
    assert "crm-gateway:sign-in" not in kept
    assert all("refresh" not in value for value in kept.values())

    docs = await page.context.new_page()
    await docs.goto(f"{live_server}/docs")
    await docs.get_by_role("button", name="Sign in", exact=True).click()
    await expect(docs.get_by_label("Token")).not_to_have_value("")
    assert docs.url == f"{live_server}/docs"
    await _shown(docs, f"docs-{scheme}")

    await page.locator(".bar-who").click()
    await page.get_by_role("link", name="Sign out of this browser").click()
    async with page.expect_navigation():  # there is no way back before the answer is shown
        await page.get_by_role("button", name="Sign out").click()
    await page.go_back()
    await page.goto(f"{live_server}/graphql")
    await expect(page.get_by_role("status")).to_have_text("The service refused this token")
    assert offline.elsewhere == []
    wrong = [said for said in offline.complaints if "403" not in said and "401" not in said]
    assert wrong == []


async def test_a_login_link_works_without_scripts(browser: Any, live_server: str, link: Callable[[str], str]) -> None:
    context = await browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 800})
    page = await context.new_page()
    address = link("login")
    await page.goto(address)
    await _shown(page, "link")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Signed in")).to_be_visible()
    await page.goto(address)
    await expect(page.get_by_role("alert")).to_contain_text("was used already")
    await context.close()


async def test_a_code_that_the_tab_did_not_ask_for_signs_nobody_in(offline: Any, live_server: str) -> None:
    page: Page = offline.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(f"{live_server}/graphql?code=abc&state=def&iss=urn:crm-gateway")
    await expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
    assert page.url == f"{live_server}/graphql"
    assert not any("oauth" in address for address in asked)
