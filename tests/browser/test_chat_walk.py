"""The chat's example page against the service itself: a change that waits, a stop, and a reload in the middle of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from tests.browser.chat_page import pictured, served_page, signed_in
from tests.support.loopback import Asked, Loopback, Reply, serving
from tests.support.model import DONE, EVENTS, delta, events
from tests.support.service import Service

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

WINDOWS = [("light", 1280), ("dark", 1280), ("light", 420), ("dark", 420)]
WORDS = ("Renewals", "of", "this", "month:", "\n- Acme", "closes", "2026-11-30.", "\n- Globex", "closes", "2026-12-01.")


@pytest.fixture(scope="module")
def live_server(live: Service) -> Iterator[str]:
    """The page's address, which takes the place of the service's: the browser reaches no other."""
    with served_page(live) as address:
        yield address


async def shown(offline: Any, colors: Any, width: int, address: str, token: str, organization: str) -> Page:
    """The page with a new thread, in a window of these colors and this width."""
    page: Page = offline.page
    await page.emulate_media(color_scheme=colors)
    await page.set_viewport_size({"width": width, "height": 820})
    await signed_in(page, address, token, organization)
    return page


async def asked(page: Page, text: str) -> Locator:
    """The answer to a message, as soon as there is one."""
    await page.get_by_role("textbox", name="Message").fill(text)
    await page.keyboard.press("Enter")
    return page.get_by_role("article", name="Answer")


async def deals(live: Service, token: str, organization: str, stage: str) -> list[dict[str, Any]]:
    """Open deals with a name that no other has, in another stage than this one."""
    headers = {"Authorization": f"Bearer {token}", "X-Service-Org": organization}
    query = "{ deals(first: 200) { nodes { id name status stage { name } } } }"
    async with httpx.AsyncClient(base_url=live.address, headers=headers) as http:
        answer = (await http.post("/graphql", json={"query": query})).json()
    nodes: list[dict[str, Any]] = answer["data"]["deals"]["nodes"]
    names = [node["name"] for node in nodes]
    others = [node for node in nodes if node["status"] == "OPEN" and (node["stage"] or {}).get("name") != stage]
    return [node for node in others if names.count(node["name"]) == 1]


@pytest.mark.parametrize(("colors", "width"), WINDOWS)
async def test_a_change_waits_through_a_reload_and_is_made(
    offline: Any, live: Service, live_server: str, live_token: str, live_organization: str, colors: Any, width: int
) -> None:
    deal, *_ = await deals(live, live_token, live_organization, "Negotiation")
    page = await shown(offline, colors, width, live_server, live_token, live_organization)
    answer = await asked(page, f'move "{deal["name"]}" to Negotiation')
    proposal = page.get_by_role("region", name="Proposed: move_deal")
    await expect(proposal).to_contain_text("Negotiation")
    await expect(answer.locator(".dots")).to_have_count(0)
    await pictured(page, f"chat-walk-{colors}-{width}-proposed")
    await page.reload()
    await expect(proposal.get_by_role("button", name="Approve")).to_be_visible()
    await expect(page.get_by_role("article", name="You")).to_have_count(1)
    await expect(answer).to_have_count(1)
    await expect(answer.locator(".dots")).to_have_count(0)
    await proposal.get_by_role("button", name="Approve").click()
    await expect(page.get_by_role("button", name="Send")).to_be_visible()
    await expect(answer).to_have_count(1)
    await expect(answer).to_contain_text(deal["name"])
    await pictured(page, f"chat-walk-{colors}-{width}-approved")
    left = [each["id"] for each in await deals(live, live_token, live_organization, "Negotiation")]
    assert deal["id"] not in left
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert offline.elsewhere == []
    assert offline.complaints == []


@pytest.mark.parametrize(("colors", "width"), WINDOWS[1:3])
async def test_a_stop_ends_what_waits_and_writes_nothing(
    offline: Any, live: Service, live_server: str, live_token: str, live_organization: str, colors: Any, width: int
) -> None:
    deal, *_ = await deals(live, live_token, live_organization, "Negotiation")
    page = await shown(offline, colors, width, live_server, live_token, live_organization)
    answer = await asked(page, f'move "{deal["name"]}" to Negotiation')
    proposal = page.get_by_role("region", name="Proposed: move_deal")
    await expect(proposal.get_by_role("button", name="Reject")).to_be_visible()
    await page.get_by_role("button", name="Stop").click()
    await expect(answer.last).to_contain_text("Stopped.")
    await expect(proposal).to_contain_text("nothing was written")
    await expect(proposal.get_by_role("button", name="Approve")).to_have_count(0)
    await pictured(page, f"chat-walk-{colors}-{width}-stopped")
    await expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    again = await deals(live, live_token, live_organization, "Negotiation")
    assert deal in again
    assert offline.complaints == []


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def model() -> AsyncIterator[Loopback]:
    """A model that says a word each quarter of a second."""

    def slowly(_asked: Asked) -> Reply:
        said: list[bytes | float] = []
        for word in WORDS:
            said += [events(delta(content=f"{word} ")), 0.25]
        return Reply(headers=EVENTS, pieces=[*said, events(delta("stop"), DONE)])

    async with serving(slowly) as loopback:
        yield loopback


@pytest.fixture(scope="module")
def talking(model: Loopback, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service with the demo's data, and that model."""
    folder: Path = tmp_path_factory.mktemp("talking")
    with Service(folder, "--demo", CRM_MODEL_URL=f"{model.url}/v1", CRM_MODEL_NAME="scripted-1") as service:
        yield service


@pytest.fixture(scope="module")
def talking_page(talking: Service) -> Iterator[str]:
    with served_page(talking) as address:
        yield address


@pytest.mark.parametrize(("colors", "width"), [WINDOWS[0], WINDOWS[3]])
async def test_a_stream_goes_on_after_a_reload_and_ends_with_a_stop(
    offline: Any, model: Loopback, talking: Service, talking_page: str, colors: Any, width: int
) -> None:
    page = await shown(offline, colors, width, talking_page, talking.value("Token"), talking.value("Organization"))
    answer = await asked(page, "renewals of this month")
    await expect(answer).to_contain_text("month:")
    await page.reload()
    await expect(answer).to_contain_text("closes")
    assert await answer.get_attribute("aria-busy") == "true"
    await pictured(page, f"chat-walk-{colors}-{width}-streaming")
    await expect(answer.get_by_role("listitem")).to_have_text(
        ["Acme closes 2026-11-30. ", "Globex closes 2026-12-01. "]
    )
    await expect(page.get_by_role("button", name="Send")).to_be_visible()
    await expect(answer).to_have_count(1)
    assert len(model.asked) == 1  # a reload asks nothing again
    answer = await asked(page, "once more")
    await expect(answer).to_have_count(2)
    await expect(answer.last).to_contain_text("Renewals")
    await page.get_by_role("button", name="Stop").click()
    await expect(answer.last).to_contain_text("Stopped.")
    await expect(answer.last).to_contain_text("Renewals")
    await expect(answer.last).not_to_contain_text("2026-12-01")
    await pictured(page, f"chat-walk-{colors}-{width}-cut")
    await page.reload()
    await expect(answer).to_have_count(2)
    await expect(answer.last).to_contain_text("Renewals")
    model.asked.clear()
    assert offline.complaints == []
