"""A conversation to ask models with."""

from __future__ import annotations

from datetime import UTC, datetime

from providers.chat_models import Conversation, OfferedTool, Said, Turn

LIST = "list_records"
TOOL = OfferedTool(LIST, "Lists records.", {"type": "object", "properties": {"kind": {"enum": ["deal"]}}})


def conversation(*turns: Turn) -> Conversation:
    present = datetime(2026, 11, 24, 9, tzinfo=UTC)
    return Conversation("Be true.", turns or [Said("Hi")], [TOOL], "rep-1", present, "Europe/Berlin")
