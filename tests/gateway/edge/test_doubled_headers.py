"""A header that is there twice means the same to every surface: none takes the one that pleases it (decision 127)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from sqlalchemy import select
from sqlmodel import col

from storage.base import new_id
from storage.tables import Deal
from tests.support.live import CREATE, Live
from tests.support.streams import open_socket

pytestmark = pytest.mark.asyncio(loop_scope="module")

Pairs = list[tuple[str, str]]
SECONDS = {  # what the second header says, and how REST and GraphQL refuse it: by status and code
    "authorization": ("Bearer nonsense", (401, "unauthenticated"), (401, "UNAUTHENTICATED")),
    "x-service-org": ("org_two", (403, "organization_mismatch"), (403, "ORGANIZATION_MISMATCH")),
    "idempotency-key": ("other", (422, None), (400, "BAD_REQUEST")),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def http(live: Live) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=live.service.address, timeout=60) as client:
        yield client


def said(live: Live) -> dict[str, str]:
    return live.token() | {"x-service-org": "org_one", "idempotency-key": new_id()}


@pytest.mark.parametrize("name", SECONDS)
@pytest.mark.parametrize("order", ["good first", "good last", "both good", "one empty"])
async def test_no_surface_takes_one_of_two(live: Live, http: httpx.AsyncClient, name: str, order: str) -> None:
    headers = said(live)
    bad, by_rest, by_graphql = SECONDS[name]
    second = {"both good": headers[name], "one empty": ""}.get(order, bad)
    pairs: Pairs = [*headers.items(), (name, second)]
    if order == "good last":
        pairs.reverse()
    rest = await http.post("/deals", json={"name": "doubled"}, headers=pairs)
    assert (rest.status_code, rest.json().get("code")) == by_rest
    graphql = await http.post("/graphql", json={"query": CREATE, "variables": {"name": "doubled"}}, headers=pairs)
    assert (graphql.status_code, graphql.json()["errors"][0]["extensions"]["code"]) == by_graphql
    assert await _deals(live) == 0


async def test_one_of_each_is_served(live: Live, http: httpx.AsyncClient) -> None:
    """And of those that are lists by nature, any number."""
    pairs: Pairs = [*said(live).items(), ("accept", "text/plain"), ("accept", "application/json")]
    body = {"query": "{ viewer { subject } }"}
    answer = await http.post("/graphql", json=body, headers=pairs)
    assert (answer.status_code, answer.json()["data"]) == (200, {"viewer": {"subject": "admin"}})


@pytest.mark.parametrize("name", ["authorization", "x-service-org"])
async def test_a_socket_takes_neither_of_two(live: Live, name: str) -> None:
    headers = live.token() | {"x-service-org": "org_one"}
    bad, _, _ = SECONDS[name]
    async with open_socket(live.service.address, additional_headers=[*headers.items(), (name, bad)]) as socket:
        await socket.say(type="connection_init")
        async with asyncio.timeout(30):
            code, reason = await socket.closed()
    assert (code, reason.split(":")[0]) == (4403, "Forbidden")
    async with open_socket(live.service.address, additional_headers=headers) as socket:
        await socket.begin()


async def _deals(live: Live) -> int:
    organization = await live.organization()
    async with live.database.reading(organization) as session:
        return len(await session.rows(select(col(Deal.id)).where(col(Deal.org_id) == organization)))
