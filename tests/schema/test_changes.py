"""The change log by time: what happened between two moments, on both surfaces."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rest_compat.openapi import openapi_document
from storage.tables import Event
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = datetime(2026, 1, 1, tzinfo=UTC)
QUERY = """query($since: DateTime!, $until: DateTime, $types: [String!], $first: Int, $after: String) {
  changes(since: $since, until: $until, types: $types, first: $first, after: $after) {
  edges { cursor node { id type data } } pageInfo { hasNextPage endCursor } } }"""
LOG = (
    (5, "deal_created", "crm"),
    (2, "deal_updated", "crm"),
    (2, "webhook_created", "admin"),
    (9, "deal_created", "crm"),
)
"""The minute of each event after the start, in the order of the log, its type, and its area."""


async def log(tenant: Tenant) -> None:
    async with tenant.gateway.world.database.writing(tenant.id) as session:
        for number, (minute, kind, area) in enumerate(LOG, 1):
            at = START + timedelta(minutes=minute)
            event = Event(sequence=number, type=kind, area=area, actor="a", occurred_at=at, data={"minute": minute})
            await session.insert(event)


def at(minute: float) -> str:
    return (START + timedelta(minutes=minute)).isoformat()


async def minutes(tenant: Tenant, headers: Any = None, **variables: Any) -> list[int]:
    """The minutes of the events, which are the same by the path."""
    found = await tenant.ask(QUERY, headers, **variables)
    seen = [edge["node"]["data"]["minute"] for edge in found["edges"]]
    given = {name: value for name, value in variables.items() if name in ("since", "until")}
    given |= {"type": variables["types"]} if "types" in variables else {}
    path = await tenant.gateway.http.get("/changes", params=given, headers=headers or tenant.headers())
    assert path.status_code == 200, path.text
    assert [event["data"]["minute"] for event in path.json()] == seen
    return seen


async def test_events_between_two_moments_oldest_first(one: Tenant, two: Tenant) -> None:
    await log(one)
    await log(two)
    admin = one.headers("admin")
    assert await minutes(one, admin, since=at(0)) == [2, 2, 5, 9]
    assert await minutes(one, admin, since=at(2), until=at(9)) == [2, 2, 5]
    assert await minutes(one, admin, since=at(5)) == [5, 9]
    assert await minutes(one, admin, since=at(2.1), until=at(2.1)) == []
    assert await minutes(one, admin, since=at(0), types=["deal_created", "no_such"]) == [5, 9]
    assert await minutes(one, since=at(0)) == [2, 5, 9]


async def test_pages_go_on_where_they_ended(one: Tenant) -> None:
    await log(one)
    seen, after = [], None
    while True:
        found = await one.ask(QUERY, one.headers("admin"), since=at(0), first=1, after=after)
        seen += [edge["node"]["id"] for edge in found["edges"]]
        after = found["pageInfo"]["endCursor"]
        if not found["pageInfo"]["hasNextPage"]:
            break
    assert len(set(seen)) == len(seen) == len(LOG)
    paths = [
        (
            await one.gateway.http.get(f"/changes?since={at(0)[:19]}Z&limit=1&offset={n}", headers=one.headers("admin"))
        ).json()
        for n in range(5)
    ]
    assert [event["id"] for page in paths for event in page] == seen
    [first] = paths[0]
    assert list(first) == ["id", "type", "actor", "occurred_at", "request_id", "data"]


async def test_what_is_no_span_is_refused_where_it_stands(one: Tenant) -> None:
    error = await one.error(QUERY, since=at(5), until=at(4))
    assert error["extensions"]["code"] == "VALIDATION"
    assert error["message"].startswith("until: ")
    for query, at_field in (
        ("", "since"),
        ("since=monday", "since"),
        ("since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "until"),
        ("since=2026-01-02T00:00:00Z&until=x", "until"),
    ):
        path = await one.gateway.http.get(f"/changes?{query}", headers=one.headers())
        assert (path.status_code, path.json()["detail"][0]["loc"]) == (422, ["query", at_field]), query


async def test_a_page_is_one_statement_along_the_index(one: Tenant) -> None:
    await log(one)
    with statements(one.gateway.world.database) as sent:
        await one.ask(QUERY, since=at(0), first=2)
    assert len([text for text in sent if "FROM events" in text]) == 1


async def test_the_description_says_which_moment_is_needed() -> None:
    parameters = openapi_document()["paths"]["/changes"]["get"]["parameters"]
    needed = {one["name"]: one["required"] for one in parameters if one.get("in") == "query"}
    assert needed == {"since": True, "until": False, "type": False, "limit": False, "offset": False}
