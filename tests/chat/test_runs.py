"""Messages that are sent: the events of their runs in order, whoever follows them (decisions 330 to 334)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from random import Random
from typing import Any

import httpx
import pytest
from sqlalchemy import update
from sqlmodel import col

from contract.chat import CHAT_DELTA_SECONDS, CHAT_RUNS_PER_CALLER, CHAT_TOOL_CALLS_MAX
from jobs import chat_upkeep
from providers.chat_models import Conversation, Delta, Result, Said, Stopped, Text, Usage
from providers.models import ModelAway, ModelMisconfigured, ModelNonsense
from storage.base import new_id, now
from storage.tables import ChatEvent, ChatMessage, ChatRun, ChatStep, ChatThread, Deal, ModelUsage
from tests.chat.chatting import JSON, Chatter, another_process, events_of, text_of
from tests.support.chat_model import ScriptedModel, calls, says
from tests.support.statements import statements
from tests.support.tenants import Tenant
from tests.support.waiting import meets_writer

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def names_the_deal(conversation: Conversation) -> AsyncIterator[Delta]:
    """Cites the deal that the tool gave, and one that it did not."""
    result = [turn for turn in conversation.turns if isinstance(turn, Result)][-1]
    [deal] = json.loads(result.content)["data"]["nodes"]
    yield Text("There is [[deal:")
    yield Text(f"{deal['id']}]][[deal:{new_id()}]]. See [it](https://evil.example/?q=1).")
    yield Usage(20, 10)


async def test_the_events_come_in_their_order_numbered_without_gaps(
    one: Tenant, chat: Chatter, model: ScriptedModel
) -> None:
    deal = Deal(name="Renewal")
    await one.add(deal)
    model.plays([*calls(("list_records", {"kind": "deal"}), text="Let me look."), Usage(0, 0)], names_the_deal)  # type: ignore[misc]
    thread = await chat.thread()
    events = await chat.send(thread, "  my deals\n please ", time_zone="Europe/Berlin")
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    told = [event for event in events if event.event != "text_delta"]
    assert [event.event for event in told] == [
        *("run_started", "tool_call", "tool_result", "citation"),
        *("warning", "warning", "usage", "run_finished"),
    ]
    started, called, result, cited, *warnings, usage, finished = (event.data for event in told)
    run_id, message_id = started["run_id"], finished["message_id"]
    assert all(event.id == f"{run_id}.{event.sequence}" for event in events)
    assert started["limits"] == {"seconds": 120, "steps": 8, "tool_calls": CHAT_TOOL_CALLS_MAX}
    assert (started["provider"], started["model"], started["thread_id"]) == ("scripted", None, thread)
    assert (called["tool"], called["arguments"], called["effect"]) == ("list_records", {"kind": "deal"}, "read")
    twin = called["twin"]
    assert "deals" in (await one.body(twin["document"], None, **twin["variables"]))["data"]
    assert result["records"] == [{"kind": "deal", "id": deal.id, "label": "Renewal"}]
    assert (result["call_id"], result["ok"], result["rows"], result["error"]) == (called["call_id"], True, 1, None)
    assert result["bytes"] > 0
    assert "nodes.*.name" in result["untrusted"]
    text = "Let me look.\n\nThere is Renewal. See [link removed]."
    assert text_of(events) == text
    start = text.index("Renewal")
    assert cited == {
        **{"message_id": message_id, "start": start, "end": start + 7},
        **{"kind": "deal", "id": deal.id, "label": "Renewal"},
    }
    assert [warning["code"] for warning in warnings] == ["uncited", "link_removed"]
    assert usage == {"input_tokens": 20, "output_tokens": 10, "is_estimated": False, "points": result["cost"]}
    assert finished == {"status": "succeeded", "error_code": None, "message_id": message_id}
    assert model.asked[0].time_zone == "Europe/Berlin"
    assert [turn.text for turn in model.asked[0].turns if isinstance(turn, Said)] == ["my deals\n please"]

    asked, answered = await chat.messages(thread)
    assert (asked["role"], asked["text"], asked["citations"]) == ("user", "my deals\n please", [])
    assert (answered["role"], answered["text"], answered["id"]) == ("assistant", text, message_id)
    assert (asked["id"], asked["run_id"]) == (started["message_id"], run_id)
    assert answered["citations"] == [{name: cited[name] for name in ("start", "end", "kind", "id", "label")}]
    run = await chat.run(run_id)
    assert run == {
        **{"id": run_id, "thread_id": thread, "status": "succeeded", "provider": "scripted", "model": None},
        **{"error_code": None, "attempts": 1, "input_tokens": 20, "output_tokens": 10, "points": result["cost"]},
        **{"created_at": run["created_at"], "finished_at": run["finished_at"]},
        "events_url": f"/chat/runs/{run_id}/events",
    }
    shown = (await chat.call("GET", f"/chat/threads/{thread}")).json()
    assert (shown["title"], shown["active_run_id"]) == ("my deals please", None)
    assert await chat.follow(run_id) == events


async def test_a_thread_remembers_what_was_said(chat: Chatter, model: ScriptedModel) -> None:
    thread = await chat.thread()
    model.plays(says("Hello", " you."))
    await chat.send(thread, "one")
    await chat.send(thread, "two")
    assert [(type(turn).__name__, turn.text) for turn in model.asked[-1].turns] == [  # type: ignore[union-attr]
        *(("Said", "one"), ("Answered", "Hello you."), ("Said", "two"))
    ]
    assert [message["text"] for message in await chat.messages(thread)] == ["one", "Hello you.", "two", "Done."]


@pytest.mark.parametrize("cuts", [40, pytest.param(1_000, marks=pytest.mark.long)])
async def test_no_event_is_lost_or_comes_twice_wherever_the_stream_is_cut(
    one: Tenant, chat: Chatter, model: ScriptedModel, cuts: int
) -> None:
    random, made = Random(17), 0
    async with another_process(one.gateway, model) as other, asyncio.timeout(600):
        there = Chatter(other.http, other.app, chat.headers)
        while made < cuts:
            thread = await chat.thread()  # one page has all its messages
            pieces = ["word " * random.randint(1, 90) for _ in range(4)]
            model.plays(calls(("describe", {}), text=pieces[0]), says(*pieces[1:]))
            got = await chat.begin_some(thread, random.randint(1, 4))
            run_id = got[0].data["run_id"]
            while got[-1].event != "run_finished":
                made += 1
                caller = random.choice((chat, there))
                got += await caller.follow_some(run_id, got[-1].id, random.randint(1, 4))
            assert [event.sequence for event in got] == list(range(1, len(got) + 1))
            assert got == await there.follow(run_id)
            assert text_of(got) == (await chat.messages(thread))[-1]["text"]
            assert all(len(event.data["text"]) <= 256 for event in got if event.event == "text_delta")


async def test_what_is_no_event_of_the_run_is_refused(one: Tenant, chat: Chatter) -> None:
    thread = await chat.thread()
    events, other = await chat.send(thread), await chat.send(thread)
    path = f"/chat/runs/{events[0].data['run_id']}/events"
    beyond = f"{events[0].data['run_id']}.{events[-1].sequence + 1}"
    for wrong in (other[0].id, "5", "x.y", beyond, f"{events[0].data['run_id']}.-1"):
        refused = await chat.call("GET", path, **{"Last-Event-ID": wrong})
        assert refused.status_code == 422, wrong
        assert refused.json()["detail"][0]["loc"] == ["header", "Last-Event-ID"]
        refused = await chat.call("GET", f"{path}?after={wrong}")
        assert refused.json()["detail"][0]["loc"] == ["query", "after"]
    both = await chat.call("GET", f"{path}?after={events[0].id}", **{"Last-Event-ID": events[1].id})
    assert both.status_code == 422
    same = await chat.call("GET", f"{path}?after={events[1].id}", **{"Last-Event-ID": events[1].id})
    assert events_of(same.text) == events[2:]
    assert await chat.follow(events[0].data["run_id"], events[-1].id) == []
    async with one.gateway.world.database.writing(one.id) as session:
        await session.execute(update(ChatRun).values(finished_at=now() - timedelta(hours=25)))
    while await chat_upkeep.prune(one.gateway.world.database, one.id, 90):
        pass
    gone = await chat.call("GET", path)
    assert gone.status_code == 410
    assert gone.json()["messages_url"] == f"/chat/threads/{thread}/messages"
    assert len(await chat.messages(thread)) == 4
    assert await one.rows(col(ChatStep.position)) == []


async def test_tokens_are_counted_by_day_member_and_model(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    """Decision 336."""
    thread = await chat.thread()
    model.plays([Text("one"), Usage(7, 2)], [Text("two"), Usage(8, 3)])
    assert (await chat.send(thread))[-2].data["is_estimated"] is False
    await chat.send(thread)
    admin = Chatter(chat.http, chat.app, one.headers("admin"))
    [day] = (await admin.call("GET", "/chat/usage")).json()
    assert day == {
        **{"date": now().date().isoformat(), "subject": one.subject(), "provider": "scripted", "model": None},
        **{"runs": 2, "input_tokens": 15, "output_tokens": 5, "is_estimated": False},
    }
    model.plays(says("x" * 400))
    usage = (await chat.send(thread))[-2].data
    assert (usage["is_estimated"], usage["output_tokens"]) == (True, 100)
    [day] = (await admin.call("GET", "/chat/usage")).json()
    assert (day["runs"], day["output_tokens"], day["is_estimated"]) == (3, 105, True)
    assert day["input_tokens"] == 15 + usage["input_tokens"]
    assert (await chat.call("GET", "/chat/usage")).status_code == 403
    assert (await admin.call("GET", "/chat/usage?to=2020-01-01")).json() == []


async def test_two_tabs_begin_one_run(chat: Chatter, model: ScriptedModel) -> None:
    thread = await chat.thread()
    model.plays(says("a", "b")).going.clear()
    path = f"/chat/threads/{thread}/messages"
    answers = await asyncio.gather(*(chat.call("POST", path, {"text": "x"}, **JSON) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409, 409]
    [begun] = [answer.json() for answer in answers if answer.status_code == 202]
    for answer in answers:
        if answer.status_code == 409:
            assert (answer.json()["code"], answer.json()["run_id"]) == ("conflict", begun["id"])
    shown = (await chat.call("GET", f"/chat/threads/{thread}")).json()
    assert shown["active_run_id"] == begun["id"]
    model.going.set()
    assert text_of(await chat.follow(begun["id"])) == "ab"
    assert len(await chat.messages(thread)) == 2


async def test_a_key_attaches_to_its_run(chat: Chatter, model: ScriptedModel) -> None:
    """Decision 335."""
    thread = await chat.thread()
    key = {"Idempotency-Key": "k"}
    path = f"/chat/threads/{thread}/messages"
    first = await chat.call("POST", path, {"text": "x"}, **key)
    again = await chat.call("POST", path, {"text": "x"}, **key)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert events_of(again.text) == events_of(first.text)
    replayed = await chat.call("POST", path, {"text": "x"}, **(key | JSON))
    assert (replayed.status_code, replayed.json()["id"]) == (202, first.headers["x-chat-run"])
    other = await chat.call("POST", path, {"text": "y"}, **key)
    assert other.status_code == 422
    assert other.json()["detail"][0]["loc"] == ["header", "Idempotency-Key"]
    assert len(model.asked) == 1


async def test_a_reader_that_leaves_ends_nothing(chat: Chatter, model: ScriptedModel) -> None:
    model.plays(says("a", "b")).going.clear()
    [started] = await chat.begin_some(await chat.thread(), 1)
    model.going.set()
    assert text_of(await chat.follow(started.data["run_id"])) == "ab"


async def test_a_word_is_two_statements_and_its_reader_here_reads_none(
    one: Tenant, chat: Chatter, model: ScriptedModel
) -> None:
    """Decision 1205: what this process has stored it hands to those who read the run here."""

    async def sent(words: int) -> dict[str, int]:
        def number_of(verb: str) -> int:
            return sum(f"{verb} chat_events" in each for each in found)

        async def slowly(_: Conversation) -> AsyncIterator[Delta]:
            for number in range(words):
                before = number_of("INTO")
                yield Text(f"{number} ")
                while number_of("INTO") == before:  # noqa: ASYNC110  # a list tells nobody
                    await asyncio.sleep(CHAT_DELTA_SECONDS)
                await asyncio.sleep(CHAT_DELTA_SECONDS)

        model.plays(slowly)
        thread = await chat.thread()
        with statements(one.gateway.runtime.database) as found:
            events = await chat.send(thread)
        assert text_of(events) == "".join(f"{number} " for number in range(words))
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert sum(event.event == "text_delta" for event in events) == words
        return {verb: number_of(verb) for verb in ("INTO", "FROM")}

    few, many = await sent(2), await sent(20)
    assert many["INTO"] - few["INTO"] == 18
    assert many["FROM"] - few["FROM"] < 9, "a look that somebody else's commit brought about"


async def test_a_slow_reader_is_given_the_end_behind_the_word_that_it_was_handed(
    chat: Chatter, model: ScriptedModel
) -> None:
    """What it was handed lies before what is stored since."""
    second, third, is_held, going = (asyncio.Event() for _ in range(4))
    sent = bytearray()

    async def in_steps(_: Conversation) -> AsyncIterator[Delta]:
        yield Text("a ")
        await second.wait()
        yield Text("b ")
        await third.wait()

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.extend(message.get("body", b""))
        if b"event: text_delta" in sent:
            is_held.set()
            await going.wait()

    model.plays(in_steps)
    run = await chat.begin(await chat.thread())
    path = f"/chat/runs/{run['id']}/events"
    headers = [(name.lower(), value) for name, value in httpx.Headers(chat.headers).raw]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
    reading = asyncio.create_task(chat.app(scope, receive, send))  # type: ignore[arg-type]  # a coroutine
    async with asyncio.timeout(30):
        await is_held.wait()
        second.set()
        await asyncio.sleep(4 * CHAT_DELTA_SECONDS)
        third.set()
        assert (await chat.follow(run["id"]))[-1].event == "run_finished"
        await asyncio.sleep(1.5)  # and the channel has looked
        going.set()
        await reading
    events = events_of(sent.decode())
    assert text_of(events) == "a b "
    assert events[-1].event == "run_finished"


async def test_a_word_reaches_who_reads_in_another_process(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    """On PostgreSQL that one is told of it, though nobody of its own process is."""
    first, second = asyncio.Event(), asyncio.Event()

    async def in_steps(_: Conversation) -> AsyncIterator[Delta]:
        yield Text("a ")
        await first.wait()
        yield Text("b ")
        await second.wait()

    model.plays(in_steps)
    run = await chat.begin(await chat.thread())
    async with another_process(one.gateway, model) as other:
        reader = Chatter(other.http, other.app, chat.headers)
        assert text_of(await reader.follow_some(run["id"], f"{run['id']}.1", 1)) == "a "
        heard: list[str] = []
        other.runtime.database.heard.append(heard.append)
        first.set()
        assert text_of(await reader.follow_some(run["id"], f"{run['id']}.2", 1)) == "b "
        if one.gateway.runtime.database.dialect == "postgresql":
            async with asyncio.timeout(30):
                while one.id not in heard:  # noqa: ASYNC110 # a list tells nobody
                    await asyncio.sleep(0.01)
        second.set()
        assert text_of(await reader.follow(run["id"])) == "a b "


@pytest.mark.parametrize("place", ["here", "there"])
async def test_a_run_is_stopped_from_any_process(one: Tenant, chat: Chatter, model: ScriptedModel, place: str) -> None:
    model.plays(says("a", "b")).going.clear()
    thread = await chat.thread()
    run = await chat.begin(thread)
    await model.asking.wait()
    async with another_process(one.gateway, model) as other:
        caller = chat if place == "here" else Chatter(other.http, other.app, chat.headers)
        stopped = await caller.call("POST", f"/chat/runs/{run['id']}/cancel")
        assert stopped.status_code == 202
        events = await caller.follow(run["id"])
        assert not model.working
        assert model.closed
        assert events[-1].data["status"] == "cancelled"
        assert text_of(events) == "a" == (await chat.messages(thread))[-1]["text"]
        again = await caller.call("POST", f"/chat/runs/{run['id']}/cancel")
        assert (again.status_code, again.json()["status"]) == (202, "cancelled")
    model.going.set()
    assert (await chat.send(thread))[-1].data["status"] == "succeeded"


async def test_a_deleted_thread_takes_its_run_along(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    model.plays(says("a", "b")).going.clear()
    thread = await chat.thread()
    run = await chat.begin(thread)
    following = asyncio.create_task(chat.follow(run["id"]))
    await asyncio.sleep(0.05)
    assert (await chat.call("DELETE", f"/chat/threads/{thread}")).status_code == 204
    assert (await following)[-1].data["status"] == "cancelled"
    assert (await chat.call("DELETE", f"/chat/threads/{thread}")).status_code == 404
    for column in (ChatThread.id, ChatMessage.id, ChatRun.id, ChatEvent.run_id, ChatStep.run_id):
        assert await one.rows(col(column)) == []
    for path in (f"/chat/threads/{thread}", f"/chat/runs/{run['id']}", f"/chat/runs/{run['id']}/events"):
        assert (await chat.call("GET", path)).status_code == 404


async def test_who_deletes_a_thread_and_a_run_that_ends_do_not_wait_for_each_other(
    one: Tenant, chat: Chatter, model: ScriptedModel
) -> None:
    """The end of a run is written to its own row and then to its thread's (decision 1200)."""
    model.plays(says("a", "b")).going.clear()
    thread = await chat.thread()
    run = await chat.begin(thread)
    answer = await meets_writer(
        one,
        lambda s: s.find(ChatRun, id=run["id"], lock=True),
        lambda s: s.find(ChatThread, id=thread, lock=True),
        chat.call("DELETE", f"/chat/threads/{thread}"),
    )
    assert answer.status_code == 204
    assert await one.rows(col(ChatRun.id)) == []


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (ModelAway("secret"), "model_unavailable", True),
        (ModelMisconfigured("secret"), "model_misconfigured", False),
        (ModelNonsense("secret"), "model_invalid_answer", False),
        (RuntimeError("secret"), "internal", False),
    ],
)
async def test_a_model_that_fails(
    chat: Chatter, model: ScriptedModel, error: Exception, code: str, retryable: bool, caplog: Any
) -> None:
    async def fails(_: Conversation) -> AsyncIterator[Delta]:
        yield Text("So far")
        raise error

    model.plays(fails)
    thread = await chat.thread()
    events = await chat.send(thread)
    assert [event.event for event in events][-3:] == ["usage", "error", "run_finished"]
    assert (events[-2].data["code"], events[-2].data["retryable"]) == (code, retryable)
    assert (events[-1].data["status"], events[-1].data["error_code"]) == ("failed", code)
    assert (await chat.messages(thread))[-1]["text"] == "So far"
    assert "secret" not in str(events) + caplog.text


