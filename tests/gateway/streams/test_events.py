"""The change log as a stream, over both transports and on both databases."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx
import pytest
from sqlmodel import col

from storage.tables import Job
from tests.support.live import CREATE, EVENTS, Live, begun, opened, streaming

TIMEOUT = 30


def names(data: list[Any]) -> list[str]:
    return [event["events"]["data"]["name"] for event in data]


async def test_both_transports_tell_what_happens_from_now_on(live: Live) -> None:
    await live.create("Before")
    async with begun(live.service, live.token()) as socket, streaming(live.service, live.token()) as stream:
        await socket.subscribe("1")
        await socket.say("ping")
        assert await socket.hear() == {"type": "pong"}
        await live.running(2)
        began = time.monotonic()
        await live.create("After")
        heard, streamed = await socket.answers(1), await stream.answers(1)
        took = time.monotonic() - began
        assert heard == streamed
        [event] = heard
        assert event["events"]["type"] == "deal_created"
        assert event["events"]["cursor"] == await live.cursor()
        assert names(heard) == ["After"]
        assert took < 0.9, "not the poll alone"
        await live.create("Another")
        assert names(await socket.answers(1)) == names(await stream.answers(1)) == ["Another"]


async def test_a_stream_goes_on_from_its_cursor_while_others_write(live: Live) -> None:
    """Nothing is missed and nothing comes twice, wherever a stream begins."""
    await live.create("first")
    start = await live.cursor()

    async def write(writer: int) -> None:
        for number in range(15):
            await live.create(f"{writer}-{number}")

    async def follow(after: str | None, count: int) -> list[Any]:
        async with begun(live.service, live.token()) as socket:
            await socket.subscribe("1", after=after)
            return await socket.answers(count)

    async def chained() -> list[Any]:
        """Each time a few, in a connection of their own."""
        found: list[Any] = []
        while len(found) < 60:
            found += await follow(found[-1]["events"]["cursor"] if found else start, min(7, 60 - len(found)))
        return found

    async with asyncio.timeout(TIMEOUT):
        whole, again, *_ = await asyncio.gather(follow(start, 60), chained(), *map(write, range(4)))
    assert whole == again
    assert sorted(names(whole)) == sorted(f"{writer}-{number}" for writer in range(4) for number in range(15))
    for writer in range(4):  # each one's in the order of its commits
        assert [n for n in names(whole) if n.startswith(f"{writer}-")] == [f"{writer}-{n}" for n in range(15)]
    logged = await live.ask(
        "query($after: String) { events(first: 100, after: $after) { nodes { cursor } } }", after=start
    )
    assert [event["events"]["cursor"] for event in whole] == [node["cursor"] for node in logged["events"]["nodes"]]


async def test_types_areas_and_organizations_are_kept_apart(live: Live) -> None:
    reader, stranger = live.token("reader"), live.token("stranger", "org_two")
    async with begun(live.service, reader) as socket, begun(live.service, stranger) as foreign:
        await socket.subscribe("1", types=["deal_created", "organization_key_created"])
        await foreign.subscribe("1")
        await live.running(2)
        await live.ask('mutation { organizationKeyCreate(input: {name: "Key"}) { organizationKey { id } } }')
        await live.ask('mutation { accountCreate(input: {name: "Account"}) { account { id } } }')
        await live.create("Ours")
        await live.create("Theirs", stranger)
        assert names(await socket.answers(1)) == ["Ours"]  # no key, which is for administrators, and no account
        assert names(await foreign.answers(1)) == ["Theirs"]


async def test_whoever_may_not_read_gets_no_stream(live: Live) -> None:
    async with begun(live.service, {}) as socket:
        await socket.subscribe("1")
        answer = await socket.hear()
        assert (answer["type"], answer["id"]) == ("error", "1")
        assert answer["payload"][0]["extensions"]["code"] == "UNAUTHENTICATED"
        await socket.subscribe("1", "{ __typename }")  # the connection goes on, and so does the identifier
        assert await socket.answers(1) == [{"__typename": "Query"}]
    async with httpx.AsyncClient() as client:
        body = {"query": EVENTS}
        refused = await client.post(live.graphql_url, json=body, headers={"accept": "text/event-stream"})
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        plain = live.token() | {"accept": "application/json"}
        not_taken = await client.post(live.graphql_url, json=body, headers=plain)
        assert not_taken.status_code == 406
        [error] = not_taken.json()["errors"]
        assert error["message"] == "A subscription is answered with text/event-stream, or over a WebSocket"
        head = await client.head(live.graphql_url, params=body, headers=live.token())
        assert head.status_code == 405


async def test_a_cursor_that_is_none_is_refused(live: Live) -> None:
    async with begun(live.service, live.token()) as socket:
        await socket.subscribe("1", after="nonsense")
        answer = await socket.hear()
        assert answer["type"] == "error"
        [error] = answer["payload"]
        assert error["message"].endswith("is not a cursor of this list in this order")
    async with streaming(live.service, live.token(), after="nonsense") as stream:
        name, body = await stream.hear()
        assert (name, body["errors"][0]["message"]) == ("next", error["message"])
        assert await stream.hear() == ("complete", None)


async def test_every_operation_goes_over_a_socket_and_queries_over_events(live: Live) -> None:
    # By the headers of the upgrade, since the first message says nothing.
    async with opened(live.service, live.token()) as socket:
        await socket.begin({})
        await socket.subscribe("m", CREATE, name="Made here")
        [made] = await socket.answers(1)
        assert made["dealCreate"]["deal"]["name"] == "Made here"
        assert await socket.hear() == {"id": "m", "type": "complete"}
        await socket.subscribe("q", "query($id: ID!) { deal(id: $id) { name } }", id=made["dealCreate"]["deal"]["id"])
        assert await socket.answers(1) == [{"deal": {"name": "Made here"}}]
        assert await socket.hear() == {"id": "q", "type": "complete"}
        await socket.subscribe("e", "{ nothing }")
        error = await socket.hear()
        assert (error["type"], error["id"]) == ("error", "e")
    async with streaming(live.service, live.token(), "{ __typename }") as stream:
        assert await stream.hear() == ("next", {"data": {"__typename": "Query"}})
        assert await stream.hear() == ("complete", None)
        with pytest.raises(StopAsyncIteration):
            await stream.hear()


async def test_a_stream_has_the_form_that_its_clients_read(live: Live) -> None:
    await live.create("Before")
    after = await live.cursor()
    await live.create("Näme")
    body = {"query": EVENTS, "variables": {"after": after}}
    headers = live.token() | {"accept": "application/graphql-response+json, application/json, text/event-stream"}
    async with (
        httpx.AsyncClient() as client,
        client.stream("POST", live.graphql_url, json=body, headers=headers) as response,
    ):
        assert response.headers["cache-control"] == "no-cache"
        text = ""
        async with asyncio.timeout(TIMEOUT):
            async for piece in response.aiter_text():
                text += piece
                if "event: next\n" in text and text.endswith("\n\n"):
                    break
    assert "\r" not in text
    assert text.startswith(":\n\nevent: next\ndata: {")
    # By GET as well, as EventSource has to.
    async with (
        httpx.AsyncClient() as client,
        client.stream(
            "GET", live.graphql_url, params={"query": "subscription { events { type } }"}, headers=live.token()
        ) as response,
    ):
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"


async def test_a_job_is_told_as_it_is_and_as_it_changes(live: Live) -> None:
    organization = await live.organization()
    async with live.database.writing(organization) as session:
        job = Job(kind="test", arguments={})
        session.add(job)
    watched = "subscription($id: ID!) { jobUpdated(id: $id) { id status progress error } }"
    async with (
        begun(live.service, live.token()) as socket,
        streaming(live.service, live.token("reader"), watched, id=job.id.upper()) as stream,
    ):
        await socket.subscribe("1", watched, id=job.id)
        states: list[Any] = [("queued", 0.0), ("running", 0.25), ("running", 0.5), ("succeeded", 1.0)]
        for number, (status, progress) in enumerate(states):
            if number:  # by another process: this one
                async with live.database.writing(organization) as session:
                    found = await session.find(Job, col(Job.id) == job.id)
                    assert found is not None
                    found.status, found.progress = status, progress
            wanted = {"id": job.id, "status": status.upper(), "progress": progress, "error": None}
            assert await socket.answers(1) == await stream.answers(1) == [{"jobUpdated": wanted}]
        assert await socket.hear() == {"id": "1", "type": "complete"}
        assert await stream.hear() == ("complete", None)
        # One that has ended is told once; a missing one and another organization's cannot be told apart.
        await socket.subscribe("2", watched, id=job.id)
        assert (await socket.answers(1))[0]["jobUpdated"]["status"] == "SUCCEEDED"
        assert await socket.hear() == {"id": "2", "type": "complete"}
        await socket.subscribe("3", watched, id="0192f7c0-0000-7000-8000-000000000000")
        missing = await socket.hear()
    async with begun(live.service, live.token("stranger", "org_two")) as socket:
        await socket.subscribe("3", watched, id=job.id)
        foreign = await socket.hear()
    for answer in (missing, foreign):
        del answer["payload"][0]["extensions"]["request_id"]
    assert missing == foreign
    assert missing["type"] == "error"
    assert missing["payload"][0]["extensions"]["code"] == "NOT_FOUND"
