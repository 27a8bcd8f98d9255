"""A model of a chat that does what a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from providers.chat_models import Call, Conversation, Delta, Result, Text, Usage

Step = Callable[[Conversation], AsyncIterator[Delta]] | Sequence[Delta]
"""What the model says when it is asked: by a function of the conversation, or the same whatever it is."""


def says(*pieces: str) -> Step:
    """Text, piece by piece."""
    return [Text(piece) for piece in pieces]


def calls(*asked: tuple[str, dict[str, object] | None], text: str = "") -> Step:
    """Calls of tools, with some text before them."""
    before: list[Delta] = [Text(text)] if text else []
    return [*before, *(Call(f"id{place}", tool, arguments) for place, (tool, arguments) in enumerate(asked))]


@dataclass
class ScriptedModel:
    """Answers in the steps of its script; once these are over it says «Done.»."""

    provider: str = "scripted"
    name: str | None = None
    steps: list[Step] = field(default_factory=list)
    asked: list[Conversation] = field(default_factory=list)
    going: asyncio.Event = field(default_factory=asyncio.Event)
    """Each step waits for it; it is set."""
    asking: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it is asked."""
    closed: int = 0
    """How many answers were closed before their end."""
    working: int = 0

    def __post_init__(self) -> None:
        self.going.set()

    def plays(self, *steps: Step) -> ScriptedModel:
        """Have it do these from now on."""
        self.steps, self.asked = list(steps), []
        self.going.set()
        self.asking.clear()
        self.closed = 0
        return self

    def results(self) -> list[Result]:
        """What it was told of tools, at last."""
        return [turn for turn in self.asked[-1].turns if isinstance(turn, Result)]

    async def answer(self, conversation: Conversation, deadline: float) -> AsyncIterator[Delta]:
        self.asked.append(conversation)
        self.asking.set()
        step = self.steps.pop(0) if self.steps else [Text("Done."), Usage(3, 1)]
        self.working += 1
        whole = False
        try:
            if callable(step):
                async for delta in step(conversation):
                    yield delta
            else:
                for place, delta in enumerate(step):
                    yield delta
                    if not place:
                        await self.going.wait()
            whole = True
        finally:
            self.working -= 1
            self.closed += not whole

    async def close(self) -> None:
        return
