from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.tables import Account, Event, EventCounter, PipelineStage
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = datetime(2026, 1, 1, tzinfo=UTC)
EVENT = "id cursor type actor occurredAt requestId data"
QUERY = f"""query($types: [String!], $first: Int, $after: String) {{
  events(types: $types, first: $first, after: $after) {{
  nodes {{ {EVENT} }} edges {{ cursor node {{ {EVENT} }} }}
  pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }}"""
CREATE = (
    "mutation($input: DealCreateInput!) { dealCreate(input: $input) { deal { id createdAt } userErrors { code } } }"
)


async def log(tenant: Tenant, *events: tuple[str, str]) -> None:
    """Events of these types and areas, in this order."""
    async with tenant.gateway.world.database.writing(tenant.id) as session:
        for i, (kind, area) in enumerate(events):
            await session.insert(
                Event(sequence=i + 1, type=kind, area=area, actor="a", occurred_at=START + timedelta(-i), data={"n": i})
            )


async def test_deal_created_in_the_order_of_the_commits(
    one: Tenant, two: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    account, stage = Account(name="A"), PipelineStage(name="S")
    await one.add(account, stage)
    full = {"name": "Fleet", "value": "1200.5000", "currency": "eur", "accountId": account.id, "stageId": stage.id}
    inputs = [full, {"name": "bare"}]
    before = datetime.now(UTC)
    with caplog.at_level(logging.INFO, "providers.notifications"):
        made = [
            (await one.ask(CREATE, one.headers() | {"X-Request-Id": f"request-{i}"}, input=given))["deal"]
            for i, given in enumerate(inputs)
        ]
        refused = await one.ask(CREATE, input={"name": ""})
        assert refused["deal"] is None
        await asyncio.sleep(0)
    await two.ask(CREATE, input={"name": "other"})
    found = await one.ask(QUERY)
    events = found["nodes"]
    assert found["edges"] == [{"cursor": event["cursor"], "node": event} for event in events]
    assert found["pageInfo"] == {
        "hasNextPage": False,
        "hasPreviousPage": False,
        "startCursor": events[0]["cursor"],
        "endCursor": events[1]["cursor"],
    }
    for event in events:
        assert before <= datetime.fromisoformat(event["occurredAt"]) <= datetime.now(UTC)
    owner = {"owner_id": one.subject()}
    assert [(e["type"], e["actor"], e["requestId"], e["data"]) for e in events] == [
        (
            "deal_created",
            one.subject(),
            "request-0",
            {
                "deal_id": made[0]["id"],
                "name": "Fleet",
                "value": "1200.5",
                "currency": "EUR",
                "account_id": account.id,
                "stage_id": stage.id,
                **owner,
            },
        ),
        (
            "deal_created",
            one.subject(),
            "request-1",
            {
                "deal_id": made[1]["id"],
                "name": "bare",
                "value": None,
                "currency": "USD",
                "account_id": None,
                "stage_id": None,
                **owner,
            },
        ),
    ]
    assert len({event["id"] for event in events}) == 2
    notified = [r.getMessage() for r in caplog.records if r.name == "providers.notifications"]
    name = one.organization.external_id
    assert notified == [
        f"notification deal_created delivered organization={name} request_id=request-{i}" for i in range(2)
    ]


async def test_a_deal_whose_event_cannot_be_written_is_not_made(one: Tenant) -> None:
    await log(one, ("in_the_way", "crm"))  # with the number that the first event would have
    error = await one.error(CREATE, input={"name": "n"})
    assert error["extensions"]["code"] == "INTERNAL"
    assert await one.ask("{ deals { totalCount } }") == {"totalCount": 0}
    assert [event["type"] for event in (await one.ask(QUERY))["nodes"]] == ["in_the_way"]
    assert await one.rows(EventCounter.last) == [(0,)]


async def test_the_sequence_has_no_gaps_under_concurrency(one: Tenant) -> None:
    await asyncio.gather(*(one.ask(CREATE, input={"name": str(i)}) for i in range(8)))
    assert sorted(await one.rows(Event.sequence)) == [(i,) for i in range(1, 9)]
    assert await one.rows(EventCounter.last) == [(8,)]


async def test_types(one: Tenant) -> None:
    await log(one, ("a", "crm"), ("b", "crm"), ("a", "crm"), ("A", "crm"))

    async def found(**variables: Any) -> list[int]:
        return [event["data"]["n"] for event in (await one.ask(QUERY, **variables))["nodes"]]

    assert await found() == [0, 1, 2, 3]
    assert await found(types=None) == [0, 1, 2, 3]
    assert await found(types=["a"]) == [0, 2]
    assert await found(types=["b", "A", "c"]) == [1, 3]
    assert await found(types=[]) == []
    assert await found(types=["\x00"]) == []


async def test_pages_and_cursors(one: Tenant) -> None:
    await log(one, *(("even" if i % 2 == 0 else "odd", "crm") for i in range(7)))
    whole = await one.ask(QUERY)
    cursors = [event["cursor"] for event in whole["nodes"]]
    assert [event["data"]["n"] for event in whole["nodes"]] == list(range(7))
    for size in range(1, 8):
        after, walked = None, []
        while True:
            page = await one.ask(QUERY, first=size, after=after)
            walked += [event["data"]["n"] for event in page["nodes"]]
            after = page["pageInfo"]["endCursor"]
            if not page["pageInfo"]["hasNextPage"]:
                break
        assert walked == list(range(7))
    page = await one.ask(QUERY, types=["odd"], after=cursors[2])
    assert [event["data"]["n"] for event in page["nodes"]] == [3, 5]
    assert [event["cursor"] for event in page["nodes"]] == [cursors[3], cursors[5]]
    assert (await one.ask(QUERY, after=cursors[6]))["nodes"] == []
    assert (await one.ask(QUERY, first=0))["pageInfo"] == {
        "hasNextPage": True,
        "hasPreviousPage": False,
        "startCursor": None,
        "endCursor": None,
    }


async def test_pages_that_are_refused(one: Tenant) -> None:
    for variables, name in (
        ({"first": -1}, "first"),
        ({"first": 501}, "first"),
        ({"after": "x"}, "after"),
        ({"after": ""}, "after"),
    ):
        extensions = (await one.error(QUERY, **variables))["extensions"]
        assert extensions["code"] == "VALIDATION"
        assert [problem["field"] for problem in extensions["problems"]] == [[name]]
    query = "query($after: String) { events(after: $after) { nodes { id } } }"
    of_deals = (await one.ask(CREATE, input={"name": "n"})) and (await one.ask("{ deals { edges { cursor } } }"))
    extensions = (await one.error(query, after=of_deals["edges"][0]["cursor"]))["extensions"]
    assert extensions["problems"][0]["field"] == ["after"]


async def test_areas_by_scope(one: Tenant) -> None:
    await log(one, ("c", "crm"), ("o", "outreach"), ("a", "admin"), ("x", "unheard of"))
    for scopes, types in [
        (["api:read"], "c"),
        (["leads:read"], "c"),
        (["deals:manage"], "c"),
        (["api:read", "outreach:read"], "co"),
        (["api:read", "outreach:provision"], "co"),
        (["organizations:manage"], "ca"),
        (["organizations:manage", "outreach:manage"], "coa"),
    ]:
        found = await one.ask(QUERY, await one.scoped(*scopes))
        assert "".join(event["type"] for event in found["nodes"]) == types, scopes
        assert found["pageInfo"]["hasNextPage"] is False
    error = await one.error(QUERY, await one.scoped("outreach:read"))
    assert error["extensions"]["code"] == "FORBIDDEN"
