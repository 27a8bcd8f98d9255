"""The port to providers of chats, whose channels are looked up when they are linked to a record."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class ChatChannel:
    """A channel, and what it is called there."""

    id: str
    name: str


@runtime_checkable
class Chats(Protocol):
    """A provider of chats."""

    history_pause: float
    """The seconds between two looks into the history of channels; 0 where it may be looked at as often as one likes."""

    async def channel(self, token: str, channel_id: str) -> ChatChannel | None:
        """A channel that the account sees; None for others. Raises AccountError."""
