"""Models of a chat: the port that every answerer has, the embedded one too (decision 311).

A model knows nothing of records or scopes: it is given a conversation and tools, and says text and calls of tools.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from contract.canonical_json import Json
from contract.tool_answers import ToolTold


@dataclass(frozen=True, slots=True)
class Text:
    """Some more of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool is to be called. `arguments` is None where what was said is no JSON object."""

    id: str
    tool: str
    arguments: Mapping[str, Json] | None


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that a step has used, as the model counts them."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """The answer ends before its end, by the provider: `truncated` for its length, `filtered` for what it says."""

    code: str


Delta = Text | Call | Usage | Stopped


@dataclass(frozen=True, slots=True)
class Said:
    """The member's words."""

    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The model's words in one step: its text, and the tools that it called."""

    text: str
    calls: Sequence[Call] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call: JSON as a text, or the errors of it where it is not `ok`."""

    call_id: str
    tool: str
    content: str
    ok: bool = True


Turn = Said | Answered | Result


@dataclass(frozen=True, slots=True)
class Conversation:
    """The question to a model: the rules, the turns so far, the tools, and whose question it is, when and where."""

    rules: str
    turns: Sequence[Turn]
    tools: Sequence[ToolTold]
    subject: str
    now: datetime
    time_zone: str = "UTC"
    output_tokens_max: int = 4_096


class ChatModel(Protocol):
    """The port."""

    provider: str
    """Who answers: embedded, openai or anthropic."""
    name: str | None
    """The model's name; None for the embedded answerer."""

    def answer(self, conversation: Conversation, deadline: float) -> AsyncIterator[Delta]:
        """One step: text and calls as they come, within so many seconds. Raises ModelError (providers/models.py)."""

    async def close(self) -> None:
        """Close its connections."""
