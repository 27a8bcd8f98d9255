"""Runs act as their caller is now, go on in another process, and wait for a database that is away (331, 332, 334)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import col

from contract.errors import RateLimited, Unavailable
from contract.scopes import Role
from contract.vocabulary import CredentialKind
from providers.chat_models import Conversation, Delta, Text
from resolvers.chat_taking import take
from storage.base import new_id, now
from storage.queries import chat_runs as statements
from storage.tables import Activity, ChatEvent, ChatRun, ChatWatch, Credential, Deal
from tests.chat.chatting import Chatter, another_process, text_of
from tests.support.chat_model import ScriptedModel, calls, says
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


def chatter(one: Tenant, headers: Any) -> Chatter:
    return Chatter(one.gateway.http, one.gateway.app, headers)


def meanwhile(model: ScriptedModel, happens: Callable[[], Any], *rest: Any) -> None:
    """Has the model do what comes first, then something happen, and then the rest."""

    async def step(_: Conversation) -> AsyncIterator[Delta]:
        await happens()
        for delta in calls(("list_records", {"kind": "meeting"}), ("list_records", {"kind": "deal"}), text="So far."):  # type: ignore[union-attr]
            yield delta

    model.plays(step, *rest)


@pytest.mark.parametrize("kind", CredentialKind)
async def test_a_credential_that_is_gone_ends_the_run_before_its_next_step(
    one: Tenant, model: ScriptedModel, kind: CredentialKind
) -> None:
    world, subject = (
        one.gateway.world,
        await one.gateway.world.join(f"{kind}@{one.id}", one.organization, role=Role.MEMBER),
    )
    headers = await world.headers(subject, one.organization, kind)
    chat = chatter(one, headers)
    thread = await chat.thread()

    async def gone() -> None:
        if kind is CredentialKind.SESSION:
            await world.leave(subject, one.organization)
            return
        async with world.database.directory(writing=True) as session:
            mine = col(Credential.owner_subject) == subject
            await session.execute(update(Credential).where(mine).values(revoked_at=now()))

    meanwhile(model, gone)
    run = await chat.begin(thread)
    await _ended(one, run["id"])
    events = await one.rows(col(ChatEvent.sequence), col(ChatEvent.type), col(ChatEvent.data), col(ChatEvent.run_id))
    told = [(kind, data) for _, kind, data, run_id in sorted(events, key=lambda row: row[0]) if run_id == run["id"]]
    assert [kind for kind, _ in told if kind != "text_delta"] == ["run_started", "usage", "error", "run_finished"]
    assert told[-1][1]["error_code"] == "unauthenticated"
    assert told[-1][1]["message_id"] is not None
    assert len(model.asked) == 1


async def _ended(one: Tenant, run_id: str) -> None:
    async with asyncio.timeout(60):
        while True:
            rows = await one.rows(col(ChatRun.id), col(ChatRun.finished_at))
            if dict(rows)[run_id] is not None:  # type: ignore[arg-type]  # pairs
                return
            await asyncio.sleep(0.02)


async def test_a_scope_that_is_gone_is_gone_for_its_tools(one: Tenant, model: ScriptedModel) -> None:
    await one.add(Deal(name="D"), Activity(subject="M"))
    headers = await one.scoped(*sorted(Role.MEMBER.scopes), name="narrowed")
    subject, world = one.subject("narrowed"), one.gateway.world
    chat = chatter(one, headers)
    thread = await chat.thread()
    await chat.send(thread)
    assert {tool.name for tool in model.asked[-1].tools} >= {"list_records", "describe"}

    async def narrowed() -> None:
        await world.join(subject, one.organization, scopes=["api:read"])

    meanwhile(model, narrowed, says("Then."))
    events = await chat.send(thread)
    assert [event.data["code"] for event in events if event.event == "warning"] == ["tools_narrowed"]
    meetings, deals = [event.data for event in events if event.event == "tool_result"]
    assert (meetings["ok"], meetings["error"]["code"]) == (False, "forbidden")
    assert meetings["error"]["required_scopes"]
    assert deals["ok"]
    assert events[-1].data["status"] == "succeeded"


async def test_who_may_read_nothing_any_more_is_told_so(one: Tenant, model: ScriptedModel) -> None:
    headers = await one.scoped("api:read", name="reader")
    subject, world = one.subject("reader"), one.gateway.world
    chat = chatter(one, headers)
    thread = await chat.thread()

    async def outside() -> None:
        await world.join(subject, one.organization, scopes=["outreach:read"])

    meanwhile(model, outside)
    run = await chat.begin(thread)
    await _ended(one, run["id"])
    rows = await one.rows(col(ChatRun.id), col(ChatRun.error_code))
    assert dict(rows)[run["id"]] == "forbidden"  # type: ignore[arg-type]  # pairs
    refused = await chat.call("GET", f"/chat/runs/{run['id']}/events")
    assert refused.status_code == 403


async def test_a_budget_that_runs_out_between_two_tools(
    one: Tenant, chat: Chatter, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = type(one.gateway.runtime.services.tools)
    called, known = 0, tools.call

    async def poor(*args: Any, **kwargs: Any) -> Any:
        nonlocal called
        called += 1
        if called > 1:
            raise RateLimited(5, 1, 3)
        return await known(*args, **kwargs)

    monkeypatch.setattr(tools, "call", poor)
    model.plays(calls(("describe", {}), ("list_records", {"kind": "deal"}), text="Let me look."))
    thread = await chat.thread()
    events = await chat.send(thread)
    assert [event.event for event in events if event.event != "text_delta"] == [
        *("run_started", "tool_call", "tool_result", "tool_call", "usage", "error", "run_finished")
    ]
    assert events[-1].data["error_code"] == "rate_limited"
    assert (await chat.messages(thread))[-1]["text"] == "Let me look."


async def test_a_run_takes_only_so_long(one: Tenant, model: ScriptedModel, chat: Chatter) -> None:
    async with another_process(one.gateway, model, chat_run_seconds=1.0) as other:
        there = Chatter(other.http, other.app, chat.headers)
        model.plays(says("a", "b")).going.clear()
        events = await there.send(await there.thread())
    assert events[-1].data["error_code"] == "run_timeout"
    assert model.closed == 1


async def _killed(one: Tenant, chat: Chatter, model: ScriptedModel, run_id: str) -> None:
    """The run's process is no more, as far as anybody can tell: its lease is over, and what it writes is not heeded."""
    async with one.gateway.world.database.writing(one.id) as session:
        own = col(ChatRun.org_id) == one.id, col(ChatRun.id) == run_id
        await session.execute(update(ChatRun).where(*own).values(holder=new_id(), leased_until=now()))
        due = update(ChatWatch).where(col(ChatWatch.org_id) == one.id)
        await session.execute(due.values(next_at=now()))


