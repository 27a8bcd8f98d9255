"""A language model on loopback that answers by a script, and keeps what it was asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from providers.models import ChatCompletions
from tests.support.loopback import Asked, Loopback, Reply, serving

KEY = "CanaryOfTheModel"
PATH = "/v1/chat/completions"
EVENTS = {"Content-Type": "text/event-stream"}
DONE = "[DONE]"


def said(content: object) -> Reply:
    """What a server sends for an answer: a text as it is, anything else as JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    return Reply({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}], "usage": {}})


def events(*data: object, ending: str = "\n") -> bytes:
    """Server-sent events: a text as it is, anything else as JSON."""
    texts = [one if isinstance(one, str) else json.dumps(one) for one in data]
    return "".join(f"data: {text}{ending}{ending}" for text in texts).encode()


def streamed(*data: object, stays: bool = False) -> Reply:
    """A stream of these events."""
    return Reply(headers=EVENTS, pieces=[events(*data)], stays=stays)


def pieces(*parts: bytes | float, stays: bool = False) -> Reply:
    """A stream that comes in these pieces."""
    return Reply(headers=EVENTS, pieces=parts or [b""], stays=stays)


def delta(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """A chunk of OpenAI's protocol."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted-1", "choices": [choice]}


def called(name: str, arguments: str, index: int = 0, id: str = "c1") -> dict[str, Any]:
    """A call of a tool in one piece."""
    return {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def used(read: int, written: int) -> dict[str, Any]:
    """The chunk that says what was used."""
    count = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return {**delta(), "choices": [], "usage": count}


@dataclass
class Scripted:
    """The model, and the server behind it; `script` has the answers that are still to come."""

    model: ChatCompletions
    server: Loopback
    script: list[Reply] = field(default_factory=list)

    @property
    def asked(self) -> list[Asked]:
        return self.server.asked

    @property
    def prompts(self) -> list[str]:
        """All that was said to the model, request by request."""
        return ["\n".join(turn["content"] for turn in asked.body["messages"]) for asked in self.asked]


@asynccontextmanager
async def scripted(*answers: Reply, **more: Any) -> AsyncIterator[Scripted]:
    """The model while the block runs; the last answer is given again and again."""
    script = list(answers)

    def answer(_asked: Asked) -> Reply:
        return script.pop(0) if len(script) > 1 else script[0]

    async with serving(answer) as server:
        model = ChatCompletions(f"{server.url}/v1/", "scripted-1", KEY, **more)
        try:
            yield Scripted(model, server, script)
        finally:
            await model.close()
