"""The port to providers that are asked to tell of changes, by a channel of our own for each stream that is followed.

A provider joins by `watch` and `unwatch`; the channel's token is what its notices are proven by.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable

from contract.integrations import IntegrationStreamKind


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel to be asked for: what it is called, what proves its notices, where they go, and until when."""

    id: str
    token: str = field(repr=False)
    address: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Watched:
    """A channel that was granted: what the provider calls it for stopping, and when it ends."""

    reference: str = field(repr=False)
    expires_at: datetime


@runtime_checkable
class Watching(Protocol):
    """A provider that tells of changes where it is asked to."""

    watched: frozenset[IntegrationStreamKind]
    """The kinds of streams of which it tells."""

    async def watch(self, token: str, stream: str, channel: Channel) -> Watched:
        """Ask for notices of changes to what the account calls `stream`. Raises AccountError."""

    async def unwatch(self, token: str, channel_id: str, reference: str) -> None:
        """Ask for no more of them. Raises AccountError."""
