"""What the streams of the change log and of a job tell, and whom."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
import pytest
from sqlmodel import col

from storage.tables import Job
from tests.support.live import Live
from tests.support.streams import EVENTS, answers, begun

pytestmark = pytest.mark.asyncio(loop_scope="module")

JOB = "subscription($id: ID!) { jobUpdated(id: $id) { id status progress error } }"


@asynccontextmanager
async def client(live: Live, headers: dict[str, str]) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=live.service.address, headers=headers, timeout=30) as http:
        yield http


def names(events: list[Any]) -> list[str]:
    return [event["data"]["name"] for event in events]


async def test_a_stream_goes_on_from_its_cursor_while_others_write(live: Live) -> None:
    """Nothing is missed and nothing comes twice, wherever a stream begins."""
    await live.create("first")
    start = await live.cursor()

    async def write(writer: int) -> None:
        for number in range(15):
            await live.create(f"{writer}-{number}")

    async def follow(after: str | None, count: int) -> list[Any]:
        async with begun(live.service.address, live.token()) as socket:
            await socket.subscribe("1", EVENTS, after=after)
            return await socket.told(count)

    async def chained() -> list[Any]:
        """Each time a few, in a connection of their own."""
        found: list[Any] = []
        while len(found) < 60:
            found += await follow(found[-1]["cursor"] if found else start, min(7, 60 - len(found)))
        return found

    async with asyncio.timeout(30):
        whole, again, *_ = await asyncio.gather(follow(start, 60), chained(), *map(write, range(4)))
    assert whole == again
    assert sorted(names(whole)) == sorted(f"{writer}-{number}" for writer in range(4) for number in range(15))
    for writer in range(4):  # each one's in the order of its commits
        assert [n for n in names(whole) if n.startswith(f"{writer}-")] == [f"{writer}-{n}" for n in range(15)]
    query = "query($after: String) { events(first: 100, after: $after) { nodes { cursor } } }"
    logged = await live.ask(query, after=start)
    assert [event["cursor"] for event in whole] == [node["cursor"] for node in logged["events"]["nodes"]]


@pytest.mark.parametrize("live_url", ["sqlite"], indirect=True)
async def test_a_log_longer_than_what_is_kept_is_read_from_its_beginning(live: Live) -> None:
    """The process keeps the newest 1,000 events of an organization; what is older comes from the database."""
    await live.create("The first")
    start = await live.cursor()
    async with begun(live.service.address, live.token()) as socket, asyncio.timeout(60):
        await socket.subscribe("kept", EVENTS, types=["deal_created"])
        await live.running(1)
        batch = " ".join(f'd{n}: dealCreate(input: {{name: "{n}"}}) {{ deal {{ id }} }}' for n in range(15))
        for _ in range(70):
            await live.ask(f"mutation {{ {batch} }}")
        newest = [await socket.told(1) for _ in range(1050)]
        await socket.subscribe("all", EVENTS, after=start, types=["deal_created"])
        assert [await socket.told(1) for _ in range(1050)] == newest


async def test_types_areas_and_organizations_are_kept_apart(live: Live) -> None:
    address, stranger = live.service.address, live.token("stranger", "org_two")
    async with begun(address, live.token("reader")) as socket, begun(address, stranger) as foreign:
        await socket.subscribe("1", EVENTS, types=["deal_created", "organization_key_created"])
        await foreign.subscribe("1", EVENTS)
        await live.running(2)
        await live.ask('mutation { organizationKeyCreate(input: {name: "Key"}) { organizationKey { id } } }')
        await live.ask('mutation { accountCreate(input: {name: "Account"}) { account { id } } }')
        await live.create("Ours")
        await live.create("Theirs", stranger)
        assert names(await socket.told(1)) == ["Ours"]  # no key, which is for administrators, and no account
        assert names(await foreign.told(1)) == ["Theirs"]


async def test_a_stream_has_the_form_that_its_clients_read(live: Live) -> None:
    await live.create("Before")
    after = await live.cursor()
    await live.create("Näme")
    body = {"query": EVENTS, "variables": {"after": after}}
    accept = {"accept": "application/graphql-response+json, application/json, text/event-stream"}
    async with client(live, live.token()) as http, asyncio.timeout(30):
        async with http.stream("POST", "/graphql", json=body, headers=accept) as response:
            assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
            assert response.headers["cache-control"] == "no-store"
            text = ""
            async for piece in response.aiter_text():
                text += piece
                if "event: next\n" in text and text.endswith("\n\n"):
                    break
        assert "\r" not in text
        assert text.startswith(":\n\nevent: next\ndata: {")
        # By GET as well, as browsers' EventSource has to; a HEAD would never end.
        asked = {"query": "subscription { events { type } }"}
        async with http.stream("GET", "/graphql", params=asked) as response:
            assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert (await http.head("/graphql", params=asked)).status_code == 405


async def test_whoever_says_no_credential_gets_no_stream_and_may_go_on(live: Live) -> None:
    async with begun(live.service.address, {}) as socket:
        await socket.subscribe("1", EVENTS)
        answer = await socket.hear()
        assert (answer["type"], answer["id"]) == ("error", "1")
        assert answer["payload"][0]["extensions"]["code"] == "UNAUTHENTICATED"
        await socket.subscribe("1", "{ __typename }")
        assert await socket.told(1) == ["Query"]


async def test_a_job_is_told_as_it_is_and_as_it_changes(live: Live) -> None:
    organization = await live.organization()
    async with live.database.writing(organization) as session:
        job = Job(kind="test", arguments={})
        await session.insert(job)
    address, reader = live.service.address, live.token("reader")
    async with (
        begun(address, live.token()) as socket,
        client(live, reader) as http,
        aclosing(answers(http, JOB, id=job.id.upper())) as stream,
        asyncio.timeout(30),
    ):
        assert await anext(stream) is None
        await socket.subscribe("1", JOB, id=job.id)
        for status, progress in [("queued", 0.0), ("running", 0.25), ("running", 0.5), ("succeeded", 1.0)]:
            if status != "queued":  # by another process: this one
                async with live.database.writing(organization) as session:
                    found = await session.find(Job, col(Job.id) == job.id)
                    assert found is not None
                    await session.update(found, status=status, progress=progress)
            wanted = {"id": job.id, "status": status.upper(), "progress": progress, "error": None}
            assert await socket.told(1) == [await anext(stream)] == [wanted]
        assert await socket.hear() == {"id": "1", "type": "complete"}
        assert [answer async for answer in stream] == []
        await socket.subscribe("2", JOB, id=job.id)  # one that has ended is told once
        assert (await socket.told(1))[0]["status"] == "SUCCEEDED"
        assert await socket.hear() == {"id": "2", "type": "complete"}
        await socket.subscribe("3", JOB, id="0192f7c0-0000-7000-8000-000000000000")
        missing = await socket.hear()
    async with begun(address, live.token("stranger", "org_two")) as socket:
        await socket.subscribe("3", JOB, id=job.id)
        foreign = await socket.hear()
    for answer in (missing, foreign):
        del answer["payload"][0]["extensions"]["request_id"]
    assert missing == foreign  # nobody learns from it that the other organization has the job
    assert (missing["type"], missing["payload"][0]["extensions"]["code"]) == ("error", "NOT_FOUND")
