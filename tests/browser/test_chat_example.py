"""The example page of the chat as its readers use it: in a wide and a narrow window, light and dark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.chat_page import pictured, say, served_page, signed_in
from tests.support.service import Service

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

RUN = "01a20c5e-0000-7000-8000-000000000001"
DEAL = "01a20c5e-0000-7000-8000-000000000002"
APPROVAL = "01a20c5e-0000-7000-8000-000000000003"
Told = tuple[str, dict[str, Any]]


@pytest.fixture(scope="module")
def live_server(live: Service) -> Iterator[str]:
    """The page's address, which takes the place of the service's: the browser reaches no other."""
    with served_page(live) as address:
        yield address


@pytest.mark.parametrize(("colors", "width"), [("light", 1280), ("dark", 420)])
async def test_a_question_is_answered_unfolded_and_found_again(
    offline: Any, live_server: str, live_token: str, live_organization: str, colors: Any, width: int
) -> None:
    page: Page = offline.page
    await page.emulate_media(color_scheme=colors)
    await page.set_viewport_size({"width": width, "height": 820})
    await signed_in(page, live_server, live_token, live_organization)
    await pictured(page, f"chat-{colors}-begin")
    answer = await say(page, "my open deals")
    await expect(answer.get_by_role("link").first).to_be_visible()
    await expect(page.get_by_role("status")).to_contain_text("open deals")
    await pictured(page, f"chat-{colors}-answer")

    await answer.get_by_text("How this was answered").click()
    tool = answer.locator("details.tool")
    await tool.locator("summary").click()
    await expect(tool.get_by_label("Arguments")).to_contain_text('"kind": "deal"')
    await tool.get_by_role("button", name="Show as a table").click()
    await expect(tool.get_by_role("columnheader", name="close date")).to_be_visible()
    await expect(tool.locator("tbody tr").first).to_contain_text("OPEN")
    await tool.get_by_role("region").scroll_into_view_if_needed()
    await pictured(page, f"chat-{colors}-tool")

    link = answer.locator(".prose").get_by_role("link").first
    name = await link.inner_text()
    await link.click()
    record = page.get_by_role("dialog", name=name)
    await expect(record.locator("dt")).to_contain_text(["name", "status"])
    await pictured(page, f"chat-{colors}-record")
    await page.keyboard.press("Escape")
    await expect(record).to_be_hidden()

    await page.reload()
    await expect(page.get_by_role("article", name="Answer")).to_have_count(1)
    declined = await say(page, "will it rain tomorrow?")
    await expect(declined).to_contain_text("I cannot answer that")
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert offline.elsewhere == []
    assert offline.complaints == []


async def test_threads_are_renamed_and_deleted(
    offline: Any, live_server: str, live_token: str, live_organization: str
) -> None:
    page: Page = offline.page
    await signed_in(page, live_server, live_token, live_organization)
    await page.get_by_role("button", name="New thread").click()
    await say(page, "what can you do?")
    threads = page.get_by_role("navigation", name="Threads")
    await threads.get_by_role("button", name="Rename what can you do?").first.click()
    await page.get_by_label("Title").fill("What it can")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="What it can")).to_be_visible()
    page.on("dialog", lambda asked: asked.accept())
    await threads.get_by_role("button", name="Delete What it can").click()
    await expect(threads.get_by_text("What it can")).to_have_count(0)
    await expect(page.get_by_role("heading", name="What would you like to know?")).to_be_visible()
    assert offline.complaints == []


async def test_a_wrong_token_is_told(offline: Any, live_server: str) -> None:
    page: Page = offline.page
    await page.goto(live_server)
    await page.get_by_label("Token").fill("nobody")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_have_text("Valid credential required")


async def test_a_change_waits_for_a_yes(
    offline: Any, live_server: str, live_token: str, live_organization: str
) -> None:
    """The steps of a run that proposes a change, as the service tells them; the connection breaks while it waits."""
    page: Page = offline.page
    preview = {
        "kind": "deal",
        "id": DEAL,
        "label": "Rollout",
        "before": {"stage": "Discovery"},
        "after": {"stage": "Won"},
    }
    required = {
        "approval_id": APPROVAL,
        "call_id": "call_1",
        "tool": "move_deal",
        "operation": "dealUpdate",
        "arguments": {"id": DEAL, "stage": "Won"},
        "arguments_sha256": "a" * 64,
        "record_version": 3,
        "preview": preview,
        "expires_at": "2100-01-01T00:00:00Z",
    }
    waiting: list[Told] = [
        ("run_started", {"run_id": RUN, "thread_id": "", "message_id": "", "provider": "embedded", "model": None}),
        ("tool_call", {"call_id": "call_1", "tool": "move_deal", "arguments": {}, "effect": "write", "twin": None}),
        ("approval_required", required),
    ]
    decided: list[Told] = [
        ("approval_decided", {"approval_id": APPROVAL, "call_id": "call_1", "status": "approved"}),
        ("tool_result", {"call_id": "call_1", "tool": "move_deal", "ok": True, "records": [], "truncated": False}),
        ("text_delta", {"message_id": "m", "text": "Rollout is in Won now."}),
        ("run_finished", {"status": "failed", "error_code": None, "message_id": "m"}),
    ]
    sent: list[Any] = []
    resumed: list[str | None] = []

    async def begin(route: Route) -> None:
        if route.request.method == "POST":
            headers = {"X-Chat-Run": RUN}
            await route.fulfill(content_type="text/event-stream", headers=headers, body=_written(waiting, 1))
        else:
            await route.fulfill(json=[])

    async def go_on(route: Route) -> None:
        resumed.append(await route.request.header_value("Last-Event-ID"))
        await route.fulfill(content_type="text/event-stream", body=_written(decided, 4) if len(sent) > 1 else "")

    async def decide(route: Route) -> None:
        sent.append((route.request.url.rpartition("/")[2], route.request.post_data_json))
        if len(sent) == 1:
            said = {"detail": "The record has changed", "code": "precondition_failed", "request_id": "r"}
            await route.fulfill(status=412, json=said)
        else:
            await route.fulfill(json={"status": "approved"})

    await signed_in(page, live_server, live_token, live_organization)
    await page.route("**/chat/threads/*/messages*", begin)
    await page.route(f"**/chat/runs/{RUN}/events", go_on)
    await page.route("**/chat/approvals/*", decide)
    await page.get_by_role("textbox", name="Message").fill("move Rollout to Won")
    await page.keyboard.press("Enter")
    proposal = page.get_by_role("region", name="Proposed: move_deal")
    await expect(proposal.get_by_role("row")).to_have_text(["FieldBeforeAfter", "stageDiscoveryWon"])
    await expect(page.get_by_role("status")).to_have_text("A change waits for your decision.")
    await pictured(page, "chat-proposal")
    await proposal.get_by_role("button", name="Approve").click()
    await expect(proposal.get_by_role("alert")).to_contain_text("nothing was written")
    await proposal.get_by_role("button", name="Approve").click()
    await expect(proposal.get_by_text("Approved.")).to_be_visible()
    await expect(page.get_by_role("article", name="Answer").get_by_text("Rollout is in Won now.")).to_be_visible()
    assert sent == [(APPROVAL, {"decision": "approve", "arguments_sha256": "a" * 64})] * 2
    assert set(resumed) == {f"{RUN}.3"}
    assert [said for said in offline.complaints if "412" not in said] == []


def _written(events: Sequence[Told], first: int) -> str:
    """The events as the service writes them."""
    told = [
        f"event: {kind}\nid: {RUN}.{at}\ndata: {json.dumps(data)}\n\n" for at, (kind, data) in enumerate(events, first)
    ]
    return "".join(told)
