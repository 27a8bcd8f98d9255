"""How long one operation may take, and how large its answer may be, at both doors (decision 87)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from contract.limits import CONNECTION_SECONDS, REQUEST_SECONDS, STATEMENT_SECONDS
from resolvers import deals
from rest_compat import deals as rest_deals
from tests.support.costs import uncosted
from tests.support.gateway import Gateway

Start = Callable[..., AbstractAsyncContextManager[Gateway]]


def test_each_bound_is_above_the_next() -> None:
    assert (REQUEST_SECONDS, STATEMENT_SECONDS, CONNECTION_SECONDS) == (10, 8, 2)


async def both(gateway: Gateway, headers: dict[str, str]) -> tuple[httpx.Response, httpx.Response]:
    """The same list by both doors."""
    rest = await gateway.rest("GET", "/deals", headers)
    return rest, await gateway.graphql("{ deals { nodes { name } } }", headers)


def _paid(answer: httpx.Response) -> None:
    """What came to nothing cost what it asked for, or what was counted, and the answer says so (decision 86)."""
    cost = answer.json()["extensions"]["cost"]
    assert 0 < cost["actual"] <= cost["requested"]


async def test_what_takes_too_long_is_ended_and_says_so(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []

    async def forever(*_: Any, **__: Any) -> Any:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    monkeypatch.setattr("resolvers.deadline.REQUEST_SECONDS", 0.2)
    for module in (deals, rest_deals):
        monkeypatch.setattr(module, "list_deals", forever)
    async with start() as gateway:
        headers = gateway.world.session("admin@one", gateway.world.one)
        began = time.monotonic()
        rest, graphql = await both(gateway, headers)
        assert time.monotonic() - began < 5
        message = "This takes too long; ask for less at once"
        assert rest.status_code == graphql.status_code == 504
        identifier = rest.headers["x-request-id"]
        assert rest.json() == {"detail": message, "code": "timeout", "request_id": identifier}
        identifier = graphql.headers["x-request-id"]
        assert uncosted(graphql.json()) == {
            "errors": [{"message": message, "extensions": {"code": "TIMEOUT", "request_id": identifier}}]
        }
        _paid(graphql)
        assert ended == [True, True]


async def test_a_change_that_takes_too_long_leaves_nothing(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    async def slowly(ctx: Any, data: Any) -> Any:
        async with ctx.writing() as session:
            await session.execute(text("DELETE FROM deals WHERE org_id = :org").bindparams(org=ctx.org_id))
            await asyncio.sleep(60)

    async with start() as gateway:
        headers = gateway.world.session("admin@one", gateway.world.one)
        made = 'mutation { dealCreate(input: {name: "Kept"}) { deal { id } } }'
        assert (await gateway.graphql(made, headers)).json()["data"]["dealCreate"]["deal"]
        monkeypatch.setattr(deals, "create_deal", slowly)
        monkeypatch.setattr("resolvers.deadline.REQUEST_SECONDS", 0.2)
        assert (await gateway.graphql(made, headers)).status_code == 504
        monkeypatch.undo()
        found = (await gateway.graphql("{ deals { nodes { name } } }", headers)).json()
        assert found["data"]["deals"]["nodes"] == [{"name": "Kept"}]


async def test_an_answer_that_is_too_large_is_none(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    async with start() as gateway:
        headers = gateway.world.session("admin@one", gateway.world.one)
        made = "mutation($name: String!) { dealCreate(input: {name: $name}) { deal { id } } }"
        for number in range(10):
            await gateway.graphql(made, headers, name=f"{number:0200}")
        for module in ("gateway.encoding", "rest_compat.serving"):
            monkeypatch.setattr(f"{module}.RESPONSE_MAX_BYTES", 1_000)
        rest, graphql = await both(gateway, headers)
        assert rest.status_code == graphql.status_code == 413
        assert rest.json()["code"] == "response_too_large"
        _paid(graphql)
        [error] = graphql.json()["errors"]
        assert error["extensions"]["code"] == "RESPONSE_TOO_LARGE"
        assert error["message"] == "The answer is larger than 5 MB; ask for fewer rows or fields"
        small = await gateway.graphql("{ deals(first: 1) { nodes { name } } }", headers)
        assert len(small.json()["data"]["deals"]["nodes"]) == 1
        event = await gateway.http.post(
            "/graphql",
            json={"query": "{ deals { nodes { name } } }"},
            headers=headers | {"Accept": "text/event-stream"},
        )
        assert '"RESPONSE_TOO_LARGE"' in event.text
        assert event.text.endswith("event: complete\ndata:\n\n")
