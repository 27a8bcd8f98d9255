"""The example page of the chat: its dev server before a service, and what every walk through it does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.async_api import Locator, Page, expect

from tests.support.example_pages import served
from tests.support.service import Service

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "examples" / "chat"
PICTURES = ROOT / "build" / "pictures"
"""Where the pictures of a run are kept, to be looked at."""


@contextmanager
def served_page(service: Service) -> Iterator[str]:
    """The address of the page before this service; its types are checked first."""
    with served(PAGE, service.address, ["npx", "--no-install", "tsc"]) as address:
        yield address


async def signed_in(page: Page, address: str, token: str, organization: str) -> None:
    await page.goto(address)
    await page.get_by_label("Token").fill(f"Bearer {token}\n")
    await page.get_by_label("Organization").fill(organization)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Sign out")).to_be_visible()


async def say(page: Page, text: str) -> Locator:
    """The newest answer, once it is there in full, by somebody who has a keyboard alone."""
    answers = page.get_by_role("article", name="Answer")
    before = await answers.count()
    await expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    await page.keyboard.type(text)
    await page.keyboard.press("Enter")
    await expect(answers).to_have_count(before + 1)
    await expect(answers.last).not_to_have_attribute("aria-busy", "true")
    return answers.last


async def pictured(page: Page, name: str) -> None:
    await page.screenshot(path=PICTURES / f"{name}.png")
