"""Idempotency keys at the real service: several processes on one socket, a WebSocket, and kill -9."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select, text, update
from sqlmodel import col

from storage.base import new_id
from storage.database import Database
from storage.tables import Deal, Event, EventCounter, IdempotencyKey
from tests.support.live import CREATE, Live, going
from tests.support.service import Service
from tests.support.streams import begun

NAMED = {"name": "late"}


async def rows(live: Live, *columns: Any) -> list[tuple[Any, ...]]:
    """These columns of the organization's rows."""
    organization = await live.organization()
    async with live.database.reading(organization) as session:
        found = await session.rows(select(*columns).where(columns[0].class_.org_id == organization))
    return [tuple(row) for row in found]


def keyed(live: Live, key: str) -> dict[str, str]:
    return live.token() | {"idempotency-key": key}


@pytest.mark.long
async def test_fifty_at_once_at_several_processes_make_one_row(tmp_path: Path, database_url: str) -> None:
    async with going(tmp_path, database_url, "--workers", "2") as live, httpx.AsyncClient(timeout=30) as http:
        headers, address = keyed(live, new_id()), live.service.address

        async def ask(number: int) -> httpx.Response:
            if number % 2:
                return await http.post(f"{address}/deals", json={"name": "raced"}, headers=headers)
            body = {"query": CREATE, "variables": {"name": "raced"}}
            return await http.post(live.graphql_url, json=body, headers=headers)

        answers = await asyncio.gather(*map(ask, range(50)))
        assert {answer.status_code for answer in answers} == {200, 201}
        assert len({answer.content.partition(b',"extensions":')[0] for answer in answers}) == 2
        assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
        assert await rows(live, Deal.name) == [("raced",)]
        assert await rows(live, Event.type) == [("deal_created",)]


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_write_that_cannot_begin_says_what_it_says_without_a_key(tmp_path: Path, database_url: str) -> None:
    """One waits for the file until SQLite gives up, the others for that one, and some until their own time is over."""
    async with going(tmp_path, database_url) as live, httpx.AsyncClient(timeout=30) as http:
        rest, graphql = f"{live.service.address}/deals", live.graphql_url
        asked: list[tuple[str, Any]] = [(rest, NAMED), (graphql, {"query": CREATE, "variables": NAMED})] * 3
        keys = [new_id() for _ in asked]

        async def ask() -> list[httpx.Response]:
            asking = zip(asked, keys, strict=True)
            return await asyncio.gather(
                *(http.post(url, json=body, headers=keyed(live, key)) for (url, body), key in asking)
            )

        with live.held():
            answers = await ask()
        told = {(answer.status_code, _code(answer.json())) for answer in answers}
        assert told <= {(503, "unavailable"), (504, "timeout"), (200, "UNAVAILABLE"), (504, "TIMEOUT")}
        assert {code.lower() for _, code in told} == {"unavailable", "timeout"}
        assert await rows(live, Deal.name) == []
        assert [answer.status_code for answer in await ask()] == [201, 200] * 3
        assert await rows(live, Deal.name) == [("late",)] * 6


def _code(body: Any) -> str:
    return str(body["errors"][0]["extensions"]["code"] if "errors" in body else body["code"])


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_key_over_a_websocket(tmp_path: Path, database_url: str) -> None:
    async with going(tmp_path, database_url) as live, begun(live.service.address, live.token()) as socket:
        payload = {"query": CREATE, "variables": {"name": "socket"}, "extensions": {"idempotencyKey": new_id()}}
        told = []
        for identifier in ("1", "2"):
            await socket.say(type="subscribe", id=identifier, payload=payload)
            told += await socket.told(1)
            assert await socket.hear() == {"id": identifier, "type": "complete"}
        assert told[0] == told[1]
        assert await rows(live, Deal.name) == [("socket",)]


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_killed_between_claim_and_commit(tmp_path: Path, database_url: str) -> None:
    """The deal and the claim are written and wait for the event's number, which this test holds, as it dies."""
    async with going(tmp_path, database_url) as live, httpx.AsyncClient(timeout=30) as http:
        await live.create("the first, so that there is a counter")
        organization, key = await live.organization(), new_id()
        headers, body = keyed(live, key), {"name": "killed"}
        async with live.database.writing(organization) as session:
            await session.execute(
                update(EventCounter).where(col(EventCounter.org_id) == organization).values(last=EventCounter.last)
            )
            asking = asyncio.create_task(http.post(f"{live.service.address}/deals", json=body, headers=headers))
            await _waits_for_a_lock(live.database)
            live.service.end(signal.SIGKILL)
            with pytest.raises(httpx.HTTPError):
                await asking
        assert await rows(live, IdempotencyKey.id) == []
        assert len(await rows(live, Deal.id)) == 1
        with Service(tmp_path, "--no-worker", CRM_DATABASE_URL=database_url) as again:
            answers = [await http.post(f"{again.address}/deals", json=body, headers=headers) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [201, 201]
        assert answers[0].content == answers[1].content
        assert len(await rows(live, Deal.id)) == 2


async def _waits_for_a_lock(database: Database) -> None:
    """Until a statement of another session does."""
    question = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with asyncio.timeout(60):
        while True:
            async with database.directory() as session:
                if await session.scalar(text(question)):
                    return
            await asyncio.sleep(0.02)


WRITERS = 8


@pytest.mark.long
async def test_killed_amid_writes_and_asked_again(tmp_path: Path, database_url: str) -> None:
    """Every key that was sent is sent again after the service was killed: one deal for each, and the same answers."""
    async with going(tmp_path, database_url, CRM_RATE_LIMIT="off") as live:
        answered: dict[str, bytes] = {}
        sent: list[str] = []

        async def write(address: str, key: str) -> httpx.Response:
            async with httpx.AsyncClient(timeout=30) as http:
                return await http.post(f"{address}/deals", json={"name": key}, headers=keyed(live, key))

        async def keep_writing() -> None:
            while True:
                key = new_id()
                sent.append(key)
                try:
                    answer = await write(live.service.address, key)
                except httpx.HTTPError:
                    return
                assert answer.status_code == 201
                answered[key] = answer.content

        writers = [asyncio.create_task(keep_writing()) for _ in range(WRITERS)]
        async with asyncio.timeout(60):
            while len(answered) < 5 * WRITERS:  # noqa: ASYNC110  # the writers have no event to wait for
                await asyncio.sleep(0.01)
        live.service.end(signal.SIGKILL)
        await asyncio.gather(*writers)
        with Service(tmp_path, "--no-worker", CRM_DATABASE_URL=database_url) as again:
            for key in sent:
                answer = await write(again.address, key)
                assert answer.status_code == 201
                assert answer.content == answered.get(key, answer.content)
        assert sorted(await rows(live, Deal.name)) == sorted((key,) for key in sent)
        assert len(await rows(live, Event.type)) == len(sent)
