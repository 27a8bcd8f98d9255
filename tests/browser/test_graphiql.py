from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Page, Response, expect

EXAMPLE = "{ meetings(first: 5) { nodes { subject account { name } } } }"


async def _ready(page: Page) -> None:
    """GraphiQL is up and knows the schema: its documentation pane lists the roots."""
    await expect(page.locator(".graphiql-query-editor .view-lines")).to_contain_text("meetings")
    await page.get_by_role("button", name="Show Documentation Explorer").click()
    roots = page.locator(".graphiql-doc-explorer-content")
    await expect(roots.get_by_role("link", name="Query", exact=True)).to_be_visible()
    await expect(roots.get_by_role("link", name="Mutation", exact=True)).to_be_visible()


async def _run(page: Page) -> Response:
    # The button is there before the editors are, and does nothing until then.
    await expect(page.locator(".graphiql-query-editor .view-lines")).to_contain_text("meetings")
    await expect(page.locator(".graphiql-response .view-lines")).to_be_attached()
    async with page.expect_response(_answers_the_reader) as answered:
        await page.get_by_role("button", name=re.compile("^Execute query")).click()
    return await answered.value


def _answers_the_reader(response: Response) -> bool:
    request = response.request
    return request.method == "POST" and request.post_data_json.get("operationName") != "IntrospectionQuery"


async def _storage(page: Page, kind: str) -> dict[str, str]:
    found: dict[str, str] = await page.evaluate(f"() => ({{...{kind}}})")
    return found


async def test_the_example_runs_with_the_network_cut(
    offline: Any, live_server: str, live_token: str, live_organization: str
) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/graphql")
    await _ready(page)
    await expect(page.get_by_role("status")).to_have_text("Paste a token to run operations")

    await page.get_by_label("Token").fill(f"  Bearer {live_token}\n")
    await page.get_by_label("Organization").fill(live_organization)
    await expect(page.get_by_role("status")).to_have_text("Kept in this tab only")
    answer = await _run(page)

    sent = await answer.request.all_headers()
    assert sent["authorization"] == f"Bearer {live_token}"
    assert sent["x-service-org"] == live_organization
    assert "cookie" not in sent
    query = re.sub(r"#.*|\s+", lambda found: " " if found[0].isspace() else "", answer.request.post_data_json["query"])
    assert query.strip() == EXAMPLE
    assert answer.status == 200
    body = await answer.json()
    assert "errors" not in body
    nodes = body["data"]["meetings"]["nodes"]
    assert len(nodes) == 5
    shown = page.locator(".graphiql-response .view-lines")
    for node in nodes[:2]:
        await expect(shown).to_contain_text(node["subject"])
    assert offline.elsewhere == []
    assert offline.complaints == []


async def test_the_token_stays_in_the_tab(
    offline: Any, live_server: str, live_token: str, live_organization: str
) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/graphql")
    await page.get_by_label("Token").fill(live_token)
    await page.get_by_label("Organization").fill(live_organization)
    await _run(page)
    await page.reload()
    await expect(page.get_by_label("Token")).to_have_value(live_token)
    await expect(page.get_by_label("Organization")).to_have_value(live_organization)
    assert live_token in (await _storage(page, "sessionStorage")).values()
    assert [key for key, value in (await _storage(page, "localStorage")).items() if live_token in value] == []
    other = await page.context.new_page()
    await other.goto(f"{live_server}/graphql")
    await expect(other.get_by_label("Token")).to_have_value("")


async def test_the_token_is_hidden_until_asked_for(offline: Any, live_server: str, live_token: str) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/graphql")
    token = page.get_by_label("Token")
    await token.fill(live_token)
    await expect(token).to_have_attribute("type", "password")
    await page.get_by_role("button", name="Show", exact=True).click()
    await expect(token).to_have_attribute("type", "text")


async def test_a_ready_link_fills_the_bar_and_leaves_the_address(
    offline: Any, live_server: str, live_link: str, live_token: str, live_organization: str
) -> None:
    page: Page = offline.page
    await page.goto(live_link)
    await expect(page.get_by_label("Token")).to_have_value(live_token)
    await expect(page.get_by_label("Organization")).to_have_value(live_organization)
    assert page.url == f"{live_server}/graphql"
    assert (await _run(page)).status == 200


async def test_a_refused_organization_key_is_said_in_words(
    offline: Any, live_server: str, live_organization: str
) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/graphql")
    await page.get_by_label("Organization").fill(live_organization)
    await page.get_by_label("Token").fill("ak_0.none")
    await expect(page.get_by_label("Organization")).to_be_disabled()
    await _ready(page)  # a bad credential does not take the schema away
    answer = await _run(page)
    sent = await answer.request.all_headers()
    assert sent["authorization"] == "Bearer ak_0.none"
    assert "x-service-org" not in sent
    assert answer.status == 401
    await expect(page.get_by_role("status")).to_have_text("The service refused this token")
    await expect(page.locator(".graphiql-response .view-lines")).to_contain_text("UNAUTHENTICATED")


async def test_the_field_picker_knows_the_schema(offline: Any, live_server: str) -> None:
    page: Page = offline.page
    await page.goto(f"{live_server}/graphql")
    await page.get_by_role("button", name="Show GraphiQL Explorer").click()
    await expect(page.locator(".graphiql-explorer-root")).to_contain_text("pipelineStages")
    assert offline.complaints == []
