"""Models behind Anthropic's messages, streamed."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from contract.canonical_json import JsonObject
from providers.calls import Calls
from providers.chat_models import Answered, Call, Conversation, Delta, Result, Said, Stopped, Text, Usage
from providers.model_calls import Assembly
from providers.model_kinds import SILENCE_SECONDS
from providers.model_prompt import framed, mark_of, rules
from providers.model_stream import Reading, StreamingModel, object_of, whole
from providers.models import ModelAway, ModelNonsense

PROVIDER: Final = "anthropic"
_VERSION: Final = "2023-06-01"
_STOPPED: Final = {"max_tokens": "truncated", "model_context_window_exceeded": "truncated", "refusal": "filtered"}
_READ: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class AnthropicMessages(StreamingModel):
    """A model behind `POST {url}/messages`."""

    provider = PROVIDER
    path = "messages"

    def __init__(
        self, url: str, name: str, key: str = "", *, silence: float = SILENCE_SECONDS, calls: Calls | None = None
    ) -> None:
        headers = {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}
        super().__init__(url, name, headers, silence=silence, calls=calls)

    def body(self, conversation: Conversation) -> JsonObject:
        """Build the request."""
        mark = mark_of(conversation)
        asked = {
            "model": self.name,
            "system": rules(conversation, mark),
            "messages": _messages(conversation, mark),
            "max_tokens": conversation.output_tokens_max,
            "stream": True,
        }
        tools = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in conversation.tools
        ]
        return {**asked, "tools": tools} if tools else asked

    def reading(self) -> Reading:
        """Make the reader of an answer."""
        return Blocks()


def _messages(conversation: Conversation, mark: str) -> list[JsonObject]:
    """The turns, the first one a member's; results of calls stand right behind these."""
    found: list[JsonObject] = []
    results = {turn.call_id: turn for turn in conversation.turns if isinstance(turn, Result)}
    for turn in conversation.turns:
        if isinstance(turn, Said):
            _add(found, "user", [{"type": "text", "text": turn.text}])
        elif isinstance(turn, Answered) and found:
            text = [{"type": "text", "text": turn.text}] if turn.text.strip() else []
            _add(found, "assistant", [*text, *(_called(call) for call in turn.calls)])
            _add(found, "user", [_gave(call, results.get(call.id), mark) for call in turn.calls])
    return found


def _add(found: list[JsonObject], role: str, content: list[JsonObject]) -> None:
    """Add to the last message where it is of the same role, as roles take turns."""
    if found and found[-1]["role"] == role:
        found[-1]["content"] += content
    elif content:
        found.append({"role": role, "content": content})


def _called(call: Call) -> dict[str, object]:
    name = call.tool if _NAME.fullmatch(call.tool) else "unknown"
    return {"type": "tool_use", "id": call.id, "name": name, "input": call.arguments or {}}


def _gave(call: Call, result: Result | None, mark: str) -> JsonObject:
    result = result or Result(call.id, call.tool, "It gave nothing.", ok=False)
    told = {"type": "tool_result", "tool_use_id": call.id, "content": framed(result, mark)}
    return told if result.ok else {**told, "is_error": True}


class Blocks:
    """Reads the events of an answer; kinds that are not known say nothing, as the protocol asks."""

    def __init__(self) -> None:
        self.is_finished = False
        self.is_over = False
        self._calls = Assembly()
        self._read = self._written = 0
        self._is_counted = False

    def take(self, data: str) -> Iterator[Delta | None]:
        """Read an event. Raises ModelError."""
        event = object_of(data)
        match event.get("type"):
            case "message_start":
                self._count(_within(event, "message").get("usage"))
            case "content_block_start":
                yield from self._begun(event.get("index"), _within(event, "content_block"))
            case "content_block_delta":
                yield from self._more(event.get("index"), _within(event, "delta"))
            case "message_delta":
                self._count(event.get("usage"))
                reason = _within(event, "delta").get("stop_reason")
                self.is_finished |= reason is not None
                if isinstance(reason, str) and reason in _STOPPED:
                    yield Stopped(_STOPPED[reason])
            case "message_stop":
                self.is_finished = self.is_over = True
            case "error":
                raise ModelAway("The model broke off its answer")
            case str():
                return
            case _:
                raise ModelNonsense("The model's answer cannot be read")

    def _begun(self, index: object, block: dict[str, object]) -> Iterator[Delta | None]:
        if block.get("type") == "tool_use":
            given = block.get("input") or None
            self._calls.take([_piece(index, {"name": block.get("name"), "arguments": given}, block.get("id"))])
            yield None
        elif block.get("type") == "text" and (text := _text(block.get("text"))):
            yield Text(text)

    def _more(self, index: object, delta: dict[str, object]) -> Iterator[Delta | None]:
        if (text := _text(delta.get("text"))) and delta.get("type") == "text_delta":
            yield Text(text)
        elif delta.get("type") == "input_json_delta":
            self._calls.take([_piece(index, {"arguments": delta.get("partial_json")})])
            yield None
        elif _text(delta.get("thinking")):
            yield None

    def _count(self, usage: object) -> None:
        if not isinstance(usage, dict):
            return
        self._is_counted = True
        self._read = sum(whole(usage.get(name)) for name in _READ) or self._read
        self._written = whole(usage.get("output_tokens")) or self._written

    def end(self) -> Sequence[Delta]:
        """The calls, and what was used."""
        return [*self._calls.calls(), *([Usage(self._read, self._written)] if self._is_counted else [])]


def _piece(index: object, function: dict[str, object], id: object = None) -> dict[str, object]:
    return {"index": index, "id": id, "function": function}


def _within(event: dict[str, object], name: str) -> dict[str, object]:
    found = event.get(name)
    if not isinstance(found, dict):
        raise ModelNonsense("The model's answer cannot be read")
    return found


def _text(value: object) -> str:
    if value is not None and not isinstance(value, str):
        raise ModelNonsense("The model's answer cannot be read")
    return value or ""
