"""Streams of Anthropic's messages (decision 355); what protocols share is tried in test_openai_chat.py."""

from __future__ import annotations

from typing import Any

import pytest

from providers.anthropic_messages import AnthropicMessages
from providers.chat_model_choice import chat_model
from providers.chat_models import Answered, Call, Delta, Result, Said, Stopped, Text, Turn, Usage
from providers.embedded.answerer import Embedded
from providers.model_kinds import ModelKind
from providers.models import ModelAway, ModelError, ModelNonsense
from providers.openai_chat import OpenaiChat
from tests.providers.conversations import conversation
from tests.support.loopback import Asked, Loopback, Reply, serving
from tests.support.model import KEY, streamed

pytestmark = pytest.mark.asyncio(loop_scope="session")
START = {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 9, "cache_read_input_tokens": 3}}}
STOP = {"type": "message_stop"}


def begun(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def more(index: int, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def ended(reason: str | None = "end_turn", written: int = 4) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": written}}


HELLO = streamed(START, begun(0, type="text", text=""), more(0, type="text_delta", text="Hello"), ended(), STOP)


async def asked(reply: Reply, *turns: Turn) -> tuple[list[Delta], Asked]:
    async with serving(lambda _: reply) as server:
        it = AnthropicMessages(f"{server.url}/v1", "scripted-1", KEY)
        try:
            found = [delta async for delta in it.answer(conversation(*turns), 20)]
        finally:
            await it.close()
        return found, _only(server)


def _only(server: Loopback) -> Asked:
    [asked] = server.asked
    return asked


async def test_it_is_asked_by_the_protocol() -> None:
    calls = (Call("call_1", "list_records", {"kind": "deal"}), Call("call_2", "no such?", None))
    turns = [
        Answered("An answer whose question was dropped"),
        Said("How many?"),
        Answered(" ", calls),
        Result("call_1", "list_records", "{}", ok=False),
        Said("And now?"),
    ]
    found, request = await asked(HELLO, *turns)
    assert found == [Text("Hello"), Usage(12, 4)]
    assert request.line == "POST /v1/messages"
    assert (request.headers["x-api-key"], request.headers["anthropic-version"]) == (KEY, "2023-06-01")
    body = request.body
    assert (body["model"], body["max_tokens"], body["stream"]) == ("scripted-1", 4096, True)
    assert body["system"].startswith("Be true.")
    assert [tool["name"] for tool in body["tools"]] == ["list_records"]
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    _, said, results = body["messages"]
    assert [(block["type"], block["name"]) for block in said["content"]] == [
        ("tool_use", "list_records"),
        ("tool_use", "unknown"),
    ]
    assert [block["type"] for block in results["content"]] == ["tool_result", "tool_result", "text"]
    assert results["content"][0]["is_error"] is True
    assert "<data-" in results["content"][0]["content"]


async def test_calls_thoughts_and_unknown_events() -> None:
    stream = streamed(
        START,
        {"type": "ping"},
        {"type": "of_another_day", "x": 1},
        begun(0, type="thinking", thinking=""),
        more(0, type="thinking_delta", thinking="hm"),
        more(0, type="signature_delta", signature="s"),
        begun(1, type="tool_use", id="t1", name="search", input={}),
        more(1, type="input_json_delta", partial_json=""),
        more(1, type="input_json_delta", partial_json='{"query": "Ac'),
        begun(2, type="tool_use", id="t2", name="describe", input={}),
        more(1, type="input_json_delta", partial_json='me"}'),
        ended("tool_use"),
        STOP,
    )
    found, _ = await asked(stream)
    assert found == [Call("t1", "search", {"query": "Acme"}), Call("t2", "describe", {}), Usage(12, 4)]


@pytest.mark.parametrize(("reason", "code"), [("max_tokens", "truncated"), ("refusal", "filtered")])
async def test_an_answer_that_is_cut_short_says_so(reason: str, code: str) -> None:
    found, _ = await asked(streamed(more(0, type="text_delta", text="Hi"), ended(reason)))
    assert found == [Text("Hi"), Stopped(code), Usage(0, 4)]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (streamed(START, more(0, type="text_delta", text="Hi")), ModelAway),
        (streamed(START, {"type": "error", "error": {"type": "overloaded_error", "message": KEY}}), ModelAway),
        (streamed({"choices": []}), ModelNonsense),
        (streamed({"type": "content_block_delta"}), ModelNonsense),
        (streamed(more(0, type="text_delta", text=5)), ModelNonsense),
        (streamed(begun(0, type="tool_use", name=[1])), ModelNonsense),
        (streamed("nothing"), ModelNonsense),
    ],
)
async def test_what_is_no_answer_is_an_error_of_ours(reply: Reply, error: type[ModelError]) -> None:
    with pytest.raises(ModelError) as raised:
        await asked(reply)
    assert type(raised.value) is error
    assert KEY not in str(raised.value)


async def test_the_settings_choose_who_answers() -> None:
    url = "http://127.0.0.1:9/v1"
    assert isinstance(chat_model(None), Embedded)
    for kind, model in ((ModelKind.OPENAI, OpenaiChat), (ModelKind.ANTHROPIC, AnthropicMessages)):
        chosen = chat_model(url, "m", "k", kind=kind)
        assert isinstance(chosen, model)
        assert (chosen.provider, chosen.name) == (kind.value, "m")
        await chosen.close()
