"""Lists whose long texts no answer could hold: it is told before any of them is read (decision 128)."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from contract.errors import ResponseTooLarge
from contract.limits import ROWS_MAX_BYTES
from storage.queries import listables, paging
from storage.tables import Account, Activity, Deal
from tests.support.gateway import Gateway
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

LENGTH = 400_000
ROWS = ROWS_MAX_BYTES // LENGTH + 1
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def tenant(gateway: Gateway) -> Tenant:
    """An organization with two accounts, of which the first has meetings with transcripts and deals with notes."""
    tenant = await new_tenant(gateway)
    accounts = [Account(name="long"), Account(name="short")]
    await tenant.add(*accounts)
    for i in range(ROWS):
        deal = Deal(name=f"deal {i:02}", account_id=accounts[0].id, notes=f"{i:02}" + "é" * (LENGTH // 2 - 1))
        await tenant.add(deal)
        details = {"transcript": f"{i:02}" + "x" * LENGTH}
        at = START + timedelta(days=i)
        await tenant.add(
            Activity(subject=f"{i:02}", due_at=at, details=details, account_id=accounts[0].id, deal_id=deal.id)
        )
    return tenant


LISTS = {
    "a list": "{ meetings(first: %d) { nodes { subject metadata } } }",
    "a list, backwards": "{ meetings(last: %d) { nodes { subject metadata } } }",
    "what hangs on its rows": "{ meetings(first: %d) { nodes { subject deal { notes } } } }",
    "a list below rows": "{ accounts { nodes { meetings(first: %d) { nodes { subject metadata } } } } }",
    "letters of two bytes": "{ deals(first: %d) { nodes { name notes } } }",
}
OF_ANY_KIND = {
    "records by their identifiers": "query($ids: [ID!]!) { nodes(ids: $ids) { ... on Deal { notes } } }",
    "what a search finds": '{ search(query: "deal", first: 100) { node { ... on Deal { notes } } } }',
}


async def _peak(answer: Awaitable[Any]) -> tuple[Any, int]:
    """The answer, and how many bytes were in use for it at most."""
    tracemalloc.start()
    try:
        return await answer, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("query", LISTS.values(), ids=LISTS)
async def test_what_no_answer_can_hold_is_not_read(tenant: Tenant, query: str) -> None:
    for _ in range(2):
        error, peak = await _peak(tenant.error(query % ROWS))
        assert error["extensions"]["code"] == "RESPONSE_TOO_LARGE"
        assert peak < ROWS_MAX_BYTES / 3
    assert "metadata" not in str(await tenant.ask(query.replace("metadata", "").replace("notes", "id") % ROWS))


@pytest.mark.parametrize("query", LISTS.values(), ids=LISTS)
async def test_what_an_answer_can_hold_is_whole_and_in_order(tenant: Tenant, query: str) -> None:
    found: Any = await tenant.ask(query % 5)
    nodes = found["nodes"]
    if "accounts" in query:
        nodes = next(account for account in nodes if account["meetings"]["nodes"])["meetings"]["nodes"]
    expected = range(4, -1, -1) if "last" in query else range(ROWS - 1, ROWS - 6, -1)
    numbers = [(node.get("subject") or node["name"])[-2:] for node in nodes]
    assert numbers == [f"{i:02}" for i in expected]
    for number, node in zip(numbers, nodes, strict=True):
        long = node["metadata"]["transcript"] if "metadata" in node else node.get("notes") or node["deal"]["notes"]
        assert long.startswith(number)
        assert len(long) >= LENGTH // 2


@pytest.mark.parametrize("query", OF_ANY_KIND.values(), ids=OF_ANY_KIND)
async def test_records_of_any_kind_are_bounded_as_well(tenant: Tenant, query: str) -> None:
    ids = [identifier for (identifier,) in await tenant.rows(Deal.id)]
    given = {"ids": ids} if "$ids" in query else {}
    error, peak = await _peak(tenant.error(query, **given))
    assert error["extensions"]["code"] == "RESPONSE_TOO_LARGE"
    assert peak < ROWS_MAX_BYTES / 3


SMALL = {
    "records of several kinds": (
        "query($ids: [ID!]!) { nodes(ids: $ids) { id ... on Meeting { subject } } }",
        ROWS + 1,
    ),
    "what a search finds": ('{ search(query: "deal", first: 100) { type node { id ... on Deal { name } } } }', ROWS),
    "the board": ("{ dealBoard { unstaged { nodes { name } } } }", ROWS),
}


@pytest.mark.parametrize(("query", "number"), SMALL.values(), ids=SMALL)
async def test_what_does_not_ask_for_the_long_texts_is_answered(tenant: Tenant, query: str, number: int) -> None:
    ids = [identifier for (identifier,) in (*await tenant.rows(Activity.id), (await tenant.rows(Account.id))[0])]
    found, peak = await _peak(tenant.ask(query, **({"ids": ids} if "$ids" in query else {})))
    assert len(found if isinstance(found, list) else found["unstaged"]["nodes"]) == number
    assert peak < ROWS_MAX_BYTES / 3


PASSAGES = '{ search(query: "%s", first: 100) { matchedField snippet node { id } } }'


async def test_what_a_search_has_found_is_looked_for_in_few_texts_at_a_time(tenant: Tenant) -> None:
    found, peak = await _peak(tenant.ask(PASSAGES % "deal"))
    assert {(hit["matchedField"], hit["snippet"][:5]) for hit in found} == {("name", "deal ")}
    assert len(found) == ROWS
    assert peak < ROWS_MAX_BYTES


async def test_nothing_waits_while_words_are_looked_for_in_long_texts(tenant: Tenant) -> None:
    other = await new_tenant(tenant.gateway)
    text = "é" * 90_000 + " seldom"
    await other.add(*(Deal(name=f"{i}", notes=text) for i in range(10)))
    await other.add(*(Activity(subject=f"{i}", details={"transcript": text}) for i in range(10)))
    pauses = [0.0]
    began = time.process_time()
    ticking = asyncio.create_task(_tick(pauses))
    found = await other.ask(PASSAGES % "seldom")
    ticking.cancel()
    assert ["seldom" in hit["snippet"] for hit in found] == [True] * 20
    assert max(pauses) < (time.process_time() - began) / 2  # in one go they would be one pause


async def _tick(pauses: list[float]) -> None:
    """Note how much work each turn of the loop was."""
    while True:
        began = time.thread_time()
        await asyncio.sleep(0)
        pauses.append(time.thread_time() - began)


async def test_competitors_are_found_in_long_transcripts(tenant: Tenant) -> None:
    other = await new_tenant(tenant.gateway)
    deal = Deal(name="heard of")
    await other.add(deal)
    for _ in range(3 * ROWS):
        await other.add(Activity(subject="s", deal_id=deal.id, details={"transcript": "z" * LENGTH}))
    query = "mutation($id: ID!) { dealCompetitorsDetect(dealId: $id) { userErrors { code } } }"
    answer, peak = await _peak(other.ask(query, id=deal.id))
    assert answer == {"userErrors": []}
    assert peak < 2 * ROWS_MAX_BYTES


async def test_the_rest_listing_says_so(tenant: Tenant) -> None:
    answer = await tenant.gateway.rest("GET", f"/activities/meetings?limit={ROWS}", tenant.headers())
    assert answer.status_code == 413
    answer = await tenant.gateway.rest("GET", "/activities/meetings?limit=5", tenant.headers())
    assert answer.status_code == 200


async def test_records_by_their_identifiers(tenant: Tenant) -> None:
    ids = [identifier for (identifier,) in await tenant.rows(Deal.id)]
    async with tenant.gateway.world.database.reading(tenant.id) as session:
        with pytest.raises(ResponseTooLarge):
            await paging.by_ids(session, listables.DEALS, ids, is_bounded=True)
        for some, bounded in ((ids[:3], True), (ids, False)):
            found = await paging.by_ids(session, listables.DEALS, some, is_bounded=bounded)
            assert found.keys() == set(some)
