"""Owners and stages of a long page come once each; its answer is that of short pages, byte for byte (decision 970)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from contract.tools import TOOL_ROWS_MAX
from schema.execution import rows
from schema.execution.steps import Steps, Unplanned
from storage.base import new_id
from storage.queries.shared_rows import SHARED_FROM
from storage.shared_rows import SharedRow
from storage.tables import Account, Deal, File, Folder, Person, PipelineStage
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

DEALS = """query($first: Int!, $after: String) { deals(first: $first, after: $after) {
  nodes { name ownerId owner { id name email state joinedAt } again: owner { __typename name }
    stage { id name type probability position } account { name owner { name } } } pageInfo { endCursor } } }"""
BELOW = """query($first: Int!, $after: String) { deals(first: $first, after: $after) {
  nodes { owner { name owned { deals } } } pageInfo { endCursor } } }"""
FILES = """query($first: Int!, $after: String) { files(first: $first, after: $after) {
  nodes { name folder { id name } } pageInfo { endCursor } } }"""
NUMBER = SHARED_FROM + 10


async def fill(one: Tenant, two: Tenant) -> None:
    """Deals of a member, of one who left, of nobody, of one whom only the next organization knows, of one unknown."""
    stages = [PipelineStage(name=f"S{n}", position=n, type="open", probability=n or None) for n in range(3)]
    account = Account(name="A", owner_id=one.subject())
    stranger, left = f"stranger {new_id()}", f"left {new_id()}"
    await two.add(Person(id=stranger, name="canary of another organization", state="active"))
    await one.add(Person(id=left, name="Left", email=None, state="left"), account, *stages)
    owners = [one.subject(), left, None, stranger, "unknown"]
    deals = []
    for number in range(NUMBER):
        stage, owner = [*stages, None][number % 4], owners[number % 5]
        held = {"stage_id": stage.id if stage else None, "account_id": account.id if number % 2 else None}
        deals.append(Deal(name=f"d{number}", owner_id=owner, **held))
    await one.add(*deals)


async def in_short_pages(one: Tenant, document: str) -> list[Any]:
    found: list[Any] = []
    after = None
    while True:
        page = await one.ask(document, first=SHARED_FROM - 1, after=after)
        if not page["nodes"]:
            return found
        found += page["nodes"]
        after = page["pageInfo"]["endCursor"]


@pytest.mark.parametrize("document", [DEALS, BELOW])
async def test_a_long_page_is_as_short_ones(
    one: Tenant, two: Tenant, monkeypatch: pytest.MonkeyPatch, document: str
) -> None:
    await fill(one, two)
    long = await one.ask(document, first=NUMBER)
    assert len(long["nodes"]) == NUMBER
    assert orjson.dumps(long["nodes"]) == orjson.dumps(await in_short_pages(one, document))
    assert b"canary" not in orjson.dumps(long)
    assert {(node["owner"] or {"name": None})["name"] for node in long["nodes"]} == {"The member", "Left", None}
    backwards = document.replace("first: $first, after: $after", "last: $first, before: $after")
    assert (await one.ask(backwards, first=NUMBER))["nodes"] == long["nodes"]

    async def unplanned(*_: Any) -> Any:
        raise Unplanned("test")

    monkeypatch.setattr(Steps, "run", unplanned)
    assert orjson.dumps(await one.ask(document, first=NUMBER)) == orjson.dumps(long)


async def test_it_is_one_statement_that_reads_each_owner_once(one: Tenant, two: Tenant) -> None:
    await fill(one, two)
    for size in (1, NUMBER):
        with statements(one.gateway.world.database) as sent:
            await one.ask("query($n: Int!) { deals(first: $n) { nodes { owner { name } stage { name } } } }", n=size)
        [page] = [text for text in sent if "people" in text or "deals" in text or "pipeline_stages" in text]
        is_apart = size == NUMBER and one.gateway.world.database.dialect == "postgresql"
        assert ("JOIN people" not in page) == is_apart


async def test_each_owner_and_stage_is_written_once(one: Tenant, two: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(one, two)
    written: list[str] = []

    def counting(shared: SharedRow, make: Any) -> Any:
        written.append(shared.row.id)
        return original(shared, make)

    original = rows._written
    monkeypatch.setattr(rows, "_written", counting)
    await one.ask("query($n: Int!) { deals(first: $n) { nodes { stage { name } owner { email } } } }", n=NUMBER)
    is_apart = one.gateway.world.database.dialect == "postgresql"
    assert len(written) == (5 if is_apart else 0)  # two members, three stages
    assert len({*written}) == len(written)
    assert TOOL_ROWS_MAX < SHARED_FROM  # a tool reads its answers, of which this is written already


async def test_folders_of_files(one: Tenant) -> None:
    folder = Folder(name="F", depth=1)
    await one.add(folder)
    fields = {"content_type": "text/plain", "sha256": "0", "bytes": 0}
    await one.add(*(File(name=f"{n}", folder_id=folder.id if n % 2 else None, **fields) for n in range(NUMBER)))
    long = await one.ask(FILES, first=NUMBER)
    assert [node["folder"] is None for node in long["nodes"]].count(True) == NUMBER // 2
    assert long["nodes"] == await in_short_pages(one, FILES)