async def test_a_call_that_cannot_be_read_is_told_once(chat: Chatter, model: ScriptedModel) -> None:
    thread = await chat.thread()
    model.plays(calls(("list_records", {"kind": "deal", "size": 3})), says("Sorry."))
    events = await chat.send(thread)
    [called] = [event.data for event in events if event.event == "tool_call"]
    [result] = [event.data for event in events if event.event == "tool_result"]
    assert called["twin"] is None
    assert (result["ok"], result["error"]["code"], result["error"]["field"]) == (False, "validation", ["size"])
    assert not model.results()[0].ok
    assert events[-1].data["status"] == "succeeded"
    model.plays(calls(("launch_campaign", {})), calls(("list_records", None)))
    assert (await chat.send(thread))[-1].data["error_code"] == "model_invalid_answer"


async def test_limits_of_a_run(chat: Chatter, model: ScriptedModel) -> None:
    thread = await chat.thread()
    model.plays(*(calls(("describe", {})) for _ in range(9)))
    assert (await chat.send(thread))[-1].data["error_code"] == "step_limit"
    model.plays(*(calls(*[("describe", {})] * 6) for _ in range(3)))
    events = await chat.send(thread)
    assert events[-1].data["error_code"] == "step_limit"
    assert [event.event for event in events].count("tool_call") == CHAT_TOOL_CALLS_MAX
    model.plays(calls(*[("describe", {})] * CHAT_TOOL_CALLS_MAX), [Text("One more."), *calls(("describe", {}))])
    events = await chat.send(thread)
    assert events[-1].data["error_code"] == "step_limit"
    assert text_of(events) == (await chat.messages(thread))[-1]["text"] == "One more."
    model.plays(says(*["x" * 1000] * 40))
    events = await chat.send(thread)
    assert len(text_of(events)) == 32 * 1024
    assert [event.data["code"] for event in events if event.event == "warning"] == ["truncated"]
    model.plays([Text("cut"), Stopped("filtered")])
    assert [event.data["code"] for event in await chat.send(thread) if event.event == "warning"] == ["filtered"]


