"""Models behind OpenAI's chat completions, streamed: OpenAI's own, Ollama, vLLM, llama.cpp and their like."""

from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

import orjson

from contract.canonical_json import JsonObject
from providers.calls import Calls
from providers.chat_models import Answered, Call, Conversation, Delta, Result, Said, Stopped, Text, Usage
from providers.model_calls import Assembly
from providers.model_kinds import SILENCE_SECONDS
from providers.model_prompt import framed, mark_of, rules
from providers.model_stream import Reading, StreamingModel, object_of, whole
from providers.models import ModelAway, ModelNonsense

PROVIDER: Final = "openai"
_STOPPED: Final = {"length": "truncated", "content_filter": "filtered"}
_THOUGHTS: Final = ("reasoning", "reasoning_content")


class OpenaiChat(StreamingModel):
    """A model behind `POST {url}/chat/completions`."""

    provider = PROVIDER
    path = "chat/completions"

    def __init__(
        self, url: str, name: str, key: str = "", *, silence: float = SILENCE_SECONDS, calls: Calls | None = None
    ) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        super().__init__(url, name, headers, silence=silence, calls=calls)
        host = urlsplit(url).hostname or ""
        is_first_party = host.endswith((".openai.com", ".azure.com"))
        self._most = "max_completion_tokens" if is_first_party else "max_tokens"  # each refuses the other's name

    def body(self, conversation: Conversation) -> JsonObject:
        """Build the request."""
        mark = mark_of(conversation)
        asked = {
            "model": self.name,
            "messages": [{"role": "system", "content": rules(conversation, mark)}, *_messages(conversation, mark)],
            "stream": True,
            "stream_options": {"include_usage": True},
            self._most: conversation.output_tokens_max,
        }
        tools = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in conversation.tools
        ]
        return {**asked, "tools": tools} if tools else asked

    def reading(self) -> Reading:
        """Make the reader of an answer."""
        return Chunks()


def _messages(conversation: Conversation, mark: str) -> list[JsonObject]:
    """The turns; every call is followed by what it gave."""
    found: list[JsonObject] = []
    results = {turn.call_id: turn for turn in conversation.turns if isinstance(turn, Result)}
    for turn in conversation.turns:
        if isinstance(turn, Said):
            found.append({"role": "user", "content": turn.text})
        elif isinstance(turn, Answered) and (turn.text or turn.calls):
            said = {"role": "assistant", "content": turn.text or None}
            found.append({**said, "tool_calls": [_called(call) for call in turn.calls]} if turn.calls else said)
            for call in turn.calls:
                result = results.get(call.id) or Result(call.id, call.tool, "It gave nothing.", ok=False)
                found.append({"role": "tool", "tool_call_id": call.id, "content": framed(result, mark)})
    return found


def _called(call: Call) -> dict[str, object]:
    arguments = orjson.dumps(call.arguments or {}).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.tool or "unknown", "arguments": arguments}}


class Chunks:
    """Reads the chunks of an answer. Servers differ in what they leave out, so little is taken for granted."""

    def __init__(self) -> None:
        self.is_finished = False
        self.is_over = False
        self._calls = Assembly()
        self._usage: Usage | None = None

    def take(self, data: str) -> Iterator[Delta | None]:
        """Read a chunk. Raises ModelError."""
        if data.strip() == "[DONE]":
            self.is_over = True
            return
        chunk = object_of(data)
        if chunk.get("error"):
            raise ModelAway("The model broke off its answer")
        choices, usage = chunk.get("choices"), chunk.get("usage")
        if isinstance(usage, dict):
            self._usage = Usage(whole(usage.get("prompt_tokens")), whole(usage.get("completion_tokens")))
        elif not isinstance(choices, list):
            raise _unreadable()
        for choice in choices or () if isinstance(choices, list) else ():
            if not isinstance(choice, dict):
                raise _unreadable()
            if choice.get("index", 0) in (0, None):
                yield from self._choice(choice)

    def _choice(self, choice: dict[str, object]) -> Iterator[Delta | None]:
        delta = choice.get("delta") or {}
        if not isinstance(delta, dict):
            raise _unreadable()
        text = f"{_text(delta.get('content'))}{_text(delta.get('refusal'))}"
        if text:
            yield Text(text)
        calls = delta.get("tool_calls") or (
            [{"function": delta["function_call"]}] if delta.get("function_call") else []
        )
        if not isinstance(calls, list):
            raise _unreadable()
        self._calls.take(calls)
        if calls or any(delta.get(name) for name in _THOUGHTS):
            yield None
        if (reason := choice.get("finish_reason")) is not None:
            self.is_finished = True
            if isinstance(reason, str) and reason in _STOPPED:
                yield Stopped(_STOPPED[reason])

    def end(self) -> Sequence[Delta]:
        """The calls, and what was used."""
        return [*self._calls.calls(), *([] if self._usage is None else [self._usage])]


def _text(content: object) -> str:
    """A text, or the texts of a list of parts."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise _unreadable()
    return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))


def _unreadable() -> ModelNonsense:
    return ModelNonsense("The model's answer cannot be read")
