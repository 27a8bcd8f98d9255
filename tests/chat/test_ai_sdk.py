"""`?protocol=ai-sdk`: the same log as the AI SDK's UI message stream (decision 519)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from providers.chat_models import Conversation, Delta, Text
from providers.models import ModelAway
from rest_compat.ai_sdk import Rendering
from storage.tables import Deal
from tests.chat.chatting import JSON, Chatter, text_of
from tests.chat.logs import every_kind_of_event
from tests.support.chat_model import ScriptedModel, calls, says
from tests.support.tenants import Tenant

ASYNC = pytest.mark.asyncio(loop_scope="session")
WAY = "protocol=ai-sdk"


def chunks_of(text: str) -> list[dict[str, Any]]:
    """The chunks of a stream, each with its id where it has one."""
    found: list[dict[str, Any]] = []
    for block in text.split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith((":", "retry")))
        if fields and fields["data"] != "[DONE]":
            found.append({"id": fields.get("id"), **{"chunk": json.loads(fields["data"])}})
    return found


def said(chunks: list[dict[str, Any]]) -> str:
    """What the texts that are not void say together."""
    void = {
        each["chunk"]["id"]
        for each in chunks
        if each["chunk"]["type"] == "text-end" and each["chunk"].get("providerMetadata")
    }
    deltas = [each["chunk"] for each in chunks if each["chunk"]["type"] == "text-delta"]
    return "".join(delta["delta"] for delta in deltas if delta["id"] not in void)


@ASYNC
async def test_a_run_is_rendered_and_resumed(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    await one.add(Deal(name="D"))
    model.plays(calls(("list_records", {"kind": "deal"}), text="Let me look."), says("There", " is D."))
    thread = await chat.thread()
    answer = await chat.call("POST", f"/chat/threads/{thread}/messages?{WAY}", {"text": "my deals"})
    assert (answer.status_code, answer.headers["x-vercel-ai-ui-message-stream"]) == (200, "v1")
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.text.endswith("data: [DONE]\n\n")
    chunks = chunks_of(answer.text)
    kinds = [each["chunk"]["type"] for each in chunks if each["chunk"]["type"] != "text-delta"]
    assert kinds == [
        *("start", "start-step", "text-start", "text-end", "tool-input-available", "tool-output-available"),
        *("finish-step", "start-step", "text-start", "text-end", "message-metadata", "finish-step", "finish"),
    ]
    run_id = answer.headers["x-chat-run"]
    events = await chat.follow(run_id)
    assert said(chunks) == text_of(events) == (await chat.messages(thread))[-1]["text"]
    ids = [each["id"] for each in chunks if each["id"]]
    assert ids == [event.id for event in events]
    # Whoever was cut off anywhere reads on behind the last id, and has each chunk once.
    for at in range(len(ids)):
        rest = await chat.call("GET", f"/chat/runs/{run_id}/events?{WAY}", **{"Last-Event-ID": ids[at]})
        place = next(place for place, each in enumerate(chunks) if each["id"] == ids[at])
        assert chunks_of(rest.text) == chunks[place + 1 :]
        assert rest.text.endswith("data: [DONE]\n\n")
    for wrong in ("ai", "", "AI-SDK", "text"):
        for method, path, body in (
            ("GET", f"/chat/runs/{run_id}/events", None),
            ("POST", f"/chat/threads/{thread}/messages", {"text": "x"}),
        ):
            refused = await chat.call(method, f"{path}?protocol={wrong}", body)
            assert refused.status_code == 422, wrong
            assert refused.json()["detail"][0]["loc"] == ["query", "protocol"]
    refused = await chat.call("GET", f"/chat/runs/{run_id}/events?{WAY}&after={run_id}.99")
    assert refused.json()["detail"][0]["loc"] == ["query", "after"]
    assert len(await chat.messages(thread)) == 2
    began = await chat.call("POST", f"/chat/threads/{thread}/messages?{WAY}", {"text": "x"}, **JSON)
    assert (began.status_code, began.json()["status"]) == (202, "queued")
    await chat.follow(began.json()["id"])


@ASYNC
@pytest.mark.parametrize("fails", [True, False])
async def test_a_run_that_does_not_succeed_says_how_it_ended(chat: Chatter, model: ScriptedModel, fails: bool) -> None:
    async def breaks(_: Conversation) -> AsyncIterator[Delta]:
        yield Text("So far")
        raise ModelAway("secret")

    thread = await chat.thread()
    if fails:
        model.plays(breaks)
        events = await chat.send(thread)
    else:
        model.plays(says("a", "b")).going.clear()
        run = await chat.begin(thread)
        await model.asking.wait()
        await chat.call("POST", f"/chat/runs/{run['id']}/cancel")
        events = await chat.follow(run["id"])
        model.going.set()
    answer = await chat.call("GET", f"/chat/runs/{events[0].data['run_id']}/events?{WAY}")
    last = [each["chunk"] for each in chunks_of(answer.text)][-3:]
    if fails:
        assert last[0] == {"type": "error", "errorText": "The model cannot be reached"}
        assert (last[2]["type"], last[2]["finishReason"]) == ("finish", "error")
    else:
        assert last[1:] == [{"type": "finish-step"}, {"type": "abort", "reason": "cancelled"}]


def test_text_that_another_process_says_anew_is_void() -> None:
    """The stream can take nothing back, so the part and the citation say that they are void."""
    rendering = Rendering()
    chunks = chunks_of("".join(rendering.render(event).decode() for event in every_kind_of_event()))
    texts = [each["chunk"] for each in chunks if each["chunk"]["type"] == "text-delta"]
    assert "".join(text["delta"] for text in texts) == "Let me look.Cut offOnce more."
    assert said(chunks) == "Let me look.Once more."
    cited = [each["chunk"] for each in chunks if each["chunk"]["type"] == "data-citation"]
    assert cited[0]["id"] == cited[1]["id"] != cited[2]["id"]
    assert [each["data"].get("void") for each in cited] == [None, True, None]
    decided = [each["chunk"]["data"]["status"] for each in chunks if each["chunk"]["type"] == "data-approval"]
    assert decided == ["pending", "rejected", "pending", "approved"]
    assert sum(each["chunk"]["type"] == "tool-output-denied" for each in chunks) == 1


def test_it_is_a_function_of_the_log() -> None:
    first, second = Rendering(), Rendering()
    assert [first.render(event) for event in every_kind_of_event()] == [
        second.render(event) for event in every_kind_of_event()
    ]