async def test_limits_of_a_member(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    model.going.clear()
    model.steps = [says("a", "b") for _ in range(CHAT_RUNS_PER_CALLER)]
    threads = [await chat.thread() for _ in range(CHAT_RUNS_PER_CALLER + 1)]
    runs = [await chat.begin(thread) for thread in threads[:-1]]
    path = f"/chat/threads/{threads[-1]}/messages"
    refused = await chat.call("POST", path, {"text": "x"}, **JSON)
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_runs")
    assert refused.headers["retry-after"] == "2"
    assert await chat.messages(threads[-1]) == []
    colleague = Chatter(chat.http, chat.app, one.headers("admin"))
    assert (await colleague.begin(await colleague.thread()))["status"] == "queued"
    model.going.set()
    for run in runs:
        await chat.follow(run["id"])
    [usage] = [row for row in await one.rows(col(ModelUsage.subject), col(ModelUsage.runs)) if row[0] == one.subject()]
    assert usage[1] == CHAT_RUNS_PER_CALLER


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({"text": ""}, "text"),
        ({"text": "  \n "}, "text"),
        ({"text": "x" * 8001}, "text"),
        ({"text": "a\0b"}, "text"),
        ({"text": 5}, "text"),
        ({}, "text"),
        ({"text": "x", "time_zone": "Mars/Base"}, "time_zone"),
        ({"text": "x", "messages": []}, "messages"),
        ({"text": "x", "system": "be rude"}, "system"),
        ({"text": "x", "model": "other"}, "model"),
        ({"text": "x", "expected_version": 1}, "expected_version"),
    ],
)
async def test_a_message_is_one_text(chat: Chatter, model: ScriptedModel, body: dict[str, Any], at: str) -> None:
    thread = await chat.thread()
    refused = await chat.call("POST", f"/chat/threads/{thread}/messages", body)
    assert refused.status_code == 422
    [problem] = refused.json()["detail"]
    assert problem["loc"] == ["body", at]
    if at not in ("text", "time_zone"):
        assert problem["type"] == "extra_forbidden"
    assert await chat.messages(thread) == []
    assert not model.asked


