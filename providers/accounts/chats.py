"""The port to providers of chats, whose channels are looked up when they are linked to a record."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from providers.accounts.oauth import OAuth
from providers.accounts.ports import Told


@dataclass(frozen=True, slots=True)
class ChatChannel:
    """A channel, and what it is called there."""

    id: str
    name: str


@runtime_checkable
class Chats(Protocol):
    """A provider of chats."""

    oauth: OAuth
    history_pause: float
    """The seconds between two looks into the history of channels; 0 where it may be looked at as often as one likes."""

    async def channel(self, token: str, channel_id: str) -> ChatChannel | None:
        """A channel that the account sees; None for others. Raises AccountError."""

    async def channels(self, access: Callable[[str | None], Awaitable[str]], told: Told) -> list[ChatChannel]:
        """The channels that the account sees, at most so many. Raises AccountError."""
