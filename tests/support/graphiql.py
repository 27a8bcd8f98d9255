"""GraphiQL as its readers use it: what is on the page, and how to run what is in a tab."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Page, Response, expect

OWN_QUERIES = ("IntrospectionQuery", "WhoAmI")
"""What the page asks for itself."""


async def ready(page: Page) -> None:
    """GraphiQL is up: the button is there before the editors are, and does nothing until then."""
    await expect(page.locator(".graphiql-query-editor .view-lines")).to_contain_text("{")
    await expect(page.locator(".graphiql-response .view-lines")).to_be_attached()


async def press_run(page: Page) -> None:
    """Press the button that runs the operation, or stops it."""
    await page.get_by_role("button", name=re.compile("^(Execute query|Stop query)")).click()


async def run(page: Page) -> Response:
    """Run what the tab has, a query or a mutation; the service's answer."""
    await ready(page)
    async with page.expect_response(_answers_the_reader) as answered:
        await press_run(page)
    return await answered.value


async def write(page: Page, operation: str) -> None:
    """Put an operation into a tab of its own."""
    await page.get_by_role("button", name="New tab").click()
    await page.locator(".graphiql-query-editor .monaco-editor").click()
    await page.keyboard.insert_text(operation)


async def open_tab(page: Page, name: str) -> None:
    """Go to the tab of this name."""
    await page.locator(".graphiql-tab").get_by_role("button", name=name, exact=True).click()
    await expect(page.locator(".graphiql-query-editor .view-lines")).to_contain_text(name)


async def storage(page: Page, kind: str) -> dict[str, str]:
    """Everything in `localStorage` or `sessionStorage`."""
    found: dict[str, str] = await page.evaluate(f"() => ({{...{kind}}})")
    return found


def _answers_the_reader(response: Response) -> bool:
    request = response.request
    if request.method != "POST":
        return False
    body: dict[str, Any] = request.post_data_json
    return body.get("operationName") not in OWN_QUERIES and "query WhoAmI" not in body["query"]
