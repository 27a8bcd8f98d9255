"""A conversation to ask models with."""

from __future__ import annotations

from datetime import UTC, datetime

from contract.tool_answers import ToolTold
from contract.tools import Effect
from providers.chat_models import Conversation, Said, Turn

LIST = "list_records"
_SCHEMA = {"type": "object", "properties": {"kind": {"enum": ["deal"]}}}
TOOL = ToolTold(LIST, "Lists records.", _SCHEMA, Effect.READ, (), {})


def conversation(*turns: Turn) -> Conversation:
    present = datetime(2026, 11, 24, 9, tzinfo=UTC)
    return Conversation("Be true.", turns or [Said("Hi")], [TOOL], "rep-1", present, "Europe/Berlin")
