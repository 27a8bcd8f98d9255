"""The embedded answerer: it satisfies the port of models, so the loop of chats knows no difference."""

from collections.abc import AsyncIterator
from typing import Final

from providers.chat_models import Conversation, Delta

PROVIDER: Final = "embedded"
NO_MODEL: Final = "No language model is configured here, so I answer a fixed set of questions.\n\n"


class Embedded:
    """Answers by the grammar, which is loaded for the first question (decision 1185). It keeps nothing."""

    provider: str = PROVIDER
    name: str | None = None

    async def answer(self, conversation: Conversation, deadline: float) -> AsyncIterator[Delta]:
        """One step: calls of tools, or the answer's lines."""
        from providers.embedded.answering import deltas  # with the grammar, which most processes are never asked

        for delta in deltas(conversation):
            yield delta

    async def close(self) -> None:
        """There is nothing to close."""
