"""The React example as its readers use it: the board, the meetings, and what changes while they are looked at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, WebSocketRoute, expect

from tests.support.example_pages import served
from tests.support.service import Service

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "examples" / "react"
PICTURES = ROOT / "build" / "pictures"
"""Where the pictures of a run are kept, to be looked at."""
DATETIMES = "moments => moments.map(({ dateTime }) => dateTime)"
LIVE = "Live: what happens is shown here"
REFUSED = "This token does not hold, or no longer. Sign in again."


@pytest.fixture(scope="module")
def live_server(live: Service) -> Iterator[str]:
    """The page's address, which takes the place of the service's: the browser reaches no other."""
    with served(PAGE, live.address, ["npm", "run", "build"]) as address:
        yield address


@pytest_asyncio.fixture(loop_scope="session")
async def asked(live: Service, live_token: str, live_organization: str) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody else, who asks the service itself."""
    headers = {"Authorization": f"Bearer {live_token}", "X-Service-Org": live_organization}
    async with httpx.AsyncClient(base_url=live.address, headers=headers) as client:
        yield client


async def answer(asked: httpx.AsyncClient, query: str, **variables: object) -> Any:
    """What GraphQL says under the only field that is asked for."""
    said = (await asked.post("/graphql", json={"query": query, "variables": variables})).json()
    assert "errors" not in said
    [found] = said["data"].values()
    return found


async def logged(asked: httpx.AsyncClient, subject: str, ahead: timedelta) -> None:
    """A meeting that somebody else plans, so long from now."""
    create = "mutation ($i: MeetingLogInput!) { meetingLog(input: $i) { userErrors { message } } }"
    planned = {"subject": subject, "dueAt": (datetime.now(UTC) + ahead).isoformat()}
    assert await answer(asked, create, i=planned) == {"userErrors": []}


async def signed_in(page: Page, address: str, token: str, organization: str) -> None:
    await page.goto(address)
    await page.get_by_label("Token").fill(f"Bearer {token}\n")
    await page.get_by_label("Organization").fill(organization)
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Ada Admin · Demo Sales")).to_be_visible()


async def told(page: Page) -> Callable[[str], Awaitable[object]]:
    """Wait for words below the page, though others stand there by now: whoever else does something is told of, too."""
    await page.evaluate(
        """() => {
            const status = document.querySelector("[role=status]");
            window.told = [status.textContent];
            const note = () => window.told.push(status.textContent);
            new MutationObserver(note).observe(status, { childList: true, characterData: true, subtree: true });
        }"""
    )
    return lambda words: page.wait_for_function("words => window.told.some(one => one.includes(words))", arg=words)


def column(page: Page, stage: str) -> Locator:
    return page.get_by_role("region", name=stage)


@pytest.mark.parametrize(("colors", "width"), [("light", 1280), ("dark", 1280), ("dark", 420)])
async def test_board_and_meetings(
    offline: Any,
    live_server: str,
    live_token: str,
    live_organization: str,
    asked: httpx.AsyncClient,
    colors: Literal["light", "dark"],
    width: int,
) -> None:
    page: Page = offline.page
    await page.emulate_media(color_scheme=colors)
    await page.set_viewport_size({"width": width, "height": 820})
    await signed_in(page, live_server, live_token, live_organization)
    stages = [stage["name"] for stage in await answer(asked, "{ pipelineStages { name } }")]
    await expect(page.get_by_role("region")).to_have_count(len(stages))
    assert [await one.get_attribute("aria-label") for one in await page.get_by_role("region").all()] == stages
    await expect(page.get_by_role("listitem").first).to_be_visible()
    PICTURES.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=PICTURES / f"react-board-{colors}-{width}.png")

    await page.get_by_role("button", name="Meetings").click()
    moments = page.locator("time")
    await expect(moments).to_have_count(20)
    await page.screenshot(path=PICTURES / f"react-meetings-{colors}-{width}.png")
    await page.get_by_role("button", name="Further meetings").click()
    await expect(moments).to_have_count(40)
    news = f"Called in between, {colors} {width}"
    await logged(asked, news, timedelta(minutes=4))
    await expect(page.get_by_role("listitem").filter(has_text=news)).to_be_visible()
    # Who read on keeps what was read on, whatever others do meanwhile.
    await expect(moments).to_have_count(40)
    told = [datetime.fromisoformat(one) for one in await moments.evaluate_all(DATETIMES)]
    assert told == sorted(told)
    assert told[0] > datetime.now(UTC) - timedelta(minutes=1)
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert await page.evaluate("localStorage.length") == 0
    assert offline.elsewhere == []
    assert offline.complaints == []