async def test_another_process_goes_on_where_one_died(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    await one.add(Deal(name="D"))
    thread = await chat.thread()
    said, forever = asyncio.Event(), asyncio.Event()

    async def cut(_: Conversation) -> AsyncIterator[Delta]:
        yield Text("Cut off")
        await asyncio.sleep(0.2)
        yield Text(" here")
        said.set()
        await forever.wait()

    model.plays(calls(("list_records", {"kind": "deal"}), text="Let me look."), cut, says("There is D."))
    run = await chat.begin(thread)
    async with asyncio.timeout(60):
        await said.wait()
    await _killed(one, chat, model, run["id"])
    async with another_process(one.gateway, model) as other:
        await take(other.runtime.services)
        there = Chatter(other.http, other.app, chat.headers)
        events = await there.follow(run["id"])
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert [event.event for event in events].count("tool_result") == 1
        [resumed] = [event.data for event in events if event.event == "run_resumed"]
        [result] = [event for event in events if event.event == "tool_result"]
        assert resumed == {"attempt": 2, "discard_after": result.sequence}
        assert text_of(events) == "Let me look.\n\nThere is D." == (await there.messages(thread))[-1]["text"]
        assert (await there.run(run["id"]))["attempts"] == 2
        assert await chat.follow(run["id"]) == events


async def test_a_run_that_no_process_survives_ends(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    model.plays(says("a", "b")).going.clear()
    thread = await chat.thread()
    run = await chat.begin(thread)
    await model.asking.wait()
    async with one.gateway.world.database.writing(one.id) as session:
        await session.execute(
            update(ChatRun).where(col(ChatRun.id) == run["id"], col(ChatRun.org_id) == one.id).values(attempts=3)
        )
    await _killed(one, chat, model, run["id"])
    await take(one.gateway.runtime.services)
    events = await chat.follow(run["id"])
    assert events[-1].data == {"status": "failed", "error_code": "interrupted", "message_id": None}
    model.going.set()
    assert (await chat.send(thread))[-1].data["status"] == "succeeded"


async def test_a_process_that_ends_gives_its_runs_back(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    model.plays(says("a", "b"), says("Whole."))
    async with another_process(one.gateway, model) as other:
        model.going.clear()
        run = await Chatter(other.http, other.app, chat.headers).begin(await chat.thread())
        await model.asking.wait()
        await asyncio.sleep(0.1)
    await take(one.gateway.runtime.services)
    model.going.set()
    events = await chat.follow(run["id"])
    assert text_of(events) == "Whole."
    assert (await chat.run(run["id"]))["attempts"] == 1


async def test_a_database_that_is_away_is_waited_for(
    one: Tenant, chat: Chatter, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    await one.add(Deal(name="D"))
    advance, failures = statements.advance, iter([False, True, True, False, True])

    async def away(*args: Any) -> bool:
        made = await advance(*args)
        if next(failures, False):
            raise Unavailable()
        return made

    monkeypatch.setattr(statements, "advance", away)
    model.plays(calls(("list_records", {"kind": "deal"}), text="Let me look."), says("There is D."))
    events = await chat.send(await chat.thread())
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert [event.event for event in events].count("tool_result") == 1
    assert text_of(events) == "Let me look.\n\nThere is D."


async def test_both_surfaces_tell_the_same_events(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    await one.add(Deal(name="D"))
    model.plays(calls(("list_records", {"kind": "deal"})), says("There is D."))
    events = await chat.send(await chat.thread())
    query = "subscription($id: ID!, $after: String) { chatRun(id: $id, after: $after) { id runId sequence type data } }"
    for after in (None, events[2].id):
        answer = await one.gateway.http.post(
            "/graphql",
            json={"query": query, "variables": {"id": events[0].data["run_id"], "after": after}},
            headers=one.headers() | {"Accept": "text/event-stream"},
        )
        lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
        told = [json.loads(line)["data"]["chatRun"] for line in lines]
        expected = events if after is None else events[3:]
        assert [(each["id"], each["type"].lower(), each["data"]) for each in told] == [
            (event.id, event.event, event.data) for event in expected
        ]
