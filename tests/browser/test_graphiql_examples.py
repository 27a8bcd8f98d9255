"""Each example of GraphiQL runs as it is on the demo data, in both of its organizations."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from graphql import OperationDefinitionNode, OperationType, parse
from playwright.async_api import Page, expect

from tests.support.graphiql import open_tab, ready, run

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

FILES = sorted((Path(__file__).parents[2] / "ui/graphiql/src/examples").glob("*.graphql"))


def _operation(file: Path) -> OperationDefinitionNode:
    [definition] = parse(file.read_text()).definitions
    assert isinstance(definition, OperationDefinitionNode)
    assert definition.name is not None
    return definition


NAMES = [_operation(file).name.value for file in FILES]  # type: ignore[union-attr]  # looked at in _operation
AT_ONCE = [
    name
    for file, name in zip(FILES, NAMES, strict=True)
    if _operation(file).operation is not OperationType.SUBSCRIPTION
]
EMPTY_ELSEWHERE = {"Campaigns", "CustomerIntelligence"}
"""The second organization has nothing of these."""


async def test_there_is_a_tab_for_each_area(offline: Any, live_link: str) -> None:
    page: Page = offline.page
    await page.goto(live_link)
    await ready(page)
    await expect(page.locator(".graphiql-tab-button")).to_have_text(NAMES)
    assert len(NAMES) == 12
    # All of them are seen at once.
    await expect(page.locator(".graphiql-tab").last).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("name", AT_ONCE)
async def test_an_example_runs_as_it_is(offline: Any, live_link: str, name: str) -> None:
    page: Page = offline.page
    await page.goto(live_link)
    await ready(page)
    await open_tab(page, name)
    organizations = page.get_by_label("Organization")
    await expect(organizations).to_be_enabled()
    for organization in ("Demo Sales", "Demo Partners"):
        await organizations.select_option(organization)
        answer = await run(page)
        assert answer.status == 200
        body = await answer.json()
        assert "errors" not in body
        assert _problems(body["data"]) == []
        if organization == "Demo Sales" or name not in EMPTY_ELSEWHERE:
            assert _has_something(body["data"])
    assert offline.complaints == []


def _problems(data: dict[str, Any]) -> list[Any]:
    return [problem for part in data.values() if isinstance(part, dict) for problem in part.get("userErrors", [])]


def _has_something(data: dict[str, Any]) -> bool:
    return re.search(r"\[\{|\": \{\"(deal|columns)\"", json.dumps(data)) is not None or "viewer" in data