async def test_what_others_do_is_seen_at_once_and_a_deal_is_moved(
    offline: Any, live_server: str, live_token: str, live_organization: str, asked: httpx.AsyncClient
) -> None:
    page: Page = offline.page
    await signed_in(page, live_server, live_token, live_organization)
    first, second, *_ = await answer(asked, "{ pipelineStages { id name } }")
    await expect(page.get_by_text(LIVE)).to_be_visible()
    was_told = await told(page)
    await expect(column(page, first["name"])).to_be_visible()

    create = "mutation ($i: DealCreateInput!) { dealCreate(input: $i) { deal { id } } }"
    made = await answer(asked, create, i={"name": "Seen while it is made", "value": "1200.5"})
    await was_told("deal created")
    update = "mutation ($id: ID!, $i: DealUpdateInput!) { dealUpdate(id: $id, input: $i) { userErrors { message } } }"
    assert await answer(asked, update, id=made["deal"]["id"], i={"stageId": first["id"]}) == {"userErrors": []}
    card = page.get_by_role("listitem").filter(has_text="Seen while it is made")
    await expect(column(page, first["name"]).get_by_text("Seen while it is made", exact=True)).to_be_visible()
    await expect(card).to_contain_text("1,200.50")

    await page.get_by_label("Stage of Seen while it is made").select_option(second["name"])
    await expect(column(page, second["name"]).get_by_text("Seen while it is made", exact=True)).to_be_visible()
    moved = await answer(asked, "query ($id: ID!) { deal(id: $id) { stage { name } } }", id=made["deal"]["id"])
    assert moved == {"stage": {"name": second["name"]}}

    await card.drag_to(column(page, first["name"]))
    await expect(column(page, first["name"]).get_by_text("Seen while it is made", exact=True)).to_be_visible()

    await page.get_by_role("button", name="Meetings").click()
    await expect(page.locator("time").first).to_be_visible()
    await logged(asked, "Called at short notice", timedelta(minutes=2))
    await expect(page.get_by_role("listitem").first).to_contain_text("Called at short notice")
    assert offline.complaints == []


async def test_what_happens_before_news_come_is_seen_when_they_do(
    offline: Any, live_server: str, live_token: str, live_organization: str, asked: httpx.AsyncClient
) -> None:
    """The page says that it is live once it is, and asks then for what it shows."""
    page: Page = offline.page
    sockets: list[WebSocketRoute] = []

    def opened(socket: WebSocketRoute) -> None:
        if sockets:  # the first one is never answered
            socket.connect_to_server()
        sockets.append(socket)

    await page.route_web_socket("**/graphql", opened)
    await signed_in(page, live_server, live_token, live_organization)
    first, *_ = await answer(asked, "{ pipelineStages { id name } }")
    await expect(page.get_by_role("listitem").first).to_be_visible()
    await expect(page.get_by_role("status")).to_have_text("Not live: connecting")
    create = "mutation ($i: DealCreateInput!) { dealCreate(input: $i) { userErrors { message } } }"
    made = {"name": "Made before news come", "stageId": first["id"]}
    assert await answer(asked, create, i=made) == {"userErrors": []}
    await sockets[0].close()
    await expect(page.get_by_text(LIVE)).to_be_visible()
    await expect(column(page, first["name"]).get_by_text(made["name"], exact=True)).to_be_visible()
    assert offline.elsewhere == []


async def test_a_token_that_is_none_is_told(offline: Any, live_server: str) -> None:
    page: Page = offline.page
    await page.goto(live_server)
    await page.get_by_label("Token").fill("nothing")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_have_text(REFUSED)
    await expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert await page.evaluate("sessionStorage.length") == 0
    assert offline.elsewhere == []


async def test_a_token_that_ends_meanwhile_leads_to_signing_in(
    offline: Any, live_server: str, live_organization: str, asked: httpx.AsyncClient
) -> None:
    """The socket is refused from then on, and is not opened again and again."""
    page: Page = offline.page
    create = "mutation ($i: CredentialCreateInput!) { userTokenCreate(input: $i) { userToken { id } patKey } }"
    made = await answer(asked, create, i={"name": "Ends soon"})
    await signed_in(page, live_server, made["patKey"], live_organization)
    await expect(page.get_by_text(LIVE)).to_be_visible()
    revoke = "mutation ($id: ID!) { userTokenRevoke(id: $id) { userErrors { message } } }"
    assert await answer(asked, revoke, id=made["userToken"]["id"]) == {"userErrors": []}
    await expect(page.get_by_role("alert")).to_have_text(REFUSED, timeout=15_000)
    await expect(page.get_by_label("Token")).to_be_focused()
    await signed_in(page, live_server, asked.headers["Authorization"].removeprefix("Bearer "), live_organization)
    await expect(page.get_by_role("alert")).to_have_count(0)
