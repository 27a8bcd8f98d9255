"""Subscriptions in GraphiQL: what the page says over its socket, and what it makes of what it hears."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from playwright.async_api import Page, WebSocketRoute, expect

from tests.support.graphiql import open_tab, press_run, ready

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

SALES = "11111111-1111-4111-8111-111111111111"


class _Far:
    """The far end of the page's sockets, by the graphql-transport-ws protocol."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []
        self.sockets: list[WebSocketRoute] = []
        self.left = asyncio.Event()

    def take(self, socket: WebSocketRoute) -> None:
        self.sockets.append(socket)
        socket.on_message(lambda text: self._hear(socket, str(text)))
        socket.on_close(self._note)

    def _hear(self, socket: WebSocketRoute, text: str) -> None:
        message = json.loads(text)
        self.said.append(message)
        if message["type"] == "connection_init":
            socket.send(json.dumps({"type": "connection_ack"}))
        elif message["type"] == "subscribe":
            payload = {"data": {"events": {"type": "deal_created"}}}
            socket.send(json.dumps({"type": "next", "id": message["id"], "payload": payload}))

    def _note(self, code: int | None, _reason: str | None) -> None:
        self.left.set()


async def _streaming(page: Page, live_link: str) -> _Far:
    """The page with a running stream."""
    far = _Far()
    await page.route_web_socket("**/graphql", far.take)
    await page.goto(live_link)
    await ready(page)
    await expect(page.get_by_label("Organization")).to_be_enabled()
    await open_tab(page, "LiveEvents")
    await press_run(page)
    await expect(page.locator(".graphiql-response .view-lines")).to_contain_text("deal_created")
    return far


async def test_the_credentials_go_with_connection_init(offline: Any, live_link: str, live_token: str) -> None:
    page: Page = offline.page
    far = await _streaming(page, live_link)
    opening, asking = far.said
    assert opening == {
        "type": "connection_init",
        "payload": {"authorization": f"Bearer {live_token}", "x-service-org": SALES},
    }
    assert asking["type"] == "subscribe"
    assert asking["payload"]["operationName"] == "LiveEvents"
    assert "token" not in far.sockets[0].url
    await press_run(page)  # the same button stops it
    await expect(page.get_by_role("button", name="Execute query")).to_be_visible()
    await asyncio.wait_for(far.left.wait(), 30)
    assert offline.complaints == []


async def test_a_stream_that_the_service_ends_is_said_in_words(offline: Any, live_link: str) -> None:
    page: Page = offline.page
    far = await _streaming(page, live_link)
    await far.sockets[0].close(code=4403, reason="Forbidden")
    shown = page.locator(".graphiql-response .view-lines")
    await expect(shown).to_contain_text("The service ended the stream: Forbidden (4403)")
    await expect(page.get_by_role("button", name="Execute query")).to_be_visible()
    assert len(far.sockets) == 1


async def test_another_organization_ends_the_stream(offline: Any, live_link: str) -> None:
    page: Page = offline.page
    far = await _streaming(page, live_link)
    await page.get_by_label("Organization").select_option("Demo Partners")
    shown = page.locator(".graphiql-response .view-lines")
    await expect(shown).to_contain_text("the token or the organization changed")
    await expect(page.get_by_role("button", name="Execute query")).to_be_visible()
    await asyncio.wait_for(far.left.wait(), 30)


async def test_the_change_log_runs_in_place(offline: Any, live_link: str, live_server: str, live_token: str) -> None:
    page: Page = offline.page
    await page.goto(live_link)
    await ready(page)
    await expect(page.get_by_label("Organization")).to_be_enabled()
    await open_tab(page, "LiveEvents")
    await press_run(page)
    shown = page.locator(".graphiql-response .view-lines")
    await expect(shown).to_contain_text('"type"')  # what was before
    name = "Seen as it happens"
    made = await page.request.post(
        f"{live_server}/graphql",
        headers={"authorization": f"Bearer {live_token}", "x-service-org": SALES},
        data={"query": f'mutation {{ dealCreate(input: {{name: "{name}"}}) {{ deal {{ id }} }} }}'},
    )
    assert made.ok
    await expect(shown).to_contain_text(name)
    assert offline.elsewhere == []
    assert offline.complaints == []


async def test_a_revoked_key_ends_the_stream(offline: Any, live_link: str, live_server: str, live_token: str) -> None:
    page: Page = offline.page

    async def manage(query: str) -> Any:
        made = await page.request.post(
            f"{live_server}/graphql",
            headers={"authorization": f"Bearer {live_token}", "x-service-org": SALES},
            data={"query": query},
        )
        return (await made.json())["data"]

    created = await manage(
        'mutation { organizationKeyCreate(input: {name: "Stream"}) { patKey organizationKey { id } } }'
    )
    key = created["organizationKeyCreate"]
    await page.goto(live_link)
    await ready(page)
    await page.get_by_label("Token").fill(key["patKey"])
    await expect(page.get_by_label("Organization")).to_be_disabled()
    await open_tab(page, "LiveEvents")
    await press_run(page)
    shown = page.locator(".graphiql-response .view-lines")
    await expect(shown).to_contain_text('"type"')
    await manage(f'mutation {{ organizationKeyRevoke(id: "{key["organizationKey"]["id"]}") {{ deletedId }} }}')
    await expect(shown).to_contain_text("4403", timeout=30_000)
    await expect(page.get_by_role("status")).to_have_text("The service refused this token")