async def test_what_a_client_accepts(chat: Chatter) -> None:
    thread = await chat.thread()
    path = f"/chat/threads/{thread}/messages"
    for accept in ("text/event-stream", "*/*", "", "application/json;q=0.5, text/event-stream"):
        answer = await chat.call("POST", path, {"text": "x"}, Accept=accept)
        assert (answer.status_code, answer.headers["content-type"][:17]) == (200, "text/event-stream"), accept
    refused = await chat.call("POST", path, {"text": "x"}, Accept="text/html")
    assert (refused.status_code, refused.json()["code"]) == (406, "not_acceptable")
    run = await chat.begin(thread)
    await chat.follow(run["id"])


async def test_threads_are_listed_renamed_and_end(one: Tenant, chat: Chatter) -> None:
    first, second = await chat.thread(title="  One "), await chat.thread()
    listed = (await chat.call("GET", "/chat/threads")).json()
    assert [thread["id"] for thread in listed] == [second, first]
    await chat.send(first)
    listed = (await chat.call("GET", "/chat/threads?limit=1")).json()
    assert [(thread["id"], thread["title"]) for thread in listed] == [(first, "One")]
    renamed = await chat.call("PATCH", f"/chat/threads/{first}", {"title": None})
    assert (renamed.status_code, renamed.json()["title"]) == (200, None)
    for wrong in ({"title": "x" * 201}, {"title": " "}, {}, {"title": "x", "role": "system"}):
        assert (await chat.call("PATCH", f"/chat/threads/{first}", wrong)).status_code == 422
    assert (await chat.call("POST", "/chat/threads", {"messages": []})).status_code == 422
    empty = await chat.call("POST", "/chat/threads")
    assert (empty.status_code, empty.json()["title"]) == (201, None)
    async with one.gateway.world.database.writing(one.id) as session:
        old = now() - timedelta(days=91)
        await session.execute(update(ChatThread).where(col(ChatThread.id) == first).values(updated_at=old))
    await chat_upkeep.prune(one.gateway.world.database, one.id, 0)
    assert (await chat.call("GET", f"/chat/threads/{first}")).status_code == 200
    await chat_upkeep.prune(one.gateway.world.database, one.id, 90)
    assert (await chat.call("GET", f"/chat/threads/{first}")).status_code == 404
    assert (await chat.call("GET", f"/chat/threads/{second}")).status_code == 200


