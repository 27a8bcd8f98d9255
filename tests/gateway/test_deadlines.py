"""How long one operation may take, and how large its answer may be, at both surfaces (decision 87)."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from sqlalchemy import text

from contract.limits import CONNECTION_SECONDS, REQUEST_SECONDS, STATEMENT_SECONDS
from resolvers import deals
from resolvers.competitor_detection import Detected, detect
from resolvers.competitor_phrases import Pace
from tests.support.costs import uncosted
from tests.support.gateway import Gateway, open_gateway
from tests.support.live import CREATE

Start = Callable[..., AbstractAsyncContextManager[Gateway]]


def test_each_bound_is_above_the_next() -> None:
    assert (REQUEST_SECONDS, STATEMENT_SECONDS, CONNECTION_SECONDS) == (10, 8, 2)


async def both(gateway: Gateway, headers: dict[str, str]) -> tuple[httpx.Response, httpx.Response]:
    """The same list by both surfaces."""
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

    monkeypatch.setattr("resolvers.shared.deadline.REQUEST_SECONDS", 0.2)
    monkeypatch.setattr(deals, "page_of", forever)
    async with start() as gateway:
        headers = gateway.world.session("admin@one", gateway.world.one)
        began = time.monotonic()
        rest, graphql = await both(gateway, headers)
        assert time.monotonic() - began < 30  # of the 60 that it would take
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
        monkeypatch.setattr("resolvers.shared.deadline.REQUEST_SECONDS", 0.2)
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
        for module in ("gateway.graphql.encoding", "rest_compat.serving"):
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


async def test_a_detection_ends_with_its_request(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the 504 no thread goes on with it, and another detection finds its place free."""
    steps = 0

    def counted(known: Any, sources: Any, pace: Pace) -> list[Detected]:
        def step() -> None:
            nonlocal steps
            steps += 1
            pace()

        while True:
            detect(known, sources, step)

    async with start() as gateway:
        headers = gateway.world.session("admin@one", gateway.world.one)
        known = 'mutation { competitorCreate(input: {name: "a", aliases: ["a b", "a b a"]}) { competitor { id } } }'
        assert (await gateway.graphql(known, headers)).json()["data"]["competitorCreate"]["competitor"]
        made = (await gateway.graphql('mutation { dealCreate(input: {name: "a"}) { deal { id } } }', headers)).json()
        deal = made["data"]["dealCreate"]["deal"]["id"]
        noted = "mutation($id: ID!, $notes: String!) { dealUpdate(id: $id, input: {notes: $notes}) { deal { id } } }"
        assert "errors" not in (await gateway.graphql(noted, headers, id=deal, notes="a b " * 10_000)).json()
        find = "mutation($id: ID!) { dealCompetitorsDetect(dealId: $id) { detected { name } } }"
        with monkeypatch.context() as patched:
            patched.setattr("resolvers.competitors.detect", counted)
            patched.setattr("resolvers.shared.deadline.REQUEST_SECONDS", 0.5)
            for answer in (
                await gateway.graphql(find, headers, id=deal),
                await gateway.rest("POST", f"/deals/{deal}/competitors/detect", headers),
            ):
                assert answer.status_code == 504
                before = steps
                assert before > 0
                await asyncio.sleep(0.3)
                assert steps == before
        answer = await gateway.graphql(find, headers, id=deal)
        assert answer.json()["data"]["dealCompetitorsDetect"]["detected"] == [{"name": "a"}]


async def test_a_statement_ends_with_its_request(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is told, and works on it no more."""
    endless = {
        "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
        "postgresql": "SELECT pg_sleep(60)",
    }

    async def slowly(ctx: Any, *_: Any, **__: Any) -> Any:
        async with ctx.services.database.directory() as session:
            await session.scalar(text(endless[ctx.services.database.dialect]))

    async with open_gateway(database_url, tmp_path / "data") as gateway:
        headers = gateway.world.session("admin@one", gateway.world.one)
        with monkeypatch.context() as patched:
            patched.setattr("resolvers.shared.deadline.REQUEST_SECONDS", 0.3)
            patched.setattr(deals, "page_of", slowly)
            rest, graphql = await both(gateway, headers)
        assert rest.status_code == graphql.status_code == 504
        database = gateway.world.database
        if database.dialect == "postgresql":
            async with asyncio.timeout(60), database.directory() as session:
                asked = text(
                    "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)' AND state = 'active'"
                )
                while await session.scalar(asked):  # noqa: ASYNC110  # it is told beside the answer
                    await asyncio.sleep(0.05)
        began = time.process_time()
        await asyncio.sleep(0.5)
        assert time.process_time() - began < 0.25
        assert (await both(gateway, headers))[0].status_code == 200


async def test_a_write_of_one_statement_ends_with_its_request(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited for another transaction: when that is over, nothing is written for somebody who was told 504."""
    async with open_gateway(database_url, tmp_path / "data") as gateway:
        headers = gateway.world.session("admin@one", gateway.world.one)
        for _ in range(2):  # a statement that is not prepared yet would wait for that
            await gateway.graphql(CREATE, headers, name="In time")
            await gateway.rest("POST", "/deals", headers, {"name": "In time"})
        with monkeypatch.context() as patched:
            patched.setattr("resolvers.shared.deadline.REQUEST_SECONDS", 0.5)
            async with _locked(database_url):
                answers = await asyncio.gather(
                    gateway.graphql(CREATE, headers, name="Late"),
                    gateway.rest("POST", "/deals", headers, {"name": "Late"}),
                )
        assert [answer.status_code for answer in answers] == [504, 504]
        await asyncio.sleep(0.5)
        rest, graphql = await both(gateway, headers)
        names = [deal["name"] for deal in (*rest.json(), *graphql.json()["data"]["deals"]["nodes"])]
        assert names == ["In time"] * 8


@asynccontextmanager
async def _locked(url: str) -> AsyncIterator[None]:
    """While whoever writes an event waits."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite+aiosqlite:///"), isolation_level=None)) as file:
            file.execute("BEGIN IMMEDIATE")
            yield
            file.execute("ROLLBACK")
        return
    locking = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        async with locking.transaction():
            await locking.execute("LOCK TABLE event_counters IN ACCESS EXCLUSIVE MODE")
            yield
    finally:
        await locking.close()


async def test_what_runs_at_the_end_of_the_service_is_told_so(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    async def forever(*_: Any, **__: Any) -> Any:
        await asyncio.sleep(60)

    monkeypatch.setattr(deals, "page_of", forever)
    async with start() as gateway:
        headers = gateway.world.session("admin@one", gateway.world.one)
        asked = asyncio.gather(
            gateway.rest("GET", "/deals", headers), gateway.graphql("{ deals { nodes { name } } }", headers)
        )
        await asyncio.sleep(0.3)
        gateway.runtime.services.deadlines.end(0.2)
        late = await gateway.rest("GET", "/deals", headers)
        for answer in (*await asked, late):
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
