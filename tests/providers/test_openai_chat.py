"""Streams of OpenAI's chat completions: whatever a server sends is an answer, or an error in time (decision 355)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.limits import JSON_DEPTH_MAX
from providers.breaker import FAILURES
from providers.chat_models import Answered, Call, Delta, Result, Said, Stopped, Text, Usage
from providers.model_calls import NAME_MAX
from providers.models import ModelAway, ModelError, ModelMisconfigured, ModelNonsense, ModelSlow
from providers.openai_chat import Chunks, OpenaiChat
from tests.providers.conversations import LIST, conversation
from tests.support.loopback import Asked, Loopback, Reply, serving
from tests.support.model import DONE, KEY, PATH, called, delta, events, pieces, said, streamed, used

pytestmark = pytest.mark.asyncio(loop_scope="session")
HELLO = streamed(delta(role="assistant", content=""), delta(content="Hel"), delta(content="lo"), delta("stop"), DONE)


@asynccontextmanager
async def model(*replies: Reply, **more: Any) -> AsyncIterator[tuple[OpenaiChat, Loopback]]:
    script = list(replies)

    def answer(_asked: Asked) -> Reply:
        return script.pop(0) if len(script) > 1 else script[0]

    async with serving(answer) as server:
        model = OpenaiChat(f"{server.url}/v1", "scripted-1", KEY, **more)
        try:
            yield model, server
        finally:
            await model.close()


async def answered(*replies: Reply, seconds: float = 20, **more: Any) -> list[Delta]:
    async with model(*replies, **more) as (it, _):
        return [delta async for delta in it.answer(conversation(), seconds)]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, Text))


async def test_it_is_asked_by_the_protocol() -> None:
    turns = [
        Said("How many?"),
        Answered("", (Call("call_1", "list_records", {"kind": "deal"}), Call("call_2", "", None))),
        Result("call_1", "list_records", '{"data": 1}'),
        Answered("One."),
        Said("And now?"),
    ]
    async with model(HELLO) as (it, server):
        assert text_of([delta async for delta in it.answer(conversation(*turns), 20)]) == "Hello"
        [asked] = server.asked
    assert asked.line == f"POST {PATH}"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    body = asked.body
    assert {key: body[key] for key in ("model", "stream", "stream_options", "max_tokens")} == {
        **{"model": "scripted-1", "stream": True, "stream_options": {"include_usage": True}, "max_tokens": 4096}
    }
    assert [tool["function"]["name"] for tool in body["tools"]] == ["list_records"]
    system, user, called_, first, second, last, now = body["messages"]
    assert system["content"].startswith("Be true.\n\nIt is Tuesday, 2026-11-24 10:00 in Europe/Berlin.")
    mark = system["content"].partition("<data-")[2][:16]
    assert (user["content"], last["content"], now["content"]) == ("How many?", "One.", "And now?")
    assert [call["function"] for call in called_["tool_calls"]] == [
        {"name": "list_records", "arguments": '{"kind":"deal"}'},
        {"name": "unknown", "arguments": "{}"},
    ]
    assert (first["role"], first["tool_call_id"]) == ("tool", "call_1")
    assert first["content"] == f'<data-{mark}>\n{{"data": 1}}\n</data-{mark}>'
    assert "It gave nothing." in second["content"]


async def test_the_frame_is_one_of_the_run_and_another_of_the_next() -> None:
    async with model(HELLO) as (it, server):
        for turns in ([Said("a")], [Said("a"), Answered("b")], [Said("a"), Said("a")], [Said("b")]):
            [_ async for _ in it.answer(conversation(*turns), 20)]
        marks = [asked.body["messages"][0]["content"].partition("<data-")[2][:16] for asked in server.asked]
    assert marks[0] == marks[1]
    assert len(set(marks)) == 3


async def test_usage_comes_last_or_never() -> None:
    assert (await answered(HELLO))[-1] == Text("lo")
    with_usage = streamed(delta(content="Hi"), delta("stop"), used(12, 3), DONE)
    assert await answered(with_usage) == [Text("Hi"), Usage(12, 3)]
    beside = {**delta("stop"), "usage": {"prompt_tokens": 5, "completion_tokens": None}}
    assert await answered(streamed(delta(content="Hi"), beside)) == [Text("Hi"), Usage(5, 0)]


@pytest.mark.parametrize(("reason", "code"), [("length", "truncated"), ("content_filter", "filtered")])
async def test_an_answer_that_is_cut_short_says_so(reason: str, code: str) -> None:
    assert await answered(streamed(delta(content="Hi"), delta(reason), DONE)) == [Text("Hi"), Stopped(code)]


ONE = [Call("c1", "search", {"query": "Acme"})]
TWO = [*ONE, Call("c2", "describe", {})]


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        ([[called("search", '{"query": "Acme"}')]], ONE),
        ([[called("search", "")], [{"index": 0, "function": {"arguments": '{"query"'}}], [{"index": 0, "function": {"arguments": ': "Acme"}'}}]], ONE),  # noqa: E501
        ([[called("search", '{"query": "Acme"}', 1)], [called("describe", "", 2, "c2")]], TWO),
        ([[called("search", '{"query": "Acme"}'), called("describe", "{}", 1, "c2")]], TWO),
        ([[called("search", '{"query": "Acme"}')], [called("describe", "{}", 0, "c2")]], TWO),
        ([[{"id": "c1", "function": {"name": "search", "arguments": '{"query":'}}], [{"id": "c1", "function": {"arguments": '"Acme"}'}}]], ONE),  # noqa: E501
        ([[{"index": None, "id": "c1", "function": {"name": "search", "arguments": {"query": "Acme"}}}]], ONE),
        ([[{"id": "c1", "function": {"name": "search"}}], [{"function": {"arguments": '{"query": "Acme"}'}}]], ONE),
        ([[{"index": 0, "id": "c1", "function": {"name": "sea"}}], [{"index": 0, "function": {"name": "rch", "arguments": '{"query": "Acme"}'}}]], ONE),  # noqa: E501
        ([[{"function": {"name": "search", "arguments": '{"query": "Acme"}'}}]], [Call("call_1", "search", {"query": "Acme"})]),  # noqa: E501
        ([[{"function": {"name": "a"}}, {"function": {"name": "b", "arguments": None}}]], [Call("call_1", "a", {}), Call("call_2", "b", {})]),  # noqa: E501
        ([[{"function": {"name": "a"}}], [{"function": {"name": "b"}}]], [Call("call_1", "a", {}), Call("call_2", "b", {})]),  # noqa: E501
        ([[called("search", '{"query": ')]], [Call("c1", "search", None)]),
        ([[called("search", "[1]")]], [Call("c1", "search", None)]),
        ([[called("search", '{"a":' + "[" * 400 + "]" * 400 + "}")]], [Call("c1", "search", None)]),
    ],
)  # fmt: skip
async def test_calls_are_put_together_from_whatever_is_there(chunks: list[list[Any]], calls: list[Call]) -> None:
    stream = streamed(*(delta(tool_calls=chunk) for chunk in chunks), delta("tool_calls"), DONE)
    assert await answered(stream) == calls


async def test_a_call_of_the_older_form_is_one() -> None:
    first, more = {"name": "search", "arguments": ""}, {"arguments": '{"query": "Acme"}'}
    stream = streamed(delta(function_call=first), delta(function_call=more), delta("function_call"), DONE)
    assert await answered(stream) == [Call("call_1", "search", {"query": "Acme"})]


@pytest.mark.parametrize(
    "stream",
    [
        events(delta(content="Hé"), delta("stop"), DONE, ending="\r\n"),
        events(delta(content="Hé"), delta("stop"), DONE, ending="\r"),
        b"\xef\xbb\xbf: hello\n\n" + events(delta(content="Hé"), delta("stop")),
        b"event: message\nid: 1\nretry: 5\n" + events(delta(content="Hé", reasoning="hm"), delta("stop"), DONE),
        events(delta(content="Hé"), delta("stop"), DONE).rstrip(),
        events(delta(content=[{"type": "text", "text": "Hé"}, {"type": "image"}]), delta("stop"), DONE),
        events({"choices": [], "prompt_filter_results": []}, delta(content="Hé"), delta("stop"), DONE),
        events({"choices": [{"delta": {"content": "Hé"}}]}, {"choices": [{"delta": None, "finish_reason": "stop"}]}),
        events(delta(refusal="Hé"), {"choices": [{"index": 1, "delta": {"content": "no"}}]}, delta("stop"), DONE),
        events({**delta(content="Hé"), "usage": None}, delta("stop"), DONE, "nothing of this is read"),
    ],
)
async def test_a_stream_is_read_whatever_its_shape(stream: bytes) -> None:
    assert text_of(await answered(pieces(stream))) == "Hé"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (streamed(delta(content="Hi")), ModelAway),
        (streamed(delta(content="Hi"), {"error": {"message": KEY}}), ModelAway),
        (pieces(b""), ModelAway),
        (Reply(whole=b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\ndata: "), ModelAway),
        (Reply(whole=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz"), ModelAway),
        (Reply(whole=b"no HTTP"), ModelAway),
        (streamed("{"), ModelNonsense),
        (streamed("[]"), ModelNonsense),
        (streamed('{"x": 1}'), ModelNonsense),
        (streamed({"choices": [1]}), ModelNonsense),
        (streamed({"choices": [{"delta": [1]}]}), ModelNonsense),
        (streamed(delta(content=5)), ModelNonsense),
        (streamed(delta(tool_calls={"a": 1})), ModelNonsense),
        (streamed(delta(tool_calls=[1])), ModelNonsense),
        (streamed(delta(tool_calls=[{"function": {"name": 5}}])), ModelNonsense),
        (streamed(delta(tool_calls=[called("a", "", n, f"c{n}") for n in range(65)])), ModelNonsense),
        (streamed(delta(tool_calls=[called("a", "x" * 300_000)])), ModelNonsense),
        (streamed("[" * 100_000), ModelNonsense),
        (said("A whole answer"), ModelNonsense),
        (pieces(b"<html>\n</html>\n"), ModelNonsense),
        (pieces(b"data: \xff\xfe\n\n"), ModelNonsense),
        (pieces(b"x" * 2_000_000), ModelNonsense),
        (pieces(*[b"x" * 65_536] * 40), ModelNonsense),
        (pieces(*[events(delta(content="x" * 100_000))] * 90), ModelNonsense),
        (Reply(b"\x1f\x8b", headers={"Content-Encoding": "gzip"}), ModelNonsense),
        (Reply({}, 401), ModelMisconfigured),
        (Reply({}, 400), ModelMisconfigured),
        (Reply({}, 404), ModelMisconfigured),
        (Reply({}, 307, {"Location": "http://127.0.0.1:9/"}), ModelMisconfigured),
        (Reply({}, 500), ModelAway),
        (Reply({}, 504), ModelAway),
        (Reply({}, 429), ModelAway),
        (Reply({}, 429, {"Retry-After": "11"}), ModelAway),
        (Reply({}, 529), ModelAway),
    ],
)
async def test_what_is_no_answer_is_an_error_of_ours(reply: Reply, error: type[ModelError]) -> None:
    async with model(reply) as (it, server):
        with pytest.raises(ModelError) as raised:
            [_ async for _ in it.answer(conversation(), 20)]
        assert type(raised.value) is error
        assert len(server.asked) == (2 if reply.status in (500, 504) else 1)
    assert str(raised.value).startswith("The model")
    assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    "busy", [Reply({}, 502), Reply({}, 503, {"Retry-After": "0"}), Reply({}, 429, {"Retry-After": "0"})]
)
async def test_a_busy_model_is_asked_once_more_where_nothing_came(busy: Reply) -> None:
    async with model(busy, HELLO) as (it, server):
        assert text_of([delta async for delta in it.answer(conversation(), 20)]) == "Hello"
        assert len(server.asked) == 2


async def test_what_has_begun_is_not_asked_for_again() -> None:
    async with model(streamed(delta(content="Hel")), HELLO) as (it, server):
        deltas = it.answer(conversation(), 20)
        assert await anext(deltas) == Text("Hel")
        with pytest.raises(ModelAway):
            await anext(deltas)
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    "silent",
    [
        Reply(silent=20),
        pieces(stays=True),
        pieces(events(delta(content="Hi")), stays=True),
        pieces(*[b": still here\n\n", 0.1] * 60, stays=True),
        pieces(*[events(delta(role="assistant", content="")), 0.1] * 60, stays=True),
    ],
)
async def test_silence_ends_it(silent: Reply) -> None:
    began = time.monotonic()
    with pytest.raises(ModelSlow):
        await answered(silent, silence=0.4)
    assert time.monotonic() - began < 5


async def test_thoughts_are_no_silence_and_are_not_told() -> None:
    thinking = [events(delta(reasoning_content="hm")), 0.1] * 6
    assert text_of(await answered(pieces(*thinking, events(delta(content="Hi"), delta("stop"))), silence=5)) == "Hi"


async def test_the_whole_of_it_has_a_deadline() -> None:
    endless = pieces(*[events(delta(content="x")), 0.05] * 400)
    began = time.monotonic()
    with pytest.raises(ModelSlow):
        await answered(endless, seconds=0.5)
    assert time.monotonic() - began < 5


async def test_who_has_finished_may_leave_the_stream_open() -> None:
    began = time.monotonic()
    assert text_of(await answered(streamed(delta(content="Hi"), delta("stop"), stays=True))) == "Hi"
    assert time.monotonic() - began < 10


async def test_ending_it_closes_the_connection_and_is_no_failure() -> None:
    async with model(streamed(delta(content="Hi"), stays=True)) as (it, server):
        for _ in range(FAILURES + 1):
            async with aclosing(it.answer(conversation(), 20)) as deltas:
                assert await anext(deltas) == Text("Hi")
        taking = it.answer(conversation(), 20)
        assert await anext(taking) == Text("Hi")  # so the breaker is closed
        waiting = asyncio.ensure_future(_anext(taking))
        await asyncio.sleep(0.05)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        for _ in range(100):
            if server.left == FAILURES + 2:
                break
            await asyncio.sleep(0.1)
        assert server.left == FAILURES + 2


async def test_each_delta_may_be_taken_by_another_task() -> None:
    async with model(HELLO) as (it, _):
        deltas = it.answer(conversation(), 20)
        found = [await asyncio.create_task(_anext(deltas)) for _ in range(2)]
        await deltas.aclose()
    assert text_of(found) == "Hello"


async def _anext(deltas: AsyncIterator[Delta]) -> Delta:
    return await anext(deltas)


async def test_one_that_is_away_is_left_alone() -> None:
    it = OpenaiChat("http://127.0.0.1:9/v1", "none")
    for _ in range(FAILURES + 1):
        with pytest.raises(ModelAway):
            [_ async for _ in it.answer(conversation(), 5)]
    with pytest.raises(ModelAway, match="just now"):
        [_ async for _ in it.answer(conversation(), 5)]
    await it.close()


async def test_the_most_that_is_answered_has_its_name() -> None:
    for url, name in (("https://api.openai.com/v1", "max_completion_tokens"), ("http://localhost:1/v1", "max_tokens")):
        assert name in OpenaiChat(url, "m").body(conversation())


@pytest.mark.parametrize("reason", [[], {}, ["stop"], 1, True])
async def test_an_end_of_another_kind_is_one(reason: Any) -> None:
    reading = Chunks()
    chunk = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": reason}]}
    assert [*reading.take(json.dumps(chunk))] == [Text("Hi")]
    assert reading.is_finished


@pytest.mark.parametrize("depth", [JSON_DEPTH_MAX - 1, JSON_DEPTH_MAX, 250, 1_000, 30_000])
async def test_arguments_that_are_nested_deep_are_none(depth: int) -> None:
    reading = Chunks()
    arguments = '{"not":' * depth + "{}" + "}" * depth
    [*reading.take(json.dumps(delta(tool_calls=[called(LIST, arguments, 0, "c")])))]
    [call] = reading.end()
    assert isinstance(call, Call)
    assert (call.arguments is None) == (depth >= JSON_DEPTH_MAX)


async def test_an_object_that_is_nested_deep_is_no_answer() -> None:
    nested = '{"not":' * 300 + "{}" + "}" * 300
    chunk = f'{{"choices": [{{"delta": {{"tool_calls": [{{"function": {{"name": "x", "arguments": {nested}}}}}]}}}}]}}'
    with pytest.raises(ModelNonsense):
        [*Chunks().take(chunk)]


async def test_a_name_of_a_tool_that_never_ends_is_cut() -> None:
    reading = Chunks()
    for _ in range(3):
        [*reading.take(json.dumps(delta(tool_calls=[called("x" * 100_000, "{}", 0, "c")])))]
    [call] = reading.end()
    assert isinstance(call, Call)
    assert len(call.tool) == NAME_MAX


CHUNKS = st.lists(
    st.one_of(
        st.text(min_size=1, max_size=8).map(lambda text: delta(content=text)),
        st.sampled_from([used(3, 4), delta(), delta(reasoning="x"), {"choices": []}]),
        st.tuples(st.integers(0, 2), st.sampled_from(["", "{}", '{"a": 1}', '{"b'])).map(
            lambda one: delta(tool_calls=[called(LIST, one[1], one[0], f"c{one[0]}")])
        ),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CHUNKS, st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(1, 40), max_size=30), st.booleans())
async def test_any_cut_of_any_stream_gives_the_same(
    chunks: list[dict[str, Any]], ending: str, sizes: list[int], has_done: bool
) -> None:
    reading = Chunks()
    sent = [*chunks, delta("stop"), *([DONE] if has_done else [])]
    expected = [one for chunk in [*chunks, delta("stop")] for one in reading.take(json.dumps(chunk)) if one is not None]
    expected += reading.end()
    stream, at, parts = events(*sent, ending=ending), 0, []
    for size in sizes:
        parts.append(stream[at : at + size])
        at += size
    assert await answered(pieces(*parts, stream[at:])) == expected