async def test_a_colleague_has_none_of_it(one: Tenant, chat: Chatter) -> None:
    thread = await chat.thread()
    run_id = (await chat.send(thread))[0].data["run_id"]
    admin = Chatter(chat.http, chat.app, one.headers("admin"))
    for method, path, body in (
        ("GET", f"/chat/threads/{thread}", None),
        ("PATCH", f"/chat/threads/{thread}", {"title": "x"}),
        ("DELETE", f"/chat/threads/{thread}", None),
        ("GET", f"/chat/threads/{thread}/messages", None),
        ("POST", f"/chat/threads/{thread}/messages", {"text": "x"}),
        ("GET", f"/chat/runs/{run_id}", None),
        ("GET", f"/chat/runs/{run_id}/events", None),
        ("POST", f"/chat/runs/{run_id}/cancel", None),
    ):
        assert (await admin.call(method, path, body)).status_code == 404, path
    assert (await admin.call("GET", "/chat/threads")).json() == []
    for query in (
        "query($id: ID!) { chatThread(id: $id) { id } }",
        "query($id: ID!) { node(id: $id) { id } }",
        "query($id: ID!) { chatRun(id: $id) { id } }",
    ):
        for identifier in (thread, run_id):
            assert await one.ask(query, one.headers("admin"), id=identifier) is None
    assert (await one.ask("query($id: ID!) { node(id: $id) { __typename } }", id=run_id)) == {"__typename": "ChatRun"}
